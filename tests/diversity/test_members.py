import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier as ScikitTree

import spinney
from spinney.core.errors import InputError
from spinney.diversity import disagreement, kappa, member_predictions
from spinney.diversity.members import member_weights

X, TARGET = load_iris(return_X_y=True)
LABELS = {
    "texts": np.array(["setosa", "versicolor", "virginica"])[TARGET],
    "codes": TARGET,
    "codes of others": TARGET + 1,  # 1 and 2 are labels and codes of other labels
    "numbers": TARGET * 10.0,
}


def members():
    return [("tree", spinney.DecisionTreeClassifier(max_depth=2)), ("bayes", GaussianNB())]


ENSEMBLES = {
    "forest": lambda: RandomForestClassifier(7, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(7, random_state=0),
    "bagging": lambda: BaggingClassifier(ScikitTree(), 7, random_state=0),
    "bagged spinney": lambda: BaggingClassifier(spinney.C45Classifier(), 5, random_state=0),
    "patches": lambda: BaggingClassifier(ScikitTree(), 7, max_features=2, max_samples=0.5, random_state=0),
    "bagged pipeline": lambda: BaggingClassifier(
        make_pipeline(StandardScaler(), GaussianNB()), 4, max_features=3, random_state=0
    ),
    "boosted spinney": lambda: AdaBoostClassifier(
        spinney.DecisionTreeClassifier(max_depth=2), n_estimators=4, random_state=0
    ),
    "adaboost": lambda: AdaBoostClassifier(ScikitTree(max_depth=1), n_estimators=6, random_state=0),
    "voting": lambda: VotingClassifier(members()),
    "our bagging": lambda: spinney.BaggingClassifier(n_estimators=4, random_state=0),
    "our patches": lambda: spinney.BaggingClassifier(
        GaussianNB(), n_estimators=4, max_features=3, max_samples=0.5, random_state=0
    ),
    "our boosting": lambda: spinney.AdaBoostClassifier(
        spinney.DecisionTreeClassifier(max_depth=2), n_estimators=4
    ),
    "our voting": lambda: spinney.VotingClassifier(members()),
    "our stacking": lambda: spinney.StackingClassifier(members(), cv=3),
    "our selection": lambda: spinney.EnsembleSelectionClassifier(members(), cv=3),
    "our boosted stumps": lambda: spinney.AdaBoostClassifier(n_estimators=4),
    "stacking": lambda: StackingClassifier(members(), cv=3),
    "pipeline": lambda: make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)),
    "search": lambda: GridSearchCV(
        make_pipeline(StandardScaler(), BaggingClassifier(ScikitTree(), random_state=0)),
        {"baggingclassifier__n_estimators": [3, 4]},
        cv=2,
    ),
}


def plurality(predictions, classes):
    votes = (predictions[:, :, None] == classes).sum(axis=1)
    return classes[votes.argmax(axis=1)]


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", ENSEMBLES)
def test_members_answer_in_the_labels_of_the_ensemble(name, labels):
    table = pd.DataFrame(X, columns=list("abcd")) if labels == "texts" else X
    y = LABELS[labels]
    model = ENSEMBLES[name]().fit(table, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # columns with names where there were none, or none where there were
        predictions = member_predictions(model, table)
    assert set(predictions.ravel().tolist()) <= set(y.tolist())
    # Members fitted to these rows are mostly right: none speaks of other classes.
    assert (predictions == y[:, None]).mean(axis=0).min() > 0.5
    if name in ("forest", "bagging", "extra trees"):
        assert (plurality(predictions, model.classes_) == model.predict(table)).mean() > 0.97


def test_every_member_gets_its_own_columns():
    model = ENSEMBLES["patches"]().fit(X, LABELS["texts"])
    expected = [
        model.classes_[member.predict(X[:, columns])]
        for member, columns in zip(model.estimators_, model.estimators_features_, strict=True)
    ]
    assert np.array_equal(member_predictions(model, X), np.array(expected).T)


def test_members_that_met_few_classes_are_understood():
    """Rows drawn such that no member meets the first class: 1 is the code of the label 2, not the label 1."""
    y = np.array([1, 2, 2, 2, 2, 2, 2, 2])
    table = np.arange(8.0)[:, None]
    model = BaggingClassifier(KNeighborsClassifier(1), 3, max_samples=2, random_state=0).fit(table, y)
    assert all(member.classes_.tolist() == [1] for member in model.estimators_)
    assert (member_predictions(model, table) == 2).all()


def test_prefit_members_speak_for_themselves():
    y = LABELS["codes of others"]
    fitted = [(name, member.fit(X, y)) for name, member in members()]
    model = StackingClassifier(fitted, cv="prefit").fit(X, y)
    assert np.array_equal(member_predictions(model, X), np.array([one.predict(X) for _, one in fitted]).T)


def test_dropped_members_are_left_out():
    model = VotingClassifier([*members(), ("none", "drop")]).fit(X, LABELS["texts"])
    assert member_predictions(model, X).shape == (150, 2)


def test_spinney_members_keep_categories_and_gaps():
    table = pd.DataFrame({"color": ["red", "blue", None, "red"] * 5, "size": [1.0, np.nan, 2.0, 3.0] * 5})
    y = ["a", "b", "b", "a"] * 5
    trees = [spinney.C45Classifier().fit(table, y), spinney.DecisionTreeClassifier().fit(table, y)]
    assert member_predictions(trees, table).shape == (20, 2)
    assert member_predictions(tuple(trees), table)[:, 1].tolist() == y


def test_sparse_tables_stay_sparse():
    table, y = make_classification(60, 8, random_state=0)
    table[np.abs(table) < 0.5] = 0
    model = BaggingClassifier(ScikitTree(), 3, max_features=4, random_state=0).fit(table, y)
    assert np.array_equal(
        member_predictions(model, sparse.csr_matrix(table)), member_predictions(model, table)
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: RandomForestRegressor(4, random_state=0),
        lambda: BaggingRegressor(n_estimators=4, max_features=3, random_state=0),
        lambda: AdaBoostRegressor(n_estimators=4, random_state=0),
        lambda: VotingRegressor([("a", Ridge()), ("b", spinney.DecisionTreeRegressor())]),
    ],
)
def test_regressors_give_numbers(make):
    table, y = make_regression(80, 5, random_state=0)
    model = make().fit(table, y)
    predictions = member_predictions(model, table)
    assert predictions.shape == (80, len(model.estimators_))
    if not isinstance(model, AdaBoostRegressor):
        np.testing.assert_allclose(predictions.mean(axis=1), model.predict(table))


def test_several_outputs_come_last():
    table, y = make_regression(40, 5, n_targets=2, random_state=0)
    forest = RandomForestRegressor(3, random_state=0).fit(table, y)
    assert member_predictions(forest, table).shape == (40, 3, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: GradientBoostingClassifier(n_estimators=2),
        lambda: GradientBoostingRegressor(n_estimators=2),
        lambda: spinney.AdaBoostClassifier(n_estimators=2, algorithm="logit"),
    ],
)
def test_stages_of_a_sum_are_refused(make):
    for classes in (2, 3):
        rows = classes > TARGET
        with pytest.raises(InputError, match="do not predict by themselves"):
            member_predictions(make().fit(X[rows], TARGET[rows]), X)


@pytest.mark.parametrize(
    "model",
    [
        OneVsRestClassifier(ScikitTree()),
        OutputCodeClassifier(ScikitTree()),
        MultiOutputClassifier(ScikitTree()),
    ],
)
def test_parts_of_a_code_are_refused(model):
    y = TARGET[:, None] if isinstance(model, MultiOutputClassifier) else TARGET
    with pytest.raises(InputError, match="do not predict by themselves"):
        member_predictions(model.fit(X, y), X)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RandomForestClassifier(), "RandomForestClassifier has no estimators_"),
        (ScikitTree().fit(X, TARGET), "DecisionTreeClassifier has no estimators_"),
        ([], "no members"),
        ([ScikitTree().fit(X, TARGET), StandardScaler()], "StandardScaler, which cannot predict"),
    ],
)
def test_what_is_no_ensemble_is_refused(model, message):
    with pytest.raises(InputError, match=message):
        member_predictions(model, X)


def test_a_measure_takes_an_ensemble_with_its_rows():
    forest = RandomForestClassifier(5, random_state=0).fit(X, LABELS["texts"])
    assert np.array_equal(kappa(forest, X=X), kappa(member_predictions(forest, X)))
    of_right = disagreement(forest, LABELS["texts"], X=X)
    assert np.array_equal(of_right, disagreement(member_predictions(forest, X), LABELS["texts"]))
    for model in (forest, [forest, forest]):
        with pytest.raises(InputError, match=r"rows to predict are needed. Give them as X="):
            kappa(model)


def test_only_voting_ensembles_have_weights():
    y = TARGET.astype(float)
    assert member_weights(RandomForestRegressor(2).fit(X, y)) is None
    pair = [("a", Ridge()), ("b", Ridge())]
    assert member_weights(VotingRegressor(pair).fit(X, y)) is None
    assert member_weights(
        make_pipeline(StandardScaler(), VotingRegressor(pair, weights=[1, 2]).fit(X, y))
    ).tolist() == [1, 2]

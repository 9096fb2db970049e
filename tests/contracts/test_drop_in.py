"""What scikit-learn's estimators accept, warn of and answer, ours do, too."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.linear_model
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr

import spinney as sp
from spinney.core.errors import InputError
from spinney.io import dumps, loads

X = np.arange(30.0)[:, None]
Y = (X[:, 0] > 9).astype(int)
TREE = sp.DecisionTreeClassifier()
CLASSIFIERS = [
    sp.DecisionTreeClassifier(),
    sp.C45Classifier(),
    sp.ObliqueTreeClassifier(random_state=0),
    sp.RandomForestClassifier(3, random_state=0),
    sp.BaggingClassifier(random_state=0),
    sp.BaggingClassifier(voting="hard", random_state=0),
    sp.AdaBoostClassifier(n_estimators=3),
    sp.VotingClassifier([("tree", TREE)]),
    sp.StackingClassifier([("tree", TREE)]),
    sp.LogisticRegression(),
    sp.CategoricalNB(),
    sp.BernoulliNB(),
    sp.GaussianNB(),
    sp.LinearDiscriminantAnalysis(),
    sp.Perceptron(),
    sp.PassiveAggressiveClassifier(random_state=0),
    sp.SVC(),
]


@pytest.mark.parametrize("learner", CLASSIFIERS, ids=lambda learner: type(learner).__name__)
def test_a_batch_without_rows_has_no_predictions(learner):
    model = learner.fit(X, Y)
    assert model.predict(X[:0]).shape == (0,)
    if hasattr(model, "predict_proba"):
        assert model.predict_proba(X[:0]).shape == (0, 2)
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(X[:0], Y[:0])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.cut(X[:, 0], 4)),
        pd.Series(pd.arrays.IntervalArray.from_breaks(np.arange(31))),
        pd.Series(pd.period_range("2024-01", periods=30, freq="M")),
        pd.Series(pd.period_range("2024-01", periods=30, freq="M")).astype("category"),
    ],
    ids=["cut", "interval", "period", "period-category"],
)
def test_intervals_and_periods_are_categories_in_their_order(column):
    frame = pd.DataFrame({"when": column})
    model = sp.DecisionTreeRegressor().fit(frame, X[:, 0])
    assert model.score(frame, X[:, 0]) > 0.9
    levels = model.schema_.features[0].categories
    assert levels == tuple(map(str, pd.Index(column).astype("category").categories))
    assert_array_equal(loads(dumps(model)).predict(frame[:3]), model.predict(frame)[:3])


def test_the_members_of_adaboost_regression_need_no_weights():
    model = sp.AdaBoostRegressor(KNeighborsRegressor(2), n_estimators=4, random_state=0).fit(X, X[:, 0])
    assert model.score(X, X[:, 0]) > 0.9
    more = model.set_params(n_estimators=6, warm_start=True).fit(X, X[:, 0])
    assert len(more.estimators_) == 6


@pytest.mark.parametrize("learner", [sp.BaggingClassifier, sp.RandomForestClassifier])
def test_samples_may_be_larger_than_the_table(learner):
    model = learner(n_estimators=2, max_samples=1.5, random_state=0).fit(X, Y)
    assert {len(rows) for rows in model.estimators_samples_} == {45}


def test_samples_without_replacement_may_not():
    with pytest.raises(InputError, match="without replacement"):
        sp.BaggingClassifier(max_samples=1.5, bootstrap=False).fit(X, Y)


def test_dropped_members_have_their_name():
    model = sp.VotingClassifier([("tree", TREE), ("none", "drop")]).fit(X, Y)
    assert model.named_estimators_["none"] == "drop"
    assert model.named_estimators_["tree"] is model.estimators_[0]


def test_voting_and_stacking_pass_metadata_on_inside_of_another_router():
    tree, groups = sp.DecisionTreeClassifier(max_depth=2), np.arange(len(X)) // 3
    with sklearn.config_context(enable_metadata_routing=True):
        tree.set_fit_request(sample_weight=True)
        for learner in (sp.VotingClassifier, sp.StackingClassifier):
            model = learner([("tree", tree)], cv=GroupKFold(2))
            make_pipeline(model).fit(X, Y, sample_weight=np.ones(len(X)), groups=groups)
        scores = cross_validate(
            sp.VotingClassifier([("tree", tree)]), X, Y, cv=2, params={"sample_weight": np.ones(len(X))}
        )
    assert np.isfinite(scores["test_score"]).all()


@pytest.mark.parametrize("learner", [sp.BaggingClassifier, sp.RandomForestClassifier])
def test_a_warm_start_without_new_members_warns(learner):
    model = learner(n_estimators=2, warm_start=True, random_state=0).fit(X, Y)
    with pytest.warns(UserWarning, match="Warm-start fitting without increasing n_estimators"):
        model.fit(X, Y)


@pytest.mark.parametrize("learner", [sp.BaggingClassifier, sp.RandomForestClassifier])
def test_rows_without_an_out_of_bag_prediction_warn(learner):
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        learner(n_estimators=1, oob_score=True, random_state=0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner(n_estimators=50, oob_score=True, random_state=0).fit(X, Y)


@pytest.mark.parametrize("ensemble", [sp.VotingClassifier, sp.StackingClassifier])
def test_the_diagram_in_notebooks_shows_every_member(ensemble):
    model = ensemble([("first", sp.DecisionTreeClassifier()), ("second", sp.C45Classifier())])
    boxes = estimator_html_repr(model).count('<div class="sk-parallel-item">')
    assert boxes == (3 if ensemble is sp.StackingClassifier else 2)  # with the final estimator


@pytest.mark.parametrize("make", [sp.StackingClassifier, sp.EnsembleSelectionClassifier, sp.VotingClassifier])
def test_a_dict_of_columns_reaches_the_members(make):
    columns = {"number": X[:, 0].tolist(), "name": ["a", "b", "c"] * 10}
    model = make([("tree", TREE)]).fit(columns, Y)
    assert model.score(pd.DataFrame(columns), Y) == 1.0


def test_regressors_are_members_of_a_stack_of_classifiers():
    members = [("ridge", sp.Ridge()), ("tree", TREE)]
    model = sp.StackingClassifier(members).fit(X, np.where(Y, "high", "low"))
    assert model.stack_method_ == ["predict", "predict_proba"]
    assert model.transform(X).shape == (30, 2)
    assert model.score(X, np.where(Y, "high", "low")) == 1.0
    thirds = np.repeat(["a", "b", "c"], 10)  # in an order that one regression can learn
    assert sp.StackingClassifier([("ridge", sp.Ridge())]).fit(X, thirds).score(X, thirds) > 0.9


class Remembers(BaseEstimator):
    """A duck-typed classifier that keeps the arguments of its methods."""

    def fit(self, X, y, sample_weight=None, remark=None):
        self.classes_, self.remark_, self.n_rows_ = np.unique(y), remark, len(y)

    def predict(self, X, remark=None):
        self.asked_ = remark
        return np.repeat(self.classes_[:1], len(X))


def test_bagging_routes_metadata_to_the_members():
    learner = Remembers()
    with sklearn.config_context(enable_metadata_routing=True):
        learner.set_fit_request(remark=True).set_predict_request(remark=True)
        remarks = np.arange(30)
        model = sp.BaggingClassifier(learner, max_samples=10, random_state=0).fit(X, Y, remark=remarks)
        model.predict(X, remark="hm")
    member = model.estimators_[0]
    assert member.remark_ is remarks or len(member.remark_) == member.n_rows_
    assert member.asked_ == "hm"
    with pytest.raises(ValueError, match="enable_metadata_routing=True"):
        sp.BaggingClassifier().fit(X, Y, remark="hm")


@pytest.mark.parametrize("learner", [sp.BaggingClassifier, sp.RandomForestClassifier])
def test_a_warm_start_without_new_members_ignores_the_data(learner):
    model = learner(n_estimators=2, warm_start=True, random_state=0).fit(X, Y)
    before = model.predict_proba(X)
    with pytest.warns(UserWarning, match="Warm-start fitting without increasing n_estimators"):
        model.fit(X + 1000, Y)
    assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("make", [sp.BaggingRegressor, sp.AdaBoostRegressor])
def test_members_get_the_given_sparse_format(make):
    class Notes(sp.Ridge):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)
            self.format_ = X.format

    settings = {"max_samples": 5, "random_state": 0} if make is sp.BaggingRegressor else {"random_state": 0}
    model = make(Notes(), **settings).fit(sparse.csc_array(X), X[:, 0])
    assert {member.format_ for member in model.estimators_} == {"csc"}


def test_adaboost_takes_members_that_do_not_say_what_they_are():
    class Mean(BaseEstimator):
        def fit(self, X, y, sample_weight=None):
            self.mean_ = np.mean(y)
            return self

        def predict(self, X):
            return np.full(len(X), self.mean_)

    assert sp.AdaBoostRegressor(Mean(), n_estimators=2).fit(X, X[:, 0]).predict(X).shape == (30,)


def test_the_arrays_of_a_tree_predict():
    model = sp.DecisionTreeClassifier(random_state=0).fit(X, Y)
    assert_array_equal(model.tree_.apply(X), model.apply(X))
    assert_array_equal(model.tree_.predict(X), model.predict_proba(X))
    assert_array_equal(model.tree_.decision_path(X).toarray(), model.decision_path(X).toarray())
    with pytest.raises(InputError, match="splits categories"):
        sp.DecisionTreeClassifier().fit([["a"], ["b"]], [0, 1]).tree_.apply([[0.0]])


def test_chains_hand_on_logarithms_of_probabilities():
    labels = np.stack([Y, X[:, 0] > 20], axis=1)
    model = sp.ClassifierChain(sp.LogisticRegression(), chain_method="predict_log_proba").fit(X, labels)
    assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))


def test_linear_models_take_what_scikit_learns_do():
    ratios = [0.5, 0.9]
    model = sp.ElasticNetCV(alphas=[0.1, 1.0], l1_ratio=ratios, cv=3).fit(X, X[:, 0])
    assert model.alphas_.tolist() == [1.0, 0.1]  # once, as they do not depend on the ratio
    sp.Lasso().fit(X, X[:, 0], check_input=False)
    sp.LogisticRegressionCV(use_legacy_attributes=False)
    blocks = sparse.bsr_matrix(X)
    assert_array_equal(sp.Lasso().fit(blocks, X[:, 0]).coef_, sp.Lasso().fit(X, X[:, 0]).coef_)


@pytest.mark.parametrize("make", [sp.LinearRegression, sp.Ridge, sp.Lasso])
def test_a_target_of_one_column_has_the_shapes_of_scikit_learn(make):
    ours, theirs = make(), getattr(sklearn.linear_model, make.__name__)()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shapes = [(one.coef_.shape, one.predict(X).shape) for one in (ours.fit(X, X), theirs.fit(X, X))]
    assert shapes[0] == shapes[1]


def test_ensembles_of_trees_have_a_length():
    for make in (sp.RandomForestRegressor, sp.RandomTreesEmbedding, sp.IsolationForest):
        assert len(make(n_estimators=3, random_state=0).fit(X, X[:, 0])) == 3


def test_forests_have_the_tree_that_they_copy():
    assert sp.RandomForestClassifier(max_depth=3).estimator.max_depth == 3


def _reversed(base, method, **params):
    """An estimator of a class that reverses the order of the classes in one method of its base class."""

    def overridden(self, X):
        given = getattr(super(Reversed, self), method)(X)
        return -given if given.ndim == 1 else given[:, ::-1]

    Reversed = type("Reversed", (base,), {method: overridden})
    return Reversed(**params)


@pytest.mark.parametrize(
    ("base", "method", "params"),
    [
        (sp.RandomForestClassifier, "predict_proba", {"n_estimators": 3, "random_state": 0}),
        (sp.ExtraTreesClassifier, "predict_proba", {"n_estimators": 3, "random_state": 0}),
        (sp.BaggingClassifier, "predict_proba", {"random_state": 0}),
        (sp.VotingClassifier, "predict_proba", {"estimators": [("tree", TREE)], "voting": "soft"}),
        (sp.EnsembleSelectionClassifier, "predict_proba", {"estimators": [("tree", TREE)]}),
        (sp.LogisticRegression, "decision_function", {}),
        (sp.LinearSVC, "decision_function", {}),
        (sp.LinearDiscriminantAnalysis, "decision_function", {}),
        (sp.AdaBoostClassifier, "decision_function", {"n_estimators": 5}),
        (sp.Perceptron, "decision_function", {}),
        (sp.PassiveAggressiveClassifier, "decision_function", {"random_state": 0}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_overridden_probabilities_and_decisions_decide_the_class(base, method, params):
    model = _reversed(base, method, **params).fit(X, Y)
    assert model.score(X, Y) < 0.2
    assert base(**params).fit(X, Y).score(X, Y) > 0.8


@pytest.mark.parametrize("base", [sp.DecisionTreeRegressor, sp.RandomForestRegressor, sp.Ridge, sp.SVR])
def test_a_subclass_may_set_attributes_before_it_calls_the_inherited_fit(base):
    class Scaled(base):
        def fit(self, X, y):
            self.scale_ = float(np.abs(X).max())
            return super().fit(X / self.scale_, y)

    assert Scaled().fit(X, Y).scale_ == 29.0


@pytest.mark.parametrize("ranges", [pd.cut(X[:, 0], 4), pd.period_range("2024-01", periods=30, freq="M")])
def test_intervals_and_periods_as_python_objects_are_the_same_categories(ranges):
    column, objects = pd.DataFrame({"q": ranges}), pd.DataFrame({"q": pd.Series(ranges).astype(object)})
    for table in (column, objects):
        model = sp.DecisionTreeRegressor().fit(table, X[:, 0])
        assert_array_equal(model.predict(objects), model.predict(column))
        assert model.predict([{"q": ranges[0]}])[0] == model.predict(column)[0]


def test_arrow_text_without_rows_has_no_predictions():
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"x": X[:, 0], "text": np.repeat(["a", "b"], 15)})
    frame["text"] = frame["text"].astype(pd.ArrowDtype(pa.string()))
    model = sp.DecisionTreeClassifier().fit(frame, Y)
    assert model.predict(frame.iloc[:0]).shape == (0,)
    empty = {"x": pa.chunked_array([], pa.float64()), "text": pa.chunked_array([], pa.string())}
    assert model.predict(pa.table(empty)).shape == (0,)

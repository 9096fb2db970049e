import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import tree as sklearn_tree
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score

from spinney import DecisionTreeClassifier, DecisionTreeRegressor, export_text
from spinney.datasets import load_watermelon3
from spinney.io import dumps, loads
from trees.reference import same_tree, stairs


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
def test_classification_agrees_with_scikit_learn(criterion):
    X, y = load_iris(return_X_y=True)
    ours = DecisionTreeClassifier(criterion=criterion, max_depth=3).fit(X, y)
    theirs = sklearn_tree.DecisionTreeClassifier(criterion=criterion, max_depth=3, random_state=0).fit(X, y)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    assert ours.tree_.impurity[0] == pytest.approx(theirs.tree_.impurity[0], abs=1e-9)


@pytest.mark.parametrize("criterion", ["squared_error", "friedman_mse", "absolute_error", "poisson"])
@pytest.mark.filterwarnings("ignore:.*friedman_mse.*:FutureWarning")
def test_regression_agrees_with_scikit_learn(criterion):
    X, y = load_diabetes(return_X_y=True)
    params = {"criterion": criterion, "max_depth": 3, "min_samples_leaf": 5}
    ours = DecisionTreeRegressor(max_bins=None, **params).fit(X, y)
    theirs = sklearn_tree.DecisionTreeRegressor(random_state=0, **params).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_the_attributes_of_scikit_learns_trees_are_there():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_features="sqrt", random_state=0).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.n_classes_, model.n_outputs_, model.n_features_in_, model.max_features_) == (3, 1, 4, 2)
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.tree_.max_depth == model.get_depth()
    leaves = model.apply(X)
    path = model.decision_path(X)
    assert path.shape == (150, model.tree_.node_count)
    assert all(path[i, leaf] == 1 for i, leaf in enumerate(leaves))
    assert_array_equal(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    refitted = model.fit(X.to_numpy(), y)
    assert not hasattr(refitted, "feature_names_in_")


def test_it_works_inside_scikit_learns_tools():
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(DecisionTreeClassifier(max_depth=3), X, y).mean() > 0.9
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 3]}, cv=3).fit(X, y)
    assert search.best_params_ == {"max_depth": 3}


# ---- categories ----


def test_categories_are_split_by_subset_or_one_from_the_rest():
    X = pd.DataFrame({"letter": list("abcdef") * 5})
    y = [c in "ace" for c in X["letter"]]
    subset = DecisionTreeClassifier(max_depth=1).fit(X, y)
    assert subset.score(X, y) == 1.0
    one = DecisionTreeClassifier(max_depth=1, categorical_split="one-vs-rest").fit(X, y)
    assert 0.5 < one.score(X, y) < 1.0
    assert one.tree_.goes_first(0, 6).sum() in (1, 5)


def test_numbers_may_be_named_as_categories():
    X = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 5.0]] * 3)
    y = [0, 1, 0, 1] * 3
    assert DecisionTreeClassifier(max_depth=1).fit(X, y).score(X, y) < 1.0
    assert DecisionTreeClassifier(max_depth=1, categorical_features=[0]).fit(X, y).score(X, y) == 1.0


def test_frames_are_coded_by_value_not_by_position():
    train = pd.DataFrame({"c": pd.Categorical(["x", "y", "z"] * 4, categories=["z", "y", "x"])})
    y = np.array([0, 1, 2] * 4)
    model = DecisionTreeClassifier().fit(train, y)
    for other in (
        pd.DataFrame({"c": pd.Categorical(["x", "y", "z"], categories=["x", "y", "z", "w"])}),
        pd.DataFrame({"c": ["x", "y", "z"]}),
        pl.DataFrame({"c": ["x", "y", "z"]}),
        pl.DataFrame({"c": ["x", "y", "z"]}, schema={"c": pl.Categorical}),
    ):
        assert model.predict(other).tolist() == [0, 1, 2]


# ---- missing values ----


def test_a_missing_value_that_means_something_is_used():
    X = np.array([[1.0], [2.0], [np.nan], [3.0], [np.nan], [4.0]] * 4)
    y = np.isnan(X[:, 0]).astype(int)
    model = DecisionTreeClassifier().fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.get_depth() == 1


def test_fractional_rows_add_up_leaf_distributions():
    X, y = np.array([[0.0], [0.0], [0.0], [1.0]]), [0, 0, 0, 1]
    model = DecisionTreeClassifier(missing="fractional").fit(X, y)
    assert_allclose(model.predict_proba([[np.nan]]), [[0.75, 0.25]])
    assert_allclose(model.decision_path([[np.nan]]).toarray(), [[1.0, 0.75, 0.25]])


# ---- several outputs, weights, constraints ----


def test_several_outputs():
    X, y = stairs()
    Y = np.column_stack([y, X[:, 1] > 0.5])
    model = DecisionTreeClassifier().fit(X, Y)
    assert_array_equal(model.predict(X), Y)
    assert model.n_outputs_ == 2 and model.n_classes_.tolist() == [3, 2]
    assert [p.shape for p in model.predict_proba(X)] == [(400, 3), (400, 2)]
    regression = DecisionTreeRegressor().fit(X, Y.astype(float))
    assert_array_equal(regression.predict(X), Y)
    theirs = sklearn_tree.DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, Y)
    ours = DecisionTreeRegressor(max_depth=2, max_bins=None).fit(X, Y)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-12)


def test_class_weights_are_row_weights():
    X, y = stairs()
    given = DecisionTreeClassifier(max_depth=2, class_weight={0: 2.0, 1: 1.0, 2: 0.5}).fit(X, y)
    rows = DecisionTreeClassifier(max_depth=2).fit(X, y, np.array([2.0, 1.0, 0.5])[y])
    assert_array_equal(given.predict_proba(X), rows.predict_proba(X))
    balanced = DecisionTreeClassifier(max_depth=1, class_weight="balanced").fit(X, y)
    assert_allclose(balanced.tree_.value[0, 0], [1 / 3] * 3, atol=1e-12)
    both = [{0: 1.0, 1: 2.0, 2: 3.0}, {0: 1.0, 1: 5.0}]
    DecisionTreeClassifier(class_weight=both).fit(X, np.column_stack([y, y > 1]).astype(int))


@pytest.mark.parametrize("sign", [1, -1])
def test_monotone_trees_are_monotone(sign):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, 2))
    signal = sign * X[:, 0] + np.sin(9 * X[:, 0]) + X[:, 1]
    grid = np.column_stack([np.tile(np.linspace(0, 1, 50), 20), np.repeat(np.linspace(0, 1, 20), 50)])
    regressor = DecisionTreeRegressor(monotonic_cst=[sign, 0]).fit(X, signal)
    by_name = DecisionTreeRegressor(monotonic_cst={"x0": sign}).fit(X, signal)
    np.testing.assert_array_equal(by_name.predict(X), regressor.predict(X))
    classifier = DecisionTreeClassifier(monotonic_cst=[sign, 0]).fit(X, signal > np.median(signal))
    for found in (regressor.predict(grid), classifier.predict_proba(grid)[:, 1]):
        assert (sign * np.diff(found.reshape(20, 50), axis=1) >= -1e-12).all()
        assert np.ptp(found) > 0
    with pytest.raises(ValueError, match="multiple outputs"):
        DecisionTreeRegressor(monotonic_cst=[1, 0]).fit(X, X)
    with pytest.raises(ValueError, match="multiclass"):
        DecisionTreeClassifier(monotonic_cst=[1, 0]).fit(X, np.arange(500) % 3)


def test_a_column_vector_y_is_taken_with_a_warning():
    from sklearn.exceptions import DataConversionWarning

    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = DecisionTreeRegressor().fit([[1], [2]], [[1.0], [2.0]])
    assert model.predict([[1]]).shape == (1,)


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(["u", "v"] * 4),
        pd.Series(["u", "v"] * 4, dtype="category"),
        pd.Series([True, False] * 4),
        pd.Series([5, 6] * 4, dtype="Int64"),
        pl.Series(["u", "v"] * 4),
        pl.Series([5, 6] * 4),
        np.array(["u", "v"] * 4),
        np.array([b"u", b"v"] * 4),
        pa.array(["u", "v"] * 4),
        pa.chunked_array([["u", "v"] * 4]),
        [2**40, -(2**40)] * 4,
        [3.0, 1e15] * 4,
    ],
    ids=lambda y: f"{type(y).__module__}-{getattr(y, 'dtype', '')}",
)
def test_labels_of_any_kind(y):
    X = np.array([[0.0], [1.0]] * 4)
    model = DecisionTreeClassifier().fit(X, y)
    labels = np.asarray(y).tolist()
    assert model.predict(X).tolist() == labels
    assert model.classes_.tolist() == sorted(set(labels))


# ---- costs ----


def test_prices_move_the_choice_to_cheap_features():
    X, y = load_watermelon3()
    free = DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(X, y)
    chosen = X.columns[free.tree_.feature[0]]
    for rule in ("tan", "tan-linear", "nunez"):
        dear = DecisionTreeClassifier(
            criterion="entropy", max_depth=1, feature_costs={chosen: 1000.0}, cost_rule=rule
        ).fit(X, y)
        assert X.columns[dear.tree_.feature[0]] != chosen
        assert dear.expected_cost() == pytest.approx(1.0)


def test_expected_cost_pays_each_feature_once_a_path():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 1.0], [3.0, 0.0]])
    y = [0, 1, 0, 2, 3]
    model = DecisionTreeClassifier(feature_costs=[2.0, 5.0]).fit(X, y)
    paths = model.decision_path(X).toarray()
    paid = []
    for row in paths:
        used = {int(model.tree_.feature[n]) for n in np.flatnonzero(row)} - {-2}
        paid.append(sum([2.0, 5.0][j] for j in used))
    assert model.expected_cost(X) == pytest.approx(np.mean(paid))
    assert model.expected_cost() == pytest.approx(np.mean(paid))
    assert model.expected_cost(X[:1]) == pytest.approx(paid[0])
    unpriced = DecisionTreeClassifier().fit(X, y)
    assert unpriced.expected_cost(X) <= 2.0


# ---- fractional rows ----


@pytest.mark.parametrize("factor", [1e-100, 1e-9, 1.0, 1e9, 1e100])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "absolute_error", "poisson"])
def test_known_rows_that_agree_are_not_divided(criterion, factor):
    X = np.r_[np.arange(200.0), np.nan][:, None]
    y = np.r_[np.zeros(200), 1.0]
    classes = criterion in ("gini", "entropy")
    make = DecisionTreeClassifier if classes else DecisionTreeRegressor
    model = make(criterion=criterion, missing="fractional")
    assert model.fit(X, y if classes else y * factor).get_n_leaves() == 1


@pytest.mark.parametrize("factor", [2.0**-660, 2.0**-330, 2.0**-30, 1.0, 2.0**30, 2.0**660])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_splits_that_tell_something_are_kept_with_fractional_rows(criterion, factor):
    X, y = stairs(300)
    X[::7, 0] = np.nan
    make = lambda y: DecisionTreeRegressor(criterion=criterion, missing="fractional", max_depth=4).fit(X, y)  # noqa: E731
    # A leaf of divided rows must have the weight 1, which is nothing beside these.
    heavy, heavier = (
        make(1.0 + y).fit(X, 1.0 + y, sample_weight=np.full(300, weight)) for weight in (2.0**100, 2.0**600)
    )
    leaves = make(1.0 + y).get_n_leaves()
    assert 2 < leaves <= heavy.get_n_leaves() == heavier.get_n_leaves()
    assert make((1.0 + y) * factor).get_n_leaves() == leaves


def test_without_missing_values_both_policies_divide_alike():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 2)
    y = [0, 1, 1, 0] * 2  # no first split has any gain
    direction, fractional = (
        DecisionTreeClassifier(missing=missing).fit(X, y) for missing in ("direction", "fractional")
    )
    assert direction.get_n_leaves() == fractional.get_n_leaves() == 4


# ---- reading ----


def test_rules_and_text_tell_where_missing_values_go_if_there_were_any():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0, np.nan, np.nan, 3.0], "b": [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]})
    y = [0, 0, 1, 1, 1, 1]
    model = DecisionTreeClassifier().fit(X, y)
    assert [feature.has_missing for feature in model.schema_.features] == [True, False]
    for read in (model, loads(dumps(model))):
        told = [rule.condition for rule in read.rules()]
        assert told == ["a <= 2.5", "(a > 2.5 or missing)"]
        assert "a >  2.50 or missing" in export_text(read) and export_text(read).count("missing") == 1
    assert "missing" not in str(model.rules(show_missing=False))
    assert str(model.rules(show_missing=True)) == str(model.rules())
    divided = DecisionTreeClassifier(missing="fractional").fit(X, y)
    assert "missing" not in str(divided.rules()) + export_text(divided)
    assert "missing" not in str(model.fit(X.fillna(3.0), y).rules())
    assert str(model.rules(show_missing=True)).count("or missing") == 1


def test_known_or_missing_is_a_rule_in_words():
    model = DecisionTreeClassifier().fit([[1.0], [2.0], [np.nan], [np.nan]], [0, 0, 1, 1])
    assert [rule.condition for rule in model.rules()] == ["x0 is known", "x0 is missing"]
    model = DecisionTreeClassifier().fit(pd.DataFrame({"c": ["u", "v", None, None]}), [0, 0, 1, 1])
    assert [rule.condition for rule in model.rules()] == ["c is known", "c is missing"]


def test_rules_text_and_ledger_speak_of_the_same_tree():
    X, y = load_watermelon3()
    model = DecisionTreeClassifier(ledger=True, max_depth=2).fit(X, y)
    rules = model.rules()
    assert len(rules) == model.get_n_leaves()
    assert sum(rule.share for rule in rules) == pytest.approx(1.0)
    text = export_text(model)
    root = X.columns[model.tree_.feature[0]]
    assert root in text and root in str(rules)
    records = [row for row in model.ledger_.to_records() if row["node"] == 0]
    assert [row["feature"] for row in records if row["chosen"]] == [root]
    assert {row["feature"] for row in records} == set(X.columns)


def test_the_ledger_does_not_change_the_tree():
    X, y = stairs()
    X[::9, 1] = np.nan
    plain = DecisionTreeClassifier().fit(X, y)
    for ledger in (True, "full"):
        assert same_tree(plain.tree_, DecisionTreeClassifier(ledger=ledger).fit(X, y).tree_)
    assert not hasattr(plain, "ledger_")


def test_the_same_seed_gives_the_same_tree_and_another_another():
    X, y = stairs()
    make = lambda seed: DecisionTreeClassifier(splitter="random", random_state=seed).fit(X, y).tree_  # noqa: E731
    assert same_tree(make(1), make(1))
    assert not same_tree(make(1), make(2))


def test_ties_favour_no_column_and_follow_the_random_state():
    rng = np.random.default_rng(0)
    column, y = rng.normal(size=(400, 1)), rng.integers(0, 2, 400)
    X = np.repeat(column, 4, axis=1)  # every split is a tie of four
    one, again, other = (DecisionTreeClassifier(random_state=seed).fit(X, y) for seed in (1, 1, 2))
    used = np.bincount(one.tree_.feature[~one.tree_.is_leaf], minlength=4)
    assert used.min() > 0.15 * used.sum()
    assert same_tree(one.tree_, again.tree_)
    assert not same_tree(one.tree_, other.tree_)
    assert same_tree(*(DecisionTreeClassifier().fit(X, y).tree_ for _ in range(2)))  # ties need no seed


def test_a_category_that_a_node_never_saw_goes_to_the_heavier_child():
    X = pd.DataFrame(
        {"z": [0.0] * 100 + [1.0] * 100, "c": ["u"] * 98 + ["v"] * 2 + ["u", "w", "v", "w"] * 25}
    )
    y = np.r_[np.zeros(98), 9.0, 9.0, np.full(100, 5000.0)]
    new = pd.DataFrame({"z": [0.0], "c": ["w"]})
    for missing in ("fractional", "direction"):
        assert DecisionTreeRegressor(missing=missing).fit(X, y).predict(new).tolist() == [0.0]


def test_a_random_cut_is_found_between_wide_bins():
    rng = np.random.default_rng(0)
    x = np.r_[rng.uniform(0, 1, 5000), rng.uniform(2, 1000, 20)]
    y = (x > 0.5).astype(int)
    for seed in range(20):
        model = DecisionTreeClassifier(max_bins=2, splitter="random", random_state=seed)
        assert model.fit(x[:, None], y).get_n_leaves() == 2


@pytest.mark.parametrize("random_state", [13636796608663947073, 10107720573005239498])
def test_a_random_split_of_two_categories_always_separates_them(random_state):
    # For one seed in 65,536 the first sixteen subsets drawn are empty or complete.
    tree = DecisionTreeClassifier(splitter="random", random_state=random_state)
    assert tree.fit([["a"], ["b"]], [0, 1]).get_n_leaves() == 2

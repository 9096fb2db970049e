"""Forests: each tree is grown on its bootstrap sample, and predictions are the mean of the trees."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, mean_absolute_error

import spinney as sp
from contracts.learners import mixed_data
from spinney.core.errors import InputError, ModelFileError
from spinney.core.parameters import draw_seed
from spinney.data.schema import read_table
from spinney.data.weights import apply_class_weights
from spinney.io import dumps, loads
from spinney.tree.grower import Grower
from spinney.tree.pruning import cost_complexity

CLASSIFIERS = [sp.RandomForestClassifier, sp.ExtraTreesClassifier]
REGRESSORS = [sp.RandomForestRegressor, sp.ExtraTreesRegressor]
FORESTS = CLASSIFIERS + REGRESSORS
each = pytest.mark.parametrize("forest", FORESTS, ids=lambda forest: forest.__name__)


def kind_of(forest):
    return "classifier" if forest in CLASSIFIERS else "regressor"


def tree_of(forest, **params):
    make = sp.DecisionTreeClassifier if forest in CLASSIFIERS else sp.DecisionTreeRegressor
    splitter = "random" if forest.__name__.startswith("Extra") else "best"
    return make(splitter=splitter, **params)


def sample_counts(model, t, n_rows):
    return np.bincount(model.estimators_samples_[t], minlength=n_rows)


# ---- growing ----


def tree_alone(forest, X, y, weights, member, **params):
    """Grow one tree with the seed of a member, which in a forest also breaks ties between features."""
    tree = tree_of(forest, random_state=member.random_state, **params)
    training = tree.read_training_set(X, y).coded(tree.max_bins)
    seed = draw_seed(member.random_state)
    weights = apply_class_weights(np.asarray(weights, dtype=float), tree.class_weight, training.labels)
    training = replace(training, weights=weights, seed=seed)
    plan = tree.grow_plan(training).replace(tie_seed=seed)
    return Grower(training.codes).grow(training.target(weights), plan).tree


def assert_same_tree(tree, other):
    for name in ("kind", "feature", "threshold", "missing", "value", "weight", "n_samples", "set_bits"):
        assert_array_equal(getattr(tree, name), getattr(other, name), err_msg=name)


@each
@pytest.mark.parametrize("max_features", [None, 1, "sqrt", "log2", 0.5])
def test_a_member_is_the_tree_of_its_sample(forest, max_features):
    """With all features per node (bagging) and with one, a member is the tree that one estimator grows."""
    X, y, _ = mixed_data(kind_of(forest), 150)
    model = forest(4, max_features=max_features, bootstrap=True, random_state=3).fit(X, y)
    for t, member in enumerate(model.estimators_):
        counts = sample_counts(model, t, 150)
        assert_same_tree(tree_alone(forest, X, y, counts, member, max_features=max_features), member.tree_)


def test_ties_between_equal_features_are_broken_at_random():
    """Two equal features have equal scores at every node: each is the root split of half of the trees."""
    x = np.random.default_rng(0).normal(size=(200, 1))
    model = sp.RandomForestRegressor(60, max_features=None, random_state=0).fit(np.hstack([x, x]), x[:, 0])
    roots = model.ensemble_.feature[model.ensemble_.tree_begin[:-1]]
    assert 15 < roots.sum() < 45


def test_trees_with_all_features_are_those_of_bagging():
    """Except for ties, of which there are none here."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 3))  # few enough for each number to have its own bin
    y = X @ [3.0, 2.0, 1.0] + rng.normal(size=250)
    model = sp.RandomForestRegressor(4, max_features=None, min_samples_leaf=25, random_state=0).fit(X, y)
    for t, member in enumerate(model):
        alone = sp.DecisionTreeRegressor(min_samples_leaf=25).fit(X, y, sample_counts(model, t, 250))
        assert_same_tree(alone.tree_, member.tree_)


def test_with_one_feature_per_node_all_features_are_equally_likely_at_the_root():
    X, y = make_classification(200, 8, random_state=0)
    model = sp.RandomForestClassifier(800, max_features=1, max_depth=1, random_state=0).fit(X, y)
    roots = model.ensemble_.feature[model.ensemble_.tree_begin[:-1]]
    assert stats.chisquare(np.bincount(roots, minlength=8)).pvalue > 1e-4


def test_balanced_subsample_balances_the_classes_of_each_sample():
    X, y, _ = mixed_data("classifier", 150)
    y = np.minimum(y, 1)
    model = sp.RandomForestClassifier(3, class_weight="balanced_subsample", random_state=0).fit(X, y)
    for t, member in enumerate(model):
        counts = sample_counts(model, t, 150).astype(float)
        per_class = np.bincount(y, weights=counts)
        weights = counts * (counts.sum() / (2 * per_class))[y]
        alone = tree_alone(sp.RandomForestClassifier, X, y, weights, member, max_features="sqrt")
        assert_array_equal(alone.feature, member.tree_.feature)
        assert_allclose(alone.value, member.tree_.value, rtol=1e-12)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 5.0, 2: 0.5}])
def test_class_weights_are_those_of_a_tree(class_weight):
    X, y, _ = mixed_data("classifier", 150)
    model = sp.RandomForestClassifier(2, class_weight=class_weight, random_state=0).fit(X, y)
    for t, member in enumerate(model):
        counts = sample_counts(model, t, 150)
        more = {"max_features": "sqrt", "class_weight": class_weight}
        assert_same_tree(tree_alone(sp.RandomForestClassifier, X, y, counts, member, **more), member.tree_)


@each
def test_integer_weights_are_copies_and_positions_do_not_matter(forest):
    X, y, _ = mixed_data(kind_of(forest), 120)
    weights = np.random.default_rng(0).integers(0, 4, 120).astype(float)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(120), weights.astype(int)))
    weighted = forest(5, random_state=0, bootstrap=True).fit(X, y, weights)
    copied = forest(5, random_state=0, bootstrap=True).fit(X.iloc[rows], y[rows])
    same = ("feature", "threshold", "weight", "value")
    for name in same:
        assert_allclose(
            getattr(weighted.ensemble_, name), getattr(copied.ensemble_, name), rtol=1e-12, err_msg=name
        )


@each
def test_other_weights_are_probabilities_or_weights(forest):
    X, y, weights = mixed_data(kind_of(forest), 150)
    drawn = forest(2, bootstrap=True, random_state=0).fit(X, y, weights)
    assert all((weights[rows] > 0).all() for rows in drawn.estimators_samples_)
    kept = forest(1, bootstrap=False, max_features=None, random_state=0).fit(X, y, weights)
    assert_array_equal(tree_alone(forest, X, y, weights, kept[0]).value, kept[0].tree_.value)


@each
def test_any_number_of_threads_gives_the_same_bytes(forest):
    X, y, weights = mixed_data(kind_of(forest), 400)
    models = [
        forest(9, n_jobs=n_jobs, random_state=0, oob_score=True, bootstrap=True).fit(X, y, weights)
        for n_jobs in (1, 2, 5)
    ]
    files = {dumps(model.set_params(n_jobs=None)) for model in models}
    assert len(files) == 1


@each
def test_a_warm_start_gives_what_one_fit_gives(forest):
    X, y, _ = mixed_data(kind_of(forest), 150)
    model = forest(3, warm_start=True, random_state=0).fit(X, y).set_params(n_estimators=8).fit(X, y)
    once = forest(8, warm_start=True, random_state=0).fit(X, y)
    assert dumps(model) == dumps(once)
    with pytest.raises(InputError, match="can only grow"):
        model.set_params(n_estimators=2).fit(X, y)
    assert len(model) == 8


@each
def test_a_warm_start_adds_trees_grown_on_other_rows(forest):
    X, y, _ = mixed_data(kind_of(forest), 300)
    settings = {"bootstrap": True, "oob_score": True, "random_state": 0, "warm_start": True}
    model = forest(3, **settings).fit(X[:150], y[:150])
    first = [tree.tree_.threshold for tree in model]
    model.set_params(n_estimators=40).fit(X[150:], y[150:])
    for tree, threshold in zip(model, first, strict=False):
        assert_array_equal(tree.tree_.threshold, threshold)
    assert [len(rows) for rows in model.estimators_samples_] == [0] * 3 + [150] * 37
    # Only the later trees are known not to have seen some of the rows.
    total, later = np.zeros(150), X[150:]
    times = np.zeros(150)
    for tree, rows in list(zip(model, model.estimators_samples_, strict=True))[3:]:
        unseen = np.setdiff1d(np.arange(150), rows)
        predict = tree.predict_proba if hasattr(tree, "predict_proba") else tree.predict
        total[unseen] += predict(later.iloc[unseen]).reshape(len(unseen), -1)[:, 0]
        times[unseen] += 1
    found = vars(model).get("oob_prediction_", vars(model).get("oob_decision_function_"))
    assert_allclose(found.reshape(150, -1)[:, 0], total / times)
    again = loads(dumps(model))
    for one in (model, again):
        one.set_params(n_estimators=42).fit(X[150:], y[150:])
    assert dumps(again) == dumps(model) and len(model) == 42


@each
def test_a_warm_start_reads_other_rows_as_the_earlier_trees_do(forest):
    kinds = pd.Series(["red", "blue", "green"] * 20)
    y = (kinds == "green").astype(int)
    model = forest(2, warm_start=True, max_features=None, random_state=0).fit(kinds.to_frame("kind"), y)
    later = kinds[kinds != "blue"]  # the codes of the rest would be others
    model.set_params(n_estimators=4).fit(later.to_frame("kind"), y[later.index])
    assert model.schema_.features[0].categories == ("blue", "green", "red")
    for tree in model:
        assert_array_equal(tree.predict(pd.DataFrame({"kind": ["green", "red"]})), [1, 0])
    with pytest.raises(InputError, match="numbers"):
        model.set_params(n_estimators=5).fit(pd.DataFrame({"kind": np.arange(60.0)}), y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.fit(kinds.to_frame("color"), y)


def test_a_warm_start_with_other_classes_or_kept_targets_is_refused():
    X, y = make_classification(80, random_state=0)
    model = sp.RandomForestClassifier(2, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="y has others than in the first fit"):
        model.set_params(n_estimators=3).fit(X, y + 1)
    kept = sp.RandomForestRegressor(2, warm_start=True, keep_targets=True, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="keep_targets=True keeps the rows of every leaf"):
        kept.set_params(n_estimators=3).fit(X[:50], y[:50])


def test_trees_are_pruned_by_cost_and_complexity():
    X, y, _ = mixed_data("classifier", 200)
    model = sp.RandomForestClassifier(3, ccp_alpha=0.02, random_state=0).fit(X, y)
    for t, member in enumerate(model):
        counts = sample_counts(model, t, 200)
        whole = tree_alone(sp.RandomForestClassifier, X, y, counts, member, max_features="sqrt")
        assert_same_tree(cost_complexity(whole, 0.02), member.tree_)


@each
@pytest.mark.parametrize("weighed", ["twice", "chances", "not"])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_leaves_have_their_fraction_of_the_weight_of_a_sample(forest, weighed, bootstrap):
    X, y, chances = mixed_data(kind_of(forest), 200)
    weights = {"twice": np.full(200, 2.0), "chances": 7 * chances, "not": None}[weighed]
    more = {"min_weight_fraction_leaf": 0.1, "bootstrap": bootstrap, "random_state": 0}
    model = forest(5, **more).fit(X, y, weights)
    shares = [tree.weight[tree.is_leaf] / tree.weight[0] for tree in model.ensemble_.trees()]
    assert min(map(min, shares)) >= 0.1 - 1e-9
    assert max(map(len, shares)) > 3  # no leaf is larger than it must be: it could be divided again
    assert min(map(min, shares)) < 0.2


def test_monotone_constraints_costs_and_leaves_reach_the_trees():
    rng = np.random.default_rng(0)
    X = rng.random((300, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=300)
    model = sp.RandomForestRegressor(10, monotonic_cst=[1, 0, 0], random_state=0).fit(X, y)
    line = np.column_stack([np.linspace(0, 1, 50), np.full(50, 0.5), np.full(50, 0.5)])
    assert (np.diff(model.predict(line)) >= 0).all()
    dear = sp.RandomForestRegressor(5, feature_costs=[1e6, 1, 1], max_depth=1, random_state=0).fit(X, y)
    assert 0 not in dear.ensemble_.feature
    small = sp.ExtraTreesRegressor(5, max_leaf_nodes=4, random_state=0).fit(X, y)
    assert all(member.get_n_leaves() == 4 for member in small)


def test_oblique_trees_are_an_option():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X.sum(axis=1) > 0).astype(int)
    plain = sp.RandomForestClassifier(5, max_depth=2, max_features=None, random_state=0).fit(X, y)
    oblique = sp.RandomForestClassifier(
        5, max_depth=2, max_features=None, n_directions=10, random_state=0
    ).fit(X, y)
    assert isinstance(oblique[0], sp.ObliqueTreeClassifier)
    assert oblique.score(X, y) > plain.score(X, y) + 0.1
    with pytest.raises(InputError, match="neither monotonic_cst"):
        oblique.set_params(monotonic_cst=[1, 0, 0, 0]).fit(X, y)


# ---- predictions ----


@each
def test_predictions_are_the_mean_of_the_trees(forest):
    X, y, _ = mixed_data(kind_of(forest), 200)
    model = forest(7, random_state=0).fit(X[:150], y[:150])
    if forest in CLASSIFIERS:
        mean = np.mean([tree.predict_proba(X) for tree in model], axis=0)
        assert_allclose(model.predict_proba(X), mean, rtol=1e-12)
        assert_array_equal(model.predict(X), model.classes_[mean.argmax(axis=1)])
        with np.errstate(divide="ignore"):
            assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    else:
        assert_allclose(model.predict(X), np.mean([tree.predict(X) for tree in model], axis=0), rtol=1e-12)
    assert_array_equal(model.apply(X), np.stack([tree.apply(X) for tree in model], axis=1))
    path, begin = model.decision_path(X)
    assert_array_equal(begin, np.cumsum([0, *(tree.tree_.node_count for tree in model)]))
    assert_array_equal(path[:, : begin[1]].toarray(), model[0].decision_path(X).toarray())
    each_tree = np.mean([tree.feature_importances_ for tree in model], axis=0)
    assert_allclose(model.feature_importances_, each_tree / each_tree.sum())


@each
def test_several_outputs_at_once(forest):
    X, y, _ = mixed_data(kind_of(forest), 150)
    if forest in CLASSIFIERS:
        several = np.column_stack([y, y > 0])
        model = forest(5, bootstrap=True, oob_score=True, random_state=0).fit(X, several)
        assert [part.shape for part in model.predict_proba(X)] == [(150, 3), (150, 2)]
        assert model.oob_decision_function_.shape == (150, 3, 2)  # as in scikit-learn
        assert (model.oob_decision_function_[:, 2, 1] == 0).all()
        assert model.n_classes_.tolist() == [3, 2]
    else:
        several = np.column_stack([y, -y])
        model = forest(5, bootstrap=True, oob_score=True, random_state=0).fit(X, several)
        assert_allclose(model.predict(X)[:, 0], -model.predict(X)[:, 1], atol=1e-12)
        assert model.oob_prediction_.shape == (150, 2)
    assert model.predict(X).shape == (150, 2) and model.n_outputs_ == 2
    assert_array_equal(loads(dumps(model)).predict(X), model.predict(X))


def test_a_sparse_table_is_read_as_a_dense_one():
    X, y = make_classification(200, 10, random_state=0)
    X[np.abs(X) < 0.7] = 0
    dense = sp.RandomForestClassifier(5, random_state=0).fit(X, y)
    thin = sp.RandomForestClassifier(5, random_state=0).fit(sparse.csr_array(X), y)
    assert_array_equal(dense.predict_proba(X), thin.predict_proba(sparse.csr_array(X)))


# ---- out of bag ----


@each
@pytest.mark.parametrize("weighted", [False, True])
def test_only_trees_that_did_not_see_a_row_predict_it_out_of_bag(forest, weighted):
    X, y, weights = mixed_data(kind_of(forest), 120)
    fit = {"sample_weight": weights} if weighted else {}
    model = forest(6, bootstrap=True, oob_score=True, random_state=0).fit(X, y, **fit)
    width = 3 if forest in CLASSIFIERS else 1
    total, n_predictions = np.zeros((120, width)), np.zeros(120)
    for t, tree in enumerate(model):
        out = (sample_counts(model, t, 120) == 0) & (not weighted or weights > 0)
        said = tree.predict_proba(X) if forest in CLASSIFIERS else tree.predict(X)[:, None]
        total[out] += said[out]
        n_predictions[out] += 1
    with np.errstate(invalid="ignore"):
        mean = total / n_predictions[:, None]
    if forest in CLASSIFIERS:
        assert_allclose(model.oob_decision_function_, mean, rtol=1e-12)
        right = mean.argmax(axis=1) == y
    else:
        assert_allclose(model.oob_prediction_, mean[:, 0], rtol=1e-12)
    if forest in CLASSIFIERS:
        has_prediction = n_predictions > 0
        expected = np.average(right[has_prediction], weights=weights[has_prediction] if weighted else None)
        assert model.oob_score_ == pytest.approx(expected)


def test_a_function_scores_the_rows_out_of_bag():
    X, y, _ = mixed_data("classifier", 150)
    model = sp.RandomForestClassifier(20, oob_score=balanced_accuracy_score, random_state=0).fit(X, y)
    seen = ~np.isnan(model.oob_decision_function_[:, 0])
    predicted = model.oob_decision_function_[seen].argmax(axis=1)
    assert model.oob_score_ == balanced_accuracy_score(y[seen], predicted)
    X, y, _ = mixed_data("regressor", 150)
    numbers = sp.RandomForestRegressor(20, oob_score=mean_absolute_error, random_state=0).fit(X, y)
    assert numbers.oob_score_ == pytest.approx(mean_absolute_error(y, numbers.oob_prediction_))


def test_without_sampling_no_row_is_out_of_bag():
    with pytest.raises(InputError, match="Out of bag estimation only available"):
        sp.ExtraTreesClassifier(3, oob_score=True).fit([[0.0], [1.0]] * 5, [0, 1] * 5)


def test_pasting_has_out_of_bag_rows():
    X, y, _ = mixed_data("regressor", 150)
    model = sp.ExtraTreesRegressor(10, bootstrap=False, max_samples=0.5, oob_score=True, random_state=0)
    model.fit(X, y)
    assert all(len(set(rows.tolist())) == len(rows) == 75 for rows in model.estimators_samples_)
    assert model.oob_score_ < model.score(X, y)


# ---- importances ----


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_permutation_importances_agree_with_a_naive_loop(kind):
    X, y, weights = mixed_data(kind, 100)
    forest = sp.RandomForestClassifier if kind == "classifier" else sp.RandomForestRegressor
    model = forest(30, random_state=0, max_depth=4).fit(X, y, weights)
    found = model.permutation_importances(X, y, n_repeats=2)
    assert found.importances.shape == (4, 30)
    assert_allclose(found.importances.mean(axis=1), found.importances_mean)
    rng, naive = np.random.default_rng(0), np.zeros((4, 30))
    for t, tree in enumerate(model):
        out = np.flatnonzero((sample_counts(model, t, 100) == 0) & (weights > 0))

        def loss(table, tree=tree, out=out):
            wrong = (
                tree.predict(table) != y[out] if kind == "classifier" else (tree.predict(table) - y[out]) ** 2
            )
            return np.average(wrong, weights=weights[out])

        for j in range(4):
            for _ in range(2):
                table = X.iloc[out].copy()
                table.isetitem(j, table.iloc[rng.permutation(len(out)), j].to_numpy())
                naive[j, t] += (loss(table) - loss(X.iloc[out])) / 2
    noise = 4 * np.maximum(found.importances_std, naive.std(axis=1)) / np.sqrt(30) + 1e-9
    assert (np.abs(found.importances_mean - naive.mean(axis=1)) < noise).all()
    assert found.importances_mean[0] > 5 * found.importances_mean[3]


def test_permutation_importances_need_the_training_rows():
    X, y, _ = mixed_data("regressor", 100)
    model = sp.RandomForestRegressor(3, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="X has 50 rows, but the forest was fitted to 100"):
        model.permutation_importances(X[:50], y[:50])
    with pytest.raises(InputError, match="n_repeats is 0"):
        model.permutation_importances(X, y, n_repeats=0)


# ---- quantiles ----


@pytest.mark.parametrize("forest", REGRESSORS, ids=lambda forest: forest.__name__)
@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_are_those_of_the_targets_in_the_leaves(forest, weighted):
    X, y, weights = mixed_data("regressor", 120)
    fit = {"sample_weight": weights} if weighted else {}
    model = forest(8, keep_targets=True, min_samples_leaf=4, random_state=0).fit(X, y, **fit)
    asked, quantiles = X[:20], [0.0, 0.1, 0.5, 0.87, 1.0]
    carried = weights if weighted and forest is sp.ExtraTreesRegressor else np.ones(120)
    leaves, asked_leaves = model.apply(X), model.apply(asked)
    expected = np.empty((20, 5))
    for i in range(20):
        share = np.zeros(120)
        for t in range(8):
            inside = sample_counts(model, t, 120) * carried * (leaves[:, t] == asked_leaves[i, t])
            share += inside / inside.sum() / 8
        order = np.argsort(y)
        below = np.cumsum(share[order])
        inside = share[order] > 0
        for k, q in enumerate(quantiles):
            expected[i, k] = y[order][inside & (below >= q - 1e-9)][0]
    assert_array_equal(model.predict_quantiles(asked, quantiles), expected)
    assert_array_equal(loads(dumps(model)).predict_quantiles(asked, quantiles), expected)


def test_quantiles_cover_their_fraction():
    rng = np.random.default_rng(0)
    X = rng.random((2000, 2))
    y = X[:, 0] + (0.1 + X[:, 1]) * rng.normal(size=2000)
    model = sp.RandomForestRegressor(60, keep_targets=True, min_samples_leaf=15, random_state=0)
    model.fit(X[:1000], y[:1000])
    low, high = model.predict_quantiles(X[1000:], [0.1, 0.9]).T
    assert 0.74 < np.mean((low <= y[1000:]) & (y[1000:] <= high)) < 0.86
    assert np.corrcoef(high - low, X[1000:, 1])[0, 1] > 0.7


def test_quantiles_of_several_outputs_and_of_none_kept():
    X, y, _ = mixed_data("regressor", 80)
    model = sp.RandomForestRegressor(5, keep_targets=True, random_state=0).fit(X, np.column_stack([y, -y]))
    assert model.predict_quantiles(X[:7], [0.5, 0.9]).shape == (7, 2, 2)
    with pytest.raises(InputError, match="numbers from 0 to 1"):
        model.predict_quantiles(X, [1.5])
    with pytest.raises(InputError, match="no targets in its leaves"):
        sp.RandomForestRegressor(2).fit(X, y).predict_quantiles(X)
    with pytest.raises(InputError, match="missing is 'fractional'"):
        sp.RandomForestRegressor(2, keep_targets=True, missing="fractional").fit(X, y)


# ---- files ----


@each
@pytest.mark.parametrize(
    "damage",
    [
        {"max_features_": 0},
        {"classes_": None},
        {"classes_": np.array([0.0, 0.0])},
        {"oob_score_": "high"},
        {"oob_decision_function_": np.zeros((3, 3)), "oob_prediction_": np.zeros(3)},
        {"_samples": 3},
        {"ensemble_": 3},
    ],
    ids="-".join,
)
def test_damaged_parts_are_refused(forest, damage):
    X, y, _ = mixed_data(kind_of(forest), 60)
    model = forest(2, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    for name, value in damage.items():
        if name in vars(model) or name == "classes_":
            setattr(model, name, value)
    with pytest.raises(ModelFileError):
        loads(dumps(model))


@each
def test_categorical_splits_need_a_categorical_column(forest):
    X, y, _ = mixed_data(kind_of(forest), 60)
    model = forest(2, max_features=None, random_state=0).fit(X, y)
    assert 2 in model.ensemble_.kind
    model.schema_ = read_table(np.zeros((3, 4))).schema
    with pytest.raises(ModelFileError, match="categor"):
        loads(dumps(model))


@each
@pytest.mark.parametrize("bootstrap", [True, False])
def test_a_member_fitted_again_to_its_rows_is_the_same_tree(forest, bootstrap):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 10)), np.arange(200) % 2  # as many ties as there are nodes
    model = forest(4, bootstrap=bootstrap, random_state=1).fit(X, y)
    for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        again = clone(member).fit(X[rows], y[rows])
        assert_array_equal(again.tree_.feature, member.tree_.feature)
        assert_array_equal(again.tree_.threshold, member.tree_.threshold)
        assert_array_equal(again.tree_.value, member.tree_.value)


@each
@pytest.mark.parametrize("limit", [{"min_samples_leaf": 5}, {"min_samples_split": 20}, {"max_leaf_nodes": 8}])
def test_a_member_fitted_again_to_its_counts_is_the_same_tree_with_limits(forest, limit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5))
    y = (X[:, 0] + rng.normal(size=150) > 0).astype(int)
    model = forest(3, bootstrap=True, random_state=1, **limit).fit(X, y)
    for t, member in enumerate(model.estimators_):
        again = clone(member).fit(X, y, sample_weight=sample_counts(model, t, 150).astype(float))
        assert_array_equal(again.tree_.threshold, member.tree_.threshold)
        assert_array_equal(again.tree_.value, member.tree_.value)


def test_members_are_made_once_and_anew_after_another_fit():
    X, y = make_classification(80, random_state=0)
    model = sp.RandomForestClassifier(3, random_state=0).fit(X, y)
    before = dumps(model)
    members = model.estimators_
    assert model.estimators_ is members and len(members) == 3
    assert dumps(model) == before  # they are not saved
    model.set_params(n_estimators=5).fit(X, y)
    assert len(model.estimators_) == 5


@pytest.mark.parametrize("max_features", [1.0, 0.5])
def test_columns_of_few_values_that_may_be_missing_after_categories(max_features):
    """Both are searched together, in the order of the columns, which lie in several tiles."""
    draw = np.random.default_rng(0)
    n, half = 400, 50
    few = np.where(draw.random(n) < 0.3, np.nan, draw.integers(0, 3, n).astype(float))
    columns = {f"c{j}": pd.Categorical.from_codes(draw.integers(0, 4, n), list("abcd")) for j in range(half)}
    columns |= {f"x{j}": draw.normal(size=n) for j in range(half)}
    X, y = pd.DataFrame(columns | {"few": few}), (few == 2).astype(int)
    model = sp.RandomForestClassifier(
        n_estimators=5, max_features=max_features, random_state=0, n_jobs=1
    ).fit(X, y)
    assert model.score(X, y) == 1.0
    if max_features == 1.0:
        assert [tree.get_n_leaves() for tree in model.estimators_] == [2] * 5

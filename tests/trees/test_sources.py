"""Trees of the textbook, calculated again: missing values, numbers, weights as ratios, pruned trees."""

from itertools import pairwise

import numpy as np
import pytest

from oracles.naive_adaboost import error_stump
from oracles.naive_multiway import grow_id3
from oracles.watermelon import WATERMELON2_MISSING, WATERMELON3, coded
from spinney import AdaBoostClassifier, C45Classifier, DecisionTreeClassifier, ID3Classifier, VotingClassifier
from spinney.datasets import load_watermelon2_missing, load_watermelon3

CONSTANTS = (1 / 17, 0.1, 1.0, 3.7, 10.0)


def shape(model):
    """Return what a tree asks and answers."""
    tree = model.tree_
    arrays = tree.feature, tree.threshold, tree.n_children, (tree.value + 0.0).round(9)
    return repr([array.tolist() for array in arrays])


# ---- missing values and weights ----


def test_id3_grows_the_tree_of_the_textbook_from_missing_values():
    X, y = load_watermelon2_missing()
    _, columns, kinds, _, labels = coded(WATERMELON2_MISSING)
    naive = grow_id3(columns, kinds, labels)
    leaves = sum(node.feature is None for node in naive.root.walk())
    models = [ID3Classifier().fit(X, y, np.full(17, c)) for c in CONSTANTS]
    assert [model.get_n_leaves() for model in models] == [leaves] * len(CONSTANTS) == [12] * len(CONSTANTS)
    assert all(shape(model) == shape(models[0]) for model in models)


def test_weights_that_sum_to_one_are_shares_of_the_rows():
    X, y = load_watermelon3()
    missing, labels = load_watermelon2_missing()
    shares = np.full(17, 1 / 17)
    for model in (
        C45Classifier(),
        C45Classifier(min_samples_leaf=3),
        DecisionTreeClassifier(missing="fractional"),
    ):
        for table, target in ((X, y), (missing, labels)):
            plain = shape(model.fit(table, target))
            assert plain == shape(model.fit(table, target, shares)), model
    assert C45Classifier().fit(X, y, shares).score(X, y) > 0.8
    trees = [("id3", ID3Classifier()), ("c45", C45Classifier())]
    boosted = AdaBoostClassifier(C45Classifier(max_depth=2), n_estimators=5)
    for many in (boosted, VotingClassifier(trees, voting="soft")):
        plain = many.fit(missing, labels).predict_proba(missing)
        np.testing.assert_allclose(many.fit(missing, labels, shares).predict_proba(missing), plain, atol=1e-9)


def test_a_limit_counts_rows_by_weight():
    X, y = load_watermelon2_missing()
    twice = ID3Classifier(min_samples_leaf=4).fit(X, y, np.full(17, 2.0))  # a weight of 2 is a row twice
    assert shape(twice) == shape(ID3Classifier(min_samples_leaf=2).fit(X, y))
    assert twice.get_n_leaves() < ID3Classifier().fit(X, y).get_n_leaves()
    half = ID3Classifier(min_samples_leaf=2).fit(X, y, np.full(17, 0.5))  # the mean is one row
    assert shape(half) == shape(ID3Classifier(min_samples_leaf=2).fit(X, y))


# ---- numbers ----


def watermelon3_by_gain(rows, columns, y):
    """Return the tree of largest information gain as nested tuples, numbers in two at a midpoint."""
    labels = [y[i] for i in rows]

    def entropy(part):
        shares = [part.count(label) / len(part) for label in set(part)]
        return -sum(p * np.log2(p) for p in shares)

    def gain(groups):
        return entropy(labels) - sum(len(g) / len(rows) * entropy([y[i] for i in g]) for g in groups)

    best = (1e-9, None, None, None)
    for name, column in columns.items():
        values = sorted({column[i] for i in rows})
        if isinstance(values[0], str):
            cuts = [(None, [[i for i in rows if column[i] == v] for v in values])]
        else:
            cuts = [
                ((a + b) / 2, [[i for i in rows if column[i] <= a], [i for i in rows if column[i] >= b]])
                for a, b in pairwise(values)
            ]
        for threshold, groups in cuts:
            if gain(groups) > best[0] + 1e-12:
                best = (gain(groups), name, threshold, groups)
    if best[1] is None:
        return max(sorted(set(labels)), key=labels.count)
    return best[1], best[2], [watermelon3_by_gain(g, columns, y) for g in best[3]]


def as_tuples(model, node=0):
    tree = model.tree_
    if tree.is_leaf[node]:
        return model.classes_[tree.value[node, 0].argmax()]
    threshold = None if np.isnan(tree.threshold[node]) else float(tree.threshold[node])
    children = [as_tuples(model, child) for child in tree.children(node)]
    return model.schema_.names[tree.feature[node]], threshold, children


@pytest.mark.parametrize(
    "model",
    [
        ID3Classifier(numeric_split="threshold"),
        C45Classifier(criterion="gain", pruning=None, min_samples_leaf=None),
    ],
    ids=["id3", "c45"],
)
def test_numbers_are_split_in_two_by_information_gain(model):
    X, y = load_watermelon3()
    columns = {name: X[name].tolist() for name in X}
    expected = watermelon3_by_gain(list(range(17)), columns, y.tolist())
    found = as_tuples(model.fit(X, y))
    assert found[0] == expected[0] == "texture"
    assert sorted(map(repr, found[2])) == sorted(map(repr, expected[2]))
    # The tree of the textbook: density ≤ 0.381 below a clear texture, and 5 leaves.
    assert "('density', 0.3815" in repr(found) and model.get_n_leaves() == 5


def test_numbers_may_be_split_again_and_may_be_missing():
    x = np.arange(12.0)[:, None]
    y = (np.arange(12) // 3) % 2
    model = ID3Classifier(numeric_split="threshold").fit(x, y)
    assert model.get_depth() > 1 and model.score(x, y) == 1.0
    holes = x.copy()
    holes[[1, 7]] = np.nan
    assert ID3Classifier(numeric_split="threshold").fit(holes, y).score(x[[0, 4, 10]], y[[0, 4, 10]]) == 1.0
    with pytest.raises(ValueError, match="numeric_split"):
        ID3Classifier(numeric_split="both").fit(x, y)


# ---- stumps by weighted error ----


def test_error_stumps_have_the_least_weighted_error():
    gini_is_worse = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, weights = rng.normal(size=(40, 3)), rng.exponential(size=40)
        y = (X[:, 0] + rng.normal(size=40) > 0).astype(int)
        least = weights[error_stump(X, y, weights)(X).argmax(axis=1) != y].sum()
        for max_bins in (None, 255):
            stump = DecisionTreeClassifier(criterion="error", max_depth=1, max_bins=max_bins).fit(
                X, y, weights
            )
            assert weights[stump.predict(X) != y].sum() == pytest.approx(least, rel=1e-12)
            expected = [1 - stump.tree_.value[k, 0].max() for k in range(3)]
            assert stump.tree_.impurity == pytest.approx(expected, abs=1e-12)
        gini = DecisionTreeClassifier(max_depth=1).fit(X, y, weights)
        gini_is_worse += weights[gini.predict(X) != y].sum() > least * (1 + 1e-9)
    assert gini_is_worse >= 5


def test_discrete_adaboost_boosts_error_stumps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] * X[:, 1] > 0) ^ (rng.random(120) < 0.1)
    loss = {}
    for estimator in (None, DecisionTreeClassifier(max_depth=1)):
        model = AdaBoostClassifier(estimator, algorithm="discrete", n_estimators=50, ledger=True).fit(X, y)
        loss[estimator is None] = model.ledger_.exponential_loss[-1]
    assert loss[True] < loss[False] - 0.05
    assert AdaBoostClassifier().fit(X, y).estimator_.criterion == "gini"  # as scikit-learn's SAMME


# ---- pruning ----

# The split of watermelon 2.0 into training and validation rows, by their numbers in the textbook.
TRAINING, VALIDATION = [1, 2, 3, 6, 7, 10, 14, 15, 16, 17], [4, 5, 8, 9, 11, 12, 13]


def melons():
    """Return training and validation rows, in an order that breaks ties as the textbook does."""
    names, columns, _, categories, y = coded(WATERMELON3)
    # Navel and color have the same gain at the root, and the textbook takes the navel; an even leaf is good.
    order = [names.index(name) for name in ("脐部", "色泽", "根蒂", "纹理", "敲声", "触感")]
    cells = [[categories[j][int(columns[j][i])] for j in order] for i in range(17)]
    X, labels = np.array(cells, dtype=object), np.array(["1 good" if one == "是" else "2 bad" for one in y])
    return tuple((X[np.array(rows) - 1], labels[np.array(rows) - 1]) for rows in (TRAINING, VALIDATION))


def test_pruned_trees_of_the_textbook():
    (X, y), held_out = melons()
    full = ID3Classifier().fit(X, y)
    assert full.score(*held_out) == pytest.approx(3 / 7)
    pre = ID3Classifier(pruning="pre").fit(X, y, eval_set=held_out)
    assert pre.score(*held_out) == pytest.approx(5 / 7)
    assert pre.get_depth() == 1 and pre.get_n_leaves() == 3
    post = ID3Classifier(pruning="reduced-error", prune_ties=False).fit(X, y, eval_set=held_out)
    assert post.score(*held_out) == pytest.approx(5 / 7)
    # Of the four inner nodes below the root the textbook cuts two, texture and the color of hollow melons.
    assert (full.tree_.node_count - full.get_n_leaves(), post.tree_.node_count - post.get_n_leaves()) == (
        5,
        3,
    )
    smallest = ID3Classifier(pruning="reduced-error").fit(X, y, eval_set=held_out)
    assert smallest.score(*held_out) == pytest.approx(5 / 7) and smallest.get_n_leaves() == 3

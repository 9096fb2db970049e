"""The native booster: trees against a naive grower, scores against replays, the same bits for any threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spinney.native import core
from spinney.tree.tree_arrays import ARRAY_TYPES

Floats = NDArray[np.float64]
Tree = core.GrownTree

ONE_SCORE = ["squared", "absolute", "quantile", "huber", "poisson", "gamma", "tweedie", "log", "exponential"]
PARAMETER = {"quantile": 0.3, "huber": 0.7, "tweedie": 1.4}
LARGEST = np.finfo(np.float64).max


def make_options(**changes: Any) -> core.BoostOptions:
    options: dict[str, Any] = {
        "growth": "leaf-wise", "max_leaf_nodes": 15, "min_samples_leaf": 5, "min_hessian": 1e-3,
        "learning_rate": 0.3, "sampling": "none", "categorical_split": "subset",
    }  # fmt: skip
    return core.BoostOptions(**{**options, **changes})


class Problem:
    """A table of numbers and categories with gaps, its codes, and targets for every loss."""

    def __init__(self, seed: int, n: int, *, missing: bool = True, levels: tuple[int, ...] = (5, 40)) -> None:
        draw = np.random.default_rng(seed)
        numbers = [draw.normal(size=n), np.round(draw.normal(size=n), 1)]
        numbers += [draw.integers(0, k, n).astype(float) for k in (4, 2, 2)]
        self.codes = [draw.integers(0, k, n).astype(np.int32) for k in levels]
        effect = numbers[0] + np.abs(numbers[1]) + numbers[3] * numbers[2]
        for codes in self.codes:
            effect = effect + 0.5 * (codes % 3)
        self.signal = effect - effect.mean()
        self.noise = draw.random(n)
        if missing:
            for column in (*numbers[:3], *self.codes):
                column[draw.random(n) < 0.1] = np.nan if column.dtype.kind == "f" else -1
        self.columns = [*numbers, *self.codes]
        self.n_categories = [0] * len(numbers) + list(levels)

    def y(self, loss: str) -> Floats:
        if loss in ("log", "exponential"):
            return (self.noise < 1 / (1 + np.exp(-self.signal))).astype(np.float64)
        if loss == "softmax":
            return np.digitize(self.signal + self.noise, [-1.0, 0.5]).astype(np.float64)
        if loss in ("poisson", "gamma", "tweedie"):
            return np.exp(self.signal / 3) * (0.2 + self.noise)
        return self.signal + self.noise

    def matrix(self, weights: Floats | None = None, max_bins: int = 255) -> core.CodeMatrix:
        return core.build_codes(self.columns, self.n_categories, weights, max_bins, 1)

    def booster(
        self, loss: str, weights: Floats | None = None, max_bins: int = 255, **changes: Any
    ) -> core.Booster:
        booster = core.Booster(self.matrix(weights, max_bins), make_options(**changes))
        booster.set_rows(self.y(loss), weights, np.zeros((len(self.signal), 3 if loss == "softmax" else 1)))
        return booster


def run(booster: core.Booster, loss: str, n_rounds: int) -> list[Tree]:
    return list(booster.run(loss, [PARAMETER.get(loss, 0.0)], n_rounds))


def leaf_of(tree: Tree, columns: list[NDArray[Any]]) -> NDArray[np.int64]:
    """Walk the rows down one tree by its real thresholds and category sets."""
    at = np.zeros(len(columns[0]), dtype=np.int64)
    for node in range(len(tree.kind)):
        rows = np.flatnonzero(at == node)
        if tree.kind[node] == 0 or len(rows) == 0:
            continue
        values = columns[tree.feature[node]][rows]
        if tree.kind[node] == 1:
            lost, right = np.isnan(values), ~(values <= tree.threshold[node])
        else:
            lost = values < 0
            bits = tree.set_bits[tree.set_begin[node] : tree.set_begin[node + 1]]
            word, bit = values // 64, (values % 64).astype(np.uint64)
            known = np.where(word < len(bits), bits[np.minimum(word, len(bits) - 1)], np.uint64(0))
            right = (known >> bit) & np.uint64(1) == 0
        at[rows] = tree.first_child[node] + np.where(lost, tree.missing[node], right)
    return at


def replay(trees: list[Tree], columns: list[NDArray[Any]], n_scores: int = 1) -> Floats:
    scores = np.zeros((len(columns[0]), n_scores))
    for i, tree in enumerate(trees):
        scores[:, i % n_scores] += tree.value[leaf_of(tree, columns), 0, 0]
    return scores


def same_trees(a: list[Tree], b: list[Tree]) -> bool:
    return len(a) == len(b) and all(
        all(getattr(x, key).tobytes() == getattr(y, key).tobytes() for key in ARRAY_TYPES)
        for x, y in zip(a, b, strict=True)
    )


# --- gradients as the definitions have them ---


def slopes(loss: str, s: Floats, y: Floats) -> tuple[Floats, Floats]:
    one, z, mean = np.ones_like(s), 2 * y - 1, np.exp(s)
    p, power = 1 / (1 + np.exp(-s)), PARAMETER["tweedie"]
    a, b = np.exp((2 - power) * s), y * np.exp((1 - power) * s)
    return {
        "squared": (s - y, one),
        "absolute": (np.sign(s - y), one),
        "quantile": (np.where(y > s, -0.3, np.where(y < s, 0.7, 0.0)), one),
        "huber": (np.clip(s - y, -0.7, 0.7), one),
        "poisson": (mean - y, mean),
        "gamma": (1 - y / mean, y / mean),
        "tweedie": (a - b, (2 - power) * a - (1 - power) * b),
        "log": (p - y, p * (1 - p)),
        "exponential": (-z * np.exp(-z * s), np.exp(-z * s)),
    }[loss]


def loss_value(loss: str, s: Floats, y: Floats) -> Floats:
    power, r = PARAMETER["tweedie"], y - s
    return {
        "squared": 0.5 * r**2,
        "absolute": np.abs(r),
        "quantile": np.where(r > 0, 0.3 * r, -0.7 * r),
        "huber": np.where(np.abs(r) <= 0.7, 0.5 * r**2, 0.7 * (np.abs(r) - 0.35)),
        "poisson": np.exp(s) - y * s,
        "gamma": s + y * np.exp(-s),
        "tweedie": np.exp((2 - power) * s) / (2 - power) - y * np.exp((1 - power) * s) / (1 - power),
        "log": np.logaddexp(0, s) - y * s,
        "exponential": np.exp((1 - 2 * y) * s),
    }[loss]


# --- a naive grower ---


def naive_cuts(
    codes: NDArray[Any], n_bins: int, categorical: bool, g: Floats, h: Floats
) -> list[NDArray[np.bool_]]:
    """List the divisions of a column's rows to be tried: who goes left."""
    lost = codes == n_bins
    if not categorical:
        cuts = [codes <= b for b in np.unique(codes[~lost])]
        return [cut | side for cut in cuts for side in ((lost, False) if lost.any() else (False,))]
    groups = sorted(np.unique(codes), key=lambda c: g[codes == c].sum() / (h[codes == c].sum() + 10.0))
    return [np.isin(codes, groups[: i + 1]) for i in range(len(groups) - 1)]


def best_gain(
    problem: Problem,
    matrix: core.CodeMatrix,
    rows: NDArray[Any],
    g: Floats,
    h: Floats,
    w: Floats,
    o: core.BoostOptions,
) -> float:
    """Return the greatest gain of any division that the limits allow."""
    best = 0.0
    for f in range(matrix.n_columns):
        codes = matrix.codes(f)[rows]
        categorical = problem.n_categories[f] > 0
        n_groups = len(np.unique(codes))
        l2 = o.l2_regularization + (10.0 if categorical and n_groups > 2 else 0.0)
        for left in naive_cuts(codes, matrix.n_bins(f), categorical, g[rows], h[rows]):
            sides = [rows[left], rows[~left]]
            if min(w[side].sum() for side in sides) < o.min_samples_leaf:
                continue
            if min(h[side].sum() for side in sides) < o.min_hessian:
                continue
            parts = [g[side].sum() ** 2 / (h[side].sum() + l2) for side in sides]
            best = max(best, 0.5 * (sum(parts) - g[rows].sum() ** 2 / (h[rows].sum() + l2)))
    return best


def check_tree(
    problem: Problem,
    matrix: core.CodeMatrix,
    tree: Tree,
    g: Floats,
    h: Floats,
    w: Floats,
    o: core.BoostOptions,
) -> None:
    """Check that each test of a tree gains as much as the best there is, and that its leaves are Newton's."""
    at = leaf_of(tree, problem.columns)
    below: dict[int, list[int]] = {}
    for node in reversed(range(len(tree.kind))):
        first = tree.first_child[node]
        below[node] = [node] if first < 0 else below[first] + below[first + 1]
        rows = np.flatnonzero(np.isin(at, below[node]) & (w > 0))
        assert tree.n_samples[node] == len(rows)
        assert tree.weight[node] == pytest.approx(w[rows].sum())
        if first < 0:
            value = -(w * g)[rows].sum() / ((w * h)[rows].sum() + o.l2_regularization)
            assert tree.value[node, 0, 0] == pytest.approx(o.learning_rate * value, rel=1e-9, abs=1e-12)
            assert w[rows].sum() >= o.min_samples_leaf * (1 - 1e-9)
            if len(tree.kind) < 2 * o.max_leaf_nodes - 1:  # otherwise it may just not have had its turn
                assert best_gain(problem, matrix, rows, w * g, w * h, w, o) <= 1e-5
        else:
            best = best_gain(problem, matrix, rows, w * g, w * h, w, o)
            assert tree.impurity[node] == pytest.approx(best, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    "loss", [name for name in ONE_SCORE if name not in ("absolute", "quantile", "huber")]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_test_gains_the_most_there_is(loss: str, weighted: bool) -> None:
    problem = Problem(3, 240)
    w = np.random.default_rng(1).integers(0, 4, 240) + 0.25 * weighted if weighted else None
    booster = problem.booster(loss, w, max_leaf_nodes=8, min_samples_leaf=9, l2_regularization=0.5)
    options = make_options(max_leaf_nodes=8, min_samples_leaf=9, l2_regularization=0.5)
    scores = np.zeros((240, 1))
    y = problem.y(loss)
    for _ in range(3):
        (tree,) = run(booster, loss, 1)
        g, h = slopes(loss, scores[:, 0], y)
        check_tree(problem, problem.matrix(w), tree, g, h, np.ones(240) if w is None else w, options)
        scores = booster.scores


def test_custom_gradients_are_those_of_the_built_in_loss() -> None:
    problem = Problem(4, 500)
    built_in, custom = problem.booster("poisson"), problem.booster("poisson")
    for _ in range(5):
        g, h = slopes("poisson", custom.scores[:, 0], problem.y("poisson"))
        (a,), (b,) = run(built_in, "poisson", 1), custom.step(g[:, None], h[:, None])
        assert a.feature.tobytes() == b.feature.tobytes()
        np.testing.assert_allclose(a.value, b.value, rtol=1e-10)


@pytest.mark.parametrize("loss", [*ONE_SCORE, "softmax"])
def test_replaying_the_trees_gives_the_scores_to_the_last_bit(loss: str) -> None:
    problem = Problem(5, 700)
    weights = (np.arange(700) % 4 > 0).astype(np.float64)  # every fourth row is only scored
    booster = problem.booster(loss, weights)
    trees = run(booster, loss, 6)
    n_scores = 3 if loss == "softmax" else 1
    assert len(trees) == 6 * n_scores
    assert replay(trees, problem.columns, n_scores).tobytes() == booster.scores.tobytes()
    assert booster.loss(loss, [PARAMETER.get(loss, 0.0)], None) < problem.booster(loss, weights).loss(
        loss, [PARAMETER.get(loss, 0.0)], None
    )


@pytest.mark.parametrize("loss", ONE_SCORE)
def test_losses_are_the_defined_ones(loss: str) -> None:
    problem = Problem(6, 300)
    booster = problem.booster(loss)
    run(booster, loss, 3)
    weights = np.random.default_rng(0).random(300)
    values = loss_value(loss, booster.scores[:, 0], problem.y(loss))
    got = booster.loss(loss, [PARAMETER.get(loss, 0.0)], weights)
    assert got == pytest.approx(np.average(values, weights=weights), rel=1e-12)


def test_softmax_loss_is_the_defined_one() -> None:
    problem = Problem(6, 300)
    booster = problem.booster("softmax")
    run(booster, "softmax", 3)
    s, y = booster.scores, problem.y("softmax").astype(int)
    values = np.log(np.exp(s).sum(axis=1)) - s[np.arange(300), y]
    assert booster.loss("softmax", [0.0], None) == pytest.approx(values.mean(), rel=1e-12)


@pytest.mark.parametrize("loss", ["log", "softmax", "quantile"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"growth": "level-wise", "max_depth": 4},
        {"sampling": "uniform", "subsample": 0.5},
        {"sampling": "goss"},
        {"sampling": "mvs", "subsample": 0.4},
        {"colsample_bytree": 0.6, "max_features": 2},
    ],
)
def test_threads_change_no_bit(loss: str, changes: dict[str, Any]) -> None:
    problem = Problem(7, 40_000)
    weights = np.random.default_rng(0).integers(0, 3, 40_000).astype(np.float64)
    one = problem.booster(loss, weights, n_threads=1, **changes)
    three = problem.booster(loss, weights, n_threads=3, **changes)
    assert same_trees(run(one, loss, 2), run(three, loss, 2))
    assert one.scores.tobytes() == three.scores.tobytes()


def test_threads_change_no_bit_where_rows_are_copied_together() -> None:
    problem = Problem(8, 140_000)  # too large for the caches, so that sparse nodes copy their rows
    boosters = [problem.booster("log", n_threads=n, max_leaf_nodes=31) for n in (1, 3)]
    one, three = (run(booster, "log", 2) for booster in boosters)
    assert same_trees(one, three)
    for tree in one:
        rows = np.bincount(leaf_of(tree, problem.columns), minlength=len(tree.kind))
        leaves = tree.kind == 0
        assert np.array_equal(rows[leaves], tree.n_samples[leaves])


@pytest.mark.parametrize("changes", [{}, {"sampling": "mvs", "subsample": 0.5}, {"colsample_bytree": 0.5}])
def test_continuing_gives_the_same_trees(changes: dict[str, Any]) -> None:
    problem = Problem(8, 2000)
    whole = run(problem.booster("log", **changes), "log", 8)
    first = problem.booster("log", **changes)
    trees = run(first, "log", 5)
    assert first.round == 5
    second = problem.booster("log", first_round=5, **changes)
    second.set_rows(problem.y("log"), None, first.scores)
    assert same_trees(whole, trees + run(second, "log", 3))


@pytest.mark.parametrize("loss", ["squared", "log", "gamma"])
def test_a_row_of_weight_two_is_the_row_twice(loss: str) -> None:
    problem = Problem(9, 600)
    times = np.random.default_rng(2).integers(0, 4, 600)
    weighted = problem.booster(loss, times.astype(np.float64))
    a = run(weighted, loss, 5)
    repeated = Problem(9, 600)
    repeated.columns = [np.repeat(column, times) for column in problem.columns]
    matrix = core.build_codes(repeated.columns, problem.n_categories, None, 255, 1)
    twice = core.Booster(matrix, make_options())
    twice.set_rows(np.repeat(problem.y(loss), times), None, np.zeros((times.sum(), 1)))
    b = run(twice, loss, 5)
    for x, z in zip(a, b, strict=True):
        for key in ("kind", "feature", "threshold", "missing", "set_bits"):
            assert getattr(x, key).tobytes() == getattr(z, key).tobytes(), key
        np.testing.assert_allclose(x.value, z.value, rtol=1e-10, atol=1e-15)


def test_quantile_leaves_are_quantiles_of_the_residuals() -> None:
    problem = Problem(10, 501)
    for loss, alpha in (("absolute", 0.5), ("quantile", 0.3)):
        booster = problem.booster(loss, learning_rate=1.0, max_leaf_nodes=4)
        (tree,) = run(booster, loss, 1)
        at = leaf_of(tree, problem.columns)
        for leaf in np.unique(at):
            expected = np.quantile(problem.y(loss)[at == leaf], alpha, method="averaged_inverted_cdf")
            assert tree.value[leaf, 0, 0] == pytest.approx(expected, rel=1e-12)


def test_monotone_trees_do_not_turn() -> None:
    problem = Problem(11, 3000, missing=False)
    booster = problem.booster(
        "squared", monotonic_cst=np.array([1, -1, 0, 0, 0, 0, 0], dtype=np.int8), max_leaf_nodes=31
    )
    trees = run(booster, "squared", 20)
    assert any(0 in tree.feature for tree in trees)
    for feature, sign in ((0, 1), (1, -1)):
        columns = [np.repeat(column[:200], 30) for column in problem.columns]
        columns[feature] = np.tile(np.linspace(-3, 3, 30), 200)
        steps = np.diff(replay(trees, columns)[:, 0].reshape(200, 30), axis=1) * sign
        assert steps.min() >= -1e-12
        assert steps.max() > 0


def test_features_meet_only_within_their_sets() -> None:
    problem = Problem(12, 2000)
    trees = run(problem.booster("squared", interaction_cst=[[0, 1], [2, 3, 4]]), "squared", 10)
    for tree in trees:
        met: list[set[int]] = [set() for _ in tree.kind]
        for node, first in enumerate(tree.first_child):
            if first < 0:
                assert met[node] <= {0, 1} or met[node] <= {2, 3, 4}
                continue
            for child in (first, first + 1):
                met[child] = met[node] | {int(tree.feature[node])}


def test_limits_hold() -> None:
    problem = Problem(13, 1000)
    trees = run(
        problem.booster("log", max_depth=3, max_leaf_nodes=None, min_gain=0.5, min_hessian=4.0), "log", 5
    )
    for tree in trees:
        depth = np.zeros(len(tree.kind), dtype=int)
        for node, first in enumerate(tree.first_child):
            if first >= 0:
                depth[first : first + 2] = depth[node] + 1
                assert tree.impurity[node] > 0.5
        assert depth.max() <= 3
    (stump,) = run(problem.booster("log", max_leaf_nodes=2), "log", 1)
    assert len(stump.kind) == 3
    (leaf,) = run(problem.booster("log", min_samples_leaf=501), "log", 1)
    assert leaf.kind.tolist() == [0]
    assert leaf.value[0, 0, 0] != 0


def test_sampling_keeps_the_fraction_asked_for() -> None:
    problem = Problem(14, 30_000)
    for changes, fraction in (
        ({"sampling": "uniform", "subsample": 0.3}, 0.3),
        ({"sampling": "mvs", "subsample": 0.3}, 0.3),
        ({"sampling": "goss", "top_fraction": 0.2, "other_fraction": 0.1}, 0.3),
    ):
        trees = run(problem.booster("squared", **changes), "squared", 3)
        assert trees[-1].n_samples[0] == pytest.approx(fraction * 30_000, rel=0.1)


def test_candidates_are_recorded_when_asked() -> None:
    problem = Problem(15, 400)
    (tree,) = run(problem.booster("log", ledger=True), "log", 1)
    ledger = tree.candidates
    chosen = ledger.chosen.astype(bool)
    assert sorted(ledger.node[chosen]) == np.flatnonzero(tree.kind).tolist()
    for node in np.flatnonzero(tree.kind):
        at = ledger.node == node
        assert ledger.gain[at].max() == pytest.approx(tree.impurity[node])
        assert ledger.feature[at & chosen].tolist() == [tree.feature[node]]
    assert len(run(problem.booster("log"), "log", 1)[0].candidates) == 0


def test_wrong_calls_are_errors() -> None:
    problem = Problem(16, 100)
    with pytest.raises(ValueError, match="255 bins"):
        core.Booster(core.build_codes([np.arange(1000.0)], [], None, 0, 1), make_options())
    with pytest.raises(ValueError, match="direction"):
        problem.booster("log", monotonic_cst=np.ones(3, dtype=np.int8))
    with pytest.raises(ValueError, match="does not exist"):
        problem.booster("log", interaction_cst=[[99]])
    booster = core.Booster(problem.matrix(), make_options())
    with pytest.raises(ValueError, match="set_rows"):
        booster.run("log", [0.0], 1)
    with pytest.raises(ValueError, match="each row"):
        booster.set_rows(np.zeros(3), None, np.zeros((3, 1)))
    with pytest.raises(ValueError, match="zero"):
        booster.set_rows(np.zeros(100), np.zeros(100), np.zeros((100, 1)))
    booster.set_rows(np.full(100, 7.0), None, np.zeros((100, 3)))
    with pytest.raises(ValueError, match="out of range"):
        booster.run("softmax", [0.0], 1)
    with pytest.raises(ValueError, match=r"hinge.*not one of"):
        booster.run("hinge", [0.0], 1)
    booster.set_rows(np.full(100, np.inf), None, np.zeros((100, 1)))
    with pytest.raises(ValueError, match="not finite"):
        booster.run("squared", [0.0], 1)

"""A gradient booster in plain float64 that tries every split: what the fast one is held to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from oracles.naive_multiway import Column, is_missing, midpoint

Floats = NDArray[np.float64]
Rows = list[int]


MAX_STEP = 4.0  # of a Newton step, where the hessian depends on the score


@dataclass(frozen=True)
class Settings:
    """What a naive booster is told; the names are the estimators'."""

    loss: str = "squared"
    parameter: float = 0.0
    n_rounds: int = 10
    learning_rate: float = 0.1
    growth: str = "leaf-wise"
    max_leaf_nodes: int = 31
    max_depth: int = 10**9
    min_samples_leaf: float = 0.0  # counted by weight
    min_hessian: float = 0.0
    l2: float = 0.0
    min_gain: float = 0.0
    monotone: Sequence[int] = ()
    interactions: Sequence[Sequence[int]] = ()
    every_subset: bool = True  # else categories are divided in the order of G / H only


@dataclass(frozen=True)
class Split:
    """One split: the rows that go left and right, and its gain."""

    feature: int
    threshold: float | None  # None for a category set; infinity where only the missing rows go right
    missing_left: bool
    left: Rows
    right: Rows
    gain: float
    known_left: frozenset[float] = frozenset()  # the categories of a set


@dataclass
class Node:
    """A node while a tree grows, and as it is in the end; a leaf has no split."""

    rows: Rows
    depth: int
    low: float
    high: float
    allowed: frozenset[int]
    value: float = 0.0
    split: Split | None = None
    children: list[Node] = field(default_factory=list)


# ---- losses, a row at a time, straight from their formulas ----


def _softmax(scores: Sequence[float]) -> list[float]:
    top = max(scores)
    parts = [math.exp(score - top) for score in scores]
    return [part / math.fsum(parts) for part in parts]


def _quantile_slope(y: float, f: float, share: float) -> float:
    return -share if y > f else 1 - share if y < f else 0.0


ONE_SCORE: dict[str, Callable[[float, float, float], tuple[float, float]]] = {
    "squared": lambda y, f, _: (f - y, 1.0),
    "absolute": lambda y, f, _: (float(f > y) - float(f < y), 1.0),
    "huber": lambda y, f, delta: (max(-delta, min(delta, f - y)), 1.0),
    "quantile": lambda y, f, share: (_quantile_slope(y, f, share), 1.0),
    "poisson": lambda y, f, _: (math.exp(f) - y, math.exp(f)),
    "gamma": lambda y, f, _: (1 - y * math.exp(-f), y * math.exp(-f)),
    "tweedie": lambda y, f, p: (
        math.exp((2 - p) * f) - y * math.exp((1 - p) * f),
        (2 - p) * math.exp((2 - p) * f) + (p - 1) * y * math.exp((1 - p) * f),
    ),
    "log": lambda y, f, _: (1 / (1 + math.exp(-f)) - y, 1 / (2 + math.exp(f) + math.exp(-f))),
    "exponential": lambda y, f, _: (-math.exp(-f), math.exp(-f)) if y else (math.exp(f), math.exp(f)),
}


def derivatives(loss: str, parameter: float, y: Sequence[float], scores: Floats) -> tuple[Floats, Floats]:
    """Return the gradient and hessian of every row and score, both (n_rows, n_scores)."""
    gradient, hessian = np.empty_like(scores), np.empty_like(scores)
    for row, target in enumerate(y):
        if loss == "softmax":
            shares = _softmax(scores[row].tolist())
            gradient[row] = [p - (k == target) for k, p in enumerate(shares)]
            hessian[row] = [p * (1 - p) for p in shares]
        else:
            gradient[row, 0], hessian[row, 0] = ONE_SCORE[loss](target, float(scores[row, 0]), parameter)
    return gradient, hessian


def middle(values: Sequence[float], weights: Sequence[float], share: float) -> float:
    """Return the value with the given share of the weight at or below it, the mean of two if both have it."""
    pairs = sorted((v, w) for v, w in zip(values, weights, strict=True) if w > 0)
    total, below = math.fsum(w for _, w in pairs), 0.0
    for place, (value, weight) in enumerate(pairs):
        below += weight
        if below > share * total or place + 1 == len(pairs):
            return value
        if below == share * total:
            return (value + pairs[place + 1][0]) / 2
    raise ValueError("no row has weight")


# ---- one tree ----


@dataclass
class NaiveTree:
    """Grow one tree on gradients and hessians (n_rows,), weights applied, of the rows that are alive."""

    columns: Sequence[Column]
    kinds: Sequence[str]
    gradient: Floats
    hessian: Floats
    weights: Floats
    alive: Rows
    settings: Settings

    def newton(self, rows: Rows, low: float = -math.inf, high: float = math.inf) -> float:
        """Return −G / (H + λ), held between two limits."""
        g, h = math.fsum(self.gradient[rows]), math.fsum(self.hessian[rows])
        step = -g / (h + self.settings.l2) if h + self.settings.l2 > 0 else 0.0
        return max(low, min(high, step))

    def merit(self, rows: Rows, low: float = -math.inf, high: float = math.inf) -> float:
        """Return by how much answering with the Newton step lowers the loss; G² / 2(H + λ) without limits."""
        g, h = math.fsum(self.gradient[rows]), math.fsum(self.hessian[rows])
        v = self.newton(rows, low, high)
        return -(g * v + 0.5 * (h + self.settings.l2) * v * v)

    def splits(self, node: Node) -> Iterator[Split]:
        """Yield every admissible split of a node, with its gain."""
        s = self.settings
        limits = node.low, node.high
        for feature in sorted(node.allowed):
            for split in self._ways(feature, node.rows):
                parts = split.left, split.right
                if not all(parts):
                    continue
                if min(math.fsum(self.weights[part]) for part in parts) < s.min_samples_leaf:
                    continue
                if min(math.fsum(self.hessian[part]) for part in parts) < s.min_hessian:
                    continue
                sign = s.monotone[feature] if s.monotone else 0
                left, right = (self.newton(part, *limits) for part in parts)
                if sign * (right - left) < 0:
                    continue
                gain = sum(self.merit(part, *limits) for part in parts) - self.merit(node.rows, *limits)
                yield Split(**{**vars(split), "gain": gain - s.min_gain})

    def best(self, node: Node) -> Split | None:
        """Return the split with the largest gain above 0, of equals the first."""
        if node.depth >= self.settings.max_depth:
            return None
        found = max(self.splits(node), key=lambda split: split.gain, default=None)
        return found if found is not None and found.gain > 0 else None

    def _ways(self, feature: int, rows: Rows) -> Iterator[Split]:
        """Yield the ways to divide rows by a feature; missing ones go left or right together."""
        column, kind = self.columns[feature], self.kinds[feature]
        known = {row: column[row] for row in rows if not is_missing(column[row], kind)}
        distinct = sorted(set(known.values()))
        either = (False, True) if len(known) < len(rows) else (False,)
        sides: list[tuple[float | None, frozenset[float], tuple[bool, ...]]] = []
        if kind == "numeric":
            sides = [
                (midpoint(low, high), frozenset(v for v in distinct if v <= low), either)
                for low, high in pairwise(distinct)
            ] + [(math.inf, frozenset(distinct), either)]
        elif self.settings.every_subset:
            for size in range(1, len(distinct) + 1):
                sides += [(None, frozenset(chosen), either) for chosen in combinations(distinct, size)]
        else:
            for run in self._runs({row: known.get(row) for row in rows}):
                sides.append((None, frozenset(run - {None}), (None in run,)))
        for threshold, chosen, missing_sides in sides:
            for missing_left in missing_sides:
                left = [row for row in rows if (known[row] in chosen if row in known else missing_left)]
                inside = set(left)
                right = [row for row in rows if row not in inside]
                yield Split(feature, threshold, missing_left, left, right, 0.0, chosen)

    def _runs(self, category: dict[int, float | None]) -> Iterator[set[float | None]]:
        """Yield the categories up to each one in the order of G / H, missing being one of them.

        Those as good as equal come all at once: which of them is first is left to the fast booster.
        """
        ratio = {}
        for value in set(category.values()):
            rows = [row for row in category if category[row] == value]
            ratio[value] = math.fsum(self.gradient[rows]) / math.fsum(self.hessian[rows])
        ordered = sorted(ratio, key=ratio.__getitem__)
        for place, (value, following) in enumerate(pairwise(ordered), 1):
            if not math.isclose(ratio[value], ratio[following], rel_tol=1e-3):
                yield set(ordered[:place])

    def grow(self) -> Node:
        """Grow the tree, best split first or level by level; leaves hold Newton steps, not yet shrunk."""
        s = self.settings
        everything = frozenset(range(len(self.columns)))
        root = Node(self.alive, 0, -math.inf, math.inf, everything)
        waiting = [(root, self.best(root))]
        leaves = 1
        while leaves < s.max_leaf_nodes and any(split for _, split in waiting):
            if s.growth == "leaf-wise":
                place = max(range(len(waiting)), key=lambda i: waiting[i][1].gain if waiting[i][1] else 0.0)
            else:
                place = next(i for i, (_, split) in enumerate(waiting) if split)
            node, split = waiting.pop(place)
            assert split is not None
            self._divide(node, split)
            waiting += [(child, self.best(child)) for child in node.children]
            leaves += 1
        for leaf, _ in waiting:
            leaf.value = self.newton(leaf.rows, leaf.low, leaf.high)
        return root

    def _divide(self, node: Node, split: Split) -> None:
        s = self.settings
        allowed = node.allowed
        if s.interactions:
            groups = [frozenset(group) for group in s.interactions if split.feature in group]
            alone = frozenset([split.feature])
            allowed = node.allowed & (frozenset().union(*groups) if groups else alone)
        node.split = split
        left, right = (self.newton(part, node.low, node.high) for part in (split.left, split.right))
        sign = s.monotone[split.feature] if s.monotone else 0
        between = (left + right) / 2
        limits = [(node.low, node.high)] * 2
        if sign:
            limits = [(node.low, between), (between, node.high)][::sign]
        for rows, (low, high) in zip((split.left, split.right), limits, strict=True):
            node.children.append(Node(rows, node.depth + 1, low, high, allowed))


def leaves(node: Node) -> list[Node]:
    """List the leaves below a node."""
    return [node] if not node.children else [leaf for child in node.children for leaf in leaves(child)]


# ---- many trees ----


def boost(
    columns: Sequence[Column],
    kinds: Sequence[str],
    y: Sequence[float],
    weights: Sequence[float],
    start: Sequence[float],
    settings: Settings,
) -> tuple[list[list[Node]], Floats]:
    """Return the trees of every round, one a score, and the training scores (n_rows, n_scores) in the end."""
    scores = np.tile(np.array(start, dtype=np.float64), (len(y), 1))
    alive = [row for row in range(len(y)) if weights[row] > 0]
    rounds: list[list[Node]] = []
    for _ in range(settings.n_rounds):
        gradient, hessian = derivatives(settings.loss, settings.parameter, y, scores)
        steps = np.zeros_like(scores)
        trees = []
        for k in range(scores.shape[1]):
            w = np.array(weights)
            slopes = gradient[:, k] * w, hessian[:, k] * w
            tree = NaiveTree(columns, kinds, *slopes, w, alive, settings).grow()
            for leaf in leaves(tree):
                refit(leaf, y, weights, scores[:, k], settings)
                steps[leaf.rows, k] = leaf.value
            trees.append(tree)
        scores += steps
        rounds.append(trees)
    return rounds, scores


def refit(
    leaf: Node, y: Sequence[float], weights: Sequence[float], score: Floats, settings: Settings
) -> None:
    """Set the value of a leaf in the ensemble: the best one for its rows where that is known, shrunk."""
    rows = leaf.rows
    residuals, w = [y[row] - float(score[row]) for row in rows], [weights[row] for row in rows]
    best = leaf.value if settings.loss == "squared" else max(-MAX_STEP, min(MAX_STEP, leaf.value))
    if settings.loss in ("absolute", "huber"):
        best = middle(residuals, w, 0.5)
    elif settings.loss == "quantile":
        best = middle(residuals, w, settings.parameter)
    if settings.loss == "huber":
        near = [max(-settings.parameter, min(settings.parameter, r - best)) for r in residuals]
        best += math.fsum(a * b for a, b in zip(near, w, strict=True)) / math.fsum(w)
    leaf.value = max(leaf.low, min(leaf.high, best)) * settings.learning_rate

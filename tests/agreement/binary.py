"""Walking a CART tree and scikit-learn's side by side, by the rows that their nodes hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Sums in another order differ in the last bits, and scikit-learn's variances lose some more by cancellation.
RTOL, ATOL = 1e-9, 1e-10


@dataclass
class Walk:
    """Count what was compared: nodes, ties met, and nodes below ties that part the rows differently.

    `needless` counts pure nodes that scikit-learn divides: to its rounded sums they are not quite pure.
    """

    compared: int = 0
    ties: int = 0
    left_out: int = 0
    needless: int = 0

    @property
    def share(self) -> float:
        """Return the part of our nodes that was compared."""
        return self.compared / (self.compared + self.left_out)

    @property
    def complete(self) -> bool:
        """Return whether the trees are the same throughout."""
        return not (self.ties or self.needless)

    def add(self, other: Walk) -> None:
        self.compared += other.compared
        self.ties += other.ties
        self.left_out += other.left_out
        self.needless += other.needless


@dataclass
class Pair:
    """Two fitted models and, for each of their nodes, which training rows it holds."""

    ours: Any
    theirs: Any
    our_rows: NDArray[np.bool_]  # (n_rows, n_nodes)
    their_rows: NDArray[np.bool_]

    @classmethod
    def of(cls, ours: Any, theirs: Any, X: NDArray[Any], weights: NDArray[Any] | None) -> Pair:
        used = np.ones(len(X), bool) if weights is None else weights > 0
        paths = [m.decision_path(X).toarray()[used] > 0 for m in (ours, theirs)]
        return cls(ours, theirs, *paths)

    def their_children(self, node: int) -> tuple[int, int]:
        tree = self.theirs.tree_
        return int(tree.children_left[node]), int(tree.children_right[node])

    def walk(self) -> Walk:
        """Compare from the root down, as far as both trees part the rows alike."""
        walk = Walk()
        waiting = [(0, 0)]
        while waiting:
            a, b = waiting.pop()
            self.compare_node(a, b)
            walk.compared += 1
            children = list(self.ours.tree_.children(a))
            if not children:
                walk.needless += self.their_children(b)[0] >= 0
                continue
            if not self.same_test(a, b):
                walk.ties += 1
                self.check_tie(a, b)
            below = list(self.matched_children(children, self.their_children(b)))
            waiting += below
            # Where the node has no missing value, those to come follow one rule, not a tie.
            assert not (below and self.same_cut(a, b)) or self.same_test(a, b), f"missing at node {a}"
            if not below:
                walk.left_out += int(self.below(a))
        return walk

    def compare_node(self, a: int, b: int) -> None:
        ours, theirs = self.ours.tree_, self.theirs.tree_
        pure = ours.is_leaf[a] and ours.impurity[a] == 0 and theirs.impurity[b] < 1e-13
        leaves = bool(ours.is_leaf[a]), bool(theirs.children_left[b] < 0)
        assert pure or leaves[0] == leaves[1], f"only one of our node {a} and their node {b} is a leaf"
        assert ours.n_samples[a] == theirs.n_node_samples[b]
        np.testing.assert_allclose(ours.weight[a], theirs.weighted_n_node_samples[b], RTOL)
        np.testing.assert_allclose(ours.impurity[a], theirs.impurity[b], RTOL, ATOL)
        np.testing.assert_allclose(ours.value[a], theirs.value[b], RTOL, ATOL)

    def same_test(self, a: int, b: int) -> bool:
        """Return whether two nodes ask the same, missing values included."""
        ours, theirs = self.ours.tree_, self.theirs.tree_
        return self.same_cut(a, b) and bool(ours.missing[a] == 1 - theirs.missing_go_to_left[b])

    def same_cut(self, a: int, b: int) -> bool:
        """Return whether two nodes cut one feature at one place, however "all known values" is written."""
        ours, theirs = self.ours.tree_, self.theirs.tree_
        known_or_missing = ours.threshold[a] > 1e300 and theirs.threshold[b] > 1e300
        same_place = ours.threshold[a] == theirs.threshold[b] or known_or_missing
        return bool(ours.feature[a] == theirs.feature[b] and same_place)

    def check_tie(self, a: int, b: int) -> None:
        """Accept another test only where it lowers the impurity as much."""
        ours, theirs = self.ours.tree_, self.theirs.tree_
        falls = []
        for node, below, weight, impurity in (
            (a, list(ours.children(a)), ours.weight, ours.impurity),
            (b, list(self.their_children(b)), theirs.weighted_n_node_samples, theirs.impurity),
        ):
            falls.append(impurity[node] - weight[below] @ impurity[below] / weight[node])
        what = (
            f"node {a}: x{ours.feature[a]} ≤ {ours.threshold[a]} lowers the impurity by {falls[0]}; "
            f"theirs, x{theirs.feature[b]} ≤ {theirs.threshold[b]}, by {falls[1]}"
        )
        np.testing.assert_allclose(falls[0], falls[1], RTOL, ATOL, err_msg=what)

    def matched_children(self, ours: list[int], theirs: tuple[int, int]) -> Iterator[tuple[int, int]]:
        """Pair the children that hold the same rows: none where a tie parts the rows differently."""
        for a in ours:
            for b in theirs:
                if np.array_equal(self.our_rows[:, a], self.their_rows[:, b]):
                    yield a, b

    def below(self, node: int) -> int:
        """Count the nodes below one."""
        tree = self.ours.tree_
        inside = np.zeros(tree.node_count, bool)
        inside[node] = True
        for child in range(node + 1, tree.node_count):
            inside[child] = inside[tree.parent[child]]
        return int(inside.sum()) - 1

"""Subtree raising against a row-by-row calculation, written as J48 does it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from spinney import C45Classifier
from spinney.core.errors import InputError
from spinney.data import read_table
from spinney.tree.pruning import upper_error_rate

CONFIDENCE = 0.25


@dataclass
class Naive:
    """A node: its number in the grown tree, its rows as {row: weight}, and its children."""

    origin: int
    rows: dict[int, float]
    children: list["Naive"]


class NaiveRaising:
    def __init__(self, tree: Any, columns: Any, y: Any) -> None:
        self.tree, self.columns, self.y = tree, columns, y

    def child_of(self, origin: int, row: int) -> int | None:
        """Return the child, −1 for a missing value, None without a branch."""
        value = self.columns[self.tree.feature[origin]][row]
        if self.tree.kind[origin] == 1:
            return -1 if value != value else int(value > self.tree.threshold[origin])
        if value < 0:
            return -1
        child = int(self.tree.branches(origin)[value])
        return None if child < 0 else child

    def split(self, origin: int, rows: dict[int, float]) -> tuple[list[dict[int, float]], dict[int, float]]:
        parts: list[dict[int, float]] = [{} for _ in self.tree.children(origin)]
        child = {row: self.child_of(origin, row) for row in rows}
        for row, k in child.items():
            if k is not None and k >= 0:
                parts[k][row] = rows[row]
        known = [sum(part.values()) for part in parts]
        for row, k in child.items():
            for j, part in enumerate(parts):
                if k == -1 and known[j] > 0:
                    part[row] = rows[row] * known[j] / sum(known)
        return parts, {row: rows[row] for row, k in child.items() if k is None}

    def read(self, origin: int, rows: dict[int, float]) -> Naive:
        node = Naive(origin, rows, [])
        if self.tree.n_children[origin]:
            parts, _ = self.split(origin, rows)
            node.children = list(map(self.read, self.tree.children(origin), parts))
        return node

    def leaf_errors(self, rows: dict[int, float]) -> float:
        counts = np.bincount([self.y[row] for row in rows], weights=list(rows.values()), minlength=2)
        n = counts.sum()
        return float(n * upper_error_rate(n - counts.max(), n, CONFIDENCE)) if rows else 0.0

    def errors(self, node: Naive, rows: dict[int, float]) -> float:
        if not node.children:
            return self.leaf_errors(rows)
        parts, staying = self.split(node.origin, rows)
        return sum(map(self.errors, node.children, parts)) + self.leaf_errors(staying)

    def refit(self, node: Naive, rows: dict[int, float]) -> None:
        node.rows = rows
        if node.children:
            for child, part in zip(node.children, self.split(node.origin, rows)[0], strict=True):
                self.refit(child, part)

    def prune(self, node: Naive) -> None:
        if not node.children:
            return
        for child in node.children:
            self.prune(child)
        largest = max(node.children, key=lambda child: sum(child.rows.values()))
        as_leaf, as_tree = self.leaf_errors(node.rows), self.errors(node, node.rows)
        as_branch = self.errors(largest, node.rows)
        if as_leaf <= as_tree + 0.1 and as_leaf <= as_branch + 0.1:
            node.children = []
        elif as_branch <= as_tree + 0.1:
            node.origin, node.children = largest.origin, largest.children
            self.refit(node, node.rows)
            self.prune(node)


def nodes_of(root: Naive) -> list[Naive]:
    nodes = [root]
    for node in nodes:
        nodes += node.children
    return nodes


def table(seed: int, missing: float) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 5)).astype(object)
    X[:, 3] = rng.choice(list("abcd"), 300)
    X[:, 4] = rng.choice(list("uvw"), 300)
    y = (X[:, 0] > 0) ^ (X[:, 3] == "a") ^ (rng.random(300) < 0.2)
    X[rng.random((300, 5)) < missing] = None
    return X, y.astype(int)


@pytest.mark.parametrize(("seed", "missing"), [(0, 0.0), (2, 0.1), (11, 0.1)])
def test_the_same_tree_as_a_row_by_row_calculation(seed: int, missing: float) -> None:
    X, y = table(seed, missing)
    grown = C45Classifier(pruning=None).fit(X, y).tree_
    naive = NaiveRaising(grown, read_table(X).columns, y)
    root = naive.read(0, dict.fromkeys(range(len(y)), 1.0))
    naive.prune(root)
    nodes, found = nodes_of(root), C45Classifier(subtree_raising=True).fit(X, y).tree_
    plain = C45Classifier().fit(X, y).tree_
    assert [len(node.children) for node in nodes] == found.n_children.tolist() != plain.n_children.tolist()
    features = [grown.feature[node.origin] if node.children else -2 for node in nodes]
    assert features == found.feature.tolist()
    assert found.weight == pytest.approx([sum(node.rows.values()) for node in nodes])
    ones = [sum(weight for row, weight in node.rows.items() if y[row]) for node in nodes]
    assert found.value[:, 0, 1] * found.weight == pytest.approx(ones)
    assert found.n_samples.tolist() == [len(node.rows) for node in nodes]


def test_a_raised_tree_keeps_its_impurities_and_scales_with_the_weights() -> None:
    X, y = table(0, 0.1)
    model = C45Classifier(subtree_raising=True).fit(X, y)
    share = model.tree_.value[:, 0]
    entropy = -(share * np.log2(np.where(share > 0, share, 1.0))).sum(axis=1)
    assert model.tree_.impurity == pytest.approx(entropy)
    light = C45Classifier(subtree_raising=True).fit(X, y, sample_weight=np.full(len(y), 0.25))
    assert light.tree_.feature.tolist() == model.tree_.feature.tolist()


def test_raising_and_a_ledger_exclude_each_other() -> None:
    X, y = table(0, 0.0)
    with pytest.raises(InputError, match="ledger=False"):
        C45Classifier(subtree_raising=True, ledger=True).fit(X, y)

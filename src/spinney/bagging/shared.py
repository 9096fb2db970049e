"""Spinney's own trees as members: the table is read and coded once, and every member grows on its codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from spinney.bagging.draws import Bags
from spinney.bagging.fitting import bag_weights, takes_all
from spinney.bagging.narrowing import narrow
from spinney.bagging.row_order import category_keys
from spinney.core.parameters import check_parameters, thread_count
from spinney.core.seeds import draw_seed
from spinney.data.table import Table
from spinney.members.fitting import run_jobs
from spinney.native import core
from spinney.tree.grower import Grower, code_table
from spinney.trees.base import _BaseTree
from spinney.trees.fitted import Problem
from spinney.trees.pruning import Validation


@dataclass(frozen=True)
class CodedTable:
    """Hold what trees of one kind make of a table and its targets, and the codes they grow on."""

    problem: Problem
    labels: NDArray[Any]
    matrix: core.CodeMatrix
    grower: Grower

    @classmethod
    def read(
        cls,
        tree: _BaseTree,
        table: Table,
        y: NDArray[Any],
        weights: NDArray[np.float64] | None,
        n_threads: int,
    ) -> Self:
        """Code a table as a tree with these parameters does; weights (n_rows,) are the user's.

        >>> from spinney import DecisionTreeClassifier
        >>> from spinney.data import read_table
        >>> table = read_table([[0.0], [1.0]])
        >>> CodedTable.read(DecisionTreeClassifier(), table, np.array([0, 1]), None, 1).matrix.n_rows
        2
        """
        codes, classes = tree._encode(y)
        matrix = code_table(table, weights, tree.max_bins, n_threads)
        has_missing = [matrix.has_missing(j) for j in range(matrix.n_columns)]
        problem = Problem(table, codes, classes, weights, 0, n_threads).with_missing(has_missing)
        return cls(problem, y, matrix, Grower(matrix))

    def order(self) -> NDArray[np.int64]:
        """Give the rows in an order of their own, so that draws depend neither on places nor on copies."""
        keys = category_keys(self.problem.table.schema)
        return self.grower.order_rows(self.problem.target(None), keys, self.problem.n_threads)

    def select(self, columns: NDArray[np.int64]) -> CodedTable:
        """Give the table of some columns; the codes of others are not looked at again."""
        if takes_all(columns, self.matrix.n_columns):
            return self
        matrix, table = self.matrix.select(columns.tolist()), self.problem.table.select(columns.tolist())
        return CodedTable(replace(self.problem, table=table), self.labels, matrix, Grower(matrix))


class CodedTables:
    """Read a table once for all trees that read it alike.

    >>> from spinney import DecisionTreeClassifier
    >>> tables = CodedTables([[0.0], [1.0]], np.array([0, 1]), None, 1)
    >>> tables.of(DecisionTreeClassifier()) is tables.of(DecisionTreeClassifier(max_depth=2))
    True
    """

    def __init__(self, X: Any, y: NDArray[Any], weights: NDArray[np.float64] | None, n_threads: int) -> None:
        self._X, self._rest = X, (y, weights, n_threads)
        self._known: dict[tuple[Any, ...], CodedTable] = {}

    def of(self, tree: _BaseTree) -> CodedTable:
        """Give the table as this tree reads it."""
        check_parameters(type(tree).__name__, vars(tree), tree._parameter_rules)
        # The criterion is among it because some ask more of the targets than others.
        key = (tree.max_bins, repr(tree.categorical_features), getattr(tree, "criterion", None))
        if key not in self._known:
            self._known[key] = CodedTable.read(tree, tree._read(self._X), *self._rest)
        return self._known[key]


def fit_trees(
    trees: Sequence[_BaseTree],
    numbers: Sequence[int],
    tables: CodedTables,
    bags: Bags,
    oob_pruning: bool,
    n_jobs: int | None,
    title: str | None = None,
) -> list[_BaseTree]:
    """Fit each tree to the bag of its number; with ``oob_pruning`` prune it by the rows that it left out.

    A title asks for a progress bar.
    """
    jobs = [(tree, tables.of(tree), bags, t, oob_pruning) for tree, t in zip(trees, numbers, strict=True)]
    return run_jobs(_fit_tree, jobs, n_jobs, title)


def _fit_tree(tree: Any, whole: CodedTable, bags: Bags, t: int, oob_pruning: bool) -> Any:
    columns = bags.columns(t)
    if bags.n_columns_drawn < bags.n_columns or bags.bootstrap_columns:
        narrow(tree, columns, whole.problem.table.schema.names)
    coded = whole.select(columns)
    weights = tree._weights(bag_weights(bags, t), coded.labels)
    seed, n_threads = draw_seed(tree.random_state), thread_count(tree.n_jobs)
    problem = replace(coded.problem, weights=weights, seed=seed, n_threads=n_threads)
    if oob_pruning:
        problem, validation = _left_out(tree, problem, coded.labels, bags, t)
    else:
        problem, validation = tree._divide(problem, None, coded.labels)
    return tree._learn(problem, coded.grower, validation)


def _left_out(
    tree: Any, problem: Problem, labels: NDArray[Any], bags: Bags, t: int
) -> tuple[Problem, Validation | None]:
    """Give the rows to prune a tree by, None where it left out none; and tell the tree how."""
    rows = bags.left_out(t)
    tree.set_params(pruning="reduced-error" if len(rows) else None)
    if not len(rows):
        return problem, None
    weights = np.zeros(bags.n_rows)
    weights[rows] = 1.0 if bags.weights is None else bags.weights[rows]
    return problem, Validation(
        problem.table, problem.y, tree._weights_like(weights, problem.y, problem, labels)
    )

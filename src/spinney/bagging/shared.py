"""Spinney's own trees as members, fitted to one table that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from spinney.bagging.draws import Bags
from spinney.bagging.fitting import bag_weights, take_features
from spinney.bagging.narrowing import narrow
from spinney.data.schema import default_names
from spinney.members.fitting import run_jobs
from spinney.members.inputs import describe_input
from spinney.members.rows import take_rows
from spinney.trees.base import _BaseTree


def fit_trees(
    trees: Sequence[_BaseTree],
    numbers: Sequence[int],
    X: Any,
    y: NDArray[Any],
    bags: Bags,
    oob_pruning: bool,
    n_jobs: int | None,
    title: str | None = None,
) -> list[_BaseTree]:
    """Fit each tree to the bag of its number; with ``oob_pruning`` prune it by the rows that it left out.

    A title asks for a progress bar.
    """
    if bags.n_columns_drawn < bags.n_columns or bags.bootstrap_columns:
        names = describe_input(X).get("feature_names_in_", default_names(bags.n_columns))
        for tree, t in zip(trees, numbers, strict=True):
            narrow(tree, bags.columns(t), list(names))
    jobs = [(tree, X, y, bags, t, oob_pruning) for tree, t in zip(trees, numbers, strict=True)]
    return run_jobs(_fit_tree, jobs, n_jobs, title)


def _fit_tree(tree: Any, X: Any, y: NDArray[Any], bags: Bags, t: int, oob_pruning: bool) -> Any:
    table, weights = take_features(X, bags.columns(t), bags.n_columns), bag_weights(bags, t)
    if not oob_pruning:
        return tree.fit(table, y, weights)
    rows = bags.left_out(t)
    if not len(rows):
        # Nothing was left out to judge by: the tree stays as it is.
        return tree.set_params(pruning=None).fit(table, y, weights)
    unseen = (take_rows(table, rows), y[rows], None if bags.weights is None else bags.weights[rows])
    return tree.set_params(pruning="reduced-error").fit(table, y, weights, validation_set=unseen)

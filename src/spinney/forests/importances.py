"""Out-of-bag permutation importances: the loss that shuffling a feature adds to a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from spinney.bagging.sampling import BootstrapSamples, member_seed
from spinney.core.errors import InputError, show_value
from spinney.core.parameters import Integer
from spinney.core.seeds import stream
from spinney.data.schema import Table
from spinney.members.fitting import run_jobs
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.predictor import Predictor
from spinney.tree.tree_arrays import TreeArrays

# A purpose of a member's seed, beside those of its sample.
_SHUFFLE = 16


def permutation_importances(
    ensemble: TreeEnsemble,
    table: Table,
    y: NDArray[Any],
    samples: BootstrapSamples,
    n_repeats: int,
    n_jobs: int | None,
    title: str | None = None,
) -> Bunch:
    """Compute the loss that shuffling each feature adds on the out-of-bag rows of each tree.

    Parameters
    ----------
    ensemble : TreeEnsemble
        The trees.
    table : Table
        The training rows.
    y : ndarray of shape (n_rows, n_outputs)
        Class codes (int32), with the error rate as the loss, or values, with the squared error; losses are
        averaged over outputs.
    samples : BootstrapSamples
        The samples of the trees.
    n_repeats : int
        Number of shuffles per feature and tree.
    n_jobs : int or None
        Number of parallel jobs.
    title : str, optional
        If given, a progress bar with this title is shown.

    Returns
    -------
    Bunch
        ``importances_mean`` and ``importances_std`` (n_features,), and ``importances`` (n_features, n_trees).
    """
    if not Integer(1).allows(n_repeats):
        raise InputError(f"n_repeats is {show_value(n_repeats)}; it takes {Integer(1)}.")

    def tree_importances(t: int) -> NDArray[np.float64]:
        rows = samples.out_of_bag_rows(t)
        weights = None if samples.weights is None else samples.weights[rows]
        rng = stream(member_seed(samples.seed, t), _SHUFFLE)
        return _added_losses(ensemble.tree(t), table.take(rows), y[rows], weights, n_repeats, rng)

    jobs = [(t,) for t in range(ensemble.n_trees)]
    importances = np.stack(run_jobs(tree_importances, jobs, n_jobs, title), axis=1)
    return Bunch(
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
        importances=importances,
    )


def _added_losses(
    tree: TreeArrays,
    table: Table,
    y: NDArray[Any],
    weights: NDArray[np.float64] | None,
    n_repeats: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return what shuffling each feature adds to the loss of one tree on its out-of-bag rows.

    -> (n_features,)
    """
    added, n_rows = np.zeros(table.n_features), table.n_rows
    used = np.unique(np.concatenate([tree.feature[tree.feature >= 0], tree.term_feature])).tolist()
    if not n_rows or not used:
        return added  # shuffling a feature without splits changes nothing
    columns: list[Any] = [None] * table.n_features
    for j in used:
        columns[j] = table.column(j)
    predictor = Predictor(tree)

    def loss(columns: list[Any]) -> float:
        value = predictor.value(Table(table.schema, n_rows, None, columns))
        if y.dtype.kind == "i":
            losses = (value.argmax(axis=2) != y).mean(axis=1)
        else:
            losses = ((value[:, :, 0] - y) ** 2).mean(axis=1)
        return float(np.average(losses, weights=weights))

    before = loss(columns)
    for j in used:
        for _ in range(n_repeats):
            shuffled = columns[j][rng.permutation(n_rows)]
            added[j] += loss([*columns[:j], shuffled, *columns[j + 1 :]]) - before
    return added / n_repeats

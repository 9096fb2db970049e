"""Out-of-bag permutation importances: what a tree loses when one feature's values are shuffled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from spinney.bagging.sampling import BootstrapSamples, member_seed
from spinney.core.errors import InputError, show_value
from spinney.core.parameters import Whole
from spinney.core.seeds import stream
from spinney.data.table import Table
from spinney.members.fitting import run_jobs
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.predict import TreePredictor
from spinney.tree.tree_arrays import TreeArrays

# A purpose of a member's seed, beside those of its bag.
_SHUFFLE = 16


def permutation_importances(
    ensemble: TreeEnsemble,
    table: Table,
    y: NDArray[Any],
    bags: BootstrapSamples,
    n_repeats: int,
    n_jobs: int | None,
    title: str | None = None,
) -> Bunch:
    """Give the loss that shuffling each feature adds, over the rows that each tree left out.

    y (n_rows, n_outputs) are class codes, whose loss is the share of wrong answers, or numbers, whose loss
    is the squared error; of several outputs their mean.
    """
    if not Whole(1).allows(n_repeats):
        raise InputError(f"n_repeats is {show_value(n_repeats)}; it takes {Whole(1)}.")

    def added_by(t: int) -> NDArray[np.float64]:
        random = stream(member_seed(bags.seed, t), _SHUFFLE)
        return _added_losses(ensemble.tree(t), table, y, bags, t, n_repeats, random)

    jobs = [(t,) for t in range(ensemble.n_trees)]
    importances = np.stack(run_jobs(added_by, jobs, n_jobs, title), axis=1)
    return Bunch(
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
        importances=importances,
    )


def _added_losses(
    tree: TreeArrays,
    table: Table,
    y: NDArray[Any],
    bags: BootstrapSamples,
    t: int,
    n_repeats: int,
    random: np.random.Generator,
) -> NDArray[np.float64]:
    """Give what shuffling each feature adds to the loss of one tree.  -> (n_features,)"""
    added = np.zeros(table.n_features)
    rows = bags.out_of_bag_rows(t)
    used = np.unique(np.concatenate([tree.feature[tree.feature >= 0], tree.term_feature]))
    if not len(rows) or not len(used):
        return added  # a feature that no test looks at can be shuffled at will
    unseen, targets = table.take(rows), y[rows]
    weights = None if bags.weights is None else bags.weights[rows]
    columns: list[Any] = [None] * table.n_features
    for j in used.tolist():
        columns[j] = unseen.column(j)
    predictor = TreePredictor(tree)

    def loss(columns: list[Any]) -> float:
        value = predictor.value(Table(table.schema, len(rows), None, columns))
        if y.dtype.kind == "i":
            each = (value.argmax(axis=2) != targets).mean(axis=1)
        else:
            each = ((value[:, :, 0] - targets) ** 2).mean(axis=1)
        return float(np.average(each, weights=weights))

    before = loss(columns)
    for j in used.tolist():
        for _ in range(n_repeats):
            shuffled = columns[j][random.permutation(len(rows))]
            added[j] += loss([*columns[:j], shuffled, *columns[j + 1 :]]) - before
    return added / n_repeats

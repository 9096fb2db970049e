"""What each tree of a forest says of the training rows that it left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from spinney.bagging.draws import Bags
from spinney.core.parameters import thread_count
from spinney.data.table import Table
from spinney.members.fitting import run_jobs
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.predict import TreePredictor

Answers = tuple[NDArray[np.int64], NDArray[np.float64]]


def tree_values(ensemble: TreeEnsemble, table: Table, bags: Bags, n_jobs: int | None) -> Iterator[Answers]:
    """Give for each tree the rows that it did not see, and its values (n_rows_left_out, n_outputs, width)."""

    def answer(t: int) -> Answers | None:
        rows = bags.left_out(t)
        if not len(rows):
            return None
        return rows, TreePredictor(ensemble.tree(t)).value(table.take(rows))

    at_a_time = 4 * thread_count(n_jobs)  # all at once would take the memory of all answers
    for first in range(0, ensemble.n_trees, at_a_time):
        numbers = range(first, min(first + at_a_time, ensemble.n_trees))
        parts = run_jobs(answer, [(t,) for t in numbers], n_jobs)
        yield from (part for part in parts if part is not None)

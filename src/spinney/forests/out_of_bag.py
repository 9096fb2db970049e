"""Out-of-bag values of the trees of a forest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from spinney.bagging.predictions import Part, out_of_bag_parts
from spinney.bagging.sampling import BootstrapSamples
from spinney.data.table import Table
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.predict import TreePredictor


def tree_values(
    ensemble: TreeEnsemble, table: Table, samples: BootstrapSamples, n_jobs: int | None
) -> Iterator[Part]:
    """Yield the out-of-bag rows of each tree, and its values (n_out_of_bag, n_outputs, width)."""

    def predict(t: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return TreePredictor(ensemble.tree(t)).value(table.take(rows))

    return out_of_bag_parts(samples, ensemble.n_trees, predict, n_jobs)

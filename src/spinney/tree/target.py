"""Target: what a tree is to learn, as the core takes it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Target:
    """Hold class codes or values, one column an output, and the row weights.

    ``classes`` (n_rows, n_outputs) int32 with ``n_classes`` for each output, or ``values`` float64 of the
    same shape; ``weights`` (n_rows,) float64 or None for all ones. Rows of weight zero are left out.
    """

    classes: NDArray[np.int32] | None = None
    n_classes: tuple[int, ...] = ()
    values: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None

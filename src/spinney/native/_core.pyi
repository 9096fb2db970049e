"""The types of `spinney.native.core`: of each module `_core_<level>`, which are all alike."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

class CodeMatrix:
    """Every column of a table as integer codes in rank order."""

    @property
    def n_rows(self) -> int: ...
    @property
    def n_columns(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def codes(self, column: int) -> NDArray[np.uint32]: ...
    def n_bins(self, column: int) -> int: ...
    def width(self, column: int) -> int: ...
    def has_missing(self, column: int) -> bool: ...
    def lo(self, column: int) -> NDArray[np.float64]: ...
    def hi(self, column: int) -> NDArray[np.float64]: ...
    def bin_of_category(self, column: int) -> NDArray[np.uint32]: ...
    def extend(self, other: CodeMatrix) -> None: ...

class Predictor:
    """One fitted tree, packed for prediction; columns that it does not use may be None."""

    def __init__(self, tree: object, n_classes: Sequence[int]) -> None: ...
    @property
    def used_features(self) -> list[int]: ...
    def values(
        self,
        columns: NDArray[Any] | Sequence[NDArray[Any] | None],
        n_threads: int = 1,
        n_rows: int | None = None,
    ) -> NDArray[np.float64]: ...
    def apply(
        self,
        columns: NDArray[Any] | Sequence[NDArray[Any] | None],
        n_threads: int = 1,
        n_rows: int | None = None,
    ) -> NDArray[np.int64]: ...
    def classes(
        self,
        columns: NDArray[Any] | Sequence[NDArray[Any] | None],
        n_threads: int = 1,
        n_rows: int | None = None,
    ) -> NDArray[np.int64]: ...
    def decision_path(
        self,
        columns: NDArray[Any] | Sequence[NDArray[Any] | None],
        n_threads: int = 1,
        n_rows: int | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]: ...

def build_codes(
    columns: NDArray[Any] | Sequence[NDArray[Any]],
    n_categories: Sequence[int],
    weights: NDArray[np.float64] | None,
    max_bins: int,
    n_threads: int,
) -> CodeMatrix: ...
def grow(
    matrix: CodeMatrix,
    classes: NDArray[np.int32] | None,
    n_classes: Sequence[int],
    values: NDArray[np.float64] | None,
    weights: NDArray[np.float64] | None,
    options: Mapping[str, Any],
) -> dict[str, Any]: ...
def available_cpus() -> int: ...

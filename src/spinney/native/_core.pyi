"""The types of `spinney.native.core`: of each module `_core_<level>`, which are all alike."""

from collections.abc import Callable, Mapping, Sequence
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
    def select(self, columns: Sequence[int]) -> CodeMatrix: ...
    def group_categories(self, column: int, groups: NDArray[np.uint32]) -> None: ...
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

class EnsemblePredictor:
    """All trees of an ensemble, packed for prediction when first used; columns not used may be None."""

    def __init__(self, ensemble: object, per_round: int) -> None: ...
    @property
    def used_features(self) -> list[int]: ...
    def sum(
        self,
        columns: NDArray[Any] | Sequence[NDArray[Any] | None],
        n_threads: int,
        n_rows: int,
        first_tree: int,
        n_trees: int,
        n_stages: int,
        weights: NDArray[np.float64] | None,
        start: NDArray[np.float64] | None,
    ) -> NDArray[np.float64]: ...
    def apply(
        self,
        columns: NDArray[Any] | Sequence[NDArray[Any] | None],
        n_threads: int,
        n_rows: int,
        n_trees: int,
    ) -> NDArray[np.int32]: ...

class Bag:
    def __init__(
        self,
        n_rows: int,
        n_draw: int,
        bootstrap: bool,
        order: NDArray[np.int64] | None,
        copies: NDArray[np.int64] | None,
        chances: NDArray[np.float64] | None,
    ) -> None: ...
    def draw(self, seed: int) -> NDArray[np.int64]: ...

class Grower:
    def __init__(self, matrix: CodeMatrix) -> None: ...
    def grow(
        self,
        classes: NDArray[np.int32] | None,
        n_classes: Sequence[int],
        values: NDArray[np.float64] | None,
        weights: NDArray[np.float64] | None,
        options: Mapping[str, Any],
    ) -> dict[str, Any]: ...
    def grow_forest(
        self,
        classes: NDArray[np.int32] | None,
        n_classes: Sequence[int],
        values: NDArray[np.float64] | None,
        options: Mapping[str, Any],
        bag: Bag,
        bag_seeds: NDArray[np.uint64],
        tree_seeds: NDArray[np.uint64],
        factors: NDArray[np.float64] | None,
        balanced: bool,
        take: Callable[[dict[str, Any]], None],
    ) -> None: ...
    def order_rows(
        self,
        classes: NDArray[np.int32] | None,
        values: NDArray[np.float64] | None,
        category_keys: Sequence[NDArray[np.uint64]],
        n_threads: int,
    ) -> NDArray[np.int64]: ...

class StumpBooster:
    """The best stump under weights that shift every round."""

    def __init__(
        self,
        matrix: CodeMatrix,
        classes: NDArray[np.int32],
        n_classes: int,
        copies: NDArray[np.int64],
        sizes: NDArray[np.float64],
        one_vs_rest: bool,
        n_threads: int,
    ) -> None: ...
    def learn(self) -> dict[str, Any]: ...
    def reweight(self, factor: float, least: float, most: float, fresh: int) -> None: ...
    def answers(self) -> NDArray[np.int64]: ...
    def steps(self) -> NDArray[np.int64]: ...

class StumpTables:
    """Stumps added up into one table a feature: (feature, categorical, thresholds, lines) each."""

    def __init__(
        self,
        base: NDArray[np.float64],
        tables: list[tuple[int, bool, NDArray[np.float64], NDArray[np.float64]]],
        n_features: int,
    ) -> None: ...
    def sum(
        self,
        columns: NDArray[Any] | Sequence[NDArray[Any] | None],
        n_threads: int = 1,
        n_rows: int | None = None,
    ) -> NDArray[np.float64]: ...

def build_codes(
    columns: NDArray[Any] | Sequence[NDArray[Any]],
    n_categories: Sequence[int],
    weights: NDArray[np.float64] | None,
    max_bins: int,
    n_threads: int,
) -> CodeMatrix: ...
def available_cpus() -> int: ...

class Booster:
    """Grows boosted trees on one matrix, round after round."""

    def __init__(self, matrix: CodeMatrix, options: Mapping[str, Any]) -> None: ...
    def set_rows(
        self, y: NDArray[np.float64], weights: NDArray[np.float64] | None, scores: NDArray[np.float64]
    ) -> None: ...
    def run(self, loss: str, parameter: float, n_rounds: int) -> list[dict[str, Any]]: ...
    def step(self, gradient: NDArray[np.float64], hessian: NDArray[np.float64]) -> list[dict[str, Any]]: ...
    def loss(self, loss: str, parameter: float, weights: NDArray[np.float64] | None) -> float: ...
    @property
    def scores(self) -> NDArray[np.float64]: ...
    @property
    def times(self) -> dict[str, float]: ...
    @property
    def round(self) -> int: ...

def room(n_bytes: int) -> NDArray[np.uint8]: ...

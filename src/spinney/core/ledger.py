"""The ledger: a record of every candidate split that growing a tree looked at, with its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.core.errors import ModelFileError
from spinney.core.frames import to_frame

# The exact type of every stored column; the order is the order of the printed table.
_COLUMN_TYPES: dict[str, type[np.generic]] = {
    "node": np.int32,
    "feature": np.int32,
    "threshold": np.float64,
    "gain": np.float64,
    "gain_ratio": np.float64,
    "score": np.float64,
    "chosen": np.bool_,
    "depth": np.int32,
    "n_samples": np.int64,
}


@dataclass(frozen=True, eq=False)
class CandidateLedger:
    """Hold one row a candidate split: where, on what, how good, and whether it was the one taken.

    ``feature`` counts from 0 and is −1 for a linear test; tables show ``feature_names`` instead.
    ``threshold`` is NaN for a category test, which ``test`` may put into words. depth and n_samples are −1
    where not recorded.

    >>> ledger = CandidateLedger.from_columns(
    ...     ["density", "texture"], node=[0, 0], feature=[0, 1], threshold=[0.38, np.nan],
    ...     gain=[0.26, 0.38], gain_ratio=[0.26, 0.26], score=[0.26, 0.38], chosen=[False, True])
    >>> ledger.to_records()[1]["feature"]
    'texture'
    """

    feature_names: tuple[str, ...]
    node: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    gain: NDArray[np.float64]
    gain_ratio: NDArray[np.float64]
    score: NDArray[np.float64]
    chosen: NDArray[np.bool_]
    depth: NDArray[np.int32]
    n_samples: NDArray[np.int64]
    test: tuple[str, ...]

    @classmethod
    def from_columns(
        cls,
        feature_names: Sequence[str],
        *,
        node: ArrayLike,
        feature: ArrayLike,
        threshold: ArrayLike,
        gain: ArrayLike,
        gain_ratio: ArrayLike,
        score: ArrayLike,
        chosen: ArrayLike,
        depth: ArrayLike | None = None,
        n_samples: ArrayLike | None = None,
        test: Sequence[str] | None = None,
    ) -> CandidateLedger:
        """Build a ledger from columns of one length, filling in those that were not recorded."""
        given: dict[str, ArrayLike | None] = {
            "node": node,
            "feature": feature,
            "threshold": threshold,
            "gain": gain,
            "chosen": chosen,
        }
        given |= {"gain_ratio": gain_ratio, "score": score, "depth": depth, "n_samples": n_samples}
        length = len(np.asarray(node))
        columns: dict[str, Any] = {}
        for name, dtype in _COLUMN_TYPES.items():
            column = np.full(length, -1) if given[name] is None else given[name]
            columns[name] = np.ascontiguousarray(column, dtype=dtype).view()
            columns[name].setflags(write=False)
            if columns[name].shape != (length,):
                raise ValueError(
                    f"Column {name!r} has shape {columns[name].shape}; column 'node' has {length} rows."
                )
        words = ("",) * length if test is None else tuple(map(str, test))
        if len(words) != length:
            raise ValueError(f"Column 'test' has {len(words)} rows; column 'node' has {length}.")
        names = tuple(map(str, feature_names))
        if length and (columns["feature"].min() < -1 or columns["feature"].max() >= len(names)):
            raise ValueError(f"Column 'feature' has numbers outside the {len(names)} feature names.")
        return cls(feature_names=names, test=words, **columns)

    def __len__(self) -> int:
        return len(self.node)

    def __repr__(self) -> str:
        return f"CandidateLedger({len(self)} candidates at {len(np.unique(self.node))} nodes)"

    def to_columns(self) -> dict[str, list[Any]]:
        """Give the table by column, features by name; the words of the tests only where there are any."""
        columns: dict[str, list[Any]] = {name: getattr(self, name).tolist() for name in _COLUMN_TYPES}
        columns["feature"] = [
            self.feature_names[index] if index >= 0 else "" for index in self.feature.tolist()
        ]
        for name in ("depth", "n_samples"):
            if all(number == -1 for number in columns[name]):
                del columns[name]
        return columns | ({"test": list(self.test)} if any(self.test) else {})

    def to_records(self) -> list[dict[str, Any]]:
        """Give the table as one dict a candidate."""
        columns = self.to_columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_frame(self) -> Any:
        """Give the table as a pandas DataFrame, or a polars one where there is no pandas.

        >>> model.ledger_.to_frame().query("node == 0").sort_values("gain")  # doctest: +SKIP
        """
        return to_frame(self.to_columns())

    def renumbered(self, new_node: NDArray[np.int32]) -> CandidateLedger:
        """Follow a pruning: keep the rows of nodes still there, under their new numbers.  new_node (n_nodes,)

        ``new_node`` is what ``TreeArrays.renumber`` gives. A node that became a leaf keeps its candidates.
        """
        kept = np.flatnonzero(new_node[self.node] >= 0)
        columns = {name: getattr(self, name)[kept] for name in _COLUMN_TYPES}
        columns["node"] = new_node[columns["node"]]
        return CandidateLedger.from_columns(
            self.feature_names, test=[self.test[row] for row in kept], **columns
        )

    def to_state(self) -> dict[str, Any]:
        """Give the ledger as arrays and lists of text, the form in which a model file stores it."""
        state: dict[str, Any] = {name: getattr(self, name) for name in _COLUMN_TYPES}
        return state | {
            "feature_names": list(self.feature_names),
            "test": list(self.test) if any(self.test) else [],
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> CandidateLedger:
        """Build a ledger from a stored state that nobody has checked; raise ModelFileError if unsound."""
        unexpected = set(state) ^ {*_COLUMN_TYPES, "feature_names", "test"}
        if unexpected:
            raise ModelFileError(
                f"The ledger's columns are not the expected ones: {sorted(map(str, unexpected))}."
            )
        for name, dtype in _COLUMN_TYPES.items():
            column = state[name]
            if not isinstance(column, np.ndarray) or column.dtype != np.dtype(dtype) or column.ndim != 1:
                raise ModelFileError(f"Ledger column {name!r} must be a 1-D array of {np.dtype(dtype)}.")
        for name in ("feature_names", "test"):
            if not isinstance(state[name], list | tuple) or not all(
                isinstance(text, str) for text in state[name]
            ):
                raise ModelFileError(f"The ledger's {name!r} must be a list of text.")
        try:
            columns = {name: state[name] for name in _COLUMN_TYPES}
            return cls.from_columns(state["feature_names"], test=state["test"] or None, **columns)
        except ValueError as error:
            raise ModelFileError(f"The ledger is not sound. {error}") from error

"""Ledgers: tables of what fitting recorded, one array per column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats, array_types
from spinney.core.errors import ModelFileError
from spinney.core.frames import to_frame
from spinney.native import core


class Ledger:
    """Base class of the tables that fitting records.

    A subclass is a frozen dataclass whose columns are its fields of type NDArray; it calls `check_columns` in
    ``__post_init__``. A ledger that is saved by itself inherits `Persistent` as well.
    """

    column_types: ClassVar[Mapping[str, type[np.generic]]]
    """The exact type of every column, in the order of the printed table."""
    optional_columns: ClassVar[tuple[str, ...]] = ()
    """Columns left out of tables when nothing was recorded in them: all entries are NaN or −1."""
    counter: ClassVar[tuple[str, int] | None] = None
    """Name and first number of a column that numbers the rows, such as ``("round", 0)``."""
    row_name: ClassVar[str] = "rows"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.column_types = {name: dtype for name, (dtype,) in array_types(cls).items()}

    def check_columns(self) -> None:
        """Raise ModelFileError unless every column is a 1-D array of its type, all of one length."""
        for name, dtype in self.column_types.items():
            column = getattr(self, name)
            if not isinstance(column, np.ndarray) or column.dtype != np.dtype(dtype) or column.ndim != 1:
                raise ModelFileError(f"Ledger column {name!r} must be a 1-D array of {np.dtype(dtype)}.")
            if len(column) != len(self):
                raise ModelFileError(f"Ledger column {name!r} has {len(column)} rows, others {len(self)}.")

    def __len__(self) -> int:
        return len(getattr(self, next(iter(self.column_types))))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} {self.row_name})"

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the table as lists by column name.

        Returns
        -------
        dict of str to list
            Columns in which nothing was recorded are left out.
        """
        columns: dict[str, list[Any]] = {}
        if self.counter is not None:
            name, first = self.counter
            columns[name] = list(range(first, first + len(self)))
        for name in self.column_types:
            column = getattr(self, name)
            if name not in self.optional_columns or not (np.isnan(column) | (column == -1)).all():
                columns[name] = column.tolist()
        return columns

    def to_records(self) -> list[dict[str, Any]]:
        """Return the table as one dict per row.

        Returns
        -------
        list of dict
            The rows of `to_columns`.
        """
        columns = self.to_columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_frame(self) -> Any:
        """Return the table as a data frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Polars if pandas is not installed.

        Examples
        --------
        >>> model.ledger_.to_frame().query("node == 0").sort_values("gain")  # doctest: +SKIP
        """
        return to_frame(self.to_columns())


@dataclass(frozen=True, eq=False, repr=False)
class CandidateLedger(Ledger):
    """The split candidates that were scored while a tree was grown, one row per candidate.

    Attributes
    ----------
    feature_names : tuple of str
        Names of the features, shown in tables instead of their indices.
    node : ndarray of shape (n_candidates,), int32
        Node that the candidate would split.
    feature : ndarray of shape (n_candidates,), int32
        Feature index; −1 for an oblique split.
    threshold : ndarray of shape (n_candidates,), float64
        Threshold; NaN for a split of categories.
    gain, gain_ratio : ndarray of shape (n_candidates,), float64
        Impurity decrease, and gain divided by the split information.
    score : ndarray of shape (n_candidates,), float64
        What features were compared by.
    chosen : ndarray of shape (n_candidates,), bool
        Whether the node was split this way.
    depth : ndarray of shape (n_candidates,), int32
        Depth of the node; −1 where not recorded.
    n_samples : ndarray of shape (n_candidates,), int64
        Number of training rows in the node; −1 where not recorded.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier(ledger=True).fit([[0.0], [1.0]], ["a", "b"])
    >>> tree.ledger_.to_records()[0]["feature"]
    'x0'
    """

    optional_columns = ("depth", "n_samples")

    feature_names: tuple[str, ...]
    node: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: Floats
    gain: Floats
    gain_ratio: Floats
    score: Floats
    chosen: NDArray[np.bool_]
    depth: NDArray[np.int32]
    n_samples: NDArray[np.int64]

    def __post_init__(self) -> None:
        self.check_columns()
        if len(self) and not -1 <= self.feature.min() <= self.feature.max() < len(self.feature_names):
            raise ModelFileError("The ledger has features without a name.")

    @classmethod
    def from_candidates(
        cls,
        feature_names: Sequence[str],
        candidates: core.Candidates,
        depth: NDArray[np.int32],
        n_samples: NDArray[np.int64],
    ) -> CandidateLedger:
        """Build a ledger from what the core recorded.  depth, n_samples (n_nodes,) of the tree"""
        of_nodes: dict[str, Any] = {"depth": depth[candidates.node], "n_samples": n_samples[candidates.node]}
        recorded = {name: getattr(candidates, name) for name in cls.column_types if name not in of_nodes}
        return cls(tuple(feature_names), **recorded, **of_nodes)

    def __repr__(self) -> str:
        return f"CandidateLedger({len(self)} candidates at {len(np.unique(self.node))} nodes)"

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the table as lists by column name.

        Returns
        -------
        dict of str to list
            Features are given by name.
        """
        names = [self.feature_names[j] if j >= 0 else "" for j in self.feature.tolist()]
        return super().to_columns() | {"feature": names}

    def renumbered(self, new_node: NDArray[np.int32]) -> CandidateLedger:
        """Return the ledger of the pruned tree.

        Parameters
        ----------
        new_node : ndarray of shape (n_nodes,)
            New number of each node, −1 if it was pruned, as from ``TreeArrays.renumber``.

        Returns
        -------
        CandidateLedger
            The candidates of the nodes that are left. A node that became a leaf keeps its candidates.
        """
        kept = new_node[self.node] >= 0
        columns: dict[str, Any] = {name: getattr(self, name)[kept] for name in self.column_types}
        return replace(self, **columns | {"node": new_node[columns["node"]]})

    def to_state(self) -> dict[str, Any]:
        """Return the ledger as plain data for a model file.

        Returns
        -------
        dict
            Arrays by column name, and lists of text.
        """
        columns: dict[str, Any] = {name: getattr(self, name) for name in self.column_types}
        # The list of texts is part of the file format, and always empty.
        return columns | {"feature_names": list(self.feature_names), "test": []}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> CandidateLedger:
        """Build a ledger from unchecked plain data.

        Parameters
        ----------
        state : mapping
            What `to_state` returned.

        Returns
        -------
        CandidateLedger
            The ledger.

        Raises
        ------
        ModelFileError
            If columns are missing, of another type or of different lengths.
        """
        unexpected = set(state) ^ {*cls.column_types, "feature_names", "test"}
        if unexpected:
            raise ModelFileError(
                f"The ledger's columns are not the expected ones: {sorted(map(str, unexpected))}."
            )
        for name in ("feature_names", "test"):
            texts = state[name]
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise ModelFileError(f"The ledger's {name!r} must be a list of text.")
        columns = {name: state[name] for name in cls.column_types}
        return cls(tuple(state["feature_names"]), **columns)

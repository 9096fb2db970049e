"""Block: some consecutive rows of a dataset, memory-mapped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.data.schema import Schema
from spinney.data.store.files import CATEGORIES, CODES, GROUP, TARGET, WEIGHTS
from spinney.data.store.manifest import Manifest, TargetColumns


class BlockReader(Protocol):
    """What a block asks its dataset for."""

    schema: Schema
    manifest: Manifest
    wide: tuple[int, ...]

    @property
    def classes(self) -> tuple[NDArray[Any], ...] | None:
        """Classes of every output."""

    def read(self, name: str, block: Block) -> Any:
        """Return the rows of a block in one of the files."""


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows of a dataset.

    Attributes
    ----------
    dataset : BinnedDataset
        The dataset.
    index : int
        Number of the block.
    begin, end : int
        First row, and the row after the last.

    Examples
    --------
    >>> import tempfile
    >>> from spinney.data import BinnedDataset
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     dataset = BinnedDataset.build([[1.0], [3.0]], directory + "/store", target=[0, 1])
    ...     block = dataset.block(0)
    ...     block.codes.tolist(), block.target.tolist()
    ([[0, 1]], [0, 1])
    """

    dataset: BlockReader
    index: int
    begin: int
    end: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.end - self.begin

    @property
    def codes(self) -> NDArray[np.uint8]:
        """Bin codes, memory-mapped and read-only.  (n_features, n_rows)"""
        codes: NDArray[np.uint8] = self.dataset.read(CODES, self)
        return codes

    @property
    def target(self) -> NDArray[Any] | None:
        """Labels or values, None if the dataset has no target.  (n_rows,) or (n_rows, n_outputs)"""
        described = self.dataset.manifest.target
        return None if described is None else as_target(self.dataset.read(TARGET, self), described)

    @property
    def class_codes(self) -> NDArray[np.int32]:
        """Positions of the labels among `BinnedDataset.classes`.  (n_rows, n_outputs)"""
        classes, described = self.dataset.classes, self.dataset.manifest.target
        if classes is None or described is None:
            raise InputError("The dataset has no target that is made of classes.")
        stored = self.dataset.read(TARGET, self)
        if described.labels is not None:
            return np.asarray(stored, dtype=np.int32)
        codes = [np.searchsorted(known, stored[:, k]) for k, known in enumerate(classes)]
        return np.stack(codes, axis=1).astype(np.int32)

    @property
    def weights(self) -> Floats | None:
        """Row weights, None if there are none.  (n_rows,)"""
        return self.dataset.read(WEIGHTS, self)[:, 0] if self.dataset.manifest.has_weights else None

    @property
    def group(self) -> NDArray[np.int64] | None:
        """Number of each row's group, None if there are none.  (n_rows,)"""
        return self.dataset.read(GROUP, self)[:, 0] if self.dataset.manifest.has_group else None

    def categories(self, j: int) -> NDArray[np.int32]:
        """Return the categories of a categorical column, also where several share a bin.

        Parameters
        ----------
        j : int
            Position of the column.

        Returns
        -------
        ndarray of shape (n_rows,)
            Positions among the categories of the schema, −1 if missing.
        """
        dataset = self.dataset
        if j in dataset.wide:
            return np.asarray(dataset.read(CATEGORIES, self)[dataset.wide.index(j)], np.int32)
        n_categories = len(dataset.schema.features[j].categories)
        if dataset.schema.features[j].kind != "categorical":
            raise InputError("The column has no categories", column=dataset.schema.names[j])
        codes: NDArray[np.int32] = self.codes[j].astype(np.int32)
        codes[codes == n_categories] = -1
        return codes


def as_target(stored: NDArray[Any], described: TargetColumns) -> NDArray[Any]:
    """Return the target of some rows from what is stored of them.  (n_rows, n_outputs) -> ..."""
    if described.labels is not None:
        columns = [labels[stored[:, k]] for k, labels in enumerate(described.labels)]
        stored = np.stack(columns, axis=1)
    return stored[:, 0] if described.is_vector else stored

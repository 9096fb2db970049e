"""The binned store: tables of any size as byte codes on disk, built in two passes and memory-mapped."""

from spinney.data.store.block import Block
from spinney.data.store.dataset import BinnedDataset
from spinney.data.store.errors import SourceChangedError, StoreError

__all__ = ["BinnedDataset", "Block", "SourceChangedError", "StoreError"]

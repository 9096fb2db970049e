"""Data: tables of typed columns, schemas, targets, weights, training sets, and binned datasets on disk."""

from spinney.data.features import Feature
from spinney.data.schema import Schema, Table, read_table
from spinney.data.store import BinnedDataset
from spinney.data.training_set import TrainingSet

__all__ = ["BinnedDataset", "Feature", "Schema", "Table", "TrainingSet", "read_table"]

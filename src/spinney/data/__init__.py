"""Data: tables of typed columns, schemas, targets, weights, training sets, and binned datasets on disk."""

from spinney.data.dates import DateExpander, expand_dates
from spinney.data.features import Feature
from spinney.data.schema import Schema, Table, read_table
from spinney.data.store import BinnedDataset
from spinney.data.training_set import TrainingSet

__all__ = [
    "BinnedDataset",
    "DateExpander",
    "Feature",
    "Schema",
    "Table",
    "TrainingSet",
    "expand_dates",
    "read_table",
]

"""Data: tables of typed columns, schemas, targets, weights and training sets."""

from spinney.data.dates import DateExpander, expand_dates
from spinney.data.features import Feature
from spinney.data.schema import Schema, Table, read_table
from spinney.data.training_set import TrainingSet

__all__ = ["DateExpander", "Feature", "Schema", "Table", "TrainingSet", "expand_dates", "read_table"]

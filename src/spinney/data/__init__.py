"""Data: tables of typed columns, schemas, targets, weights, training sets, and binned datasets on disk.

What needs more than NumPy is imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spinney.data.features import Feature
from spinney.data.schema import Schema, Table, read_table

if TYPE_CHECKING:
    from spinney.data.bin_mapper import BinMapper
    from spinney.data.dates import DateExpander, expand_dates
    from spinney.data.store import BinnedDataset
    from spinney.data.training_set import TrainingSet

_MODULES = {
    "BinMapper": "spinney.data.bin_mapper",
    "BinnedDataset": "spinney.data.store",
    "DateExpander": "spinney.data.dates",
    "TrainingSet": "spinney.data.training_set",
    "expand_dates": "spinney.data.dates",
}

__all__ = [
    "BinMapper",
    "BinnedDataset",
    "DateExpander",
    "Feature",
    "Schema",
    "Table",
    "TrainingSet",
    "expand_dates",
    "read_table",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'spinney.data' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value

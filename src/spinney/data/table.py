"""Names of `spinney.data.schema`, for modules that still import them from here."""

from spinney.data.schema import Column, LazyColumns, Table

__all__ = ["Column", "LazyColumns", "Table"]

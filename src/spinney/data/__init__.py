"""Tables: any input as typed columns, and the schema that reads new data the same way."""

from spinney.data.schema import Feature, Schema, read_table
from spinney.data.table import Table

__all__ = ["Feature", "Schema", "Table", "read_table"]

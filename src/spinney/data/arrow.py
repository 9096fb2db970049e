"""Arrow types without kernels that take rows: string views, binary views and run-end encoding."""

from __future__ import annotations

from typing import Any

import narwhals as nw


def with_plain_types(X: Any) -> Any:
    """Return an Arrow table, or a pandas frame around Arrow, in types whose rows can be taken by position.

    Parameters
    ----------
    X : object
        Any table.

    Returns
    -------
    object
        The table with the same values; the same object if it has none of these types, or is of another kind.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"color": pa.array(["red", "blue"]).cast(pa.string_view())})
    >>> str(with_plain_types(table).schema.field("color").type)
    'large_string'
    """
    native = nw.to_native(X, pass_through=True)
    if nw.dependencies.is_pandas_dataframe(native):
        return _plain_pandas(X, native)
    if hasattr(native, "schema") and hasattr(native, "set_column"):  # a Table or RecordBatch
        native = as_table(native)
        for j, field in enumerate(native.schema):
            if (plain := plain_type(field.type)) is not field.type:
                native = native.set_column(j, field.name, _cast(native.column(j), plain))
        return native
    return X


def as_table(X: Any) -> Any:
    """Return a record batch as a table, because scikit-learn neither takes rows of a batch nor reads names.

    Parameters
    ----------
    X : object
        Any table.

    Returns
    -------
    object
        The table; the same object if it is no record batch.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_table(pa.record_batch({"a": [1, 2]})).column_names
    ['a']
    """
    if not hasattr(X, "schema") or not hasattr(X, "set_column") or hasattr(X, "to_batches"):
        return X
    import pyarrow as pa

    return pa.Table.from_batches([X])


def plain_type(arrow_type: Any) -> Any:
    """Return the type that a column is converted to; the type itself if its rows can be taken."""
    import pyarrow as pa

    if pa.types.is_run_end_encoded(arrow_type):
        return plain_type(arrow_type.value_type)
    if arrow_type == pa.string_view():
        return pa.large_string()
    return pa.large_binary() if arrow_type == pa.binary_view() else arrow_type


def _cast(column: Any, plain: Any) -> Any:
    """Decode runs and convert views."""
    import pyarrow as pa

    if pa.types.is_run_end_encoded(column.type):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        column = pa.chunked_array([_decode_runs(chunk) for chunk in chunks], column.type.value_type)
    return column.cast(plain)


def _decode_runs(runs: Any) -> Any:
    """Return the values of all rows; Arrow itself decodes no runs of dictionary values, but their numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = pa.RunEndEncodedArray.from_arrays(runs.run_ends, pa.array(range(len(runs.values)), pa.int64()))
    return runs.values.take(pc.run_end_decode(numbers.slice(runs.offset, len(runs))))


def _plain_pandas(X: Any, native: Any) -> Any:
    """Convert the columns of a pandas frame whose values are Arrow arrays of these types."""
    found = {}
    for j, dtype in enumerate(native.dtypes.tolist()):
        arrow_type = getattr(dtype, "pyarrow_dtype", None)
        if arrow_type is not None and (plain := plain_type(arrow_type)) is not arrow_type:
            found[j] = type(dtype)(plain)
    if not found:
        return X
    converted = native.copy(deep=False)
    for j, dtype in found.items():
        column = native.iloc[:, j]
        values = _cast(column.array.__arrow_array__(), dtype.pyarrow_dtype)
        converted.isetitem(j, type(column)(type(column.array)(values), index=column.index))
    return converted

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
        if not hasattr(native, "to_batches"):
            import pyarrow as pa

            native = pa.Table.from_batches([native])  # scikit-learn takes no rows of a batch
        for j, field in enumerate(native.schema):
            if (plain := plain_type(field.type)) is not field.type:
                native = native.set_column(j, field.name, _cast(native.column(j), plain))
        return native
    return X


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
    import pyarrow.compute as pc

    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    return column.cast(plain)


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

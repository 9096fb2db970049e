"""Predictions of tables of any size, batch by batch, as an iterator or in a Parquet file."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, show_value
from spinney.core.frames import free_name
from spinney.core.progress import ProgressBar
from spinney.data.store.build import open_source_batches
from spinney.data.store.errors import located, missing_library
from spinney.data.store.sources import frame_column, frame_columns

_METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "apply")


def predict_batches(
    model: Any,
    source: Any,
    *,
    method: str = "predict",
    verbose: int = 0,
) -> Iterator[Any]:
    """Predict the rows of a source batch by batch; memory is bounded by a batch, not by the table.

    Parameters
    ----------
    model : estimator
        A fitted estimator of Spinney or scikit-learn.
    source : path, list of paths, pyarrow.dataset.Dataset, LazyFrame, Dask DataFrame, frames or table
        Rows to predict, as `spinney.data.BinnedDataset.build` takes them. Columns that the model does not
        know, such as the target, are left out.
    method : str, default="predict"
        What to call: "predict", "predict_proba", "predict_log_proba", "decision_function" or "apply".
    verbose : int, default=0
        Whether to show progress.

    Yields
    ------
    ndarray
        What the method returns for each batch, in the order of the rows.

    Examples
    --------
    >>> from spinney import DecisionTreeRegressor, predict_batches
    >>> model = DecisionTreeRegressor().fit([[0.0], [1.0]], [2.0, 3.0])
    >>> batches = [np.array([[0.2], [0.9]]), np.array([[0.7]])]
    >>> [part.tolist() for part in predict_batches(model, batches)]
    [[2.0, 3.0], [3.0]]
    """
    return (predicted for predicted, _ in _predict(model, source, method, (), verbose))


def predict_to_parquet(
    model: Any,
    source: Any,
    path: str | os.PathLike[str],
    *,
    method: str = "predict",
    keep: Sequence[str] = (),
    verbose: int = 0,
) -> int:
    """Predict the rows of a source, and write the predictions to a Parquet file, batch by batch.

    The file is complete or not there. It has the column "prediction", or "prediction_" with the class, or the
    number, for every column of what the method returns.

    Parameters
    ----------
    model : estimator
        A fitted estimator of Spinney or scikit-learn.
    source : path, list of paths, pyarrow.dataset.Dataset, LazyFrame, Dask DataFrame, frames or table
        Rows to predict; see `predict_batches`.
    path : str or path-like
        The file to write.
    method : str, default="predict"
        What to call: "predict", "predict_proba", "predict_log_proba", "decision_function" or "apply".
    keep : sequence of str, default=()
        Columns of the source to copy into the file, such as an id.
    verbose : int, default=0
        Whether to show progress.

    Returns
    -------
    int
        Number of rows.

    Examples
    --------
    >>> predict_to_parquet(model, "new/*.parquet", "scores.parquet", keep=["id"])  # doctest: +SKIP
    1000000
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise missing_library("pyarrow", "Parquet files") from None
    target = Path(path)
    temporary = target.with_name(f".{target.name}-{secrets.token_hex(8)}.tmp")
    writer, n_rows = None, 0
    try:
        for predicted, kept in _predict(model, source, method, tuple(keep), verbose):
            columns = dict(kept)
            for name, values in _named(model, method, predicted).items():
                columns[free_name(name, columns)] = values
            table = pa.table(columns)
            if writer is None:
                writer = parquet.ParquetWriter(temporary, table.schema)
            writer.write_table(table.cast(writer.schema))
            n_rows += table.num_rows
        if writer is None:
            raise InputError("The source has no rows to predict.")
        writer.close()
        temporary.replace(target)
    finally:
        if writer is not None and writer.is_open:
            writer.close()
        temporary.unlink(missing_ok=True)
    return n_rows


def _predict(
    model: Any, source: Any, method: str, keep: tuple[str, ...], verbose: int
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the predictions of each batch, and the columns to keep."""
    if method not in _METHODS or not hasattr(model, method):
        raise InputError(
            f"method is {show_value(method)}; {type(model).__name__} has "
            f"{', '.join(name for name in _METHODS if hasattr(model, name))}."
        )
    batches, done = open_source_batches(source), 0
    with batches.opened(), ProgressBar("predicting", batches.n_rows or 0, shown=verbose) as bar:
        for batch in batches.batches():
            with located(batch.where, batch.first_row):
                names = frame_columns(batch.frame)
                for name in keep:
                    if names is None or name not in names:
                        raise InputError(f"The source has no column {show_value(name)} to keep.")
                kept = {name: frame_column(batch.frame, name) for name in keep}
                predicted = getattr(model, method)(_known_columns(model, batch.frame, names))
            yield predicted, kept
            done += len(predicted[0] if isinstance(predicted, list) else predicted)
            bar.update(done)


def _known_columns(model: Any, frame: Any, names: Sequence[str] | None) -> Any:
    """Return the columns of a frame that the model was fitted to, in their order."""
    known = getattr(model, "feature_names_in_", None)
    if known is None or names is None or list(known) == list(names):
        return frame
    wanted = known.tolist()
    if not set(wanted) <= set(names):
        return frame  # the model says what is missing
    if isinstance(frame, dict):
        return {name: frame[name] for name in wanted}
    return frame.select(wanted) if hasattr(frame, "select") else frame[wanted]


def _named(model: Any, method: str, predicted: Any) -> dict[str, NDArray[Any]]:
    """Return the columns of predictions by name."""
    if isinstance(predicted, list):
        raise InputError("Predictions of several outputs are a list of arrays, which a table cannot hold.")
    values = np.asarray(predicted)
    if values.ndim == 1:
        return {"prediction": values}
    flat = values.reshape(len(values), -1)
    classes = getattr(model, "classes_", None)
    by_class = method != "predict" and isinstance(classes, np.ndarray) and len(classes) == flat.shape[1]
    labels = classes.tolist() if by_class and classes is not None else range(flat.shape[1])
    return {f"prediction_{label}": flat[:, k] for k, label in enumerate(labels)}

"""Predictions of Dask collections, computed partition by partition when they are needed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError


def predict_lazily(model: Any, method: str, X: Any) -> Any:
    """Return the predictions of a Dask DataFrame or Array as a Dask Array.

    Parameters
    ----------
    model : estimator
        A fitted estimator without a client.
    method : str
        Name of the method.
    X : Dask DataFrame or Dask Array
        Rows.

    Returns
    -------
    Dask Array
        One chunk per partition.
    """
    like = _one_row(model, method)
    predict = partial(_predict_part, model, method, like)
    if hasattr(X, "map_blocks"):
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        if like.ndim == 1:
            return X.map_blocks(predict, drop_axis=1, dtype=like.dtype, meta=like)
        chunks = (X.chunks[0], (like.shape[1],))
        return X.map_blocks(predict, chunks=chunks, dtype=like.dtype, meta=like)
    import pandas as pd

    meta = pd.Series(like) if like.ndim == 1 else pd.DataFrame(like)
    return X.map_partitions(partial(_predict_frame, predict), meta=meta).values


def _predict_part(model: Any, method: str, like: NDArray[Any], part: Any) -> NDArray[Any]:
    """Predict a partition, which may be empty."""
    return np.asarray(getattr(model, method)(part)).astype(like.dtype, copy=False) if len(part) else like


def _predict_frame(predict: Any, part: Any) -> Any:
    import pandas as pd

    predicted = predict(part)
    kind = pd.Series if predicted.ndim == 1 else pd.DataFrame
    return kind(predicted, index=part.index)


def _one_row(model: Any, method: str) -> NDArray[Any]:
    """Return predictions of no rows, with the type and the width of others."""
    import pandas as pd

    row = np.full((1, model.n_features_in_), np.nan)
    names = getattr(model, "feature_names_in_", None)
    predicted = getattr(model, method)(row if names is None else pd.DataFrame(row, columns=names))
    if isinstance(predicted, list):
        raise InputError(
            "Predictions of several outputs are a list of arrays, which is no Dask Array",
            fix=f"Call {method} of to_local() on each partition.",
        )
    return np.asarray(predicted)[:0]

"""Targets: y read, checked, and encoded as class codes or values."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, InputTypeError, show_value
from spinney.data.columns import EXACT_INTEGER, MISSING_TYPES
from spinney.data.sparse import is_sparse

_SMALL_RANGE = 1 << 16
_FLOATS = (float, np.floating)


class Labels(NamedTuple):
    """Class codes (n_rows, n_outputs) and the classes of every output."""

    codes: NDArray[np.int32]
    classes: tuple[NDArray[Any], ...]


def read_target(y: Any, n_rows: int) -> NDArray[Any]:
    """Read y as an array (n_rows,) or (n_rows, n_outputs) without missing entries.

    >>> read_target(["ripe", "unripe"], 2).tolist()
    ['ripe', 'unripe']
    """
    if y is None:
        raise InputError("This estimator requires y to be passed, but the target y is None.")
    array = _as_array(y)
    if array.ndim == 2 and array.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. "
            "Please change the shape of y to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=3,
        )
        array = array[:, 0]
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] == 0):
        raise InputError(
            f"y should be a 1d array, or have one column per output; its shape is {array.shape}."
        )
    if len(array) != n_rows:
        raise InputError(
            "Found input variables with inconsistent numbers of samples: "
            f"X has {n_rows} rows, y has {len(array)}."
        )
    _check_present(array)
    if isinstance(y, list | tuple) and array.dtype.kind == "O" and _mixes_text_and_numbers(array):
        array = np.asarray(y)  # text, as NumPy and so scikit-learn make of it
    return array


def _mixes_text_and_numbers(array: NDArray[Any]) -> bool:
    kinds = set(map(type, array.ravel().tolist()))
    text = {kind for kind in kinds if issubclass(kind, str)}
    return (
        bool(text)
        and all(issubclass(kind, int | float | np.number) for kind in kinds - text)
        and kinds != text
    )


def read_labels(y: Any, n_rows: int) -> NDArray[Any]:
    """Read a target of one output.  -> (n_rows,)

    >>> read_labels([1.5, 2.5], 2).tolist()
    [1.5, 2.5]
    """
    labels = read_target(y, n_rows)
    if labels.ndim == 2:
        raise InputError(
            f"y has {labels.shape[1]} outputs, but this classifier learns one",
            fix="Fit one model per output, for example with sklearn.multioutput.MultiOutputClassifier.",
        )
    return labels


def _as_array(y: Any) -> NDArray[Any]:
    if is_sparse(y):
        raise InputTypeError("A sparse y is not supported.", fix="Convert it by y.toarray().")
    if isinstance(y, str | bytes | dict | set | int | float):
        raise InputError(f"y should be a 1d array, got {show_value(y)} instead.")
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise InputError(f"y should be a 1d array, or have one column per output ({error}).") from None
    if array.dtype.kind == "T":  # NumPy's texts of any length, which model files and pickles do not hold
        array = array.astype(object)
    if isinstance(y, list | tuple) and array.dtype.kind in "US":
        # NumPy has turned every number and missing value beside a text into text.
        array = np.array(y, dtype=object)
    if isinstance(y, np.ma.MaskedArray) and np.ma.getmaskarray(y).any():
        row = int(np.argwhere(np.ma.getmaskarray(y))[0][0])
        raise InputError("Input y contains a masked value", row=row, fix="Remove the rows without a label.")
    if array.dtype.kind == "c":
        raise InputError("Complex data not supported: y holds complex numbers.")
    if array.dtype.kind == "V":
        raise InputError(f"y has the type {array.dtype}, which holds neither numbers nor text.")
    return np.asarray(array)


def _check_present(array: NDArray[Any]) -> None:
    """Raise an error that names the first row whose target is missing or infinite."""
    kind = array.dtype.kind
    if kind == "f":
        bad = ~np.isfinite(array)
    elif kind in "mM":
        bad = np.isnat(array)
    elif kind == "O":
        items = array.ravel().tolist()
        kinds = set(map(type, items))
        if not any(kind.__name__ in MISSING_TYPES or issubclass(kind, _FLOATS) for kind in kinds):
            return
        bad = np.array([_is_missing(item) for item in items], bool).reshape(array.shape)
    else:
        return
    if bad.any():
        position = np.argwhere(bad)[0]
        value = array[tuple(position)]
        infinite = isinstance(value, _FLOATS) and np.isinf(value)
        what = "infinity" if infinite else "NaN or another missing value"
        raise InputError(
            f"Input y contains {what}: {show_value(value)}",
            row=int(position[0]),
            fix="Remove the rows whose label is not known.",
        )


def _is_missing(item: object) -> bool:
    return type(item).__name__ in MISSING_TYPES or (isinstance(item, _FLOATS) and not np.isfinite(item))


# ---- classification ----


def encode_classes(y: NDArray[Any]) -> Labels:
    """Encode labels as the codes of their classes, which are in ascending order.

    >>> encode_classes(np.array(["b", "a", "b"])).codes.ravel().tolist()
    [1, 0, 1]
    """
    if y.ndim == 1:
        classes, codes = _encode_one(y)
        return Labels(np.ascontiguousarray(codes, dtype=np.int32)[:, None], (classes,))
    outputs = [_encode_one(column) for column in y.T]
    codes = np.stack([codes for _, codes in outputs], axis=1)
    return Labels(np.ascontiguousarray(codes, dtype=np.int32), tuple(classes for classes, _ in outputs))


def encode_labels(y: Any, n_rows: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return class codes (n_rows,) and the classes in ascending order; y must have one output.

    >>> codes, classes = encode_labels(["b", "a", "b"], 3)
    >>> codes.tolist(), classes.tolist()
    ([1, 0, 1], ['a', 'b'])
    """
    encoded = encode_classes(read_labels(y, n_rows))
    return encoded.codes[:, 0], encoded.classes[0]


def encode_like(y: NDArray[Any], classes: Sequence[NDArray[Any]]) -> NDArray[np.int32]:
    """Encode labels by known classes, −1 for an unknown one.

    >>> encode_like(np.array([3, 1]), [np.array([1, 2])]).ravel().tolist()
    [-1, 0]
    """
    columns = (y[:, None] if y.ndim == 1 else y).T
    if len(columns) != len(classes):
        raise InputError(f"y has {len(columns)} outputs where {len(classes)} are expected.")
    coded = []
    for column, known in zip(columns, classes, strict=True):
        code_of = {label: code for code, label in enumerate(known.tolist())}
        coded.append([code_of.get(label, -1) for label in column.tolist()])
    return np.array(coded, dtype=np.int32).T.copy()


def _encode_one(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    if y.dtype.kind == "f" and np.any(y != np.trunc(y)):
        _raise_continuous()
    if y.dtype.kind in "biuf" and len(y):
        low, high = np.minimum.reduce(y), np.maximum.reduce(y)
        if float(high) - float(low) < _SMALL_RANGE and abs(float(low)) < EXACT_INTEGER:
            return _encode_small_range(y, low)
    if y.dtype.kind == "O":
        return _encode_objects(y)
    return np.unique(y, return_inverse=True)


def _encode_small_range(y: NDArray[Any], low: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Encode by counting, many times faster than sorting a long y."""
    offsets = y.astype(np.int64)
    offsets -= int(low)
    present = np.bincount(offsets) > 0
    if np.count_nonzero(present) == len(present):
        return np.arange(int(low), int(low) + len(present)).astype(y.dtype), offsets
    code_of = np.cumsum(present) - 1
    classes = (np.flatnonzero(present) + int(low)).astype(y.dtype)
    return classes, code_of[offsets]


def _encode_objects(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    items = y.tolist()
    try:
        distinct = sorted(dict.fromkeys(items))
    except TypeError:
        kinds = sorted({type(item).__name__ for item in items})
        raise InputError(
            f"Unknown label type: y mixes or holds labels of the types {', '.join(kinds)}",
            fix="Convert the labels to one type, numbers or strings.",
        ) from None
    if any(isinstance(item, float) and item != int(item) for item in distinct):
        _raise_continuous()
    code_of = {label: code for code, label in enumerate(distinct)}
    classes = np.empty(len(distinct), dtype=object)
    classes[:] = distinct
    return classes, np.fromiter(map(code_of.__getitem__, items), np.int32, len(items))


def _raise_continuous() -> None:
    raise InputError(
        "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete "
        "classes on a regression target with continuous values."
    )


def by_output(values: Any) -> list[Any]:
    """Return one entry per output as a list, also for a single output."""
    return values if type(values) is list else [values]


def decode_classes(codes: NDArray[np.intp], classes: Any) -> NDArray[Any]:
    """Return the labels of class codes (n_rows,), or (n_rows, n_outputs) with a list of classes.

    >>> decode_classes(np.array([[0, 1]]), [np.array([5, 6]), np.array([7, 8])]).tolist()
    [[5, 8]]
    """
    if type(classes) is list:
        return np.stack([labels[codes[:, k]] for k, labels in enumerate(classes)], axis=1)
    labels: NDArray[Any] = classes[codes]
    return labels


def class_attributes(classes: Any) -> dict[str, Any]:
    """Return ``classes_`` and ``n_classes_``; with several outputs, classes are a list of arrays."""
    if type(classes) is list:
        return {"classes_": classes, "n_classes_": np.array(list(map(len, classes)), dtype=np.intp)}
    return {"classes_": classes, "n_classes_": len(classes)}


def has_one_output(model: Any) -> bool:
    """Return whether a classifier has one output; like scikit-learn's, ours have no decisions of several."""
    return type(vars(model).get("classes_")) is not list


def same_classes(first: Any, second: Any) -> bool:
    """Return True if two ``classes_`` are equal; None, as in regression, equals None."""
    if type(first) is list and type(second) is list:
        return len(first) == len(second) and all(map(np.array_equal, first, second))
    return first is second if first is None or second is None else np.array_equal(first, second)


def most_probable(probabilities: Sequence[NDArray[np.float64]], classes: Any) -> NDArray[Any]:
    """Return the most probable class of each row, the first one of ties.  -> (n_rows,) or (n_rows, n_outputs)

    Probabilities are (n_rows, n_classes), one array per output.
    """
    chosen = [
        labels.take(part.argmax(axis=1))
        for labels, part in zip(by_output(classes), probabilities, strict=True)
    ]
    return np.stack(chosen, axis=1) if type(classes) is list else chosen[0]


# ---- regression ----


def encode_values(y: NDArray[Any], non_negative: bool) -> NDArray[np.float64]:
    """Return targets as float64 (n_rows, n_outputs); ``non_negative`` refuses negative values (Poisson).

    >>> encode_values(np.array([1, 2]), non_negative=True).ravel().tolist()
    [1.0, 2.0]
    """
    try:
        values = np.ascontiguousarray(y[:, None] if y.ndim == 1 else y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"y must hold numbers for regression ({error}).") from None
    _check_present(values)
    if non_negative and (values < 0).any():
        row = int(np.argwhere(values < 0)[0][0])
        raise InputError(
            "Some value(s) of y are negative which is not allowed for Poisson regression", row=row
        )
    if non_negative and values.sum() <= 0:
        raise InputError("Sum of y is not positive which is necessary for Poisson regression.")
    return values


def encode_single(y: Any, n_rows: int, owner: str) -> NDArray[np.float64]:
    """Read y as the values of one output; ``owner`` is named in the error for several.  -> (n_rows,)"""
    values = encode_values(read_target(y, n_rows), non_negative=False)
    if values.shape[1] != 1:
        raise InputError(
            f"y has {values.shape[1]} outputs, but {owner} supports one",
            fix="Fit one per output, for example with sklearn.multioutput.MultiOutputRegressor.",
        )
    return values[:, 0]

"""Types of arrays, read from annotations; sums over chunks of rows; means without overflow."""

from types import UnionType
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from spinney.native import core

Floats: TypeAlias = NDArray[np.float64]

CHUNK_ROWS: int = core.CHUNK_ROWS
"""Rows of a chunk: sums over rows are computed per chunk, and added in the order of the chunks."""


def array_types(cls: type) -> dict[str, tuple[type[np.generic], ...]]:
    """Return the element types that each field annotated as an NDArray may have; other fields are left out.

    >>> class Path:
    ...     node: NDArray[np.int32]
    ...     share: NDArray[np.float32] | NDArray[np.float64]
    >>> array_types(Path)["share"]
    (<class 'numpy.float32'>, <class 'numpy.float64'>)
    """
    types: dict[str, tuple[Any, ...]] = {}
    for name, hint in get_type_hints(cls).items():
        options = get_args(hint) if get_origin(hint) is UnionType else (hint,)
        elements = tuple(_element_type(option) for option in options)
        if None not in elements:
            types[name] = elements
    return types


def _element_type(hint: Any) -> Any:
    """Return the element type of an NDArray, None for any other type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is np.ndarray:
        return get_args(arguments[1])[0]
    # From NumPy 2.5 on, NDArray is an alias of the type statement, which does not expand.
    return arguments[0] if origin is not None and origin is NDArray else None


def chunk_sum(values: Floats) -> Any:
    """Sum over the rows: chunk by chunk, added in the order of the chunks.

    Sums that reach a model are such sums: rows that are read in blocks of whole chunks give the same bits.
    values (n_rows, ...)  ->  (...)

    >>> float(chunk_sum(np.full(20_000, 0.5)))
    10000.0
    """
    total = values[:CHUNK_ROWS].sum(axis=0)
    for begin in range(CHUNK_ROWS, len(values), CHUNK_ROWS):
        total = total + values[begin : begin + CHUNK_ROWS].sum(axis=0)
    return total


def chunk_mean(values: Floats, weights: Floats | None) -> Any:
    """Weighted mean over the rows, by sums over chunks.  values (n_rows, ...), weights (n_rows,)  ->  (...)

    >>> float(chunk_mean(np.array([1.0, 4.0]), np.array([2.0, 1.0])))
    2.0
    """
    if weights is None:
        return chunk_sum(values) / len(values)
    columns = weights.reshape(-1, *[1] * (values.ndim - 1))
    return chunk_sum(values * columns) / chunk_sum(weights)


def chunk_bincount(codes: NDArray[np.int64], weights: Floats | None, n: int) -> Floats:
    """Sum of the weights of the rows with each code, by sums over chunks.  codes, weights (n_rows,)  ->  (n,)

    >>> chunk_bincount(np.array([0, 2, 2]), np.array([0.5, 1.0, 1.0]), 3).tolist()
    [0.5, 0.0, 2.0]
    """
    if weights is None or len(codes) <= CHUNK_ROWS:
        return np.bincount(codes, weights, n).astype(np.float64)
    out = np.zeros(n)
    for begin in range(0, len(codes), CHUNK_ROWS):
        own, parts = codes[begin : begin + CHUNK_ROWS], weights[begin : begin + CHUNK_ROWS]
        if n <= CHUNK_ROWS:
            out += np.bincount(own, parts, n)
        else:
            present, place = np.unique(own, return_inverse=True)
            out[present] += np.bincount(place, parts)
    return out


def inner_product(a: Floats, b: Floats) -> float:
    """Return Σ a b over all entries, without BLAS, whose sums depend on its number of threads.

    >>> inner_product(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.einsum("i,i->", a.ravel(), b.ravel()))


def sum_scale(n: int) -> float:
    """Return the power of two by which n numbers are multiplied so that their sum does not overflow.

    The products are exact unless they are subnormal.

    >>> sum_scale(10)
    0.0625
    """
    return 2.0 ** -n.bit_length()


def mean_of_scaled(total: Floats, n: Any, scale: float) -> Floats:
    """Return the mean of n numbers from the sum of their products with `sum_scale(n)`, or a smaller one.

    >>> mean_of_scaled(np.array([2 * 1.5e308 * 0.25]), 2, 0.25).tolist()
    [1.5e+308]
    """
    with np.errstate(over="ignore"):
        mean = total / n / scale
    largest = np.finfo(np.float64).max  # rounding up may exceed it
    return np.asarray(np.clip(mean, -largest, largest))

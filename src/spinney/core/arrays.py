"""Types of arrays, read from the annotations of the classes that have them; means without overflow."""

from types import UnionType
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


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

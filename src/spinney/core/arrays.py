"""Types of arrays, read from the annotations of the classes that have them as fields."""

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

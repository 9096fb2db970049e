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
        if all(get_origin(option) is np.ndarray for option in options):
            types[name] = tuple(get_args(get_args(option)[1])[0] for option in options)
    return types

"""Element types of arrays, read from annotations."""

from types import GenericAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from spinney.core import arrays


class Alias:
    """What NDArray is from NumPy 2.5 on: an alias that does not expand when it gets its argument."""

    def __getitem__(self, element):
        return GenericAlias(self, element if isinstance(element, tuple) else (element,))


@pytest.mark.parametrize("alias", [NDArray, Alias()], ids=["expands", "does not expand"])
def test_element_types_are_found_however_ndarray_is_defined(alias, monkeypatch):
    monkeypatch.setattr(arrays, "NDArray", alias)

    class Fields:
        pass

    Fields.__annotations__ = {
        "node": alias[np.int32],
        "share": alias[np.float32] | alias[np.float64],
        "maybe": alias[np.int8] | None,
        "name": str,
    }
    expected = {"node": (np.int32,), "share": (np.float32, np.float64)}
    assert arrays.array_types(Fields) == expected

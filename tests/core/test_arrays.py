"""Element types of arrays, read from annotations; sums over chunks of rows."""

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


def chunks(n):
    return [slice(begin, begin + arrays.CHUNK_ROWS) for begin in range(0, n, arrays.CHUNK_ROWS)]


def test_sums_are_added_in_the_order_of_the_chunks():
    values = np.random.default_rng(1).normal(size=(3 * arrays.CHUNK_ROWS + 5, 2))
    weights = np.random.default_rng(2).random(len(values))
    total, weight = np.zeros(2), 0.0
    for rows in chunks(len(values)):
        total = total + (values * weights[:, None])[rows].sum(axis=0)
        weight += weights[rows].sum()
    assert np.array_equal(arrays.chunk_mean(values, weights), total / weight)
    assert arrays.chunk_sum(weights) == weight
    assert np.array_equal(arrays.chunk_mean(values, None), arrays.chunk_sum(values) / len(values))


@pytest.mark.parametrize("n_codes", [7, 3 * arrays.CHUNK_ROWS])
def test_sums_per_code_are_added_in_the_order_of_the_chunks(n_codes):
    rng = np.random.default_rng(3)
    codes, weights = (
        rng.integers(0, n_codes, 2 * arrays.CHUNK_ROWS + 9),
        rng.random(2 * arrays.CHUNK_ROWS + 9),
    )
    expected = sum(np.bincount(codes[rows], weights[rows], n_codes) for rows in chunks(len(codes)))
    assert np.array_equal(arrays.chunk_bincount(codes, weights, n_codes), expected)

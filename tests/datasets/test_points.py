"""The sets of points are exactly as the book draws them."""

import numpy as np
import pandas as pd
import pytest

from spinney.core.errors import InputError
from spinney.datasets import load_xor, make_box


def test_xor_is_four_points():
    X, y = load_xor()
    assert isinstance(X, pd.DataFrame) and list(X.columns) == ["x1", "x2"] and y.name == "y"
    points = {tuple(point): label for point, label in zip(X.to_numpy().tolist(), y, strict=True)}
    assert points == {(1, 0): 1, (-1, 0): 1, (0, 1): -1, (0, -1): -1}


def test_the_box_is_positive_within():
    X, y = make_box()
    assert X.shape == (150, 2)
    assert ((X >= 0) & (X < 1)).all(axis=None)
    np.testing.assert_array_equal(y == 1, (X["x1"] < 0.6) & (X["x2"] < 0.6))
    assert set(y) == {-1, 1}


def test_the_box_repeats_with_its_seed():
    one, other, apart = make_box(20, 3, frame=None), make_box(20, 3, frame=None), make_box(20, 4, frame=None)
    np.testing.assert_array_equal(one[0], other[0])
    assert not np.array_equal(one[0], apart[0])
    assert one[0].dtype == np.float64 and one[1].dtype.kind == "i"
    for state in (np.random.default_rng(0), np.random.RandomState(0), None):
        assert make_box(7, state, frame=None)[0].shape == (7, 2)


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "many"])
def test_the_box_needs_a_number_of_points(n):
    with pytest.raises(InputError, match="integer of at least 1"):
        make_box(n)

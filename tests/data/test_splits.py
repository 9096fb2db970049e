import numpy as np
import pytest

from spinney.data.splits import folds, hold_out


def test_each_class_is_held_out_by_its_share():
    strata = np.array([0] * 80 + [1] * 20, dtype=np.int32)
    held = hold_out(0.25, 1, 100, strata)
    assert np.bincount(strata[held]).tolist() == [20, 5]
    assert not np.array_equal(held, hold_out(0.25, 2, 100, strata))


@pytest.mark.parametrize("fraction", [0.001, 0.999])
def test_one_row_is_on_each_side_at_least(fraction):
    held = hold_out(fraction, 0, 5)
    assert 1 <= held.sum() <= 4
    with pytest.raises(ValueError, match="2 rows"):
        hold_out(fraction, 0, 1)


def test_folds_are_even_in_size_and_class():
    strata = np.array([0] * 30 + [1] * 12, dtype=np.int32)
    fold = folds(3, 0, 42, strata)
    assert np.bincount(fold).tolist() == [14, 14, 14]
    assert np.bincount(fold[strata == 1]).tolist() == [4, 4, 4]

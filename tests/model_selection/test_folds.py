import numpy as np
import pytest
from sklearn.model_selection import KFold

from spinney.core.errors import InputError
from spinney.model_selection.folds import make_folds, split_once


def test_every_row_is_held_out_once_per_repeat_and_classes_are_spread():
    codes = np.repeat([0, 1], [30, 10]).astype(np.int32)
    splits = make_folds(codes, 40, 5, repeats=2)
    assert len(splits) == 10
    for part in (splits[:5], splits[5:]):
        assert sorted(np.concatenate([test for _, test in part])) == list(range(40))
    assert all((codes[test] == 1).sum() == 2 for _, test in splits)
    assert any((a[1] != b[1]).any() for a, b in zip(splits[:5], splits[5:], strict=True))


def test_groups_are_never_divided():
    groups = np.arange(60) // 4
    for codes in (None, (np.arange(60) % 2).astype(np.int32)):
        for train, test in make_folds(codes, 60, 3, groups=groups):
            assert not set(groups[train]) & set(groups[test])
    train, test = split_once(None, 60, 0.3, groups=groups)
    assert not set(groups[train]) & set(groups[test]) and len(test)


def test_time_order_trains_on_the_past():
    times = np.random.default_rng(0).permutation(50)
    for train, test in make_folds(None, 50, 4, order=times):
        assert times[train].max() < times[test].min()
    train, test = split_once(None, 50, 0.2, order=times)
    assert times[train].max() < times[test].min() and len(test) == 10


def test_splitters_and_pairs_are_taken_as_they_are():
    assert len(make_folds(None, 9, KFold(3))) == 3
    pairs = [([0, 1], [2])]
    assert make_folds(None, 3, pairs)[0][1].tolist() == [2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cv": 1}, "at least 2"),
        ({"cv": 99}, "fewer folds"),
        ({"cv": "five"}, "number of folds"),
        ({"cv": 3, "groups": [0, 0, 0, 1, 1, 1]}, "groups"),
        ({"cv": 3, "groups": [0]}, "entries"),
        ({"cv": 3, "order": [0]}, "entries"),
    ],
)
def test_invalid_folds_are_refused(arguments, message):
    with pytest.raises((InputError, ValueError), match=message):
        make_folds(None, 6, **arguments)

import numpy as np
import pytest

from diversity.tables import random_votes
from spinney.core.errors import InputError
from spinney.diversity import kappa, kappa_error, pair_mean


@pytest.mark.parametrize("weighted", [False, True])
def test_one_point_a_pair(weighted):
    predictions, y = random_votes(100, 4, 3)
    weights = np.random.default_rng(1).random(100) if weighted else None
    points = kappa_error(predictions, y, sample_weight=weights)
    pairs = list(zip(points.first.tolist(), points.second.tolist(), strict=True))
    assert pairs == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    errors = np.average(predictions != y[:, None], axis=0, weights=weights)
    matrix = kappa(predictions, sample_weight=weights)
    for place, (i, j) in enumerate(pairs):
        assert points.kappa[place] == matrix[i, j]
        assert points.error[place] == pytest.approx((errors[i] + errors[j]) / 2, rel=1e-12)
    assert points.mean_kappa == pytest.approx(pair_mean(matrix))
    assert points.mean_error == pytest.approx(errors.mean())


def test_the_table_names_the_members():
    frame = kappa_error([[1, 1, 0], [0, 0, 0]], [1, 0]).to_frame()
    assert frame.columns.tolist() == ["first", "second", "kappa", "error"]
    assert frame["second"].tolist() == [1, 2, 2]


def test_says_what_is_missing():
    with pytest.raises(InputError, match="at least 2 members"):
        kappa_error([[1], [0]], [1, 0])
    with pytest.raises(InputError, match="y is None"):
        kappa_error([[1, 1], [0, 0]], None)

import numpy as np
import pandas as pd
import pytest

from spinney.perturb.output_perturbation import MAX_COPIES, make_copies

X = pd.DataFrame({"a": [3.0, 1.0, np.nan, 1.0], "b": ["u", "v", "u", "v"]})
Y = np.array([0, 1, 1, 1])


def noise(copies, seed=0):
    """Give, row by row, the sorted noise of its copies."""
    drawn = copies.scatter(np.random.default_rng(seed).random(len(copies)))
    return {row: sorted(drawn[copies.rows == row]) for row in copies.rows}


def test_without_weights_a_row_is_a_unit_and_the_table_stays_the_same_object():
    copies = make_copies(X, Y, None)
    assert len(copies) == 4 and copies.weights is None
    assert copies.take(X) is X


def test_whole_weights_are_counts():
    copies = make_copies(X, Y, np.array([2.0, 0.0, 1.0, 3.0]))
    assert copies.rows.tolist() == [0, 0, 2, 3, 3, 3] and copies.weights is None
    assert copies.take(X)["b"].tolist() == ["u", "u", "u", "v", "v", "v"]
    assert make_copies(X, Y, np.ones(4)).take(X) is X


def test_other_weights_are_shared_by_their_units():
    weights = np.array([2.5, 0.1, 1e6, 0.0])
    copies = make_copies(X, Y, weights)
    assert np.bincount(copies.rows, minlength=4).tolist() == [3, 1, MAX_COPIES, 0]
    np.testing.assert_allclose(np.bincount(copies.rows, copies.weights, minlength=4), weights)


def test_noise_follows_the_row_and_not_its_place():
    order = np.array([2, 3, 0, 1])
    plain, shuffled = noise(make_copies(X, Y, None)), noise(make_copies(X.iloc[order], Y[order], None))
    for new, old in enumerate(order.tolist()):
        if old not in (1, 3):  # these hold the same
            assert shuffled[new] == plain[old]
    assert sorted([*plain[1], *plain[3]]) == sorted([*shuffled[1], *shuffled[3]])


def test_a_weight_is_as_many_rows():
    by_weight = noise(make_copies(X.iloc[:3], Y[:3], np.array([3.0, 2.0, 1.0])))
    rows = np.array([1, 0, 2, 0, 1, 0])
    by_copies = noise(make_copies(X.iloc[rows], Y[rows], None))
    for old in range(3):
        copies = np.flatnonzero(rows == old)
        assert sorted(value for row in copies for value in by_copies[row]) == by_weight[old]


def test_what_is_no_table_is_drawn_for_in_its_own_order():
    copies = make_copies(["one text", "another"], np.array([0, 1]), None)
    assert copies.order.tolist() == [0, 1]


@pytest.mark.parametrize("kind", ["array", "list", "sparse"])
def test_units_of_every_kind_of_table(kind):
    from scipy import sparse

    dense = np.array([[1.0, 0.0], [0.0, 2.0]])
    table = {"array": dense, "list": dense.tolist(), "sparse": sparse.csr_array(dense)}[kind]
    taken = make_copies(table, np.array([0, 1]), np.array([2.0, 1.0])).take(table)
    np.testing.assert_array_equal(taken.toarray() if kind == "sparse" else taken, dense[[0, 0, 1]])

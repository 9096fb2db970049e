import numpy as np
import pytest
from numpy.testing import assert_array_equal

from spinney.perturb.codes import check_code, exhaustive, min_distance, one_vs_one, one_vs_rest, random_code


def distance(one, other):
    """Count as Allwein, Schapire and Singer do: 1 for opposite signs, ½ where either is 0."""
    return sum((1 - int(a) * int(b)) / 2 for a, b in zip(one, other, strict=True))


def naive_min_distance(code):
    return min(distance(code[i], code[j]) for i in range(len(code)) for j in range(i))


def proper(code):
    """Return whether every column has both signs, and none is another one or its opposite."""
    both = (code == 1).any(axis=0) & (code == -1).any(axis=0)
    columns = {min(tuple(column), tuple(-column)) for column in code.T.astype(int)}
    return bool(both.all()) and len(columns) == code.shape[1]


@pytest.mark.parametrize("n", range(2, 8))
def test_fixed_codes_have_the_columns_they_should(n):
    assert one_vs_one(n).shape == (n, n * (n - 1) // 2) and proper(one_vs_one(n))
    assert_array_equal(np.abs(one_vs_one(n)).sum(axis=0), 2)
    assert one_vs_rest(n).shape == (n, n)
    assert_array_equal((one_vs_rest(n) == 1).sum(axis=0), 1)
    assert exhaustive(n).shape == (n, 2 ** (n - 1) - 1) and proper(exhaustive(n))
    assert exhaustive(n).all()


@pytest.mark.parametrize("code", [one_vs_one(5), one_vs_rest(5), exhaustive(5)])
def test_min_distance_is_that_of_the_paper(code):
    assert min_distance(code) == naive_min_distance(code)


def test_equal_rows_have_no_distance():
    assert min_distance(np.array([[1, 0], [1, 0], [-1, 1]], np.int8)) == -1


@pytest.mark.parametrize("n", [3, 4, 5, 6, 9, 14, 30])
@pytest.mark.parametrize("sparse", [False, True])
def test_random_codes_are_proper_and_of_the_papers_size(n, sparse):
    code = random_code(n, sparse, None, 20, np.random.default_rng(0))
    most = (3**n - 2 ** (n + 1) + 1) // 2 if sparse else 2 ** (n - 1) - 1
    assert code.shape == (n, min(most, int(np.ceil((15 if sparse else 10) * np.log2(n)))))
    assert proper(code) and naive_min_distance(code) == min_distance(code) > 0
    assert (0 in code) == sparse


def test_half_of_a_sparse_code_is_zero():
    for n in (8, 30):
        code = random_code(n, True, None, 1, np.random.default_rng(0))
        assert 0.4 < (code == 0).mean() < 0.6


def test_more_candidates_find_a_larger_distance():
    few, many = (
        [random_code(12, False, None, n, np.random.default_rng(s)) for s in range(5)] for n in (1, 300)
    )
    assert np.mean([min_distance(code) for code in many]) > np.mean([min_distance(code) for code in few]) + 2


def test_the_size_is_a_multiple_of_the_classes():
    assert random_code(10, False, 1.5, 5, np.random.default_rng(0)).shape == (10, 15)
    with pytest.raises(ValueError, match=r"cannot separate them.*code_size"):
        random_code(10, False, 0.1, 5, np.random.default_rng(0))


def test_exhaustive_codes_end_at_some_size():
    with pytest.raises(ValueError, match=r"exhaustive.*4095 members.*dense"):
        exhaustive(13)


@pytest.mark.parametrize(
    "code, words",
    [
        ([[1], [-1]], "3 rows"),
        ([1, -1, 0], "3 rows"),
        (np.empty((3, 0)), "3 rows"),
        ([[1], [-1], [2]], "other entries"),
        ([[1, 1], [-1, 0], [0, 1]], "column 1.*Use -1"),
        ([[1], [-1], [-1]], "classes number 1 and 2"),
        ([["a"], ["b"], ["c"]], "numbers"),
    ],
)
def test_matrices_that_are_no_codes(code, words):
    with pytest.raises(ValueError, match=words):
        check_code(code, 3)

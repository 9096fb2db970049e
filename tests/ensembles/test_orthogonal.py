"""Least squares by reflections beside those of LAPACK and SciPy."""

import numpy as np
import pytest
from scipy.linalg import lstsq
from scipy.optimize import nnls

from spinney.ensembles.orthogonal import non_negative_solution, shortest_solution, triangle


def systems(n):
    rng = np.random.default_rng(11)
    for number in range(n):
        rows, columns = rng.integers(1, 40), rng.integers(1, 9)
        matrix, right = rng.normal(size=(rows, columns)), rng.normal(size=rows)
        if number % 3 == 0 and columns > 2:
            matrix[:, 0], matrix[:, 2] = 2 * matrix[:, 1], 0.0
        if number % 3 == 1:
            matrix = np.abs(matrix)
            right = matrix @ np.abs(rng.normal(size=columns)) + 0.1 * right
        scale = [1.0, 1e-120, 1e140][number % 5 % 3]
        yield matrix * scale, right * scale


def test_the_shortest_solution_is_that_of_lapack():
    for matrix, right in systems(200):
        expected = lstsq(matrix, right, cond=1e-10)[0]
        np.testing.assert_allclose(shortest_solution(matrix, right), expected, rtol=1e-9, atol=1e-10)
        corner = triangle(np.column_stack([matrix, right]))
        found = shortest_solution(corner[:, :-1], corner[:, -1])
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


def test_non_negative_solutions_are_as_good_as_those_of_scipy():
    for matrix, right in systems(200):
        found = non_negative_solution(matrix, right)
        assert (found >= 0).all()
        best, reached = nnls(matrix, right)[1], np.linalg.norm(matrix @ found - right)
        assert reached <= best + 1e-12 * np.linalg.norm(right)


@pytest.mark.parametrize("n_rows", [3, 5, 4096, 9000])
def test_a_triangle_has_the_inner_products_of_its_columns(n_rows):
    system = np.random.default_rng(2).normal(size=(n_rows, 4))
    corner = triangle(system)
    assert len(corner) == min(n_rows, 4)
    np.testing.assert_allclose(corner.T @ corner, system.T @ system, rtol=1e-11, atol=1e-9)

"""Solutions of the dual problems of support vector machines, and the ledger of their iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.ledger import Ledger
from spinney.io import Persistent
from spinney.native import core
from spinney.svm.kernels import KernelRows, native_rows

OPTIMAL, EARLY, UNBOUNDED = range(3)
# Iterations between the records of a ledger.
_RECORD_EVERY = 100


@dataclass(frozen=True)
class SolverOptions:
    """How to solve: tolerance, cache in megabytes, shrinking, limit of iterations, ledger, threads."""

    tol: float
    cache_size: float
    shrinking: bool
    max_iter: int
    ledger: bool
    n_threads: int


@dataclass(frozen=True)
class Solution:
    """Coefficients β (n,) with f(x) = Σ β K(x_i, x) + intercept, and how they were reached."""

    beta: Floats
    intercept: float
    objective: float
    gap: float
    n_iter: int
    status: int
    records: Floats


@dataclass(frozen=True, eq=False, repr=False)
class SmoLedger(Ledger, Persistent):
    """Progress of sequential minimal optimization, one row per hundred iterations of a problem.

    Parameters
    ----------
    problem : ndarray of shape (n_records,), int64
        Position of the pair of classes; 0 if there is one problem.
    iteration : ndarray of shape (n_records,), int64
        Number of working sets that had been optimized.
    n_active : ndarray of shape (n_records,), int64
        Variables that had not been set aside by shrinking.
    gap : ndarray of shape (n_records,), float64
        Largest violation of the optimality conditions.
    objective : ndarray of shape (n_records,), float64
        Dual objective.

    Examples
    --------
    >>> from spinney import SVC
    >>> model = SVC(ledger=True).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> bool(model.ledger_.gap[-1] <= 1e-3)
    True
    """

    problem: NDArray[np.int64]
    iteration: NDArray[np.int64]
    n_active: NDArray[np.int64]
    gap: Floats
    objective: Floats

    row_name = "records"

    def __post_init__(self) -> None:
        self.check_columns()

    @classmethod
    def of(cls, solutions: Sequence[Solution]) -> SmoLedger:
        """Build the ledger of one or several problems.

        Parameters
        ----------
        solutions : sequence of Solution
            What the solver returned, one per problem.

        Returns
        -------
        SmoLedger
            The ledger.
        """
        records = np.concatenate([one.records for one in solutions])
        problem = np.repeat(np.arange(len(solutions)), [len(one.records) for one in solutions])
        return cls(
            problem.astype(np.int64),
            records[:, 0].astype(np.int64),
            records[:, 1].astype(np.int64),
            records[:, 2].copy(),
            records[:, 3].copy(),
        )


def solve(
    rows: KernelRows,
    linear: Floats,
    lower: Floats,
    upper: Floats,
    start: Floats,
    kink: float,
    options: SolverOptions,
) -> Solution:
    """Minimize ½ βᵀKβ + linearᵀβ + kink ‖β‖₁ within bounds, the sum of β being that of the start."""
    hard = np.isinf(upper).any() or np.isinf(lower).any()
    max_iter = options.max_iter
    if hard and max_iter < 0:
        max_iter = 1_000_000 + 1000 * len(linear)  # without a separating hyperplane, there is no end
    found = core.solve_dual(
        native_rows(rows.matrix),
        rows.kernel.native(),
        np.ascontiguousarray(linear),
        np.ascontiguousarray(lower),
        np.ascontiguousarray(upper),
        np.ascontiguousarray(start),
        kink,
        options.tol,
        options.cache_size,
        bool(options.shrinking),
        max_iter,
        _RECORD_EVERY if options.ledger else 0,
        options.n_threads,
    )
    solution = Solution(*found)
    if hard and (solution.status == UNBOUNDED or (solution.status == EARLY and options.max_iter < 0)):
        raise InputError(
            "C is infinite, but this kernel does not separate the classes (or does not reach all targets)",
            fix="Set a finite C, or another kernel.",
        )
    return solution

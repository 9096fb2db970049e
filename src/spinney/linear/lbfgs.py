"""L-BFGS for penalized linear models with many coefficients, and working sets for L1 penalties on them."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from spinney.core.arrays import Floats, inner_product
from spinney.linear.design import Design, check_finite
from spinney.linear.newton import Minimum, NewtonSolver, Penalty
from spinney.linear.newton_cg import NewtonCgSolver
from spinney.linear.row_losses import Derivatives, RowLoss

_MEMORY = 10
_MAX_TRIALS = 30
# The Wolfe conditions: sufficient decrease, and how much of the slope may be left.
_DECREASE, _CURVATURE = 1e-4, 0.5
# Up to this many coefficients a Hessian is factorized.
MAX_NEWTON = 1000
# Columns of the first working set.
_FIRST_COLUMNS = 100


class _Trial(NamedTuple):
    length: float
    scores: Floats
    at: Derivatives
    objective: float
    slope: float


class LbfgsSolver:
    """Minimize Σ loss(X W + b) + ½ l2 ‖W‖² by L-BFGS (Liu and Nocedal, 1989) in units of each curvature.

    The scores along a direction are linear, so that a line search costs no product with X: every iteration
    takes one product with X and one with its transpose.

    Parameters
    ----------
    design : Design
        Features.
    loss : RowLoss
        Loss of the scores.
    penalty : Penalty
        Penalty without l1.
    tol : float
        Stop when no entry of the gradient exceeds tol per unit of weight.
    max_iter : int
        Maximum number of iterations.

    Examples
    --------
    >>> from spinney.linear.row_losses import LogisticLoss
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 0.0, 1.0])
    >>> LbfgsSolver(Design(X), LogisticLoss(y), Penalty(l2=1.0), 1e-9, 50).solve().coef.round(4).tolist()
    [[0.4529]]
    """

    def __init__(self, design: Design, loss: RowLoss, penalty: Penalty, tol: float, max_iter: int) -> None:
        self.design, self.loss, self.penalty, self.tol, self.max_iter = design, loss, penalty, tol, max_iter
        centered = penalty.intercept and penalty.intercept_l2 == 0
        self.shift = design.shift() if centered else np.zeros(design.n_columns)

    def solve(self, start: Floats | None = None) -> Minimum:
        """Minimize from given coefficients and intercepts (n_outputs, n_columns + 1), or from a constant."""
        theta = np.zeros((self.loss.n_outputs, self.design.n_columns + 1))
        if start is not None:
            theta = start.copy()
            theta[:, -1] += theta[:, :-1] @ self.shift
        elif self.penalty.intercept:
            theta[:, -1] = self.loss.start()
        scores = self._product(theta)
        at = self.loss(scores)
        objective = at.value + self.penalty.value(theta)
        gradient = self._gradient(theta, at)
        scale = 1.0 / self._diagonal(at)
        pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
        n_iter, limit = 0, self.tol * self.loss.total
        while n_iter < self.max_iter and np.abs(gradient).max() > limit:
            n_iter += 1
            step = -_two_loops(gradient, pairs, scale)
            along = self._product(step)
            trial = self._search(theta, step, scores, along, objective, inner_product(gradient, step))
            if trial is None:
                if not pairs:
                    break
                pairs.clear()
                continue
            before = theta, gradient
            theta, scores, objective = theta + trial.length * step, trial.scores, trial.objective
            gradient = self._gradient(theta, trial.at)
            moved, changed = theta - before[0], gradient - before[1]
            product = inner_product(moved, changed)
            if product > np.finfo(np.float64).eps * inner_product(changed, changed) * float(scale.min()):
                pairs.append((moved, changed, 1.0 / product))
        converged = bool(np.abs(gradient).max() <= limit)
        coef = theta[:, :-1]
        return Minimum(coef, theta[:, -1] - coef @ self.shift, max(n_iter, 1), converged, objective)

    def _product(self, theta: Floats) -> Floats:
        """Return the scores of coefficients and intercepts in the coordinates x − shift."""
        coef = theta[:, :-1]
        return self.design.product(coef, theta[:, -1] - coef @ self.shift)

    def _gradient(self, theta: Floats, at: Derivatives) -> Floats:
        gradient = self.design.cross(at.gradient, self.shift) + self.penalty.smooth_gradient(theta)
        check_finite(gradient)
        if not self.penalty.intercept:
            gradient[:, -1] = 0.0
        return gradient

    def _diagonal(self, at: Derivatives) -> Floats:
        """Return the diagonal of the Hessian at the start."""
        k_n = self.loss.n_outputs
        curvature = np.column_stack([at.curvature(k, k) for k in range(k_n)])
        diagonal = self.design.square_cross(curvature, self.shift)
        diagonal[:, :-1] += self.penalty.l2
        diagonal[:, -1] += self.penalty.intercept_l2
        floor = 1e-8 * float(diagonal.max()) if diagonal.max() > 0 else 1.0
        return np.maximum(diagonal, floor)

    def _search(
        self, theta: Floats, step: Floats, scores: Floats, along: Floats, objective: float, slope: float
    ) -> _Trial | None:
        """Return a point of the Wolfe conditions by bisection, None if rounding hides every decrease."""
        if not slope < 0:
            return None
        low, high, length = 0.0, np.inf, 1.0
        slack = 4 * np.finfo(np.float64).eps * abs(objective)
        found: _Trial | None = None
        for _ in range(_MAX_TRIALS):
            trial = self._trial(theta, step, scores, along, length)
            if not trial.objective <= objective + _DECREASE * length * slope + slack:
                high = length
            else:
                found = trial
                if abs(trial.slope) <= _CURVATURE * abs(slope):
                    return trial
                low, high = (length, high) if trial.slope < 0 else (low, length)
            length = 2 * length if np.isinf(high) else 0.5 * (low + high)
        return found

    def _trial(self, theta: Floats, step: Floats, scores: Floats, along: Floats, length: float) -> _Trial:
        moved, there = theta + length * step, scores + length * along
        at = self.loss(there)
        slope = inner_product(at.gradient, along)
        slope += inner_product(self.penalty.smooth_gradient(moved), step)
        return _Trial(length, there, at, at.value + self.penalty.value(moved), slope)


def _two_loops(gradient: Floats, pairs: deque[tuple[Floats, Floats, float]], scale: Floats) -> Floats:
    """Return the inverse Hessian of L-BFGS times the gradient."""
    out = gradient.copy()
    factors = []
    for moved, changed, inverse in reversed(pairs):
        factor = inverse * inner_product(moved, out)
        out -= factor * changed
        factors.append(factor)
    out *= scale
    if pairs:
        _, changed, inverse = pairs[-1]
        out /= inverse * inner_product(changed, scale * changed)
    for (moved, changed, inverse), factor in zip(pairs, reversed(factors), strict=True):
        out += (factor - inverse * inner_product(changed, out)) * moved
    return out


def solve_by_working_sets(
    design: Design, loss: RowLoss, penalty: Penalty, tol: float, max_iter: int, start: Floats | None = None
) -> Minimum:
    """Minimize with an L1 penalty by proximal Newton on the columns that violate optimality, twice as many at
    each round; the others are 0 and keep their optimality condition.
    """
    theta = np.zeros((loss.n_outputs, design.n_columns + 1))
    if start is not None:
        theta = start.copy()
    elif penalty.intercept:
        theta[:, -1] = loss.start()
    limit = max(tol, 1e-12) * loss.total
    size, n_iter = _FIRST_COLUMNS, 0
    found = None
    for _ in range(50):
        at = loss(design.product(theta[:, :-1], theta[:, -1]))
        gradient = design.cross(at.gradient)[:, :-1]
        used = (theta[:, :-1] != 0).any(axis=0)
        excess = np.where(used, np.inf, np.abs(gradient).max(axis=0) - penalty.l1)
        if found is not None and not (excess[~used] > limit).any():
            break
        n_new = int(used.sum()) + size
        chosen = np.sort(np.argsort(-excess, kind="stable")[:n_new])
        chosen = chosen[excess[chosen] > 0] if (excess > 0).any() else chosen[:1]
        part = NewtonSolver(design.columns(chosen), loss, penalty, tol, max_iter)
        found = part.solve(theta[:, [*chosen.tolist(), design.n_columns]])
        n_iter += found.n_iter
        theta = np.zeros_like(theta)
        theta[:, chosen], theta[:, -1] = found.coef, found.intercept
        size *= 2
    converged = found is not None and found.converged
    objective = at.value + penalty.value(theta)
    return Minimum(theta[:, :-1], theta[:, -1].copy(), max(n_iter, 1), converged, objective)


def minimize(
    design: Design,
    loss: RowLoss,
    penalty: Penalty,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
    solver: str = "auto",
) -> Minimum:
    """Minimize by the solver that fits the penalty and the number of coefficients.

    ``solver`` "lbfgs" and "newton-cholesky" are taken at their word where there is no L1 penalty.
    """
    large = loss.n_outputs * design.n_columns > MAX_NEWTON
    if penalty.l1 > 0 and large:
        return solve_by_working_sets(design, loss, penalty, tol, max_iter, start)
    if penalty.l1 == 0 and solver != "lbfgs" and large and design.is_sparse and loss.n_outputs == 1:
        return NewtonCgSolver(design, loss, penalty, tol, max_iter).solve(start)
    if penalty.l1 == 0 and (solver == "lbfgs" or (large and solver != "newton-cholesky")):
        return LbfgsSolver(design, loss, penalty, tol, max_iter).solve(start)
    return NewtonSolver(design, loss, penalty, tol, max_iter).solve(start)

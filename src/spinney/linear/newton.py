"""Newton's method for penalized linear models: one loop for logistic regression, GLMs and squared-hinge SVMs.

The quadratic model of every step is solved by a Cholesky factor, or by coordinate descent if there is an L1
penalty (proximal Newton).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from spinney.core.arrays import Floats, inner_product
from spinney.linear.design import Design, check_finite
from spinney.linear.row_losses import Curvature, Derivatives, RowLoss, output_pairs
from spinney.native import core

# Every this-many-th row warms up a fit with many rows.
_WARM_STEP = 8
_WARM_ROWS = 8_000
# A Hessian is kept while each step's predicted decrease is this share of the one before, or less.
_FAST_DECREASE = 0.3
_MAX_HALVINGS = 40
_SUFFICIENT = 1e-4
# A predicted decrease of this share of the objective is rounding, however small tol is.
_ROUNDING = 1e-28


@dataclass(frozen=True)
class Penalty:
    """l1 ‖W‖₁ + ½ l2 ‖W‖² + ½ intercept_l2 ‖b‖²; the intercept is left out without ``intercept``.

    Examples
    --------
    >>> Penalty(l1=1.0, l2=2.0).value(np.array([[3.0, 5.0]]))
    12.0
    """

    l1: float = 0.0
    l2: float = 0.0
    intercept: bool = True
    intercept_l2: float = 0.0

    def scaled(self, factor: float) -> Penalty:
        """Return the penalty times a number."""
        by = {name: getattr(self, name) * factor for name in ("l1", "l2", "intercept_l2")}
        return replace(self, **by)

    def value(self, theta: Floats) -> float:
        """Return the penalty of coefficients and intercepts (n_outputs, n_columns + 1)."""
        coef, added = theta[:, :-1], theta[:, -1]
        squares = 0.5 * self.l2 * inner_product(coef, coef)
        squares += 0.5 * self.intercept_l2 * inner_product(added, added)
        return float(self.l1 * np.abs(coef).sum() + squares)

    def smooth_gradient(self, theta: Floats) -> Floats:
        """Return the gradient of the squares."""
        return np.column_stack([self.l2 * theta[:, :-1], self.intercept_l2 * theta[:, -1]])

    def per_coordinate(self, p: int, n_outputs: int) -> tuple[Floats, Floats]:
        """Return l1 and l2 of every free coordinate, output after output."""
        free = p + int(self.intercept)
        l1, l2 = np.full(free, self.l1), np.full(free, self.l2)
        if self.intercept:
            l1[-1], l2[-1] = 0.0, self.intercept_l2
        return np.tile(l1, n_outputs), np.tile(l2, n_outputs)


class Minimum(NamedTuple):
    """Coefficients (n_outputs, n_columns), intercepts (n_outputs,), steps taken, and how it ended."""

    coef: Floats
    intercept: Floats
    n_iter: int
    converged: bool
    objective: float


@dataclass
class _State:
    """The point of an iteration: θ = (W, b) in coordinates x − shift, its scores, and derivatives there."""

    theta: Floats
    scores: Floats
    at: Derivatives
    objective: float


class NewtonSolver:
    """Minimize Σ loss(X W + b) + penalty.

    Parameters
    ----------
    design : Design
        Features.
    loss : RowLoss
        Loss of the scores.
    penalty : Penalty
        Penalty of the coefficients.
    tol : float
        Stop when the decrease that the quadratic model predicts is below 0.1 tol² per unit of weight.
    max_iter : int
        Maximum number of steps.

    Examples
    --------
    >>> from spinney.linear.row_losses import LogisticLoss
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 0.0, 1.0])
    >>> NewtonSolver(Design(X), LogisticLoss(y), Penalty(l2=1.0), 1e-8, 50).solve().coef.round(4).tolist()
    [[0.4529]]
    """

    def __init__(self, design: Design, loss: RowLoss, penalty: Penalty, tol: float, max_iter: int) -> None:
        self.design, self.loss, self.penalty, self.tol, self.max_iter = design, loss, penalty, tol, max_iter
        centered = penalty.intercept and penalty.intercept_l2 == 0
        self.shift = design.shift() if centered else np.zeros(design.n_columns)
        self.n_free = design.n_columns + int(penalty.intercept)
        self.hessian: Floats | None = None
        self.callback: Callable[[Floats, float], None] | None = None

    def solve(self, start: Floats | None = None) -> Minimum:
        """Minimize from given coefficients and intercepts (n_outputs, n_columns + 1), or from a constant."""
        state = self._first(start)
        limit = 0.1 * self.tol**2 * self.loss.total
        n_iter, converged, slow, last = 0, False, False, np.inf
        while n_iter < self.max_iter and not converged:
            n_iter += 1
            gradient, hessian = self._derivatives(state, slow)
            target = self._model_minimum(state, gradient, hessian)
            predicted = self._predicted_decrease(state, gradient, target)
            if not predicted > 0:
                converged = True
                break
            moved = self._search(state, target, predicted)
            # Newton steps square the distance, so the ratio of two decreases tells the next one.
            ratio = predicted / last if self.loss.n_outputs == 1 and last < np.inf else np.inf
            limit = max(limit, _ROUNDING * abs(state.objective))
            converged = predicted <= limit or predicted * ratio**2 <= 0.01 * limit
            slow, last = predicted > _FAST_DECREASE * last, predicted
            if moved is None:
                # No point on the way is lower than rounding can tell.
                converged = converged or predicted <= 1e-9 * abs(state.objective)
                break
            state = moved
        coef = state.theta[:, :-1]
        return Minimum(coef, state.theta[:, -1] - coef @ self.shift, n_iter, converged, state.objective)

    # ---- parts of a step ----

    def _first(self, start: Floats | None) -> _State:
        """Return the starting point: the given one, that of every eighth row, or a constant."""
        n_outputs, p = self.loss.n_outputs, self.design.n_columns
        theta = np.zeros((n_outputs, p + 1))
        if self.penalty.intercept:
            theta[:, -1] = self.loss.start()
        if start is not None:
            theta = start.copy()
            theta[:, -1] += theta[:, :-1] @ self.shift
        elif (
            self.design.n_rows >= max(_WARM_ROWS, 64 * n_outputs * self.n_free) and not self.design.is_sparse
        ):
            warm = self._warm()
            constant = np.broadcast_to(theta[:, -1], (self.design.n_rows, n_outputs))
            if warm.objective < self.loss(np.ascontiguousarray(constant)).value + self.penalty.value(theta):
                return warm
        return self._state(theta)

    def _warm(self) -> _State:
        """Fit a part of the rows; its Hessian serves as that of all rows."""
        part = self.loss.every(_WARM_STEP)
        factor = part.total / self.loss.total if self.loss.total > 0 else 1.0
        design = Design(np.ascontiguousarray(self.design.dense[::_WARM_STEP]), self.design.n_threads)
        solver = NewtonSolver(design, part, self.penalty.scaled(factor), 0.05, 12)
        solver.shift = self.shift
        found = solver.solve()
        if solver.hessian is not None and factor > 0:
            self.hessian = solver.hessian / factor
        theta = np.column_stack([found.coef, found.intercept + found.coef @ self.shift])
        return self._state(theta)

    def _state(self, theta: Floats) -> _State:
        coef = theta[:, :-1]
        scores = self.design.product(coef, theta[:, -1] - coef @ self.shift)
        at = self.loss(scores)
        return _State(theta, scores, at, at.value + self.penalty.value(theta))

    def _derivatives(self, state: _State, slow: bool) -> tuple[Floats, Floats]:
        """Return the gradient of the smooth part (n_outputs, n_columns + 1) and a Hessian.

        Where a Hessian takes many Gram matrices of many rows, the one before serves until the decrease
        becomes slow.
        """
        at, free = state.at, self.n_free
        if self.loss.n_outputs == 1:
            gram, gradient = self.design.gram(at.curvature(0, 0), at.gradient, self.shift)
            self.hessian = gram[:free, :free]
        else:
            gradient = self.design.cross(at.gradient, self.shift)
        check_finite(gradient)
        gradient = gradient + self.penalty.smooth_gradient(state.theta)
        few = self.design.n_rows < _WARM_ROWS
        if self.hessian is None or (self.loss.n_outputs > 1 and (slow or few)):
            self.hessian = self._hessian(at.curvature)
        check_finite(self.hessian)
        return gradient, self.hessian

    def _hessian(self, curvature: Curvature) -> Floats:
        """Return the Hessian of the loss over free coordinates, output after output."""
        free, k_n = self.n_free, self.loss.n_outputs
        out = np.empty((k_n * free, k_n * free))
        for k, m in output_pairs(k_n):
            block = self.design.gram(curvature(k, m), None, self.shift)[0][:free, :free]
            rows, columns = slice(k * free, (k + 1) * free), slice(m * free, (m + 1) * free)
            out[rows, columns], out[columns, rows] = block, block.T
        return out

    def _model_minimum(self, state: _State, gradient: Floats, hessian: Floats) -> Floats:
        """Return θ that minimizes the quadratic model of the loss plus the penalty."""
        k_n, free = self.loss.n_outputs, self.n_free
        l1, l2 = self.penalty.per_coordinate(self.design.n_columns, k_n)
        now = state.theta[:, :free].ravel()
        slope = gradient[:, :free].ravel()
        out = np.zeros_like(state.theta)
        if self.penalty.l1 > 0:
            found = _descend(hessian, hessian @ now - slope + l2 * now, l1, l2, now)
        else:
            found = now - solve_damped(hessian + np.diag(l2), slope, k_n)
        out[:, :free] = found.reshape(k_n, free)
        return out

    def _predicted_decrease(self, state: _State, gradient: Floats, target: Floats) -> float:
        step = target - state.theta
        change = self.penalty.l1 * (np.abs(target[:, :-1]).sum() - np.abs(state.theta[:, :-1]).sum())
        return -float(inner_product(gradient, step) + change)

    def _search(self, state: _State, target: Floats, predicted: float) -> _State | None:
        """Return the first point on the way with a sufficient decrease, halving the step; or None."""
        step = target - state.theta
        coef = step[:, :-1]
        along = self.design.product(coef, step[:, -1] - coef @ self.shift)
        slack = 4 * np.finfo(np.float64).eps * abs(state.objective)
        length = 1.0
        for _ in range(_MAX_HALVINGS):
            theta = state.theta + length * step
            scores = state.scores + length * along
            at = self.loss(scores)
            objective = at.value + self.penalty.value(theta)
            if objective <= state.objective - _SUFFICIENT * length * predicted + slack:
                return _State(theta, scores, at, objective)
            length *= 0.5
        return None


def _descend(hessian: Floats, linear: Floats, l1: Floats, l2: Floats, start: Floats) -> Floats:
    """Minimize ½ vᵀHv − cᵀv + Σ l1 |v| + ½ Σ l2 v² by coordinate descent, in units of each curvature."""
    # linear includes l2·start, which the smooth gradient already had.
    size = np.sqrt(np.maximum(np.diag(hessian) + l2, np.finfo(np.float64).tiny))
    gram = np.ascontiguousarray(hessian / np.outer(size, size))
    right = np.ascontiguousarray((linear / size)[:, None])
    bound = np.array([1e-12 * max(float(np.abs(right).max()), np.finfo(np.float64).tiny)])
    first = np.ascontiguousarray((start * size)[:, None])
    penalties = ((l1 / size)[None, :], (l2 / size**2)[None, :])
    found, _ = core.coordinate_descent(gram, right, *penalties, first, bound, 10_000, False)
    return np.asarray(found[0, :, 0] / size)


def solve_damped(matrix: Floats, right: Floats, n_outputs: int = 1) -> Floats:
    """Solve a positive semi-definite system by Cholesky with unit diagonal; damped if it is singular.

    With several outputs, the sum over outputs of each coordinate is fixed: softmax scores have one degree of
    freedom too many, and a right side that sums to 0 over outputs has a solution that does.
    """
    n, tiny = len(right), np.finfo(np.float64).tiny
    size = np.sqrt(np.maximum(np.diag(matrix).reshape(n_outputs, -1).mean(axis=0), tiny))
    size = np.tile(size, n_outputs)
    scaled: Floats = matrix / np.outer(size, size)
    if n_outputs > 1:
        same = np.kron(np.ones((n_outputs, n_outputs)), np.eye(n // n_outputs))
        scaled += same / n_outputs
    start, damping = np.ascontiguousarray(right / size)[None], 0.0
    for _ in range(20):
        found, pivot = core.cholesky_solve(scaled + damping * np.eye(n), start)
        if pivot > 1e-13:
            return np.asarray(found[0] / size)
        damping = max(1e-12, 10 * damping)
    return np.asarray(right / size**2)

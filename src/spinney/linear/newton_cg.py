"""Newton's method with conjugate gradients, for sparse problems of one score with many coefficients."""

from __future__ import annotations

import numpy as np

from spinney.core.arrays import Floats, inner_product
from spinney.linear.design import Design, check_finite
from spinney.linear.newton import Minimum, Penalty
from spinney.linear.row_losses import Derivatives, RowLoss

# The first step solves its system to this share of the gradient, later ones as far as it has fallen.
_FIRST_ACCURACY = 0.05
# A system is solved no further than to a gradient of this share of the limit.
_PREDICTED = 0.3
_MAX_PRODUCTS = 200
_MAX_HALVINGS = 30
_SUFFICIENT = 1e-4


class NewtonCgSolver:
    """Minimize Σ loss(X w + b) + ½ l2 ‖w‖² by truncated Newton steps (Dembo and Steihaug, 1983).

    The system of a step is solved by conjugate gradients with the diagonal of the Hessian as preconditioner.
    A product with the Hessian takes one pass over the rows, which also gives the scores along the direction,
    so that a step costs no further product with X.

    Parameters
    ----------
    design : Design
        Sparse features.
    loss : RowLoss
        Loss of one score.
    penalty : Penalty
        Penalty without l1.
    tol : float
        Stop when no entry of the gradient exceeds tol per unit of weight.
    max_iter : int
        Maximum number of steps.

    Examples
    --------
    >>> from scipy import sparse
    >>> from spinney.linear.row_losses import LogisticLoss
    >>> X, y = sparse.csr_array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 0.0, 1.0])
    >>> solver = NewtonCgSolver(Design(X), LogisticLoss(y), Penalty(l2=1.0), 1e-9, 50)
    >>> solver.solve().coef.round(4).tolist()
    [[0.4529]]
    """

    def __init__(self, design: Design, loss: RowLoss, penalty: Penalty, tol: float, max_iter: int) -> None:
        self.design, self.loss, self.penalty, self.tol, self.max_iter = design, loss, penalty, tol, max_iter
        # l2 of each coordinate; one that is not fitted keeps its value.
        self.l2 = np.full(design.n_columns + 1, penalty.l2)
        self.l2[-1] = penalty.intercept_l2

    def solve(self, start: Floats | None = None) -> Minimum:
        """Minimize from given coefficients and intercepts (1, n_columns + 1), or from a constant."""
        theta = np.zeros(self.design.n_columns + 1)
        if start is not None:
            theta = start[0].copy()
        elif self.penalty.intercept:
            theta[-1] = self.loss.start()[0]
        scores = np.full((self.design.n_rows, 1), theta[-1])
        if theta[:-1].any():
            scores = self.design.product(theta[None, :-1], theta[-1:])
        at = self.loss(scores)
        objective = at.value + self._penalty(theta)
        gradient = self._gradient(theta, at)
        diagonal = self._diagonal(at)
        n_iter, limit, accuracy = 0, self.tol * self.loss.total, _FIRST_ACCURACY
        while n_iter < self.max_iter and np.abs(gradient).max() > limit:
            n_iter += 1
            step, along = self._step(gradient, at, diagonal, accuracy)
            moved = self._search(theta, step, scores, along, objective, inner_product(gradient, step))
            if moved is None:
                break
            theta, scores, at, objective = moved
            size = float(np.abs(gradient).max())
            gradient = self._gradient(theta, at)
            accuracy = min(_FIRST_ACCURACY, max(float(np.abs(gradient).max()) / size, 1e-10))
        converged = bool(np.abs(gradient).max() <= limit)
        return Minimum(theta[None, :-1], theta[-1:].copy(), max(n_iter, 1), converged, objective)

    # ---- parts of a step ----

    def _penalty(self, theta: Floats) -> float:
        return 0.5 * inner_product(self.l2, theta * theta)

    def _gradient(self, theta: Floats, at: Derivatives) -> Floats:
        gradient: Floats = self.design.cross(at.gradient)[0]
        gradient += self.l2 * theta
        check_finite(gradient)
        if not self.penalty.intercept:
            gradient[-1] = 0.0
        return gradient

    def _diagonal(self, at: Derivatives) -> Floats:
        """Return the diagonal of the Hessian at the start, which serves all steps."""
        diagonal: Floats = self.design.square_cross(at.curvature(0, 0)[:, None], self.l2[:-1])[0]
        diagonal += self.l2
        largest = float(diagonal.max())
        return np.maximum(diagonal, 1e-8 * largest if largest > 0 else 1.0)

    def _step(
        self, gradient: Floats, at: Derivatives, diagonal: Floats, accuracy: float
    ) -> tuple[Floats, Floats]:
        """Return a step (n_columns + 1,) that solves the system to an accuracy, and its scores."""
        curvature = np.ascontiguousarray(at.curvature(0, 0))
        step, along = np.zeros_like(gradient), np.zeros(self.design.n_rows)
        rest = -gradient
        scaled = rest / diagonal
        direction, length = scaled, inner_product(rest, scaled)
        enough, least = accuracy**2 * length, _PREDICTED * self.tol * self.loss.total
        for _ in range(_MAX_PRODUCTS):
            image, scores = self.design.curvature_product(curvature, direction)
            image += self.l2 * direction
            if not self.penalty.intercept:
                image[-1] = 0.0
            bend = inner_product(direction, image)
            if not bend > 0:
                if not step.any():  # no curvature: the line search decides how far
                    step, along = direction, scores
                break
            factor = length / bend
            step += factor * direction
            along += factor * scores
            rest -= factor * image
            scaled = rest / diagonal
            before, length = length, inner_product(rest, scaled)
            if length <= enough or np.abs(rest).max() <= least:
                break
            direction = scaled + (length / before) * direction
        return step, along

    def _search(
        self, theta: Floats, step: Floats, scores: Floats, along: Floats, objective: float, slope: float
    ) -> tuple[Floats, Floats, Derivatives, float] | None:
        """Return the first point on the way with a sufficient decrease, halving the step; or None."""
        slack = 4 * np.finfo(np.float64).eps * abs(objective)
        length = 1.0
        for _ in range(_MAX_HALVINGS):
            moved, there = theta + length * step, scores + length * along[:, None]
            at = self.loss(there)
            value = at.value + self._penalty(moved)
            if value <= objective + _SUFFICIENT * length * slope + slack:
                return moved, there, at, value
            length *= 0.5
        return None

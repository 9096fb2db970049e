"""The dual form of the perceptron: a coefficient per row instead of a weight per feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.data.matrix import Matrix
from spinney.online.training import EpochRecord, Learned, Schedule, run_epochs
from spinney.svm.kernels import KERNELS, KernelFunction, kernel_sums, one_term

# Bytes of kernel rows that are kept; a row is needed again when it is mistaken again.
_CACHE_BYTES = 200e6


@dataclass(frozen=True)
class DualLearned(Learned):
    """Coefficients of rows (n_rows,), with the length of w and the least margin y f of the training rows."""

    length: float = 0.0
    least_margin: float = 0.0


class DualPerceptron:
    """f(x) = Σ c_j (K(x_j, x) + bias), where c_j grows by η y_j with every mistake on row j.

    The values of f for all training rows are kept, so that a mistake costs one kernel row.
    """

    def __init__(self, matrix: Matrix, kernel: KernelFunction, bias: float) -> None:
        self.matrix: Any = matrix
        self.kernel, self.bias = kernel, bias
        self._rows: dict[int, Floats] = {}
        self._room = max(1, int(_CACHE_BYTES / (8 * matrix.shape[0])))

    def row(self, i: int) -> Floats:
        """Return K(x_i, x) + bias for all rows.  -> (n_rows,)"""
        if i not in self._rows:
            if len(self._rows) >= self._room:
                self._rows.pop(next(iter(self._rows)))
            one, at = np.ones(1), np.array([self.bias])
            found = kernel_sums(self.kernel, self.matrix, self.matrix[i : i + 1], one_term(1), one, at, 1)
            self._rows[i] = found[:, 0]
        return self._rows[i]

    def train(self, target: Floats, weights: Floats | None, eta: float, schedule: Schedule) -> DualLearned:
        """Train one binary problem.  target (n_rows,): ±1"""
        n_rows = len(target)
        coef, f = np.zeros(n_rows), np.zeros(n_rows)

        def visit(order: NDArray[np.uint32]) -> EpochRecord:
            loss, mistakes, at = 0.0, 0, 0
            while True:
                wrong = target[order[at:]] * f[order[at:]] <= 0.0
                step = int(wrong.argmax())
                if not wrong[step]:
                    return loss, mistakes, mistakes
                i = int(order[at + step])
                loss, mistakes, at = loss - target[i] * f[i], mistakes + 1, at + step + 1
                update = eta * target[i] * (1.0 if weights is None else weights[i])
                coef[i] += update
                np.add(f, update * self.row(i), out=f)
                if at == n_rows:
                    return loss, mistakes, mistakes

        epochs = run_epochs(visit, np.arange(n_rows, dtype=np.uint32), schedule, None)
        length = float(np.sqrt(max(float((coef * f).sum()), 0.0)))
        return DualLearned(coef, self.bias * coef.sum(), epochs, length, float((target * f).min()))

    def radius(self) -> float:
        """Return the length of the longest row in the space of the kernel."""
        squares = self.matrix**2 if isinstance(self.matrix, np.ndarray) else self.matrix.multiply(self.matrix)
        norms = np.asarray(squares.sum(axis=1)).ravel()
        k, scaled = self.kernel, self.kernel.gamma * norms + self.kernel.coef0
        own = {"linear": norms, "poly": scaled**k.degree, "sigmoid": np.tanh(scaled)}
        diagonal = own.get(KERNELS[k.kind], np.ones(1))
        return float(np.sqrt(max(diagonal.max() + self.bias, 0.0)))

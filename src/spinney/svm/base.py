"""Base class of support vector machines: kernels, solver options, support vectors, model files."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from spinney.base import MatrixEstimator
from spinney.core.arrays import Floats
from spinney.core.errors import InputError, InputTypeError
from spinney.core.parameters import FLAG, Integer, OneOf, Real, Rule, thread_count
from spinney.data.coding import CODING_RULES
from spinney.data.matrix import Matrix
from spinney.data.weights import check_weights
from spinney.io import require
from spinney.members.tables import is_array
from spinney.native import core
from spinney.svm.kernels import (
    KERNEL_USES,
    KERNELS,
    PRECOMPUTED,
    KernelFunction,
    KernelRows,
    kernel_sums,
    like,
    resolve_gamma,
)
from spinney.svm.solver import EARLY, SmoLedger, Solution, SolverOptions


class AnyKernel:
    """Names of kernels, and functions of two matrices."""

    def allows(self, value: Any) -> bool:
        """Return whether the value is valid."""
        return callable(value) or (isinstance(value, str) and value in KERNELS)

    def __str__(self) -> str:
        return f"one of {', '.join(KERNELS)}, or a function of two matrices"


SVM_RULES: Mapping[str, tuple[Rule, ...]] = {
    **CODING_RULES,
    "kernel": (AnyKernel(),),
    "degree": (Integer(0, 2**31 - 1),),
    "gamma": (OneOf("scale", "auto"), Real(0.0)),
    "coef0": (Real(-np.inf),),
    "tol": (Real(0.0, open_ends="("),),
    "shrinking": (FLAG,),
    "cache_size": (Real(0.0, open_ends="("),),
    "max_iter": (Integer(-1),),
    "ledger": (FLAG,),
    "verbose": (FLAG, Integer(0)),
}
C_RULE: tuple[Rule, ...] = (Real(0.0, open_ends="("), OneOf(float("inf")))


class SupportVectorMachine(MatrixEstimator, persistent_name=""):
    """Base class of models that are sums of kernel values of support vectors."""

    _required_attributes: ClassVar[tuple[str, ...]] = (
        "support_", "support_vectors_", "dual_coef_", "intercept_", "n_iter_", "n_support_", "shape_fit_",
        "fit_status_", "kkt_residual_", "dual_objective_", "_gamma",
    )  # fmt: skip
    _state_attributes: ClassVar[tuple[str, ...]] = ("ledger_",)
    _parameter_uses = KERNEL_USES
    _multiplies_values = True

    support_: NDArray[np.int32]
    support_vectors_: Any
    dual_coef_: Floats
    intercept_: Floats
    n_support_: NDArray[np.int32]
    ledger_: SmoLedger
    _gamma: float

    # ---- fitting ----

    @property
    def fitted_kernel(self) -> KernelFunction:
        """The kernel with the γ of the fit."""
        return self._kernel(self._gamma)

    def _kernel(self, gamma: float) -> KernelFunction:
        if callable(self.kernel):
            return KernelFunction(PRECOMPUTED, function=self.kernel)
        return KernelFunction(KERNELS.index(self.kernel), gamma, float(self.coef0), int(self.degree))

    def _read_kernel_rows(
        self, X: Any, sample_weight: Any
    ) -> tuple[Matrix, KernelRows, Floats | None, float, dict[str, Any]]:
        """Read X and weights of a fit; return X, kernel rows, weights, γ and a description of the columns."""
        self._check_params()
        self._threads()  # raises InputError if n_jobs is not valid
        matrix, described = self._read_training_matrix(X, sample_weight)
        if self.kernel == "precomputed" and matrix.shape[0] != matrix.shape[1]:
            raise InputError(
                f"Precomputed matrix must be a square matrix. Input is a {matrix.shape[0]}x{matrix.shape[1]} "
                "matrix."
            )
        if sparse.issparse(matrix) and self.kernel == "precomputed":
            raise InputTypeError("Sparse precomputed kernels are not supported", fix="Pass X.toarray().")
        weights = check_weights(sample_weight, matrix.shape[0])
        gamma = resolve_gamma(self.gamma, matrix, weights)
        return matrix, KernelRows.of(matrix, self._kernel(gamma)), weights, gamma, described

    def _options(self, n_threads: int) -> SolverOptions:
        return SolverOptions(
            float(self.tol),
            float(self.cache_size),
            self.shrinking,
            int(self.max_iter),
            self.ledger,
            n_threads,
        )

    def _threads(self) -> int:
        return thread_count(self.n_jobs)

    def _fitted_by(
        self, matrix: Matrix, support: NDArray[np.int64], solutions: list[Solution], gamma: float
    ) -> dict[str, Any]:
        """Return the fitted attributes that all machines have."""
        if any(one.status == EARLY for one in solutions):
            warnings.warn(
                f"Solver terminated early (max_iter={self.max_iter}). Consider pre-processing your data with "
                "StandardScaler or MinMaxScaler.",
                ConvergenceWarning,
                stacklevel=3,
            )
        vectors: Any = matrix[support]
        if self.kernel == "precomputed":
            vectors = np.empty((0, 0))  # as in scikit-learn: only their kernel values are known
        return {
            "support_": support.astype(np.int32),
            "support_vectors_": vectors,
            "shape_fit_": tuple(matrix.shape),
            "fit_status_": int(any(one.status == EARLY for one in solutions)),
            "kkt_residual_": np.array([one.gap for one in solutions]),
            "dual_objective_": np.array([one.objective for one in solutions]),
            "ledger_": SmoLedger.of(solutions) if self.ledger else None,
            "_gamma": gamma,
        }

    # ---- prediction ----

    def _sums(self, X: Any, terms: NDArray[np.int64], n_outputs: int) -> Floats:
        """Return the sums over support vectors, with intercepts.  -> (n_rows, n_outputs)"""
        matrix = self._read_matrix(X)
        kernel = self._kernel(self._gamma)
        vectors: Matrix = self.support_vectors_
        support: Matrix | None = vectors
        if self.kernel == "precomputed":
            matrix, support = np.ascontiguousarray(matrix[:, self.support_]), None
        elif kernel.function is not None:
            matrix, support = kernel.values(like(matrix, vectors), vectors), None
        elif self.kernel == "linear" and not sparse.issparse(matrix) and not sparse.issparse(support):
            coef = np.ascontiguousarray(self.coef_)
            return core.matrix_product(matrix, coef, np.ascontiguousarray(self.intercept_), self._threads())
        coef, threads = self.dual_coef_.ravel(), self._threads()
        return kernel_sums(kernel, matrix, support, terms, coef, self.intercept_[:n_outputs], threads)

    @property
    def coef_(self) -> Floats:
        """Weights of the features; kernel="linear" only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        return self._primal(self.dual_coef_, self.support_vectors_)

    @staticmethod
    def _primal(coef: Floats, vectors: Any) -> Floats:
        """Return coefficients of features from those of support vectors."""
        dense = not sparse.issparse(vectors)
        return np.asarray(np.einsum("ks,sj->kj", coef, vectors) if dense else (vectors.T @ coef.T).T)

    # ---- files ----

    def _get_state(self) -> dict[str, Any]:
        state = super()._get_state()
        vectors: Any = state["fitted"].get("support_vectors_")
        if isinstance(vectors, sparse.csr_matrix):
            packed = {
                "data": vectors.data,
                "indices": vectors.indices.astype(np.int32),
                "indptr": vectors.indptr.astype(np.int64),
                "shape": list(vectors.shape),
            }
            state["fitted"] = {**state["fitted"], "support_vectors_": packed}
        return state

    def _set_state(self, state: dict[str, Any]) -> None:
        packed = state["fitted"].get("support_vectors_") if isinstance(state.get("fitted"), dict) else None
        if isinstance(packed, dict):
            require(set(packed) == {"data", "indices", "indptr", "shape"}, "a sparse matrix is damaged")
            vectors = sparse.csr_matrix(
                (packed["data"], packed["indices"], packed["indptr"]), shape=tuple(packed["shape"])
            )
            vectors.check_format(full_check=True)
            state = {**state, "fitted": {**state["fitted"], "support_vectors_": vectors}}
        super()._set_state(state)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n = len(self.support_) if isinstance(self.support_, np.ndarray) else -1
        require(is_array(self.support_, np.int32, n), "the support vectors are not numbered")
        vectors = self.support_vectors_
        known = isinstance(vectors, np.ndarray) or sparse.issparse(vectors)
        shape = (0, 0) if self.kernel == "precomputed" else (n, self._n_columns)
        require(known and vectors.shape == shape, "there is not one vector per support vector")
        if self.kernel == "precomputed":
            valid = n == 0 or (self.support_.min() >= 0 and self.support_.max() < self.n_features_in_)
            require(valid, "a support vector is out of range")
        valid = isinstance(self.dual_coef_, np.ndarray) and self.dual_coef_.ndim == 2
        valid = valid and is_array(self.dual_coef_, np.float64, len(self.dual_coef_), n)
        require(valid and type(self._gamma) is float, "the coefficients do not fit the support vectors")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

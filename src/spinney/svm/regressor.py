"""Support vector regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from spinney.base import parameters
from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.parameters import Real, Rule
from spinney.data.target import encode_values, read_target
from spinney.io import require
from spinney.members.tables import is_array
from spinney.svm.base import C_RULE, SVM_RULES, SupportVectorMachine
from spinney.svm.kernels import one_term
from spinney.svm.solver import solve


@parameters
class SVR(RegressorMixin, SupportVectorMachine):  # type: ignore[misc]
    """Support vector regression with the ε-insensitive loss.

    Minimizes ½‖w‖² + Σ C_i max(0, |y_i − wᵀφ(x_i) − b| − ε): errors within the ε-tube cost nothing. The dual
    has one variable β = α − α* per row, with a kink of slope ε at 0, and is solved as for :class:`SVC`.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        "linear": xᵀz; "poly": (γ xᵀz + coef0)^degree; "rbf": exp(−γ ‖x − z‖²), γ = 1/(2σ²); "laplacian":
        exp(−γ ‖x − z‖), γ = 1/σ; "sigmoid": tanh(γ xᵀz + coef0); "precomputed": X is the kernel matrix; or a
        function of two matrices.
    degree : int, default=3
        Degree of kernel="poly".
    gamma : {"scale", "auto"} or float, default="scale"
        γ. "scale" is 1 / (n_features × variance of X), "auto" 1 / n_features.
    coef0 : float, default=0.0
        Constant of kernel="poly" and "sigmoid".
    tol : float, default=1e-3
        Largest violation of the optimality conditions.
    C : float, default=1.0
        Cost of an error beyond ε; infinity allows none.
    epsilon : float, default=0.1
        Half of the width of the tube.
    shrinking : bool, default=True
        Whether to set variables aside that stay at a bound or at 0.
    cache_size : float, default=200
        Megabytes of kernel rows that are kept.
    verbose : bool, default=False
        Unused: there is one problem only.
    max_iter : int, default=-1
        Limit of iterations; −1 for none.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model does not depend on it.
    ledger : bool, default=False
        Whether to record gap and objective by iteration in ``ledger_``.
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,), int32
        Rows that are support vectors: on the border of the tube, or outside.
    support_vectors_ : ndarray or csr_matrix of shape (n_support, n_features)
        Support vectors; empty for kernel="precomputed".
    n_support_ : ndarray of shape (1,), int32
        Number of support vectors.
    dual_coef_ : ndarray of shape (1, n_support)
        β of the support vectors.
    intercept_ : ndarray of shape (1,)
        Intercept.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features; kernel="linear" only.
    kkt_residual_ : ndarray of shape (1,)
        Largest violation of the optimality conditions at the solution.
    dual_objective_ : ndarray of shape (1,)
        ½ βᵀKβ − yᵀβ + ε‖β‖₁.
    n_iter_ : int
        Number of iterations.
    fit_status_ : int
        0 if the problem was solved, 1 if max_iter ended it.
    shape_fit_ : tuple
        Shape of X.
    ledger_ : SmoLedger
        Progress of the solver, if ``ledger``.
    coding_ : ColumnCoding
        How columns are coded, if ``categorical`` or ``missing`` is set; coefficients and support vectors
        belong to the coded columns.
    schema_ : Schema
        Names, kinds and categories of the features, if they are coded.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import SVR
    >>> SVR(kernel="linear", C=100.0, epsilon=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).coef_.round(2)
    array([[2.]])
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        **SVM_RULES,
        "C": C_RULE,
        "epsilon": (Real(0.0),),
    }

    kernel: str | Callable[[Any, Any], Any] = "rbf"
    degree: int = 3
    gamma: float | Literal["scale", "auto"] = "scale"
    coef0: float = 0.0
    tol: float = 1e-3
    C: float = 1.0
    epsilon: float = 0.1
    shrinking: bool = True
    cache_size: float = 200
    verbose: bool = False
    max_iter: int = -1
    n_jobs: int | None = None
    ledger: bool = False
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    n_iter_: int = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : table of shape (n_rows, n_features), or (n_rows, n_rows) for kernel="precomputed"
            Training rows of numbers, dense or sparse.
        y : array-like of shape (n_rows,)
            Targets.
        sample_weight : array-like of shape (n_rows,), default=None
            Factors of C by row.

        Returns
        -------
        self
            The fitted regressor.
        """
        matrix, rows, weights, gamma, described = self._read_kernel_rows(X, sample_weight)
        target = read_target(y, matrix.shape[0])
        if target.ndim != 1:
            raise InputError(f"y should be a 1d array, got {target.shape[1]} outputs.")
        values = encode_values(target, non_negative=False)[:, 0]
        kept = np.arange(len(values)) if weights is None else np.flatnonzero(weights)
        box = float(self.C) * (np.ones(len(kept)) if weights is None else weights[kept])
        used = rows if len(kept) == len(values) else rows.take(kept)
        one = solve(
            used,
            -values[kept],
            -box,
            box,
            np.zeros(len(kept)),
            float(self.epsilon),
            self._options(self._threads()),
        )
        chosen = np.flatnonzero(one.beta)
        return self._set_fitted(
            dual_coef_=one.beta[chosen][None, :],
            intercept_=np.array([one.intercept]),
            n_support_=np.array([len(chosen)], dtype=np.int32),
            n_iter_=one.n_iter,
            **self._fitted_by(matrix, kept[chosen], [one], gamma),
            **described,
        )

    def predict(self, X: Any) -> Floats:
        """Predict the target.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictions.
        """
        check_is_fitted(self)
        return self._sums(X, one_term(len(self.support_)), 1)[:, 0]

    def _check_fitted(self) -> None:
        super()._check_fitted()
        valid = len(self.dual_coef_) == 1 and is_array(self.intercept_, np.float64, 1)
        require(valid, "a regression has one decision function")

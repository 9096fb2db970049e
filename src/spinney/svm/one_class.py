"""One-class support vector machine for anomalies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from spinney.base import parameters
from spinney.core.arrays import Floats
from spinney.core.parameters import Real, Rule
from spinney.io import require
from spinney.members.tables import is_array
from spinney.svm.base import SVM_RULES, SupportVectorMachine
from spinney.svm.kernels import one_term
from spinney.svm.solver import solve


@parameters
class OneClassSVM(OutlierMixin, SupportVectorMachine):  # type: ignore[misc]
    """One-class support vector machine (Schölkopf et al., 2001): where most of the rows are.

    Separates the rows from the origin in the space of the kernel. At most a share ν of them is outside, and
    at least a share ν are support vectors.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        "linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed", or a function of two matrices; see
        :class:`SVC`.
    degree : int, default=3
        Degree of kernel="poly".
    gamma : {"scale", "auto"} or float, default="scale"
        γ. "scale" is 1 / (n_features × variance of X), "auto" 1 / n_features.
    coef0 : float, default=0.0
        Constant of kernel="poly" and "sigmoid".
    tol : float, default=1e-3
        Largest violation of the optimality conditions.
    nu : float in (0, 1], default=0.5
        ν.
    shrinking : bool, default=True
        Whether to set variables aside that stay at a bound.
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
        Rows that are support vectors.
    support_vectors_ : ndarray or csr_matrix of shape (n_support, n_features)
        Support vectors; empty for kernel="precomputed".
    n_support_ : ndarray of shape (1,), int32
        Number of support vectors.
    dual_coef_ : ndarray of shape (1, n_support)
        α of the support vectors.
    intercept_ : ndarray of shape (1,)
        Intercept −ρ.
    offset_ : float
        ρ: ``decision_function = score_samples − offset_``.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features; kernel="linear" only.
    kkt_residual_ : ndarray of shape (1,)
        Largest violation of the optimality conditions at the solution.
    dual_objective_ : ndarray of shape (1,)
        ½ αᵀKα.
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
    >>> from spinney import OneClassSVM
    >>> model = OneClassSVM(gamma=0.5, nu=0.4).fit([[0.0], [0.1], [-0.1], [0.2], [9.0]])
    >>> model.predict([[0.05], [5.0]]).tolist()
    [1, -1]
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        **SVM_RULES,
        "nu": (Real(0.0, 1.0, open_ends="("),),
    }
    _required_attributes = ("offset_",)

    kernel: str | Callable[[Any, Any], Any] = "rbf"
    degree: int = 3
    gamma: float | Literal["scale", "auto"] = "scale"
    coef0: float = 0.0
    tol: float = 1e-3
    nu: float = 0.5
    shrinking: bool = True
    cache_size: float = 200
    verbose: bool = False
    max_iter: int = -1
    n_jobs: int | None = None
    ledger: bool = False
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    n_iter_: int = field(init=False)
    offset_: float = field(init=False)

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : table of shape (n_rows, n_features), or (n_rows, n_rows) for kernel="precomputed"
            Training rows of numbers, dense or sparse.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.

        Returns
        -------
        self
            The fitted model.
        """
        matrix, rows, weights, gamma, described = self._read_kernel_rows(X, sample_weight)
        kept = np.arange(matrix.shape[0]) if weights is None else np.flatnonzero(weights)
        box = np.ones(len(kept)) if weights is None else weights[kept]
        used = rows if len(kept) == matrix.shape[0] else rows.take(kept)
        # The first rows up to the total ν Σ w, a feasible start.
        before = np.concatenate([[0.0], np.cumsum(box)[:-1]])
        start = np.clip(float(self.nu) * box.sum() - before, 0.0, box)
        zeros = np.zeros(len(kept))
        one = solve(used, zeros, zeros, box, start, 0.0, self._options(self._threads()))
        chosen = np.flatnonzero(one.beta)
        return self._set_fitted(
            dual_coef_=one.beta[chosen][None, :],
            intercept_=np.array([one.intercept]),
            offset_=-one.intercept,
            n_support_=np.array([len(chosen)], dtype=np.int32),
            n_iter_=one.n_iter,
            **self._fitted_by(matrix, kept[chosen], [one], gamma),
            **described,
        )

    def decision_function(self, X: Any) -> Floats:
        """Compute the signed distance to the border, positive inside.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Σ α K(x_i, x) − ρ.
        """
        check_is_fitted(self)
        return self._sums(X, one_term(len(self.support_)), 1)[:, 0]

    def score_samples(self, X: Any) -> Floats:
        """Compute scores without the offset.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Σ α K(x_i, x).
        """
        return np.asarray(self.decision_function(X) + self.offset_)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Predict whether rows are inside.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            1 for inliers, −1 for outliers.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        valid = len(self.dual_coef_) == 1 and is_array(self.intercept_, np.float64, 1)
        require(valid and type(self.offset_) is float, "there is not one decision function")

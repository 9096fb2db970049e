"""Least squares and ridge regression: LinearRegression, Ridge and RidgeCV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from spinney.base import parameters
from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, Integer, OneOf, Real, Rule
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.io import require
from spinney.linear import normal_equations
from spinney.linear.base import INPUT_RULES, LinearRegressor, Training, is_column, target_shaped
from spinney.linear.design import Design, Moments

_SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")


@parameters
class LinearRegression(RegressorMixin, MultiOutputMixin, LinearRegressor):  # type: ignore[misc]
    """Ordinary least squares: minimize Σ w (y − X coef − intercept)².

    The normal equations are solved by a Cholesky factor of the centered Gram matrix with unit diagonal. Where
    columns are nearly collinear, or there are more columns than rows, the solution of least norm comes from a
    singular value decomposition (LSQR for sparse matrices).

    Parameters
    ----------
    fit_intercept : bool, default=True
        Fit an intercept.
    copy_X : bool, default=True
        Accepted for compatibility; X is never changed.
    tol : float, default=1e-6
        Tolerance of LSQR (collinear sparse columns), and of coordinate descent with ``positive=True``.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model does not depend on it.
    positive : bool, default=False
        Keep the coefficients at 0 or above.
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,) or (n_targets, n_columns)
        Coefficients.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept; 0 with ``fit_intercept=False``.
    rank_ : int
        Rank of the centered X; only for dense X.
    singular_ : ndarray of shape (min(n_rows, n_columns),)
        Singular values of the centered X; only for dense X.
    coef_names_ : list of str
        Names of the columns that the coefficients belong to.
    schema_ : Schema
        Names, kinds and categories of the features.
    coding_ : ColumnCoding
        How columns are coded, if ``categorical`` or ``missing`` is set or X is a data frame.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(6).tolist(), round(model.intercept_, 6)
    ([2.0], 1.0)
    """

    _state_attributes: ClassVar[tuple[str, ...]] = ("rank_", "singular_")
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "fit_intercept": (FLAG,),
        "copy_X": (FLAG,),
        "tol": (Real(0.0),),
        "positive": (FLAG,),
        **INPUT_RULES,
    }

    fit_intercept: bool = True
    copy_X: bool = True
    tol: float = 1e-6
    n_jobs: int | None = None
    positive: bool = False
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Training data.
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
            Target values.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.

        Returns
        -------
        self
            The fitted model.
        """
        training = self._read_values(X, y, sample_weight)
        training = training._replace(one_target=training.one_target and not is_column(y))
        design, weights = training.design, training.weights
        known: dict[str, Any] = {}
        if self.positive:
            moments = Moments.of(design, training.y, weights, self.fit_intercept)
            found = normal_equations.non_negative(moments, self.tol, None)
        else:
            found, singular = normal_equations.least_squares(
                design, training.y, weights, self.fit_intercept, self.tol
            )
            if singular is not None and not design.is_sparse:
                cutoff = max(design.values.shape) * np.finfo(np.float64).eps * max(singular.max(initial=0), 0)
                known = {"singular_": singular, "rank_": int((singular > cutoff).sum())}
        return self._set_fitted(**target_shaped(training, *found), **known, **training.read_as)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        rank, singular = vars(self).get("rank_"), vars(self).get("singular_")
        valid = rank is None or type(rank) is int
        require(valid and (singular is None or isinstance(singular, np.ndarray)), "the rank is not valid")


@parameters
class Ridge(RegressorMixin, MultiOutputMixin, LinearRegressor):  # type: ignore[misc]
    """Ridge regression: minimize Σ w (y − X coef − intercept)² + alpha ‖coef‖².

    A Cholesky factor of the centered Gram matrix serves all targets with the same alpha; with more columns
    than rows, the kernel matrix of the rows is factorized instead. Large sparse matrices are solved by
    conjugate gradients.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        Strength of the penalty, one for all targets or one per target.
    fit_intercept : bool, default=True
        Fit an intercept, which is not penalized.
    copy_X : bool, default=True
        Accepted for compatibility; X is never changed.
    max_iter : int or None, default=None
        Maximum number of sweeps of coordinate descent with ``positive=True``.
    tol : float, default=1e-4
        Tolerance of coordinate descent with ``positive=True``, at most 1e-9 is used.
    solver : str, default="auto"
        Accepted for compatibility with scikit-learn's names; the solver follows from the shape of X.
    positive : bool, default=False
        Keep the coefficients at 0 or above.
    random_state : int, RandomState, Generator or None, default=None
        Accepted for compatibility; nothing is random.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model does not depend on it.
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,) or (n_targets, n_columns)
        Coefficients.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept; 0 with ``fit_intercept=False``.
    n_iter_ : int
        1, because the solvers are direct.
    solver_ : str
        ``solver``. For "auto" it is what was done: "cholesky", "sparse_cg" for a large sparse matrix, or
        "coordinate_descent" with ``positive=True``.
    coef_names_ : list of str
        Names of the columns that the coefficients belong to.
    schema_ : Schema
        Names, kinds and categories of the features.
    coding_ : ColumnCoding
        How columns are coded, if ``categorical`` or ``missing`` is set or X is a data frame.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import Ridge
    >>> Ridge(alpha=2.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).coef_.round(6).tolist()
    [1.0]
    """

    _state_attributes: ClassVar[tuple[str, ...]] = ("solver_",)
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "alpha": (Real(0.0), ArrayRule()),
        "fit_intercept": (FLAG,),
        "copy_X": (FLAG,),
        "max_iter": (NONE, Integer(1)),
        "tol": (Real(0.0),),
        "solver": (OneOf(*_SOLVERS),),
        "positive": (FLAG,),
        **INPUT_RULES,
    }
    alpha: float | ArrayLike = field(default=1.0, kw_only=False)
    fit_intercept: bool = True
    copy_X: bool = True
    max_iter: int | None = None
    tol: float = 1e-4
    solver: str = "auto"
    positive: bool = False
    random_state: Any = None
    n_jobs: int | None = None
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None
    n_iter_: int = field(default=1, init=False)
    solver_: str = field(default="cholesky", init=False)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Training data.
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
            Target values.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.

        Returns
        -------
        self
            The fitted model.
        """
        training = self._read_values(X, y, sample_weight)
        alphas = self._alphas(training.y.shape[1])
        if self.positive:
            moments = Moments.of(training.design, training.y, training.weights, self.fit_intercept)
            if len(np.unique(alphas)) > 1:
                raise InputError("positive=True supports one alpha for all targets.")
            found = normal_equations.non_negative(moments, self.tol, self.max_iter, float(alphas[0]))
        else:
            found = normal_equations.ridge(
                training.design, training.y, training.weights, alphas, self.fit_intercept
            )
        solver = self._solver_of(training.design) if self.solver == "auto" else self.solver
        return self._set_fitted(**target_shaped(training, *found), solver_=solver, **training.read_as)

    def _solver_of(self, design: Design) -> str:
        """Return the name of the solver that "auto" chooses."""
        if self.positive:
            return "coordinate_descent"
        return "sparse_cg" if normal_equations.uses_gradients(design) else "cholesky"

    def _check_fitted(self) -> None:
        super()._check_fitted()
        require(self.solver_ in (*_SOLVERS, "coordinate_descent"), "the solver is not known")

    def _alphas(self, n_targets: int) -> Floats:
        """Return the alpha of each target."""
        alphas = np.asarray(self.alpha, np.float64).ravel()
        if len(alphas) not in (1, n_targets):
            raise InputError(
                f"The alpha of Ridge has {len(alphas)} entries for {n_targets} targets: "
                "Number of targets and number of penalties do not correspond."
            )
        if not (np.isfinite(alphas).all() and (alphas >= 0).all()):
            raise InputError("The alpha of Ridge has entries that are negative or not finite.")
        return np.broadcast_to(alphas, n_targets)


@parameters
class RidgeCV(RegressorMixin, MultiOutputMixin, LinearRegressor):  # type: ignore[misc]
    """Ridge regression with alpha chosen by leave-one-out cross-validation.

    One eigendecomposition of the Gram matrix (of the kernel matrix with more columns than rows) gives the
    exact leave-one-out errors of every alpha: the residual of a row divided by one minus its leverage.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=(0.1, 1.0, 10.0)
        Values of alpha to try.
    fit_intercept : bool, default=True
        Fit an intercept, which is not penalized.
    scoring : str, callable or None, default=None
        Score to maximize; None is the negative mean squared error of the rows left out (R² with ``cv``).
    cv : int, splitter, iterable or None, default=None
        Folds; None is leave-one-out.
    gcv_mode : {"auto", "svd", "eigen"} or None, default=None
        Accepted for compatibility; the decomposition follows from the shape of X.
    store_cv_results : bool, default=False
        Keep the errors of all rows in ``cv_results_``; only with ``cv=None``.
    alpha_per_target : bool, default=False
        Choose an alpha for each target; only with ``cv=None``.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model does not depend on it.
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_targets,)
        The chosen alpha.
    best_score_ : float or ndarray of shape (n_targets,)
        Its score.
    coef_ : ndarray of shape (n_columns,) or (n_targets, n_columns)
        Coefficients.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept; 0 with ``fit_intercept=False``.
    cv_results_ : ndarray of shape (n_rows, n_alphas) or (n_rows, n_targets, n_alphas)
        Squared errors of each row left out, times its weight, or its predictions if ``scoring`` is given.
        Only with ``store_cv_results=True``.
    coef_names_ : list of str
        Names of the columns that the coefficients belong to.
    schema_ : Schema
        Names, kinds and categories of the features.
    coding_ : ColumnCoding
        How columns are coded, if ``categorical`` or ``missing`` is set or X is a data frame.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import RidgeCV
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> RidgeCV(alphas=[0.01, 100.0]).fit(X, [1.0, 3.0, 5.0, 7.0]).alpha_
    0.01
    """

    _required_attributes: ClassVar[tuple[str, ...]] = ("alpha_", "best_score_")
    _state_attributes: ClassVar[tuple[str, ...]] = ("cv_results_",)
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "alphas": (Real(0.0), ArrayRule()),
        "fit_intercept": (FLAG,),
        "gcv_mode": (OneOf(None, "auto", "svd", "eigen"),),
        "store_cv_results": (FLAG,),
        "alpha_per_target": (FLAG,),
        **INPUT_RULES,
    }

    alphas: ArrayLike = field(default=(0.1, 1.0, 10.0), kw_only=False)
    fit_intercept: bool = True
    scoring: Any = None
    cv: Any = None
    gcv_mode: Literal["auto", "svd", "eigen"] | None = None
    store_cv_results: bool = False
    alpha_per_target: bool = False
    n_jobs: int | None = None
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    alpha_: float | Floats = field(init=False)
    best_score_: float | Floats = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Choose alpha and fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Training data.
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
            Target values.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.

        Returns
        -------
        self
            The fitted model.
        """
        training = self._read_values(X, y, sample_weight)
        alphas = self._checked_alphas()
        moments = None
        if normal_equations.is_narrow(training.design):
            moments = Moments.of(training.design, training.y, training.weights, self.fit_intercept)
        if self.cv is None:
            alpha, known = self._leave_one_out(training, alphas, moments)
        else:
            alpha, known = self._search(X, y, sample_weight, alphas)
        per_target = np.broadcast_to(alpha, training.y.shape[1])
        found = normal_equations.ridge(
            training.design, training.y, training.weights, per_target, self.fit_intercept, moments
        )
        return self._set_fitted(**target_shaped(training, *found), **known, **training.read_as)

    def _checked_alphas(self) -> Floats:
        alphas = np.asarray(self.alphas, np.float64).ravel()
        smallest = 0.0 if self.cv is not None else np.finfo(float).tiny
        if not len(alphas) or not np.isfinite(alphas).all() or (alphas < smallest).any():
            bound = "at least 0" if self.cv is not None else "strictly positive"
            raise InputError(f"The alphas of RidgeCV must be finite numbers, {bound}; got {self.alphas!r}.")
        if self.cv is not None and (self.store_cv_results or self.alpha_per_target):
            raise InputError("store_cv_results and alpha_per_target need cv=None (leave-one-out).")
        return alphas

    def _leave_one_out(
        self, training: Training, alphas: Floats, moments: Moments | None
    ) -> tuple[Any, dict[str, Any]]:
        """Return the best alpha, or one per target, and what to keep."""
        keep = self.store_cv_results or self.scoring is not None
        args = (training.design, training.y, training.weights, alphas, self.fit_intercept, keep)
        left = normal_equations.leave_one_out(*args, moments)
        known: dict[str, Any] = {}
        kept = None
        if self.scoring is None:
            scores = -left.sums / training.design.n_rows
            if keep:
                weight = 1.0 if training.weights is None else training.weights[:, None, None]
                kept = left.errors**2 * weight
        else:
            kept = training.y[:, None, :] - left.errors
            scores = self._scored(kept, training)
        if self.store_cv_results and kept is not None:
            known["cv_results_"] = kept[:, :, 0] if training.one_target else kept.transpose(0, 2, 1).copy()
        if self.alpha_per_target and not training.one_target:
            best = scores.argmax(axis=0)
            picked = scores[best, np.arange(scores.shape[1])]
            return alphas[best], {"alpha_": alphas[best], "best_score_": picked, **known}
        means = scores.mean(axis=1)
        best = int(means.argmax())
        return alphas[best], {"alpha_": float(alphas[best]), "best_score_": float(means[best]), **known}

    def _scored(self, predictions: Floats, training: Training) -> Floats:
        """Score the predictions of the rows left out.  -> (n_alphas, n_targets or 1)"""
        from sklearn.metrics import check_scoring

        scorer = check_scoring(_Given(), self.scoring)
        by_alpha = predictions.transpose(1, 0, 2)
        if self.alpha_per_target:
            columns = range(training.y.shape[1])
            scored = [[scorer(_Given(), one[:, t], training.y[:, t]) for t in columns] for one in by_alpha]
        else:
            truth = training.y[:, 0] if training.one_target else training.y
            scored = [
                [scorer(_Given(), one[:, 0] if training.one_target else one, truth)] for one in by_alpha
            ]
        return np.array(scored)

    def _search(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, alphas: Floats
    ) -> tuple[Any, dict[str, Any]]:
        """Choose alpha by cross-validation, as scikit-learn's GridSearchCV does."""
        from sklearn.model_selection import GridSearchCV

        names = ("fit_intercept", "n_jobs", "categorical", "missing")
        model = Ridge(**{name: getattr(self, name) for name in names})
        search = GridSearchCV(
            model, {"alpha": alphas.tolist()}, cv=self.cv, scoring=self.scoring, refit=False
        )
        rows = X if sparse.issparse(X) or hasattr(X, "shape") else np.asarray(X)
        search.fit(rows, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        return search.best_params_["alpha"], {
            "alpha_": float(search.best_params_["alpha"]),
            "best_score_": float(search.best_score_),
        }


class _Given(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor whose predictions are what it is given."""

    def fit(self, X: Any, y: Any) -> Self:
        return self

    def predict(self, X: Sequence[float]) -> Sequence[float]:
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return True

"""The lasso and its relatives: Lasso, ElasticNet and their multi-task forms."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

from spinney.base import parameters
from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, Integer, OneOf, Real, Rule
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.io import require
from spinney.linear.base import INPUT_RULES, LinearRegressor, Training
from spinney.linear.design import Moments
from spinney.linear.penalized_squares import GramProblem, Path, Settings, problem_of

RULES: Mapping[str, tuple[Rule, ...]] = {
    "alpha": (Real(0.0),),
    "l1_ratio": (Real(0.0, 1.0),),
    "fit_intercept": (FLAG,),
    "precompute": (FLAG, OneOf("auto"), ArrayRule()),
    "copy_X": (FLAG,),
    "max_iter": (Integer(1),),
    "tol": (Real(0.0),),
    "warm_start": (FLAG,),
    "positive": (FLAG,),
    "selection": (OneOf("cyclic", "random"),),
    **INPUT_RULES,
}


class PenalizedRegressor(LinearRegressor, persistent_name=""):
    """What models fitted by coordinate descent share."""

    _required_attributes: ClassVar[tuple[str, ...]] = ("dual_gap_", "n_iter_")

    dual_gap_: float | Floats
    n_iter_: int | list[int]
    positive: bool = False

    @property
    def sparse_coef_(self) -> sparse.csr_array:
        """Coefficients as a sparse matrix."""
        return sparse.csr_array(np.atleast_2d(self.coef_))

    def _fit_targets(
        self, training: Training, alpha: float, l1_ratio: float, joint: bool, moments: Moments | None = None
    ) -> dict[str, Any]:
        """Return the fitted attributes for all targets at once (``joint``), or one after the other."""
        settings = Settings(l1_ratio, self.positive, self.tol, self.max_iter)
        n_targets = training.y.shape[1]
        groups = [slice(None)] if joint else [slice(t, t + 1) for t in range(n_targets)]
        coefs, intercepts, gaps, sweeps = [], [], [], []
        for group in groups:
            y = np.ascontiguousarray(training.y[:, group])
            problem, x_mean, y_mean = (
                problem_of(training.design, y, training.weights, self.fit_intercept)
                if moments is None
                else (GramProblem.of(moments), moments.x_mean, moments.y_mean)
            )
            path = problem.path(np.array([alpha]), settings, self._start(training, group))
            self._warn(path, settings, problem.y_squares)
            coef = np.ascontiguousarray(path.coef[0].T)
            coefs.append(coef)
            intercepts.append(y_mean - coef @ x_mean)
            gaps.append(float(path.gaps[0]))
            sweeps.append(int(path.n_iter[0]))
        coef, intercept = np.concatenate(coefs), np.concatenate(intercepts)
        if training.one_target:
            return {
                "coef_": coef[0],
                "intercept_": float(intercept[0]),
                "dual_gap_": gaps[0],
                "n_iter_": sweeps[0],
            }
        if joint:
            return {"coef_": coef, "intercept_": intercept, "dual_gap_": gaps[0], "n_iter_": sweeps[0]}
        return {"coef_": coef, "intercept_": intercept, "dual_gap_": np.array(gaps), "n_iter_": sweeps}

    def _start(self, training: Training, group: slice) -> Floats | None:
        """Return the coefficients of the fit before, if they fit these data.  -> (n_columns, n_targets)"""
        coef = vars(self).get("coef_")
        shape = (training.y.shape[1], training.design.n_columns)
        if not getattr(self, "warm_start", False) or coef is None or np.atleast_2d(coef).shape != shape:
            return None
        return np.ascontiguousarray(np.atleast_2d(coef)[group].T)

    def _warn(self, path: Path, settings: Settings, y_squares: float) -> None:
        met = path.gaps <= settings.tol * y_squares + 1e-14 * y_squares
        if settings.l1_ratio > 0 and not met.all() and (path.n_iter >= settings.max_iter).any():
            warnings.warn(
                f"{type(self).__name__} did not converge in max_iter={settings.max_iter} sweeps: the duality "
                f"gap is {path.gaps.max():.3g}. Increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _check_fitted(self) -> None:
        super()._check_fitted()
        gap, n_iter = self.dual_gap_, self.n_iter_
        valid = isinstance(gap, float | np.ndarray) and isinstance(n_iter, int | list)
        require(valid, "the duality gap or n_iter_ is not valid")


@parameters
class ElasticNet(RegressorMixin, MultiOutputMixin, PenalizedRegressor):  # type: ignore[misc]
    """Linear regression with L1 and L2 penalties.

    Minimizes (1 / 2W) Σ w (y − X coef − intercept)² + α ρ ‖coef‖₁ + ½ α (1 − ρ) ‖coef‖², W = Σ w, by
    coordinate descent on the Gram matrix of a working set of columns, with Anderson extrapolation and
    gap-safe screening. Several targets are fitted one after the other.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.
    l1_ratio : float in [0, 1], default=0.5
        Share ρ of the L1 penalty.
    fit_intercept : bool, default=True
        Fit an intercept, which is not penalized.
    precompute : bool or array-like of shape (n_columns, n_columns), default=False
        Accepted for compatibility; Gram matrices are formed where they are cheaper.
    max_iter : int, default=1000
        Maximum number of sweeps over the coefficients.
    copy_X : bool, default=True
        Accepted for compatibility; X is never changed.
    tol : float, default=1e-4
        Stop when the duality gap is below tol times the mean squared target.
    warm_start : bool, default=False
        Start from the coefficients of the fit before.
    positive : bool, default=False
        Keep the coefficients at 0 or above.
    random_state : int, RandomState, Generator or None, default=None
        Accepted for compatibility; nothing is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for compatibility; sweeps are cyclic.
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
    dual_gap_ : float or ndarray of shape (n_targets,)
        Duality gap: no coefficients have an objective lower by more.
    n_iter_ : int or list of int
        Sweeps over the coefficients, per target.
    sparse_coef_ : csr_array of shape (n_targets, n_columns)
        Coefficients as a sparse matrix.
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
    >>> from spinney import ElasticNet
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    >>> ElasticNet(alpha=0.1).fit(X, [0.0, 1.0, 2.0, 3.0]).coef_.round(4).tolist()
    [0.9231, 0.0]
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = RULES

    alpha: float = field(default=1.0, kw_only=False)
    l1_ratio: float = 0.5
    fit_intercept: bool = True
    precompute: bool | ArrayLike = False
    max_iter: int = 1000
    copy_X: bool = True
    tol: float = 1e-4
    warm_start: bool = False
    positive: bool = False
    random_state: Any = None
    selection: Literal["cyclic", "random"] = "cyclic"
    n_jobs: int | None = None
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, check_input: bool = True) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Training data.
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
            Target values.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights; only their ratios matter.
        check_input : bool, default=True
            Has no effect; scikit-learn's ``fit`` has it.

        Returns
        -------
        self
            The fitted model.
        """
        training = self._read_values(X, y, sample_weight)
        fitted = self._fit_targets(training, self.alpha, self.l1_ratio, joint=False)
        return self._set_fitted(**fitted, **training.read_as)


@parameters
class Lasso(ElasticNet):
    """Linear regression with an L1 penalty.

    Minimizes (1 / 2W) Σ w (y − X coef − intercept)² + α ‖coef‖₁, W = Σ w; see :class:`ElasticNet`. With
    orthogonal columns, the coefficients are those of least squares, moved towards 0 by α over the mean square
    of the column (soft threshold).

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.
    fit_intercept : bool, default=True
        Fit an intercept, which is not penalized.
    precompute : bool or array-like of shape (n_columns, n_columns), default=False
        Accepted for compatibility; Gram matrices are formed where they are cheaper.
    max_iter : int, default=1000
        Maximum number of sweeps over the coefficients.
    copy_X : bool, default=True
        Accepted for compatibility; X is never changed.
    tol : float, default=1e-4
        Stop when the duality gap is below tol times the mean squared target.
    warm_start : bool, default=False
        Start from the coefficients of the fit before.
    positive : bool, default=False
        Keep the coefficients at 0 or above.
    random_state : int, RandomState, Generator or None, default=None
        Accepted for compatibility; nothing is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for compatibility; sweeps are cyclic.
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
    dual_gap_ : float or ndarray of shape (n_targets,)
        Duality gap: no coefficients have an objective lower by more.
    n_iter_ : int or list of int
        Sweeps over the coefficients, per target.
    sparse_coef_ : csr_array of shape (n_targets, n_columns)
        Coefficients as a sparse matrix.
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
    >>> from spinney import Lasso
    >>> Lasso(alpha=0.25).fit([[-1.0], [1.0]], [-1.0, 1.0]).coef_.round(6).tolist()
    [0.75]
    """

    l1_ratio: float = field(default=1.0, init=False)


@parameters
class MultiTaskElasticNet(RegressorMixin, MultiOutputMixin, PenalizedRegressor):  # type: ignore[misc]
    """Elastic net for several targets that use the same features.

    Minimizes (1 / 2W) Σ w ‖y − X coef − intercept‖² + α ρ Σ_j ‖coef_j‖₂ + ½ α (1 − ρ) ‖coef‖², where coef_j
    has the coefficients of feature j for all targets: a feature has all of them 0, or none.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.
    l1_ratio : float in [0, 1], default=0.5
        Share ρ of the L1 penalty.
    fit_intercept : bool, default=True
        Fit an intercept, which is not penalized.
    copy_X : bool, default=True
        Accepted for compatibility; X is never changed.
    max_iter : int, default=1000
        Maximum number of sweeps over the coefficients.
    tol : float, default=1e-4
        Stop when the duality gap is below tol times the mean squared target.
    warm_start : bool, default=False
        Start from the coefficients of the fit before.
    random_state : int, RandomState, Generator or None, default=None
        Accepted for compatibility; nothing is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for compatibility; sweeps are cyclic.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model does not depend on it.
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_columns)
        Coefficients.
    intercept_ : ndarray of shape (n_targets,)
        Intercept; 0 with ``fit_intercept=False``.
    dual_gap_ : float
        Duality gap: no coefficients have an objective lower by more.
    n_iter_ : int
        Sweeps over the coefficients.
    sparse_coef_ : csr_array of shape (n_targets, n_columns)
        Coefficients as a sparse matrix.
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
    >>> from spinney import MultiTaskElasticNet
    >>> X, Y = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [[0, 0], [1, 1], [2, 2]]
    >>> model = MultiTaskElasticNet(alpha=0.1).fit(X, Y)
    >>> model.coef_.round(3).tolist()
    [[0.456, 0.456], [0.456, 0.456]]
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = RULES

    alpha: float = field(default=1.0, kw_only=False)
    l1_ratio: float = 0.5
    fit_intercept: bool = True
    copy_X: bool = True
    max_iter: int = 1000
    tol: float = 1e-4
    warm_start: bool = False
    random_state: Any = None
    selection: Literal["cyclic", "random"] = "cyclic"
    n_jobs: int | None = None
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Training data.
        y : array-like of shape (n_rows, n_targets)
            Target values.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights; only their ratios matter.

        Returns
        -------
        self
            The fitted model.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataConversionWarning)  # one column is one task
            training = self._read_values(X, y, sample_weight)
        if training.one_target and np.asarray(y).ndim == 2:
            training = training._replace(one_target=False)
        if training.one_target:
            raise InputError(
                f"For mono-task outputs, use ElasticNet or Lasso; {type(self).__name__} needs a y of 2 axes."
            )
        fitted = self._fit_targets(training, self.alpha, self.l1_ratio, joint=True)
        return self._set_fitted(**fitted, **training.read_as)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        return tags


@parameters
class MultiTaskLasso(MultiTaskElasticNet):
    """Lasso for several targets that use the same features.

    Minimizes (1 / 2W) Σ w ‖y − X coef − intercept‖² + α Σ_j ‖coef_j‖₂; see :class:`MultiTaskElasticNet`.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.
    fit_intercept : bool, default=True
        Fit an intercept, which is not penalized.
    copy_X : bool, default=True
        Accepted for compatibility; X is never changed.
    max_iter : int, default=1000
        Maximum number of sweeps over the coefficients.
    tol : float, default=1e-4
        Stop when the duality gap is below tol times the mean squared target.
    warm_start : bool, default=False
        Start from the coefficients of the fit before.
    random_state : int, RandomState, Generator or None, default=None
        Accepted for compatibility; nothing is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for compatibility; sweeps are cyclic.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model does not depend on it.
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_columns)
        Coefficients.
    intercept_ : ndarray of shape (n_targets,)
        Intercept; 0 with ``fit_intercept=False``.
    dual_gap_ : float
        Duality gap: no coefficients have an objective lower by more.
    n_iter_ : int
        Sweeps over the coefficients.
    sparse_coef_ : csr_array of shape (n_targets, n_columns)
        Coefficients as a sparse matrix.
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
    >>> from spinney import MultiTaskLasso
    >>> model = MultiTaskLasso(alpha=0.1).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [[0, 0], [1, 1], [2, 2]])
    >>> model.coef_.round(3).tolist()
    [[0.894, 0.0], [0.894, 0.0]]
    """

    l1_ratio: float = field(default=1.0, init=False)

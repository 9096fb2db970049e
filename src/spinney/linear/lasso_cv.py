"""The elastic net and the lasso with alpha chosen by cross-validation, and the ledger of their paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from spinney.base import parameters
from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.ledger import Ledger
from spinney.core.parameters import FLAG, Integer, Real, Rule
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.io import Persistent, require
from spinney.linear.base import Training
from spinney.linear.design import Design, Moments, weighted_mean
from spinney.linear.lasso import RULES, PenalizedRegressor
from spinney.linear.penalized_squares import (
    GramProblem,
    Settings,
    alpha_grid,
    fits_gram,
    problem_of,
)


@dataclass(frozen=True, eq=False, repr=False)
class PathLedger(Ledger, Persistent):
    """The path of a cross-validated lasso or elastic net on all rows, one row per alpha.

    Attributes
    ----------
    alpha : ndarray of shape (n_alphas,), float64
        Strength of the penalty.
    mean_squared_error : ndarray of shape (n_alphas,), float64
        Error of the rows held out, mean over folds.
    n_nonzero : ndarray of shape (n_alphas,), int64
        Number of coefficients that are not 0.
    dual_gap : ndarray of shape (n_alphas,), float64
        Duality gap.
    n_iter : ndarray of shape (n_alphas,), int64
        Sweeps over the coefficients.
    coefficients : ndarray of shape (n_alphas, n_columns), float64
        Coefficients.

    Examples
    --------
    >>> from spinney import LassoCV
    >>> X, y = [[float(i % 3), float(i % 2)] for i in range(20)], [float(i % 3) for i in range(20)]
    >>> ledger = LassoCV(alphas=4, ledger=True).fit(X, y).ledger_
    >>> ledger.n_nonzero[1:].tolist(), ledger.coefficients.shape
    ([1, 1, 1], (4, 2))
    """

    row_name = "alphas"

    alpha: Floats
    mean_squared_error: Floats
    n_nonzero: NDArray[np.int64]
    dual_gap: Floats
    n_iter: NDArray[np.int64]
    coefficients: Any

    def __post_init__(self) -> None:
        """Check the columns, which may come from a model file."""
        self.check_columns()
        coef: Any = self.coefficients
        valid = isinstance(coef, np.ndarray) and coef.dtype == np.float64 and coef.ndim == 2
        require(valid and len(coef) == len(self), "the coefficients of a path are not valid")


class _FoldSums(NamedTuple):
    """Sums of one fold around common shifts: Gram matrix, cross products, and squares of the target."""

    gram: Floats
    cross: Floats
    squares: Floats

    def minus(self, other: _FoldSums) -> _FoldSums:
        """Return the sums of the rows that another fold does not have."""
        return _FoldSums(*(a - b for a, b in zip(self, other, strict=True)))

    def errors(self, coef: Floats, y_rest: float, x_rest: Floats) -> Floats:
        """Return Σ w (y − ŷ)² of the fold for each row of coefficients (n_alphas, p), divided by Σ w.

        y_rest and x_rest: training means minus the common shifts.
        """
        p = len(x_rest)
        constant = y_rest - coef @ x_rest
        gram, total = self.gram[:p, :p], self.gram[p, p]
        quadratic = np.einsum("aj,jk,ak->a", coef, gram, coef, optimize=True)
        linear = self.cross[0, p] - coef @ self.gram[p, :p]
        sums = self.squares[0] - 2 * coef @ self.cross[0, :p] + quadratic
        return np.asarray((sums + constant * (constant * total - 2 * linear)) / total)


class _Sums(NamedTuple):
    """Sums of all folds, which partition the rows, and the shifts they are around."""

    folds: list[_FoldSums]
    shift: Floats
    y_shift: Floats

    def everything(self, intercept: bool) -> Moments:
        """Return the moments of all rows."""
        return self._moments(self._total(), intercept)

    def without(self, fold: _FoldSums, intercept: bool) -> Moments:
        """Return the moments of the rows that are not in a fold."""
        return self._moments(self._total().minus(fold), intercept)

    def _total(self) -> _FoldSums:
        return _FoldSums(*(np.sum(part, axis=0) for part in zip(*self.folds, strict=True)))

    def _moments(self, sums: _FoldSums, intercept: bool) -> Moments:
        return Moments.from_sums(*sums[:2], self.shift, self.y_shift, sums.squares, intercept)


def _as_slice(rows: NDArray[np.intp]) -> NDArray[np.intp] | slice:
    """Return consecutive rows as a slice, which copies nothing."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows) and (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


@parameters
class ElasticNetCV(RegressorMixin, PenalizedRegressor):  # type: ignore[misc]
    """Elastic net with alpha and the share of L1 chosen by cross-validation.

    With up to 500 columns, one pass over the rows gives the Gram matrix of every fold. That of the training
    rows is the sum of all minus the fold's, and the error of the fold follows from its own Gram matrix. With
    more columns, every fold is solved on working sets of columns.

    Parameters
    ----------
    l1_ratio : float or array-like of shape (n_l1_ratios,), default=0.5
        Shares ρ of the L1 penalty to try.
    eps : float, default=1e-3
        The smallest alpha as a share of the largest.
    alphas : int or array-like of shape (n_alphas,), default=100
        Values of alpha to try; an integer is so many on a logarithmic scale.
    fit_intercept : bool, default=True
        Fit an intercept, which is not penalized.
    precompute : bool, "auto" or array-like, default="auto"
        Accepted for compatibility; Gram matrices are formed where they are cheaper.
    max_iter : int, default=1000
        Maximum number of sweeps over the coefficients per alpha.
    tol : float, default=1e-4
        Stop when the duality gap is below tol times the mean squared target.
    cv : int, splitter, iterable or None, default=None
        Folds; None is 5.
    copy_X : bool, default=True
        Accepted for compatibility; X is never changed.
    verbose : int, default=0
        Accepted for compatibility.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model does not depend on it.
    positive : bool, default=False
        Keep the coefficients at 0 or above.
    random_state : int, RandomState, Generator or None, default=None
        Accepted for compatibility; nothing is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for compatibility; sweeps are cyclic.
    ledger : bool, default=False
        Record the path of coefficients on all rows in ``ledger_``.
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    alpha_ : float
        The chosen alpha.
    l1_ratio_ : float
        The chosen share of L1.
    alphas_ : ndarray of shape (n_alphas,), or (n_l1_ratios, n_alphas) if they are not given
        The values of alpha that were tried.
    mse_path_ : ndarray of shape (n_l1_ratios, n_alphas, n_folds), or (n_alphas, n_folds) for one l1_ratio
        Mean squared error of the rows that each fold holds out.
    coef_ : ndarray of shape (n_columns,)
        Coefficients.
    intercept_ : float
        Intercept; 0 with ``fit_intercept=False``.
    dual_gap_ : float
        Duality gap of the last fit.
    n_iter_ : int
        Sweeps of the last fit.
    ledger_ : PathLedger
        Alphas, their errors and coefficients. Only with ``ledger=True``.
    sparse_coef_ : csr_array of shape (1, n_columns)
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
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney import ElasticNetCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 1.0]).fit(X, y)
    >>> model.l1_ratio_, bool(model.score(X, y) > 0.5)
    (1.0, True)
    """

    _required_attributes: ClassVar[tuple[str, ...]] = ("alpha_", "l1_ratio_", "alphas_", "mse_path_")
    _state_attributes: ClassVar[tuple[str, ...]] = ("ledger_",)
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        **RULES,
        "l1_ratio": (Real(0.0, 1.0), ArrayRule()),
        "eps": (Real(0.0, open_ends="("),),
        "alphas": (Integer(1), ArrayRule()),
        "ledger": (FLAG,),
    }

    l1_ratio: float | ArrayLike = 0.5
    eps: float = 1e-3
    alphas: int | ArrayLike = 100
    fit_intercept: bool = True
    precompute: bool | str | ArrayLike = "auto"
    max_iter: int = 1000
    tol: float = 1e-4
    cv: Any = None
    copy_X: bool = True
    verbose: int = 0
    n_jobs: int | None = None
    positive: bool = False
    random_state: Any = None
    selection: Literal["cyclic", "random"] = "cyclic"
    ledger: bool = False
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    alpha_: float = field(init=False)
    l1_ratio_: float = field(init=False)
    alphas_: Floats = field(init=False)
    mse_path_: Floats = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Choose alpha and fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Training data.
        y : array-like of shape (n_rows,)
            Target values.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights, also of the errors; only their ratios matter.

        Returns
        -------
        self
            The fitted model.
        """
        training = self._read_values(X, y, sample_weight)
        if not training.one_target:
            raise InputError(
                f"{type(self).__name__} supports one target; y has {training.y.shape[1]} columns."
            )
        from sklearn.model_selection import check_cv

        ratios = np.asarray(self.l1_ratio, np.float64).ravel()
        if not len(ratios) or not ((ratios >= 0) & (ratios <= 1)).all():
            raise InputError(
                f"The l1_ratio of {type(self).__name__} must be in [0, 1]; got {self.l1_ratio!r}."
            )
        splits = check_cv(self.cv).split(np.zeros((training.design.n_rows, 1)), training.y[:, 0])
        folds = [test for _, test in splits]
        sums = self._sums(training, folds)
        everything = None if sums is None else sums.everything(self.fit_intercept)
        alphas = np.stack([self._alphas(training, float(ratio), everything) for ratio in ratios])
        mse = (
            self._mse_by_rows(training, folds, alphas, ratios)
            if sums is None
            else self._mse_by_sums(sums, alphas, ratios)
        )
        weights = training.weights
        sizes = [len(test) if weights is None else float(weights[test].sum()) for test in folds]
        means = np.average(mse, axis=2, weights=sizes)
        best_ratio, best = np.unravel_index(int(means.argmin()), means.shape)
        alpha, ratio = float(alphas[best_ratio, best]), float(ratios[best_ratio])
        fitted = self._fit_targets(training, alpha, ratio, joint=False, moments=everything)
        if self.ledger:
            fitted["ledger_"] = self._ledger(training, alphas[best_ratio], ratio, means[best_ratio])
        one = len(ratios) == 1
        given = not isinstance(self.alphas, int | np.integer)  # the same for each ratio
        known = {"alphas_": alphas[0] if one or given else alphas, "mse_path_": mse[0] if one else mse}
        return self._set_fitted(**fitted, **known, alpha_=alpha, l1_ratio_=ratio, **training.read_as)

    def _alphas(self, training: Training, ratio: float, everything: Moments | None) -> Floats:
        """Return the alphas to try, largest first."""
        given: Any = self.alphas
        owner = type(self).__name__
        if not isinstance(given, int | np.integer):
            alphas = np.sort(np.asarray(given, np.float64).ravel())[::-1]
            if not len(alphas) or not np.isfinite(alphas).all() or (alphas < 0).any():
                raise InputError(f"The alphas of {owner} must be finite, at least 0; got {given!r}.")
            return alphas
        if ratio == 0:
            raise InputError(f"{owner} makes no grid of alphas for l1_ratio=0.", fix="Give alphas.")
        if everything is not None:
            linear = everything.cross.T / everything.total
            return alpha_grid(linear, ratio, self.eps, int(given), self.positive)
        weights = training.weights
        y = training.y - (weighted_mean(training.y, weights) if self.fit_intercept else 0.0)
        total = float(training.design.n_rows) if weights is None else float(weights.sum())
        residual = y / total if weights is None else y * (weights / total)[:, None]
        linear = training.design.cross(residual, training.design.shift())[:, :-1].T
        return alpha_grid(linear, ratio, self.eps, int(given), self.positive)

    def _sums(self, training: Training, folds: list[NDArray[np.intp]]) -> _Sums | None:
        """Return the sums of every fold; None with many columns, or if folds are not a partition of rows."""
        design, weights = training.design, training.weights
        counts = np.bincount(np.concatenate(folds), minlength=design.n_rows)
        if not fits_gram(design) or len(counts) != design.n_rows or not (counts == 1).all():
            return None
        y_shift = weighted_mean(training.y, weights) if self.fit_intercept else np.zeros(1)
        shift = design.shift() if self.fit_intercept else np.zeros(design.n_columns)
        parts = []
        for test in folds:
            rows = _as_slice(test)
            y = training.y[rows] - y_shift
            weight = None if weights is None else weights[rows]
            weighted = y if weight is None else y * weight[:, None]
            gram, cross = Design(design.values[rows], design.n_threads).gram(weight, weighted, shift)
            parts.append(_FoldSums(gram, cross, np.einsum("rt,rt->t", weighted, y)))
        return _Sums(parts, shift, y_shift)

    def _mse_by_sums(self, sums: _Sums, alphas: Floats, ratios: Floats) -> Floats:
        """Return the errors (n_l1_ratios, n_alphas, n_folds) without another pass over the rows."""
        mse = np.empty((*alphas.shape, len(sums.folds)))
        for f, fold in enumerate(sums.folds):
            moments = sums.without(fold, self.fit_intercept)
            problem = GramProblem.of(moments)
            x_rest = moments.x_mean - sums.shift if self.fit_intercept else np.zeros_like(sums.shift)
            y_rest = float(moments.y_mean[0] - sums.y_shift[0])
            for i, ratio in enumerate(ratios.tolist()):
                path = problem.path(alphas[i], self._settings(ratio))
                mse[i, :, f] = fold.errors(path.coef[:, :, 0], y_rest, x_rest)
        return mse

    def _mse_by_rows(
        self, training: Training, folds: list[NDArray[np.intp]], alphas: Floats, ratios: Floats
    ) -> Floats:
        """Return the errors (n_l1_ratios, n_alphas, n_folds) of a fit per fold."""
        design, weights = training.design, training.weights
        mse = np.empty((*alphas.shape, len(folds)))
        for f, test in enumerate(folds):
            others = np.ones(design.n_rows, np.bool_)
            others[test] = False
            weight = None if weights is None else weights[others]
            part = design.rows(others)
            problem, x_mean, y_mean = problem_of(part, training.y[others], weight, self.fit_intercept)
            held, share = design.rows(test), np.ones(len(test)) if weights is None else weights[test]
            for i, ratio in enumerate(ratios.tolist()):
                coef = problem.path(alphas[i], self._settings(ratio)).coef[:, :, 0]
                errors = held.product(coef, y_mean[0] - coef @ x_mean) - training.y[test]
                mse[i, :, f] = np.einsum("r,rk->k", share, errors**2) / share.sum()
        return mse

    def _settings(self, ratio: float) -> Settings:
        return Settings(ratio, self.positive, self.tol, self.max_iter)

    def _ledger(self, training: Training, alphas: Floats, ratio: float, errors: Floats) -> PathLedger:
        """Return the path on all rows."""
        problem, _, _ = problem_of(training.design, training.y, training.weights, self.fit_intercept)
        path = problem.path(alphas, self._settings(ratio))
        coef = path.coef[:, :, 0]
        n_nonzero = np.count_nonzero(coef, axis=1).astype(np.int64)
        return PathLedger(alphas.copy(), errors.copy(), n_nonzero, path.gaps, path.n_iter, coef.copy())

    def _check_fitted(self) -> None:
        super()._check_fitted()
        ledger: Any = vars(self).get("ledger_")
        arrays: list[Any] = [self.alphas_, self.mse_path_]
        valid = all(isinstance(array, np.ndarray) and array.dtype == np.float64 for array in arrays)
        valid = valid and type(self.alpha_) is float and type(self.l1_ratio_) is float
        require(valid and (ledger is None or type(ledger) is PathLedger), "the path is not valid")


@parameters
class LassoCV(ElasticNetCV):
    """Lasso with alpha chosen by cross-validation; see :class:`ElasticNetCV`.

    Parameters
    ----------
    eps : float, default=1e-3
        The smallest alpha as a share of the largest.
    alphas : int or array-like of shape (n_alphas,), default=100
        Values of alpha to try; an integer is so many on a logarithmic scale.
    fit_intercept : bool, default=True
        Fit an intercept, which is not penalized.
    precompute : bool, "auto" or array-like, default="auto"
        Accepted for compatibility; Gram matrices are formed where they are cheaper.
    max_iter : int, default=1000
        Maximum number of sweeps over the coefficients per alpha.
    tol : float, default=1e-4
        Stop when the duality gap is below tol times the mean squared target.
    cv : int, splitter, iterable or None, default=None
        Folds; None is 5.
    copy_X : bool, default=True
        Accepted for compatibility; X is never changed.
    verbose : int, default=0
        Accepted for compatibility.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model does not depend on it.
    positive : bool, default=False
        Keep the coefficients at 0 or above.
    random_state : int, RandomState, Generator or None, default=None
        Accepted for compatibility; nothing is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for compatibility; sweeps are cyclic.
    ledger : bool, default=False
        Record the path of coefficients on all rows in ``ledger_``.
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    alpha_ : float
        The chosen alpha.
    l1_ratio_ : float
        1.0.
    alphas_ : ndarray of shape (n_alphas,)
        The values of alpha that were tried.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared error of the rows that each fold holds out.
    coef_ : ndarray of shape (n_columns,)
        Coefficients.
    intercept_ : float
        Intercept; 0 with ``fit_intercept=False``.
    dual_gap_ : float
        Duality gap of the last fit.
    n_iter_ : int
        Sweeps of the last fit.
    ledger_ : PathLedger
        Alphas, their errors and coefficients. Only with ``ledger=True``.
    sparse_coef_ : csr_array of shape (1, n_columns)
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
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney import LassoCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoCV().fit(X, y)
    >>> model.mse_path_.shape, int((model.coef_ != 0).sum())
    ((100, 5), 9)
    """

    l1_ratio: float | ArrayLike = field(default=1.0, init=False)

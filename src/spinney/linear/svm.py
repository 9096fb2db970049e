"""Linear support vector machines: LinearSVC and LinearSVR."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from spinney.base import parameters
from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, Integer, Kind, OneOf, Real, Rule, draw_seed
from spinney.data.weights import apply_class_weights
from spinney.io import require
from spinney.linear.base import INPUT_RULES, LinearClassifier, LinearRegressor
from spinney.linear.design import Design
from spinney.linear.lbfgs import MAX_NEWTON, minimize
from spinney.linear.newton import Penalty
from spinney.linear.row_losses import RowLoss, SquaredHingeLoss, SquaredTubeLoss
from spinney.native import core

_RULES: Mapping[str, tuple[Rule, ...]] = {
    "tol": (Real(0.0, open_ends="("),),
    "C": (Real(0.0, open_ends="("),),
    "fit_intercept": (FLAG,),
    "intercept_scaling": (Real(0.0, open_ends="("),),
    "dual": (FLAG, OneOf("auto")),
    "max_iter": (Integer(1),),
    **INPUT_RULES,
}


class _Machine(NamedTuple):
    """Settings of one linear support vector machine."""

    C: float
    tol: float
    max_iter: int
    intercept: bool
    scaling: float
    seed: int
    owner: str

    @classmethod
    def of(cls, model: LinearSVC | LinearSVR) -> _Machine:
        """Return the settings of an estimator."""
        options = model.C, model.tol, model.max_iter, model.fit_intercept, model.intercept_scaling
        return cls(*options, draw_seed(model.random_state), type(model).__name__)

    def box(self, n_rows: int, weights: Floats | None, smooth: bool) -> tuple[Floats, Floats]:
        """Return the limits of the dual variables, and what a squared loss adds to the diagonal."""
        most = np.full(n_rows, self.C) if weights is None else self.C * weights
        if not smooth:
            return most, np.zeros(n_rows)
        return np.where(most > 0, np.inf, 0.0), 0.5 / np.maximum(most, np.finfo(np.float64).tiny)

    def primal(self, design: Design, loss: RowLoss, l1: bool) -> tuple[Floats, float, int]:
        """Minimize ½ ‖w‖² (or ‖w‖₁) + C Σ loss by Newton's method.  -> coefficients, intercept, iterations"""
        scale = 1.0 / self.C
        intercept_l2 = 0.0 if l1 else scale / self.scaling**2
        penalty = Penalty(scale if l1 else 0.0, 0.0 if l1 else scale, self.intercept, intercept_l2)
        found = minimize(design, loss, penalty, self.tol, self.max_iter)
        self._warn(found.converged)
        return found.coef[0], float(found.intercept[0]), found.n_iter

    def dual(
        self, design: Design, y: Floats, bounds: tuple[Floats, Floats], diagonal: Floats, epsilon: float
    ) -> tuple[Floats, float, int]:
        """Solve the dual by coordinate descent.  -> coefficients, intercept, sweeps"""
        bias = self.scaling**2 if self.intercept else 0.0
        rows, dense = None, None
        if design.is_sparse:
            csr = design.csr
            rows = (csr.data, csr.indices.astype(np.int32), csr.indptr.astype(np.int64))
        else:
            dense = np.ascontiguousarray(design.values, np.float64)
        w, _, sweeps, violation = core.dual_descent(
            dense,
            rows,
            design.n_columns,
            y,
            *bounds,
            diagonal,
            epsilon,
            bias,
            self.tol,
            self.max_iter,
            self.seed,
        )
        self._warn(violation <= self.tol)
        return w[:-1].copy(), float(w[-1]), int(sweeps)

    def _warn(self, converged: bool) -> None:
        if not converged:
            warnings.warn(
                f"{self.owner} did not converge in max_iter={self.max_iter} iterations. Increase max_iter or "
                "tol, or scale the data, for example by a StandardScaler.",
                ConvergenceWarning,
                stacklevel=4,
            )


def _use_dual(dual: Any, smooth: bool, design: Design) -> bool:
    """Whether to solve the dual: always for losses with a kink, else for more columns than rows."""
    if not smooth:
        return True
    return bool(design.n_columns > max(design.n_rows, MAX_NEWTON) if dual == "auto" else dual)


@parameters
class LinearSVC(LinearClassifier):
    """Linear support vector classification.

    Minimizes ½ ‖w‖² + C Σ loss(y f(x)) for each class against the rest. The squared hinge loss
    max(0, 1 − y f)² is minimized by a semismooth Newton method where there are more rows than columns. The
    hinge loss max(0, 1 − y f), and wide problems, are solved by dual coordinate descent. The intercept counts
    as the coefficient of a constant feature ``intercept_scaling``, as in LIBLINEAR.

    Parameters
    ----------
    penalty : {"l1", "l2"}, default="l2"
        Penalty; "l1" needs the squared hinge loss, and leaves the intercept free.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        Loss.
    dual : bool or "auto", default="auto"
        Solve the dual problem; "auto" does so where it is faster.
    tol : float, default=1e-4
        Newton stops when the predicted decrease is below 0.1 tol² per unit of weight, dual coordinate descent
        when no optimality condition is violated by more than tol.
    C : float, default=1.0
        Weight of the losses against the squared length of the coefficients.
    multi_class : {"ovr"}, default="ovr"
        One problem per class.
    fit_intercept : bool, default=True
        Fit an intercept.
    intercept_scaling : float, default=1.0
        Size of the constant feature; a larger one penalizes the intercept less.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply the row weights.
    verbose : int, default=0
        Accepted for compatibility.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the order of rows in dual coordinate descent.
    max_iter : int, default=1000
        Maximum number of iterations or sweeps.
    n_jobs : int or None, default=None
        Number of threads, −1 for all cores. It does not change the model.
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_columns) or (n_classes, n_columns)
        Coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_iter_ : int
        Iterations or sweeps, the most of any class.
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
    >>> from spinney import LinearSVC
    >>> LinearSVC().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]).predict([[2.5]]).tolist()
    ['b']
    """

    _required_attributes: ClassVar[tuple[str, ...]] = ("n_iter_",)
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "penalty": (OneOf("l1", "l2"),),
        "loss": (OneOf("hinge", "squared_hinge"),),
        "multi_class": (OneOf("ovr"),),
        "class_weight": (NONE, OneOf("balanced"), Kind("a dict", dict)),
        **_RULES,
    }

    penalty: Literal["l1", "l2"] = field(default="l2", kw_only=False)
    loss: Literal["hinge", "squared_hinge"] = field(default="squared_hinge", kw_only=False)
    dual: bool | Literal["auto"] = "auto"
    tol: float = 1e-4
    C: float = 1.0
    multi_class: Literal["ovr"] = "ovr"
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    class_weight: Any = None
    verbose: int = 0
    random_state: Any = None
    max_iter: int = 1000
    n_jobs: int | None = None
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    n_iter_: int = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Training data.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.

        Returns
        -------
        self
            The fitted model.
        """
        training, codes = self._read_labels(X, y, sample_weight)
        if self.penalty == "l1" and (self.loss == "hinge" or self.dual is True):
            raise InputError("penalty='l1' of LinearSVC needs loss='squared_hinge' and dual=False or 'auto'.")
        weights = training.weights
        if self.class_weight is not None:
            weights = apply_class_weights(weights, self.class_weight, np.asarray(y))
        classes: Any = training.classes
        machine = _Machine.of(self)
        chosen = [1] if len(classes) == 2 else range(len(classes))
        fits = [self._one(machine, training.design, np.where(codes == k, 1.0, -1.0), weights) for k in chosen]
        return self._set_fitted(
            coef_=np.stack([one[0] for one in fits]),
            intercept_=np.array([one[1] for one in fits]),
            n_iter_=max(one[2] for one in fits),
            classes_=classes,
            **training.read_as,
        )

    def _one(
        self, machine: _Machine, design: Design, signs: Floats, weights: Floats | None
    ) -> tuple[Floats, float, int]:
        """Fit one class against the rest."""
        l1 = self.penalty == "l1"
        smooth = self.loss == "squared_hinge"
        if l1 or not _use_dual(self.dual, smooth, design):
            return machine.primal(design, SquaredHingeLoss(signs, weights, None, design.n_threads), l1)
        limit, diagonal = machine.box(len(signs), weights, smooth)
        bounds = np.where(signs > 0, 0.0, -limit), np.where(signs > 0, limit, 0.0)
        return machine.dual(design, signs, bounds, diagonal, 0.0)

    def _check_outputs(self, n_outputs: int) -> None:
        super()._check_outputs(n_outputs)
        require(type(vars(self).get("n_iter_")) is int, "n_iter_ is not valid")


@parameters
class LinearSVR(RegressorMixin, LinearRegressor):  # type: ignore[misc]
    """Linear support vector regression.

    Minimizes ½ ‖w‖² + C Σ loss, where the loss is max(0, |y − f(x)| − ε) or its square: errors within the
    tube of half width ε cost nothing. The squared loss is minimized by a semismooth Newton method, the
    other by dual coordinate descent. The intercept counts as the coefficient of a constant feature
    ``intercept_scaling``.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half the width of the tube.
    tol : float, default=1e-4
        Newton stops when the predicted decrease is below 0.1 tol² per unit of weight, dual coordinate descent
        when no optimality condition is violated by more than tol.
    C : float, default=1.0
        Weight of the losses against the squared length of the coefficients.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        Loss.
    fit_intercept : bool, default=True
        Fit an intercept.
    intercept_scaling : float, default=1.0
        Size of the constant feature; a larger one penalizes the intercept less.
    dual : bool or "auto", default="auto"
        Solve the dual problem; "auto" does so where it is faster.
    verbose : int, default=0
        Accepted for compatibility.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the order of rows in dual coordinate descent.
    max_iter : int, default=1000
        Maximum number of iterations or sweeps.
    n_jobs : int or None, default=None
        Number of threads, −1 for all cores. It does not change the model.
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,)
        Coefficients.
    intercept_ : ndarray of shape (1,), or float
        Intercept; the number 0.0 without ``fit_intercept``, as in scikit-learn.
    n_iter_ : int
        Iterations or sweeps.
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
    >>> from spinney import LinearSVR
    >>> model = LinearSVR(epsilon=0.1, C=100.0, tol=1e-8, random_state=0)
    >>> model.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).coef_.round(3).tolist()
    [0.9]
    """

    _required_attributes: ClassVar[tuple[str, ...]] = ("n_iter_",)
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "epsilon": (Real(0.0),),
        "loss": (OneOf("epsilon_insensitive", "squared_epsilon_insensitive"),),
        **_RULES,
    }

    epsilon: float = 0.0
    tol: float = 1e-4
    C: float = 1.0
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive"
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    dual: bool | Literal["auto"] = "auto"
    verbose: int = 0
    random_state: Any = None
    max_iter: int = 1000
    n_jobs: int | None = None
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    n_iter_: int = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Training data.
        y : array-like of shape (n_rows,)
            Target values.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.

        Returns
        -------
        self
            The fitted model.
        """
        training = self._read_values(X, y, sample_weight)
        if not training.one_target:
            raise InputError(f"LinearSVR supports one target; y has {training.y.shape[1]} columns.")
        design, weights = training.design, training.weights
        values = np.ascontiguousarray(training.y[:, 0])
        machine = _Machine.of(self)
        smooth = self.loss == "squared_epsilon_insensitive"
        if _use_dual(self.dual, smooth, design):
            limit, diagonal = machine.box(len(values), weights, smooth)
            found = machine.dual(design, values, (-limit, limit), diagonal, self.epsilon)
        else:
            loss = SquaredTubeLoss(values, weights, None, design.n_threads, self.epsilon)
            found = machine.primal(design, loss, False)
        coef, intercept, n_iter = found
        kept = np.array([intercept]) if self.fit_intercept else 0.0
        return self._set_fitted(coef_=coef, intercept_=kept, n_iter_=n_iter, **training.read_as)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        require(type(vars(self).get("n_iter_")) is int, "n_iter_ is not valid")

"""Logistic regression."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from spinney.base import ProbabilisticClassifier, parameters
from spinney.core.arrays import Floats
from spinney.core.elementary import expit, softmax
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, Integer, Kind, OneOf, Real, Rule
from spinney.data.weights import apply_class_weights
from spinney.io import require
from spinney.linear.base import INPUT_RULES, LinearClassifier, Training
from spinney.linear.design import Design
from spinney.linear.lbfgs import minimize
from spinney.linear.newton import Minimum, Penalty
from spinney.linear.row_losses import LogisticLoss, MultinomialLoss, RowLoss
from spinney.linear.sparse_coef import dense_coefficients

_SOLVERS = ("auto", "newton-cholesky", "lbfgs", "prox-newton", "liblinear", "newton-cg", "sag", "saga")

RULES: Mapping[str, tuple[Rule, ...]] = {
    "penalty": (OneOf("auto", "l1", "l2", "elasticnet", None),),
    "dual": (FLAG,),
    "tol": (Real(0.0, open_ends="("),),
    "fit_intercept": (FLAG,),
    "intercept_scaling": (Real(0.0, open_ends="("),),
    "class_weight": (NONE, OneOf("balanced"), Kind("a dict", dict)),
    "solver": (OneOf(*_SOLVERS),),
    "max_iter": (Integer(0),),
    "multi_class": (OneOf("multinomial", "ovr"),),
    **INPUT_RULES,
}


class _Strength(NamedTuple):
    """Penalty per unit of loss: l1 ‖W‖₁ + ½ l2 ‖W‖²."""

    l1: float
    l2: float


class LogisticModel(ProbabilisticClassifier, LinearClassifier, persistent_name=""):
    """What LogisticRegression and its cross-validated form share."""

    _required_attributes: ClassVar[tuple[str, ...]] = ("n_iter_",)
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = RULES

    n_iter_: NDArray[np.int32]

    def _strength(self, C: float, l1_ratio: float | None) -> _Strength:
        """Return the penalty per unit of loss."""
        if self.penalty is None or np.isinf(C):
            return _Strength(0.0, 0.0)
        ratio = {"l1": 1.0, "l2": 0.0}.get(self.penalty, 0.0 if l1_ratio is None else float(l1_ratio))
        return _Strength(ratio / C, (1.0 - ratio) / C)

    def _warn_of_ratio(self, name: str) -> None:
        """Warn of a share of L1 that the penalty does not look at."""
        warnings.warn(
            f"The {name} parameter is only used when penalty is 'elasticnet'. Got (penalty={self.penalty}). "
            "It is also used by penalty='auto', the default.",
            stacklevel=4,
        )

    def _weights(self, weights: Floats | None, y: Any) -> Floats | None:
        if self.class_weight is None:
            return weights
        return apply_class_weights(weights, self.class_weight, np.asarray(y))

    def _minimize(
        self,
        design: Design,
        codes: NDArray[np.int32],
        weights: Floats | None,
        n_classes: int,
        strength: _Strength,
        start: Floats | None = None,
    ) -> tuple[Floats, Floats, NDArray[np.int32]]:
        """Return coefficients (n_outputs, n_columns), intercepts (n_outputs,) and iterations."""
        threads = design.n_threads
        if n_classes > 2 and self.multi_class == "multinomial":
            loss: RowLoss = MultinomialLoss(codes, weights, None, threads, n_classes)
            found = self._solve(design, loss, strength, start)
            intercept = found.intercept - found.intercept.mean()
            coef = found.coef - (found.coef.mean(axis=0) if strength == (0.0, 0.0) else 0.0)
            return coef, intercept, np.array([found.n_iter], np.int32)
        minima = []
        for k in [1] if n_classes == 2 else range(n_classes):
            loss = LogisticLoss((codes == k).astype(np.float64), weights, None, threads)
            row = None if start is None else start[[0 if n_classes == 2 else k]]
            minima.append(self._solve(design, loss, strength, row))
        coef = np.concatenate([one.coef for one in minima])
        intercept = np.concatenate([one.intercept for one in minima])
        return coef, intercept, np.array([one.n_iter for one in minima], np.int32)

    def _solve(self, design: Design, loss: RowLoss, strength: _Strength, start: Floats | None) -> Minimum:
        """Choose the solver by the penalty and the number of coefficients."""
        penalty = Penalty(strength.l1, strength.l2, self.fit_intercept)
        found = minimize(design, loss, penalty, self.tol, self.max_iter, start, self.solver)
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in max_iter={self.max_iter} iterations. "
                "Increase max_iter or tol, or scale the data, for example by a StandardScaler.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return found

    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        if self.multi_class == "multinomial":
            return softmax(scores)
        each = expit(scores)
        return np.asarray(each / np.maximum(each.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny))

    def _check_outputs(self, n_outputs: int) -> None:
        super()._check_outputs(n_outputs)
        n_iter: Any = vars(self).get("n_iter_")
        require(isinstance(n_iter, np.ndarray) and n_iter.dtype == np.int32, "n_iter_ is not valid")


@parameters
class LogisticRegression(LogisticModel):
    """Logistic regression, binary, multinomial or one-vs-rest, with L1, L2 or elastic-net penalty.

    Minimizes Σ w loss + (1/C) (l1_ratio ‖W‖₁ + ½ (1 − l1_ratio) ‖W‖²), where the loss is the negative log
    likelihood. Newton's method factorizes the Hessian; with an L1 penalty the quadratic model of each step is
    solved by coordinate descent (proximal Newton). Problems with more than 1000
    coefficients use L-BFGS (Newton with conjugate gradients if X is sparse and there are two classes), or
    working sets of columns with an L1 penalty. A fit of many rows is warmed up on every eighth row.

    Parameters
    ----------
    penalty : {"auto", "l1", "l2", "elasticnet"} or None, default="auto"
        Penalty; "auto" and "elasticnet" follow ``l1_ratio``, None is no penalty.
    C : float, default=1.0
        Inverse strength of the penalty; infinity is no penalty.
    l1_ratio : float in [0, 1] or None, default=0.0
        Share of the L1 penalty; None is 0, and an error if ``penalty`` is "elasticnet".
    dual : bool, default=False
        Accepted for compatibility; the primal problem is solved.
    tol : float, default=1e-4
        Newton stops when the predicted decrease is below 0.1 tol² per unit of weight, L-BFGS when no entry of
        the gradient exceeds tol per unit of weight.
    fit_intercept : bool, default=True
        Fit an intercept, which is not penalized.
    intercept_scaling : float, default=1.0
        Accepted for compatibility; the intercept is not penalized.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply the row weights.
    random_state : int, RandomState, Generator or None, default=None
        Accepted for compatibility; nothing is random.
    solver : str, default="auto"
        "newton-cholesky", "lbfgs" and "prox-newton" choose a solver; "auto", and scikit-learn's other names,
        choose by the penalty and the number of coefficients.
    max_iter : int, default=100
        Maximum number of iterations.
    verbose : int, default=0
        Accepted for compatibility.
    warm_start : bool, default=False
        Start from the coefficients of the fit before.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model does not depend on it.
    multi_class : {"multinomial", "ovr"}, default="multinomial"
        One softmax over all classes, or one binary problem per class.
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
    n_iter_ : ndarray of shape (1,) or (n_classes,)
        Iterations of the solver, one entry per binary problem.
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
    >>> from spinney import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "no", "yes"])
    >>> model.coef_.round(4).tolist(), model.predict([[2.5]]).tolist()
    ([[0.4529]], ['yes'])
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "C": (Real(0.0, open_ends="("), OneOf(np.inf)),
        "l1_ratio": (NONE, Real(0.0, 1.0)),
        "warm_start": (FLAG,),
        **RULES,
    }

    penalty: Literal["auto", "l1", "l2", "elasticnet"] | None = field(default="auto", kw_only=False)
    C: float = 1.0
    l1_ratio: float | None = 0.0
    dual: bool = False
    tol: float = 1e-4
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    class_weight: Any = None
    random_state: Any = None
    solver: str = "auto"
    max_iter: int = 100
    verbose: int = 0
    warm_start: bool = False
    n_jobs: int | None = None
    multi_class: Literal["multinomial", "ovr"] = "multinomial"
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

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
        self._warn_of_unused()
        training, codes = self._read_labels(X, y, sample_weight)
        weights = self._weights(training.weights, y)
        classes: Any = training.classes
        strength = self._strength(self.C, self.l1_ratio)
        start = self._start(training, len(classes))
        found = self._minimize(training.design, codes, weights, len(classes), strength, start)
        fitted = dict(zip(("coef_", "intercept_", "n_iter_"), found, strict=True))
        return self._set_fitted(**fitted, classes_=classes, **training.read_as)

    def _warn_of_unused(self) -> None:
        """Warn of parameters that have no effect."""
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise InputError("penalty='elasticnet' needs an l1_ratio between 0 and 1; it is None.")
        if self.penalty is None and self.C != 1.0:
            warnings.warn("Setting penalty=None will ignore the C and l1_ratio parameters.", stacklevel=3)
        elif self.penalty in ("l1", "l2") and self.l1_ratio not in (None, 0.0, {"l1": 1.0}.get(self.penalty)):
            self._warn_of_ratio("l1_ratio")

    def _start(self, training: Training, n_classes: int) -> Floats | None:
        """Return the coefficients of the fit before, if they fit these data."""
        n_outputs = 1 if n_classes == 2 else n_classes
        if not self.warm_start or "coef_" not in vars(self):
            return None
        coef = dense_coefficients(self.coef_)
        if coef.shape != (n_outputs, training.design.n_columns):
            return None
        return np.column_stack([coef, np.broadcast_to(self.intercept_, n_outputs)])

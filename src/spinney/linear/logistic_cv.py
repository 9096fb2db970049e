"""Logistic regression with the strength of the penalty chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv

from spinney.base import parameters
from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, Integer, OneOf, Rule
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.linear.base import Training
from spinney.linear.design import Design
from spinney.linear.logistic import RULES, LogisticModel


@parameters
class LogisticRegressionCV(LogisticModel):
    """Logistic regression with the strength of the penalty chosen by cross-validation.

    For every fold, and every share of L1, the path of ``Cs`` is fitted from strong to weak penalties, each
    from the solution before. The pair with the best mean score is fitted to all rows.

    Parameters
    ----------
    Cs : int or array-like of shape (n_cs,), default=10
        Inverse strengths to try; an integer is so many from 1e-4 to 1e4 on a logarithmic scale.
    l1_ratios : array-like of shape (n_l1_ratios,) or None, default=None
        Shares of the L1 penalty to try; None is 0.
    fit_intercept : bool, default=True
        Fit an intercept, which is not penalized.
    cv : int, splitter, iterable or None, default=None
        Folds, stratified by class; None is 5.
    dual : bool, default=False
        Accepted for compatibility; the primal problem is solved.
    penalty : {"auto", "l1", "l2", "elasticnet"} or None, default="auto"
        Penalty; "auto" and "elasticnet" follow ``l1_ratios``.
    scoring : str, callable or None, default=None
        Score to maximize; None is accuracy.
    solver : str, default="auto"
        As in :class:`LogisticRegression`.
    tol : float, default=1e-4
        As in :class:`LogisticRegression`.
    max_iter : int, default=100
        Maximum number of iterations.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply the row weights.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model does not depend on it.
    verbose : int, default=0
        Accepted for compatibility.
    refit : bool, default=True
        Fit the best pair to all rows; False averages the coefficients of the folds.
    intercept_scaling : float, default=1.0
        Accepted for compatibility; the intercept is not penalized.
    random_state : int, RandomState, Generator or None, default=None
        Accepted for compatibility; nothing is random.
    multi_class : {"multinomial", "ovr"}, default="multinomial"
        One softmax over all classes, or one binary problem per class.
    use_legacy_attributes : False, default=False
        Accepted for compatibility; ``C_``, ``scores_`` and others have scikit-learn's new shapes.
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    C_ : float
        The chosen inverse strength.
    l1_ratio_ : float
        The chosen share of L1.
    Cs_ : ndarray of shape (n_cs,)
        The inverse strengths that were tried.
    l1_ratios_ : ndarray of shape (n_l1_ratios,)
        The shares of L1 that were tried.
    scores_ : ndarray of shape (n_folds, n_l1_ratios, n_cs)
        Scores of the rows that each fold holds out.
    coefs_paths_ : ndarray of shape (n_folds, n_l1_ratios, n_cs, n_outputs, n_columns + 1)
        Coefficients, the intercept last.
    coef_ : ndarray of shape (1, n_columns) or (n_classes, n_columns)
        Coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_iter_ : ndarray
        Iterations of the last fit.
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
    >>> from sklearn.datasets import load_iris
    >>> from spinney import LogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> LogisticRegressionCV(Cs=[0.01, 1.0, 100.0]).fit(X, y).C_
    100.0
    """

    _required_attributes: ClassVar[tuple[str, ...]] = (
        "C_",
        "l1_ratio_",
        "Cs_",
        "l1_ratios_",
        "scores_",
        "coefs_paths_",
    )
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "Cs": (Integer(1), ArrayRule()),
        "l1_ratios": (NONE, ArrayRule()),
        "refit": (FLAG,),
        "use_legacy_attributes": (OneOf(False),),
        **RULES,
    }

    Cs: int | ArrayLike = 10
    l1_ratios: ArrayLike | None = None
    fit_intercept: bool = True
    cv: Any = None
    dual: bool = False
    penalty: Literal["auto", "l1", "l2", "elasticnet"] | None = "auto"
    scoring: Any = None
    solver: str = "auto"
    tol: float = 1e-4
    max_iter: int = 100
    class_weight: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    refit: bool = True
    intercept_scaling: float = 1.0
    random_state: Any = None
    multi_class: Literal["multinomial", "ovr"] = "multinomial"
    use_legacy_attributes: Literal[False] = False
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    C_: float = field(init=False)
    l1_ratio_: float = field(init=False)
    Cs_: Floats = field(init=False)
    l1_ratios_: Floats = field(init=False)
    scores_: Floats = field(init=False)
    coefs_paths_: Floats = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Choose the strength of the penalty and fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Training data.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights, also of the scores.

        Returns
        -------
        self
            The fitted model.
        """
        training, codes = self._read_labels(X, y, sample_weight)
        classes: Any = training.classes
        weights = self._weights(training.weights, y)
        Cs, ratios = self._grid()
        splitter = check_cv(self.cv, codes, classifier=True)
        folds = list(splitter.split(np.zeros((len(codes), 1)), codes))
        paths = [self._fold(training, codes, weights, train, test, Cs, ratios) for train, test in folds]
        scores = np.array([part[0] for part in paths])
        coefs = np.array([part[1] for part in paths])
        best_ratio, best = np.unravel_index(int(scores.mean(axis=0).argmax()), scores.shape[1:])
        C, ratio = float(Cs[best]), float(ratios[best_ratio])
        averaged = coefs[:, best_ratio, best].mean(axis=0)
        found: Any = (averaged[:, :-1].copy(), averaged[:, -1].copy(), np.ones(1, np.int32))
        if self.refit:
            strength = self._strength(C, ratio)
            found = self._minimize(training.design, codes, weights, len(classes), strength, averaged)
        known = {"C_": C, "l1_ratio_": ratio, "Cs_": Cs, "l1_ratios_": ratios}
        fitted = dict(zip(("coef_", "intercept_", "n_iter_"), found, strict=True))
        return self._set_fitted(
            **fitted, **known, scores_=scores, coefs_paths_=coefs, classes_=classes, **training.read_as
        )

    def _grid(self) -> tuple[Floats, Floats]:
        """Return the inverse strengths and shares of L1 to try."""
        Cs: Any = self.Cs
        tried = (
            np.logspace(-4, 4, int(Cs)) if isinstance(Cs, int | np.integer) else np.asarray(Cs, float).ravel()
        )
        ratios = np.zeros(1) if self.l1_ratios is None else np.asarray(self.l1_ratios, float).ravel()
        if not len(tried) or not (tried > 0).all():
            raise InputError(f"The Cs of LogisticRegressionCV must be above 0; got {self.Cs!r}.")
        if not len(ratios) or not ((ratios >= 0) & (ratios <= 1)).all():
            raise InputError(
                f"The l1_ratios of LogisticRegressionCV must be in [0, 1]; got {self.l1_ratios!r}."
            )
        return tried, ratios

    def _fold(
        self,
        training: Training,
        codes: NDArray[np.int32],
        weights: Floats | None,
        train: NDArray[np.intp],
        test: NDArray[np.intp],
        Cs: Floats,
        ratios: Floats,
    ) -> tuple[Floats, Floats]:
        """Return scores (n_l1_ratios, n_cs) and coefficients of one fold."""
        classes: Any = training.classes
        rows = Design(training.design.values[train], training.design.n_threads)
        held = Design(training.design.values[test], training.design.n_threads)
        part = None if weights is None else weights[train]
        n_outputs = 1 if len(classes) == 2 else len(classes)
        scores = np.empty((len(ratios), len(Cs)))
        coefs = np.empty((len(ratios), len(Cs), n_outputs, training.design.n_columns + 1))
        scorer = check_scoring(self, "accuracy" if self.scoring is None else self.scoring)
        labels = np.array(classes.tolist())  # scorers refuse objects
        truth = labels[codes[test]]
        scored = {} if training.weights is None else {"sample_weight": training.weights[test]}
        for i, ratio in enumerate(ratios.tolist()):
            start: Floats | None = None
            for c in np.argsort(Cs, kind="stable"):
                strength = self._strength(float(Cs[c]), ratio)
                coef, intercept, _ = self._minimize(rows, codes[train], part, len(classes), strength, start)
                start = np.column_stack([coef, intercept])
                coefs[i, c] = start
                member = _Scored(labels, held.product(coef, intercept), self.multi_class)
                scores[i, c] = scorer(member, test, truth, **scored)
        return scores, coefs


class _Scored(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The rows that a fold holds out, as a fitted classifier whose scores are known."""

    def __init__(self, classes: NDArray[Any], scores: Floats, multi_class: str) -> None:
        self.classes_, self.scores, self.multi_class = classes, scores, multi_class

    def decision_function(self, X: Any) -> Floats:
        return self.scores[:, 0] if self.scores.shape[1] == 1 else self.scores

    def predict_proba(self, X: Any) -> Floats:
        if self.scores.shape[1] == 1:
            return np.column_stack([expit(-self.scores[:, 0]), expit(self.scores[:, 0])])
        return softmax(self.scores, axis=1) if self.multi_class == "multinomial" else expit(self.scores)

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_.take(self.predict_proba(X).argmax(axis=1)))

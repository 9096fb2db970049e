"""Logistic regression with the strength of the penalty chosen by cross-validation."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing

from spinney.base import parameters
from spinney.core.arrays import Floats
from spinney.core.elementary import expit, softmax
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, Integer, Rule
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
        Shares of the L1 penalty to try; None is 0, and an error if ``penalty`` is "elasticnet".
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
        Fit the pair with the best mean score to all rows; False averages the best coefficients of each fold,
        and the pairs that they belong to.
    intercept_scaling : float, default=1.0
        Accepted for compatibility; the intercept is not penalized.
    random_state : int, RandomState, Generator or None, default=None
        Accepted for compatibility; nothing is random.
    multi_class : {"multinomial", "ovr"}, default="multinomial"
        One softmax over all classes, or one binary problem per class.
    use_legacy_attributes : bool, default=False
        Whether ``C_``, ``l1_ratio_``, ``scores_``, ``coefs_paths_`` and ``n_iter_`` have the shapes of
        scikit-learn before 1.10: arrays with an entry per class, and dicts by class with axes for folds, Cs
        and shares of L1.
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
        Coefficients, the intercept last; n_columns without an intercept.
    coef_ : ndarray of shape (1, n_columns) or (n_classes, n_columns)
        Coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_iter_ : ndarray of shape (n_folds, n_l1_ratios, n_cs)
        Iterations in each fold.
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

    # Weights of `score` are the scorer's, not the estimator's own.
    __metadata_request__score: ClassVar = {"sample_weight": UNUSED}
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
        "use_legacy_attributes": (FLAG,),
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
    use_legacy_attributes: bool = False
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    C_: Any = field(init=False)
    l1_ratio_: Any = field(init=False)
    Cs_: Floats = field(init=False)
    l1_ratios_: Floats = field(init=False)
    scores_: Any = field(init=False)
    coefs_paths_: Any = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Choose the strength of the penalty and fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Training data.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights, also of the scores; with metadata routing only if the scorer requests them.
        **params
            Metadata of the splitter and the scorer, for example ``groups``; needs metadata routing.

        Returns
        -------
        self
            The fitted model.
        """
        self._warn_of_unused()
        from sklearn.model_selection import check_cv

        training, codes = self._read_labels(X, y, sample_weight)
        classes: Any = training.classes
        weights = self._weights(training.weights, y)
        Cs, ratios = self._grid()
        split, score = self._route("fit", training.weights, params)
        splitter = check_cv(self.cv, codes, classifier=True)
        scored = _FoldScorer(self._scorer(), np.array(classes.tolist()), self.multi_class, score)
        folds = list(splitter.split(np.zeros((len(codes), 1)), codes, **split))
        paths = [self._fold(training, codes, weights, fold, (Cs, ratios), scored) for fold in folds]
        scores, coefs, n_iter = (np.array(part) for part in zip(*paths, strict=True))
        C, ratio, averaged = self._choose(scores, coefs, Cs, ratios)
        coef, intercept = averaged[:, :-1].copy(), averaged[:, -1].copy()
        if self.refit:
            strength = self._strength(C, ratio)
            found = self._minimize(training.design, codes, weights, len(classes), strength, averaged)
            coef, intercept = found[0], found[1]
        if not self.fit_intercept:
            coefs = coefs[..., :-1]
        path = {"C_": C, "l1_ratio_": ratio, "scores_": scores, "coefs_paths_": coefs, "n_iter_": n_iter}
        if self.use_legacy_attributes:
            path = _legacy_attributes(path, classes, self.l1_ratios is not None)
        return self._set_fitted(
            coef_=coef,
            intercept_=intercept,
            classes_=classes,
            Cs_=Cs,
            l1_ratios_=ratios,
            **path,
            **training.read_as,
        )

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **params: Any) -> float:
        """Compute ``scoring`` of the predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows to predict.
        y : array-like of shape (n_rows,)
            True labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.
        **params
            Metadata of the scorer; needs metadata routing.

        Returns
        -------
        float
            The score; the accuracy if ``scoring`` is None.
        """
        return float(self._scorer()(self, X, y, **self._route("score", sample_weight, params)[1]))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata the splitter and the scorer request.

        Returns
        -------
        MetadataRouter
            The requests.
        """
        to_scorer = MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router.add(scorer=self._scorer(), method_mapping=to_scorer)

    def _scorer(self) -> Any:
        from sklearn.metrics import get_scorer

        return get_scorer("accuracy" if self.scoring is None else self.scoring)

    def _route(
        self, method: str, sample_weight: Any, params: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the metadata of the splitter and those of the scorer."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, method, **weights, **params)
            return dict(routed["splitter"]["split"]) if method == "fit" else {}, dict(
                routed["scorer"]["score"]
            )
        if params:
            raise InputError(
                f"Passing {', '.join(sorted(params))} to LogisticRegressionCV.{method} is only supported if "
                "enable_metadata_routing=True",
                fix="Call sklearn.set_config(enable_metadata_routing=True).",
            )
        return {}, weights

    def _warn_of_unused(self) -> None:
        if self.penalty == "elasticnet" and self.l1_ratios is None:
            raise InputError("penalty='elasticnet' needs l1_ratios between 0 and 1; they are None.")
        if self.penalty in ("l1", "l2", None) and self.l1_ratios is not None:
            self._warn_of_ratio("l1_ratios")

    def _choose(
        self, scores: Floats, coefs: Floats, Cs: Floats, ratios: Floats
    ) -> tuple[float, float, Floats]:
        """Return the chosen pair and the mean coefficients of the folds.

        With ``refit`` the pair has the best mean score, otherwise it is the mean of the best of each fold.
        """
        flat = scores.reshape(len(scores), -1)
        # Ties go to the smaller C, and then to the first share of L1, as in scikit-learn.
        order = np.arange(flat.shape[1]).reshape(scores.shape[1:]).T.ravel()
        if self.refit:
            best = np.full(len(scores), order[flat.mean(axis=0)[order].argmax()])
        else:
            best = order[flat[:, order].argmax(axis=1)]
        of_ratio, of_C = np.unravel_index(best, scores.shape[1:])
        averaged = coefs[np.arange(len(scores)), of_ratio, of_C].mean(axis=0)
        if self.refit:
            return float(Cs[of_C[0]]), float(ratios[of_ratio[0]]), averaged
        return float(Cs[of_C].mean()), float(ratios[of_ratio].mean()), averaged

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
        fold: tuple[NDArray[np.intp], NDArray[np.intp]],
        grid: tuple[Floats, Floats],
        scored: _FoldScorer,
    ) -> tuple[Floats, Floats, NDArray[np.int32]]:
        """Return scores (n_l1_ratios, n_cs), coefficients and iterations of one fold."""
        (train, test), (Cs, ratios) = fold, grid
        n_classes = len(scored.labels)
        rows = Design(training.design.values[train], training.design.n_threads)
        held = Design(training.design.values[test], training.design.n_threads)
        part = None if weights is None else weights[train]
        n_outputs = 1 if n_classes == 2 else n_classes
        scores = np.empty((len(ratios), len(Cs)))
        n_iter = np.empty(scores.shape, np.int32)
        coefs = np.empty((*scores.shape, n_outputs, training.design.n_columns + 1))
        for i, ratio in enumerate(ratios.tolist()):
            start: Floats | None = None
            for c in np.argsort(Cs, kind="stable"):
                strength = self._strength(float(Cs[c]), ratio)
                found = self._minimize(rows, codes[train], part, n_classes, strength, start)
                coefs[i, c] = start = np.column_stack(found[:2])
                n_iter[i, c] = found[2].max()
                scores[i, c] = scored(held.product(found[0], found[1]), codes, test)
        return scores, coefs, n_iter


def _legacy_attributes(path: Mapping[str, Any], classes: NDArray[Any], has_ratios: bool) -> dict[str, Any]:
    """Return the attributes of the path in the shapes of scikit-learn before 1.10.

    ``C_`` and ``l1_ratio_`` have one entry per class, ``scores_`` and ``coefs_paths_`` are dicts of arrays by
    class (of two classes the second), whose axes are folds, Cs and, if they are given, shares of L1.
    """
    labels = (classes[1:] if len(classes) == 2 else classes).tolist()
    scores = np.swapaxes(path["scores_"], 1, 2)
    coefs = np.moveaxis(path["coefs_paths_"], (3, 0, 2, 1), (0, 1, 2, 3))
    n_iter = np.swapaxes(path["n_iter_"], 1, 2)[None]
    if not has_ratios:
        scores, coefs, n_iter = scores[..., 0], coefs[:, :, :, 0], n_iter[..., 0]
    return {
        "C_": np.full(len(labels), path["C_"]),
        "l1_ratio_": np.full(len(labels), path["l1_ratio_"]),
        "scores_": {label: scores.copy() for label in labels},
        "coefs_paths_": dict(zip(labels, np.ascontiguousarray(coefs), strict=True)),
        "n_iter_": np.ascontiguousarray(n_iter),
    }


class _FoldScorer:
    """A scorer of the rows that folds hold out, which may lack some of the classes."""

    def __init__(
        self, scorer: Any, labels: NDArray[Any], multi_class: str, metadata: Mapping[str, Any]
    ) -> None:
        self.labels, self.multi_class, self.metadata = labels, multi_class, metadata
        self.scorer = _with_labels(scorer, labels)

    def __call__(self, scores: Floats, codes: NDArray[np.int32], test: NDArray[np.intp]) -> float:
        """Return the score of the rows ``test``, whose decision function is given."""
        member = _Scored(self.labels, scores, self.multi_class)
        n_rows = len(codes)
        taken = {
            name: np.asarray(value)[test] if np.shape(value)[:1] == (n_rows,) else value
            for name, value in self.metadata.items()
        }
        return float(self.scorer(member, test, self.labels[codes[test]], **taken))


def _with_labels(scorer: Any, labels: NDArray[Any]) -> Any:
    """Return a scorer that knows all classes, if it is one of scikit-learn's whose metric asks for them."""
    metric = getattr(scorer, "_score_func", None)
    asked = inspect.signature(metric).parameters if metric is not None else {}
    if "labels" not in asked:
        return scorer
    known: dict[str, Any] = {"labels": labels}
    if len(labels) == 2 and "pos_label" in asked:
        known["pos_label"] = labels[-1]
    from sklearn.metrics import make_scorer

    return make_scorer(
        metric,
        greater_is_better=scorer._sign == 1,  # noqa: SLF001
        response_method=scorer._response_method,  # noqa: SLF001
        **known | scorer._kwargs,  # noqa: SLF001
    )


class _Scored(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The rows that a fold holds out, as a fitted classifier whose scores are known."""

    def __init__(self, classes: NDArray[Any], scores: Floats, multi_class: str) -> None:
        self.classes_, self.scores, self.multi_class = classes, scores, multi_class

    def decision_function(self, X: Any) -> Floats:
        return self.scores[:, 0] if self.scores.shape[1] == 1 else self.scores

    def predict_proba(self, X: Any) -> Floats:
        if self.scores.shape[1] == 1:
            return np.column_stack([expit(-self.scores[:, 0]), expit(self.scores[:, 0])])
        return softmax(self.scores) if self.multi_class == "multinomial" else expit(self.scores)

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_.take(self.predict_proba(X).argmax(axis=1)))

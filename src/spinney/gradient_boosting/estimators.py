"""Gradient boosting: a sum of trees, each fitted to the gradient of a loss; for classes and for numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from spinney.core.errors import InputError, show_value, show_values
from spinney.data.target import (
    class_weights,
    class_weights_like,
    encode_classes,
    encode_like,
    encode_values,
)
from spinney.gradient_boosting.base import _BaseGradientBoosting
from spinney.gradient_boosting.parameters import (
    CLASSIFICATION_RULES,
    POSITIVE_LOSSES,
    REGRESSION_RULES,
    classification_loss,
    regression_loss,
)
from spinney.gradient_boosting.problem import Problem
from spinney.losses.losses import IDENTITY, LOGIT, MULTI_LOGIT, Link, Loss, SquaredLoss

Floats = NDArray[np.float64]


class GradientBoostingClassifier(ClassifierMixin, _BaseGradientBoosting):  # type: ignore[misc]
    """Classify by gradient boosted trees.

    The parameters of scikit-learn's ``HistGradientBoostingClassifier`` keep their meaning and defaults;
    its ``max_iter`` is called ``n_estimators``. For more than two classes a round has one tree a class.

    loss : "log_loss", "exponential" or an instance of `spinney.losses.Loss`
        What is lowered: the log loss (softmax for more than two classes), AdaBoost's exponential loss (two
        classes), or a loss of your own.
    learning_rate : float
        What each leaf's answer is multiplied by.
    n_estimators : int
        The most rounds there may be.
    max_leaf_nodes, max_depth : int or None
        The most leaves of a tree, and its greatest depth.
    min_samples_leaf : int or fraction
        The least number of rows in a leaf, counted by weight: a row of weight 2 is two rows. (Weights below 1
        on average are shares of a whole, and taken relative to their mean.)
    min_hessian, min_gain, l2_regularization : float
        The least sum of hessians in a leaf; the gain that a split needs (XGBoost's γ); λ, which is added to
        the hessians of a leaf and draws its answer towards 0.
    max_features : fraction, int, "sqrt", "log2" or None
        How many columns each node looks at, drawn anew among those of its tree.
    colsample_bytree : fraction
        The share of columns drawn for each tree.
    growth : "best" or "level"
        Split the leaf that gains most, wherever it is, or level by level.
    sampling : "uniform", "gradient" or "variance"
        How the rows of a round are drawn: all alike; those with large gradients kept and some of the others
        (GOSS); or with probabilities that keep the variance of the gains least (MVS).
    subsample : fraction or None
        The share of rows drawn in a round; None is 1, 0.3 and 0.8 for the three ways.
    max_bins : int from 2 to 255
        Numeric columns with more distinct values are put into so many bins.
    categorical_features : list of names or positions, mask, or None
        Columns of numbers that are categories; text, booleans and categorical types are so by themselves.
    categorical_split : "subset" or "one-vs-rest"
        Divide categories into any two sets, or one from all others.
    categorical_encoding : "auto", "subset" or "ordered"
        Categories as they are, or as numbers: the mean target of those rows with the category that come
        before in a random order (ordered target statistics). "auto" does so with more than 50 categories
        that have fewer than 250 rows each.
    categorical_smoothing, categorical_l2 : float
        What is added to a category's hessians when categories are put in order, and to those of a side when a
        subset is scored: both keep rare categories from being believed too much.
    unseen : "missing" or "error"
        What a category is at prediction that was not there at fitting.
    monotonic_cst : array of −1, 0, 1, dict by feature name, or None
        Features whose growth may only lower, or raise, the probability of the second of two classes.
    interaction_cst : "pairwise", "no_interactions", list of sets of features, or None
        Which features may meet on a path. Those in no set form one of their own.
    warm_start : bool
        Let ``fit`` go on from the rounds that are there, to ``n_estimators`` of them.
    early_stopping : "auto", True or False
        End training when the score no longer grows. "auto": with an ``eval_set``, or more than 10,000 rows.
    scoring : "loss", name of a scorer, callable or None
        What is to grow: minus the loss, any scorer of scikit-learn, or (None) ``score``.
    validation_fraction : fraction, int or None
        The share or number of rows held out to be scored; None scores the training rows.
    n_iter_no_change, tol : int, float
        Stop after so many rounds without a score better than the best by more than ``tol``. Every output then
        uses the best round, ``best_iteration_``.
    class_weight : dict, "balanced" or None
        Weights of the classes; "balanced" gives all the same sum.
    ledger : False, True or "candidates"
        Keep in ``ledger_`` the losses of each round, and also each feature's best candidate at every node.
    verbose : int
        Show a progress bar.
    random_state : int, generator or None
        The seed of all draws: of rows, columns, rows held out, and the order of target statistics.
    n_jobs : int or None
        Number of threads, −1 for all cores. The model is the same, to the last bit, for any number.

    >>> from spinney.datasets import make_box
    >>> X, y = make_box(500)
    >>> GradientBoostingClassifier().fit(X, y).score(X, y)
    1.0
    """

    _is_classifier: ClassVar[bool] = True
    _parameter_rules = CLASSIFICATION_RULES
    _required_attributes = ("classes_",)
    classes_: NDArray[Any]
    n_classes_: int

    def __init__(
        self,
        loss: Any = "log_loss",
        *,
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 20,
        l2_regularization: float = 0.0,
        max_features: int | float | str | None = 1.0,
        max_bins: int = 255,
        categorical_features: Any = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        warm_start: bool = False,
        early_stopping: bool | Literal["auto"] = "auto",
        scoring: Any = "loss",
        validation_fraction: int | float | None = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        verbose: int = 0,
        random_state: Any = None,
        class_weight: Any = None,
        growth: Literal["leaf-wise", "level-wise"] = "leaf-wise",
        min_gain: float = 0.0,
        min_hessian: float = 1e-3,
        sampling: Literal["uniform", "goss", "mvs"] = "uniform",
        subsample: float | None = None,
        colsample_bytree: float = 1.0,
        categorical_split: Literal["subset", "one-vs-rest"] = "subset",
        categorical_encoding: Literal["auto", "subset", "ordered"] = "auto",
        categorical_smoothing: float = 10.0,
        categorical_l2: float = 10.0,
        unseen: Literal["missing", "error"] = "missing",
        ledger: bool | Literal["full"] = False,
        n_jobs: int | None = None,
    ) -> None:
        self._keep(locals())

    # ---- fitting ----

    def _encode(
        self, labels: NDArray[Any], classes: NDArray[Any] | None
    ) -> tuple[Floats, NDArray[Any] | None]:
        if classes is None:
            encoded = encode_classes(labels)
            return encoded.codes[:, 0].astype(np.float64), encoded.classes[0]
        codes = encode_like(labels, [classes])[:, 0]
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            raise InputError(
                f"y holds {show_value(labels[row : row + 1].tolist()[0])}, a class that is not known,",
                row=row,
                fix=f"Known classes: {show_values(classes.tolist())}.",
            )
        return codes.astype(np.float64), classes

    def _weights_of(self, labels: NDArray[Any], like: Problem | None) -> Floats | None:
        if self.class_weight is None or like is None:
            return class_weights(self.class_weight, labels)
        assert like.classes is not None and like.codes is not None
        trained = like.classes[like.codes]
        codes = encode_like(labels, [like.classes])
        return class_weights_like(self.class_weight, trained, like.codes[:, None], codes)

    def _make_loss(self, y: Floats, classes: NDArray[Any] | None, weights: Floats | None) -> Loss:
        n_classes = 0 if classes is None else len(classes)
        # Of one class there is nothing to learn, and its number, 0, is a target that every tree meets.
        return SquaredLoss() if n_classes == 1 else classification_loss(vars(self), n_classes)

    # ---- outputs ----

    @property
    def _link(self) -> Link:
        return self.loss_.link or (LOGIT if self.n_classes_ == 2 else MULTI_LOGIT)

    def _probabilities(self, scores: Floats) -> Floats:
        if self.n_classes_ == 1:
            return np.ones((len(scores), 1))
        mean = self._link.mean(scores if self.n_classes_ > 2 else scores[:, 0])
        return mean if self.n_classes_ > 2 else np.column_stack([1.0 - mean, mean])

    def _labels(self, scores: Floats) -> NDArray[Any]:
        if self.n_classes_ == 2:  # half the time of asking which of two columns is greater
            codes = (self._link.mean(scores[:, 0]) > 0.5).astype(np.intp)
        else:
            codes = scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_.take(codes)
        return labels

    def _decisions(self, scores: Floats) -> Floats:
        return scores if self.n_classes_ > 2 else scores[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the likeliest class of each row.  -> (n_rows,)

        >>> from spinney import GradientBoostingClassifier
        >>> model = GradientBoostingClassifier(min_samples_leaf=1).fit([["red"], ["blue"]] * 9, [1, 0] * 9)
        >>> model.predict([["red"]]).tolist()
        [1]
        """
        return self._labels(self._raw_scores(X))

    def predict_proba(self, X: Any) -> Floats:
        """Give the probability of each class.  -> (n_rows, n_classes)"""
        return self._probabilities(self._raw_scores(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Give the logarithm of ``predict_proba``, −inf where that is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_function(self, X: Any) -> Floats:
        """Give the score of each row: of the second of two classes, (n_rows,), or of each of more.

        -> (n_rows,) or (n_rows, n_classes)
        """
        return self._decisions(self._raw_scores(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Give what `predict` gives after one round, after two, and so on up to ``best_iteration_``."""
        return map(self._labels, self._staged_scores(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Give what `predict_proba` gives after one round, after two, and so on."""
        return map(self._probabilities, self._staged_scores(X))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Give what `decision_function` gives after one round, after two, and so on."""
        return map(self._decisions, self._staged_scores(X))


class GradientBoostingRegressor(RegressorMixin, _BaseGradientBoosting):  # type: ignore[misc]
    """Predict numbers by gradient boosted trees.

    The parameters of scikit-learn's ``HistGradientBoostingRegressor`` keep their meaning and defaults; its
    ``max_iter`` is called ``n_estimators``. Those not listed here are those of `GradientBoostingClassifier`.

    loss : "squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie" or a `Loss`
        What is lowered. Poisson, gamma and Tweedie predict exp(score): targets are at least 0, for gamma
        above 0. A loss of your own is an instance of a subclass of `spinney.losses.Loss`.
    quantile : float or None
        Which quantile ``loss="quantile"`` predicts; None is the median.
    huber_delta : float or None
        The distance from which on ``loss="huber"`` is linear. None chooses it such that 90 % of the targets
        lie within it of their median.
    tweedie_power : float
        The power of ``loss="tweedie"``, between 1 (Poisson) and 2 (gamma).

    >>> X, y = [[float(i)] for i in range(40)], [float(i // 20) for i in range(40)]
    >>> GradientBoostingRegressor().fit(X, y).predict([[35.0]]).round(3).tolist()
    [1.0]
    """

    _is_classifier: ClassVar[bool] = False
    _parameter_rules = REGRESSION_RULES

    def __init__(
        self,
        loss: Any = "squared_error",
        *,
        quantile: float | None = None,
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 20,
        l2_regularization: float = 0.0,
        max_features: int | float | str | None = 1.0,
        max_bins: int = 255,
        categorical_features: Any = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        warm_start: bool = False,
        early_stopping: bool | Literal["auto"] = "auto",
        scoring: Any = "loss",
        validation_fraction: int | float | None = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        verbose: int = 0,
        random_state: Any = None,
        huber_delta: float | None = None,
        tweedie_power: float = 1.5,
        growth: Literal["leaf-wise", "level-wise"] = "leaf-wise",
        min_gain: float = 0.0,
        min_hessian: float = 1e-3,
        sampling: Literal["uniform", "goss", "mvs"] = "uniform",
        subsample: float | None = None,
        colsample_bytree: float = 1.0,
        categorical_split: Literal["subset", "one-vs-rest"] = "subset",
        categorical_encoding: Literal["auto", "subset", "ordered"] = "auto",
        categorical_smoothing: float = 10.0,
        categorical_l2: float = 10.0,
        unseen: Literal["missing", "error"] = "missing",
        ledger: bool | Literal["full"] = False,
        n_jobs: int | None = None,
    ) -> None:
        self._keep(locals())

    # ---- fitting ----

    def _encode(
        self, labels: NDArray[Any], classes: NDArray[Any] | None
    ) -> tuple[Floats, NDArray[Any] | None]:
        return np.ascontiguousarray(encode_values(labels, non_negative=False)[:, 0]), None

    def _weights_of(self, labels: NDArray[Any], like: Problem | None) -> Floats | None:
        return None

    def _make_loss(self, y: Floats, classes: NDArray[Any] | None, weights: Floats | None) -> Loss:
        return regression_loss(vars(self), y, weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = isinstance(self.loss, str) and self.loss in POSITIVE_LOSSES
        return tags

    # ---- outputs ----

    def _answers(self, scores: Floats) -> Floats:
        return (self.loss_.link or IDENTITY).mean(scores[:, 0])

    def predict(self, X: Any) -> Floats:
        """Predict the target of each row.  -> (n_rows,)

        >>> from spinney import GradientBoostingRegressor
        >>> model = GradientBoostingRegressor(min_samples_leaf=1).fit([[0.0], [1.0]], [2.0, 3.0])
        >>> model.predict([[0.9]]).round(3).tolist()
        [3.0]
        """
        return self._answers(self._raw_scores(X))

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Give what `predict` gives after one round, after two, and so on up to ``best_iteration_``."""
        return map(self._answers, self._staged_scores(X))

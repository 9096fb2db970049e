"""Passive–aggressive algorithms for classification and regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from spinney.base import parameters
from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, Integer, OneOf, Real, Rule
from spinney.data.matrix import Matrix
from spinney.data.target import encode_values, read_target
from spinney.data.weights import check_weights
from spinney.io import require
from spinney.online.base import CLASS_WEIGHT_RULE, ONLINE_RULES, OnlineClassifier, OnlineModel
from spinney.online.training import PASSIVE, PASSIVE_SLACK, MistakeLedger, UpdateRule

_PA_RULES: Mapping[str, tuple[Rule, ...]] = {
    **ONLINE_RULES,
    "C": (Real(0.0, open_ends="("), OneOf(float("inf"))),
    "average": (FLAG, Integer(0)),
}


def _rule(model: Any, slack_loss: str, epsilon: float, regression: bool) -> UpdateRule:
    """Return PA-I, or PA-II for the squared loss; C = ∞ makes both the plain PA."""
    return UpdateRule(
        PASSIVE_SLACK if model.loss == slack_loss else PASSIVE,
        float(model.C),
        regression=regression,
        epsilon=epsilon,
        fit_intercept=model.fit_intercept,
        average_from=max(int(model.average), 1) - 1 if model.average else -1,
    )


@parameters
class _StepParameters:
    """Parameters of both estimators: the size of steps, and when to stop."""

    C: float = 1.0
    fit_intercept: bool = True
    max_iter: int = 1000
    tol: float | None = 1e-3
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5
    shuffle: bool = True
    verbose: int = 0


@parameters
class PassiveAggressiveClassifier(_StepParameters, OnlineClassifier):
    """Passive–aggressive classification (Crammer et al., 2006).

    A row with a margin y wᵀx of at least 1 changes nothing. Any other changes w as little as makes its
    hinge loss ℓ zero: w ← w + τ y x with τ = min(C, ℓ/‖x‖²) (PA-I) or τ = ℓ/(‖x‖² + 1/(2C)) (PA-II). C = ∞
    is the plain PA. More than two classes are separated one against the rest.

    Parameters
    ----------
    C : float, default=1.0
        Largest step; infinity for none.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    max_iter : int, default=1000
        Maximum number of epochs.
    tol : float or None, default=1e-3
        Training stops when the mean loss has not improved by this for `n_iter_no_change` epochs.
    early_stopping : bool, default=False
        Whether to hold out rows and stop by their accuracy instead of the training loss.
    validation_fraction : float in (0, 1), default=0.1
        Fraction of the rows held out.
    n_iter_no_change : int, default=5
        Number of epochs without improvement after which training stops.
    shuffle : bool, default=True
        Whether to visit the rows of each epoch in a new random order.
    verbose : int, default=0
        Above 0: show a progress bar.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        "hinge" is PA-I, "squared_hinge" PA-II.
    n_jobs : int or None, default=None
        Number of classes trained in parallel. None and −1 use all cores, None within the limits of an active
        joblib or threadpoolctl context. The model does not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the order of the rows.
    warm_start : bool, default=False
        Whether to start from the weights of the last fit.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    average : bool or int, default=False
        Whether to average the weights over all steps; an integer is the step at which averaging begins.
    ledger : bool, default=False
        Whether to record mistakes, updates and loss of every epoch in ``ledger_``.
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    n_iter_ : int
        Number of epochs, the most of all classes.
    t_ : float
        Number of rows visited, plus 1.
    ledger_ : MistakeLedger
        One row per class and epoch, if ``ledger``.
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
    >>> from spinney import PassiveAggressiveClassifier
    >>> model = PassiveAggressiveClassifier(random_state=0).fit([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> model.predict([[3.0]]).tolist()
    [1]
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        **_PA_RULES,
        "loss": (OneOf("hinge", "squared_hinge"),),
        "class_weight": CLASS_WEIGHT_RULE,
    }

    loss: Literal["hinge", "squared_hinge"] = "hinge"
    n_jobs: int | None = None
    random_state: Any = None
    warm_start: bool = False
    class_weight: Any = None
    average: bool | int = False
    ledger: bool = False
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    def fit(
        self, X: Any, y: Any, coef_init: ArrayLike | None = None, intercept_init: ArrayLike | None = None
    ) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Training rows of numbers, dense or sparse.
        y : array-like of shape (n_rows,)
            Class labels.
        coef_init : array-like of shape (n_classes, n_features), default=None
            Weights to start from.
        intercept_init : array-like of shape (n_classes,), default=None
            Intercepts to start from.

        Returns
        -------
        self
            The fitted classifier.
        """
        return self._fit(X, y, coef_init, intercept_init, None)

    def _update_rule(self) -> UpdateRule:
        return _rule(self, "squared_hinge", 0.0, regression=False)


@parameters
class PassiveAggressiveRegressor(RegressorMixin, _StepParameters, OnlineModel):  # type: ignore[misc]
    """Passive–aggressive regression (Crammer et al., 2006).

    A row whose error is at most ε changes nothing. Any other changes w as little as makes its ε-insensitive
    loss ℓ zero: w ← w + τ sign(y − wᵀx) x with τ = min(C, ℓ/‖x‖²) (PA-I) or τ = ℓ/(‖x‖² + 1/(2C)) (PA-II).
    C = ∞ is the plain PA.

    Parameters
    ----------
    C : float, default=1.0
        Largest step; infinity for none.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    max_iter : int, default=1000
        Maximum number of epochs.
    tol : float or None, default=1e-3
        Training stops when the mean loss has not improved by this for `n_iter_no_change` epochs.
    early_stopping : bool, default=False
        Whether to hold out rows and stop by their R² instead of the training loss.
    validation_fraction : float in (0, 1), default=0.1
        Fraction of the rows held out.
    n_iter_no_change : int, default=5
        Number of epochs without improvement after which training stops.
    shuffle : bool, default=True
        Whether to visit the rows of each epoch in a new random order.
    verbose : int, default=0
        Above 0: show a progress bar.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        The first is PA-I, the second PA-II.
    epsilon : float, default=0.1
        Half of the width of the tube in which errors do not count.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the order of the rows.
    warm_start : bool, default=False
        Whether to start from the weights of the last fit.
    average : bool or int, default=False
        Whether to average the weights over all steps; an integer is the step at which averaging begins.
    ledger : bool, default=False
        Whether to record mistakes, updates and loss of every epoch in ``ledger_``.
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : ndarray of shape (1,)
        Intercept.
    n_iter_ : int
        Number of epochs.
    t_ : float
        Number of rows visited, plus 1.
    ledger_ : MistakeLedger
        One row per epoch, if ``ledger``.
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
    >>> from spinney import PassiveAggressiveRegressor
    >>> model = PassiveAggressiveRegressor(epsilon=0.01, random_state=0)
    >>> model.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).predict([[1.5]]).round(1).tolist()
    [1.5]
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        **_PA_RULES,
        "loss": (OneOf("epsilon_insensitive", "squared_epsilon_insensitive"),),
        "epsilon": (Real(0.0),),
    }

    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive"
    epsilon: float = 0.1
    random_state: Any = None
    warm_start: bool = False
    average: bool | int = False
    ledger: bool = False
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    def fit(
        self, X: Any, y: Any, coef_init: ArrayLike | None = None, intercept_init: ArrayLike | None = None
    ) -> Self:
        """Train the regressor.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Training rows of numbers, dense or sparse.
        y : array-like of shape (n_rows,)
            Targets.
        coef_init : array-like of shape (n_features,), default=None
            Weights to start from.
        intercept_init : array-like of shape (1,), default=None
            Intercept to start from.

        Returns
        -------
        self
            The fitted regressor.
        """
        self._check_params()
        matrix, described = self._read_training_matrix(X)
        start = self._start(1, matrix.shape[1], coef_init, intercept_init, self.warm_start)
        return self._learn(matrix, y, None, start, described, one_epoch=False)

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Visit the rows of a batch once.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows of the batch.
        y : array-like of shape (n_rows,)
            Targets.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights; each is a factor of the update.

        Returns
        -------
        self
            The updated regressor.
        """
        self._check_params()
        if not hasattr(self, "coef_"):
            matrix, described = self._read_training_matrix(X, sample_weight)
        else:
            matrix, described = self._read_matrix(X), self._described()
        start = self._start(1, matrix.shape[1], None, None, keep=True)
        weights = check_weights(sample_weight, matrix.shape[0])
        return self._learn(matrix, y, weights, start, described, one_epoch=True)

    def _learn(
        self,
        matrix: Matrix,
        y: Any,
        weights: Floats | None,
        start: tuple[Floats, Floats],
        described: dict[str, Any],
        one_epoch: bool,
    ) -> Self:
        """Train from a start and set the fitted attributes."""
        target = read_target(y, matrix.shape[0])
        if target.ndim != 1:
            raise InputError(f"y should be a 1d array, got {target.shape[1]} outputs.")
        values = encode_values(target, non_negative=False)[:, 0]
        (learned,) = self._train_all(matrix, [values], [weights], start, None, one_epoch)
        if not (np.isfinite(learned.coef).all() and np.isfinite(learned.intercept)):
            raise InputError(
                "The coefficients are not finite: the targets are too large",
                fix="Divide the targets by a large number, or set a smaller C.",
            )
        before = getattr(self, "t_", 1.0) if one_epoch else 1.0
        return self._set_fitted(
            coef_=learned.coef,
            intercept_=np.array([learned.intercept]),
            n_iter_=len(learned.epochs),
            t_=float(before + len(learned.epochs) * matrix.shape[0]),
            ledger_=MistakeLedger.of([learned]) if self.ledger else None,
            **described,
        )

    def _update_rule(self) -> UpdateRule:
        return _rule(self, "squared_epsilon_insensitive", float(self.epsilon), regression=True)

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
        return np.asarray(self._linear(X)[:, 0])

    def _check_fitted(self) -> None:
        super()._check_fitted()
        require(self._check_weights_of_fit() == 1 and self.coef_.ndim == 1, "the weights are damaged")

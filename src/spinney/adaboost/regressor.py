"""AdaBoostRegressor: AdaBoost.R2 (Drucker 1997), the weighted median of many members."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin, is_regressor
from sklearn.metrics import r2_score

from spinney.adaboost.algorithms import RowWeights
from spinney.adaboost.base import RULES, _BaseAdaBoost
from spinney.adaboost.members import Members, Task, open_members, predict_members
from spinney.adaboost.rounds import MAX_SAMPLES_PER_ROUND, Draws, Rounds, draw_rows
from spinney.core.errors import InputError
from spinney.core.parameters import OneOf, draw_seed
from spinney.data.target import encode_values, read_target
from spinney.io import require
from spinney.trees.cart import DecisionTreeRegressor

Floats = NDArray[np.float64]

# Losses as functions of the absolute error, divided by the largest error.
_LOSSES: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda error: error,
    "square": np.square,
    "exponential": lambda error: 1.0 - np.exp(-error),
}
_MIN_ERROR = float(np.finfo(np.float64).eps)


class RegressionBoosting(Rounds):
    """Rounds of AdaBoost.R2; ``initial`` are the row weights, 0 for rows that are held out."""

    def __init__(
        self,
        members: Members,
        y: Floats,
        initial: Floats,
        draws: Draws,
        *,
        loss: str,
        learning_rate: float,
        resample: bool,
        keeps_predictions: bool,
    ) -> None:
        super().__init__(draws, resample)
        self._members, self._task, self._y, self._is_training = members, Task(y), y, initial > 0
        self._loss, self._learning_rate = _LOSSES[loss], learning_rate
        self._weights = RowWeights(initial)
        self._predictions: list[Floats] | None = [] if keeps_predictions else None

    def replay(self, estimators: list[Any], weights: list[float], errors: list[float]) -> None:
        """Repeat the rounds of an earlier fit, without fitting members."""
        for member, weight, error in zip(estimators, weights, errors, strict=True):
            self._accept(member, weight, error, *self._evaluate(member))

    def step(self) -> bool:
        """Make one round; return False if boosting is complete."""
        random = self.draws.of_round(len(self.estimators))
        for _ in range(MAX_SAMPLES_PER_ROUND if self.resample else 1):
            seed = self.draws.member_seed(random)
            rows = draw_rows(self._weights.steps, random) if self.resample else self._weights
            member = self._members.fit(seed, rows, self._task)
            prediction, loss = self._evaluate(member)
            error = self._weights.mean(loss)
            if error < 0.5:
                weight = self._learning_rate * math.log((1 - error) / max(error, _MIN_ERROR))
                self._accept(member, weight, error, prediction, loss)
                return error > 0
        if not self.estimators:
            # The first member is kept, as in scikit-learn: there is no other to predict with.
            self._accept(member, 1.0, error, prediction, loss)
        return False

    def error_on(self, weights: Floats) -> float:
        """Return the mean absolute error of the ensemble on the rows with a weight (n_rows,) here."""
        rows = weights > 0
        assert self._predictions is not None
        values = np.stack([prediction[rows] for prediction in self._predictions], axis=1)
        predicted = weighted_median(values, np.array(self.estimator_weights))
        return float(np.average(np.abs(predicted - self._y[rows]), weights=weights[rows]))

    def _evaluate(self, member: Any) -> tuple[Floats, Floats]:
        """Return the predictions of a member, and the losses of the rows."""
        prediction = self._members.predict(member, "values", self._task)
        error = np.where(self._is_training, np.abs(prediction - self._y), 0.0)
        largest = error.max()
        return prediction, self._loss(error / largest if largest > 0 else error)

    def _accept(self, member: Any, weight: float, error: float, prediction: Floats, loss: Floats) -> None:
        self.estimators.append(member)
        self.estimator_weights.append(weight)
        self.estimator_errors.append(error)
        if self._predictions is not None:
            self._predictions.append(prediction)
        # β^(1 − L) with β = ε/(1 − ε): rows that are predicted well lose weight.
        self._weights.multiply(np.exp((loss - 1.0) * weight))


class AdaBoostRegressor(RegressorMixin, _BaseAdaBoost):  # type: ignore[misc]
    """AdaBoost.R2 for regression: the weighted median of the predictions of many members (Drucker 1997).

    Parameters that scikit-learn's ``AdaBoostRegressor`` has keep their meaning and defaults.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Base estimator. None is ``DecisionTreeRegressor(max_depth=3)``.
    n_estimators : int, default=50
        Maximum number of rounds.
    learning_rate : float, default=1.0
        Factor ν of the weight of every member.
    loss : {"linear", "square", "exponential"}, default="linear"
        Loss of a row as a function of its absolute error, divided by the largest error of the round.
    random_state : int, RandomState, Generator or None, default=None
        Seed of drawn samples, rows held out, and members that draw.
    resample : bool, default=False
        Draw rows by weight, as scikit-learn does, instead of fitting members to weighted rows.
    warm_start : bool, default=False
        Whether ``fit`` continues from the members of the last fit, up to `n_estimators`.
    early_stopping : bool, default=False
        Hold rows out, and stop when their mean absolute error has not improved for `n_iter_no_change` rounds;
        members after the best round are dropped.
    validation_fraction : float, default=0.1
        Fraction of the rows held out for early stopping.
    n_iter_no_change : int, default=10
        Number of rounds without improvement after which boosting stops.
    tol : float, default=0.0
        Minimum decrease of the validation error that counts as an improvement.
    verbose : int, default=0
        Show a progress bar on standard error if positive.
    n_jobs : int or None, default=None
        Number of threads; -1 uses all cores, None is 1 unless a joblib context says otherwise. The ensemble
        is bit-equal for any number.

    Attributes
    ----------
    estimator_ : estimator
        The base estimator.
    estimators_ : list of estimators
        Fitted members, one per round.
    estimator_weights_ : ndarray of shape (n_rounds,)
        Weights of the members.
    estimator_errors_ : ndarray of shape (n_rounds,)
        Weighted mean losses of the members.
    validation_errors_ : ndarray
        Error of the held-out rows after every round, dropped rounds included; only with `early_stopping`.
    feature_importances_ : ndarray of shape (n_features,)
        Weighted mean of the importances of the members, if they have importances.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only if the input has column names.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> AdaBoostRegressor().fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.95
    True
    """

    _parameter_rules = RULES | {"loss": (OneOf(*_LOSSES),)}

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        loss: Literal["linear", "square", "exponential"] = "linear",
        random_state: Any = None,
        resample: bool = False,
        warm_start: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self._store_params(locals())

    def _default_estimator(self) -> Any:
        return DecisionTreeRegressor(max_depth=3)

    def _start(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[RegressionBoosting, Floats | None, dict[str, Any]]:
        estimator, seed = self._base_estimator(), draw_seed(self.random_state)
        if not is_regressor(estimator):
            raise InputError(f"The estimator {type(estimator).__name__} is not a regressor.")
        members = open_members(estimator, X, self.resample, self._threads())
        values = encode_values(read_target(y, members.n_rows), non_negative=False)
        if values.shape[1] != 1:
            raise InputError(
                f"y has {values.shape[1]} outputs, and AdaBoostRegressor learns one",
                fix="Use sklearn.multioutput.MultiOutputRegressor.",
            )
        weights, held_out = self._hold_out(sample_weight, members.n_rows, seed)
        members.prepare(weights)
        boosting = RegressionBoosting(
            members,
            values[:, 0],
            weights,
            Draws(seed, seeds_members=self.random_state is not None),
            loss=self.loss,
            learning_rate=self.learning_rate,
            resample=self.resample,
            keeps_predictions=self.early_stopping,
        )
        return boosting, held_out, members.describe_features()

    def _check_fitted(self) -> None:
        super()._check_fitted()
        require(all(map(is_regressor, self.estimators_)), "a member is not a regressor")

    # ---- prediction ----

    def _member_predictions(self, X: Any) -> Floats:
        """Return the predictions of all members.  -> (n_rows, n_members)"""
        self._check_rows(X)
        return np.stack(list(predict_members(self.estimators_, X, "values", None, self._threads())), axis=1)

    def predict(self, X: Any) -> Floats:
        """Predict the target of each row by the weighted median of the members.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predicted values.
        """
        return weighted_median(self._member_predictions(X), self.estimator_weights_)

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Predict the target of each row after every round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_rows,)
            Predicted values.
        """
        predictions = self._member_predictions(X)
        for n in range(1, len(self.estimators_) + 1):
            yield weighted_median(predictions[:, :n], self.estimator_weights_[:n])

    def staged_score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """Compute the coefficient of determination after every round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Target values.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights.

        Yields
        ------
        float
            R².
        """
        for predicted in self.staged_predict(X):
            yield float(r2_score(y, predicted, sample_weight=sample_weight))


def weighted_median(values: Floats, weights: Floats) -> Floats:
    """Weighted median per row: the smallest value with half of the weight up to it.  (n, t), (t,) -> (n,)

    >>> weighted_median(np.array([[1.0, 5.0, 9.0]]), np.array([1.0, 1.0, 3.0])).tolist()
    [9.0]
    """
    order = np.argsort(values, axis=1, kind="stable")
    reached = np.cumsum(weights[order], axis=1)
    middle = np.argmax(reached >= 0.5 * reached[:, -1:], axis=1)
    rows = np.arange(len(values))
    return np.asarray(values[rows, order[rows, middle]])

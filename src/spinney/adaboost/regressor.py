"""AdaBoostRegressor: AdaBoost.R2 (Drucker 1997), the weighted median of many members."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin, is_regressor
from sklearn.metrics import r2_score

from spinney.adaboost.base import RULES, _BaseAdaBoost
from spinney.adaboost.members import Members, Task, open_members, outputs, share_schema
from spinney.adaboost.rounds import MOST_DRAWS, Draws, Watch, draw_rows
from spinney.adaboost.row_weights import RowWeights
from spinney.adaboost.state import require
from spinney.core.errors import InputError
from spinney.core.parameters import OneOf, check_parameters, draw_seed
from spinney.core.progress import Progress
from spinney.data.target import encode_values, read_target
from spinney.data.weights import check_weights
from spinney.members.tables import check_input, describe_input
from spinney.trees.cart import DecisionTreeRegressor

Numbers = NDArray[np.float64]

# What each loss makes of absolute errors, as shares of the largest.
_LOSSES: dict[str, Callable[[Numbers], Numbers]] = {
    "linear": lambda share: share,
    "square": np.square,
    "exponential": lambda share: 1.0 - np.exp(-share),
}
_LEAST_ERROR = float(np.finfo(np.float64).eps)


class RegressionBoosting:
    """Make rounds of AdaBoost.R2 on the rows of one table; ``initial`` is their weight, 0 if held out."""

    def __init__(
        self, model: AdaBoostRegressor, members: Members, y: Numbers, initial: Numbers, draws: Draws
    ):
        self._model, self._members, self._draws = model, members, draws
        self._task, self._y, self._counts = Task(y), y, initial > 0
        self._weights = RowWeights(initial)
        self.estimators: list[Any] = []
        self.weights: list[float] = []
        self.errors: list[float] = []
        self.predictions: list[Numbers] = []  # for all rows; kept only where a validation asks for them

    def replay(self, estimators: list[Any], weights: list[float], errors: list[float]) -> None:
        """Take over the rounds of an earlier fit, as if they had just been made."""
        for member, weight, error in zip(estimators, weights, errors, strict=True):
            prediction, loss = self._judge(member)
            self._accept(member, weight, error, prediction, loss)

    def step(self) -> bool:
        """Make one round; tell whether there may be another."""
        random = self._draws.of_round(len(self.estimators))
        for _ in range(MOST_DRAWS if self._model.resample else 1):
            seed = self._draws.member_seed(random)
            rows = draw_rows(self._weights.steps, random) if self._model.resample else self._weights
            member = self._members.learn(seed, rows, self._task)
            prediction, loss = self._judge(member)
            error = self._weights.mean(loss)
            if error < 0.5:
                weight = self._model.learning_rate * math.log((1 - error) / max(error, _LEAST_ERROR))
                self._accept(member, weight, error, prediction, loss)
                return error > 0
        if not self.estimators:
            # The first member stays, as in scikit-learn: there is none to fall back on.
            self._accept(member, 1.0, error, prediction, loss)
        return False

    def is_complete(self) -> bool:
        """Tell whether rounds taken over leave nothing to add: the last member made no error."""
        return bool(self.errors) and self.errors[-1] <= 0

    def _judge(self, member: Any) -> tuple[Numbers, Numbers]:
        prediction = self._members.output(member, "values", self._task)
        error = np.where(self._counts, np.abs(prediction - self._y), 0.0)
        largest = error.max()
        share = error / largest if largest > 0 else error
        return prediction, _LOSSES[self._model.loss](share)

    def _accept(self, member: Any, weight: float, error: float, prediction: Numbers, loss: Numbers) -> None:
        self.estimators.append(member)
        self.weights.append(weight)
        self.errors.append(error)
        if self._model.early_stopping:
            self.predictions.append(prediction)
        # β^(1 − L) with β = ε/(1 − ε): the better a row was predicted, the less it counts.
        self._weights.multiply(np.exp((loss - 1.0) * weight))


class AdaBoostRegressor(RegressorMixin, _BaseAdaBoost):  # type: ignore[misc]
    """Predict numbers by AdaBoost.R2: the median of many members, weighted by how small their errors were.

    The parameters of scikit-learn's ``AdaBoostRegressor`` come first, with their meaning and defaults;
    members are then ``DecisionTreeRegressor(max_depth=3)``. ``loss`` is "linear", "square" or "exponential",
    what is made of an error as a share of the round's largest. Beyond them, as in `AdaBoostClassifier`:
    ``resample`` (True is what scikit-learn does; False fits members to weighted rows, without chance),
    ``warm_start``, early stopping by ``validation_fraction``, ``n_iter_no_change`` and ``tol`` (here the mean
    absolute error has to fall by more than ``tol``), ``verbose``, ``n_jobs``.

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
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.random_state = random_state
        self.resample = resample
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.n_jobs = n_jobs

    # ---- fitting ----

    def _default_estimator(self) -> Any:
        return DecisionTreeRegressor(max_depth=3)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble to rows X (n_rows, n_features) and numbers y (n_rows,).

        >>> AdaBoostRegressor().fit([[0.0], [1.0]], [2.0, 3.0]).predict([[0.9]]).tolist()
        [3.0]
        """
        check_parameters(type(self).__name__, vars(self), self._parameter_rules)
        earlier = self._earlier()
        boosting, y_read, held = self._open(X, y, sample_weight)
        if earlier:
            check_input(self, X)
            boosting.replay(
                list(self.estimators_), self.estimator_weights_.tolist(), self.estimator_errors_.tolist()
            )
        watch = Watch(self.n_iter_no_change, self.tol) if self.early_stopping else None
        self._make_rounds(boosting, y_read, held, watch)
        n = len(boosting.estimators)
        if watch is not None:
            n += watch.best_round - len(watch.errors)
        fitted: dict[str, Any] = {
            "estimator_": self._pattern(),
            "estimators_": boosting.estimators[:n],
            "estimator_weights_": np.array(boosting.weights[:n]),
            "estimator_errors_": np.array(boosting.errors[:n]),
        }
        if watch is not None:
            fitted["validation_errors_"] = np.array(watch.errors)
        share_schema(fitted["estimators_"])
        return self._adopt(fitted | describe_input(X))

    def _open(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[RegressionBoosting, Numbers, Numbers | None]:
        estimator, seed = self._pattern(), draw_seed(self.random_state)
        if not is_regressor(estimator):
            raise InputError(f"The estimator {type(estimator).__name__} is no regressor.")
        members = open_members(estimator, X, self.resample, self._threads())
        values = encode_values(read_target(y, members.n_rows), non_negative=False)
        if values.shape[1] != 1:
            raise InputError(
                f"y has {values.shape[1]} outputs, and AdaBoostRegressor learns one",
                fix="Use sklearn.multioutput.MultiOutputRegressor.",
            )
        weights, held = self._split(check_weights(sample_weight, members.n_rows), members.n_rows, seed)
        members.prepare(weights)
        draws = Draws(seed, seeds_members=self.random_state is not None)
        return RegressionBoosting(self, members, values[:, 0], weights, draws), values[:, 0], held

    def _make_rounds(
        self, boosting: RegressionBoosting, y: Numbers, held: Numbers | None, watch: Watch | None
    ) -> None:
        done = boosting.is_complete()
        with Progress(self.verbose, type(self).__name__, self.n_estimators) as progress:
            while not done and len(boosting.estimators) < self.n_estimators:
                before = len(boosting.estimators)
                done = not boosting.step()
                n_done = len(boosting.estimators)
                progress.report(n_done, f"round {n_done}, error {boosting.errors[-1]:.4f}")
                if watch is not None and held is not None and len(boosting.estimators) > before:
                    rows = held > 0
                    predicted = weighted_median(
                        np.stack([one[rows] for one in boosting.predictions], axis=1),
                        np.array(boosting.weights),
                    )
                    done |= watch.stops(float(np.average(np.abs(predicted - y[rows]), weights=held[rows])))

    # ---- prediction ----

    def _predictions(self, X: Any) -> Numbers:
        self._check_rows(X)
        return np.stack(list(outputs(self.estimators_, X, "values", None, self._threads())), axis=1)

    def predict(self, X: Any) -> Numbers:
        """Predict the target of each row: the weighted median of the members' answers.  -> (n_rows,)"""
        return weighted_median(self._predictions(X), self.estimator_weights_)

    def staged_predict(self, X: Any) -> Iterator[Numbers]:
        """Give the predictions after each round."""
        predictions = self._predictions(X)
        for n in range(1, len(self.estimators_) + 1):
            yield weighted_median(predictions[:, :n], self.estimator_weights_[:n])

    def staged_score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """Give the coefficient of determination after each round."""
        for predicted in self.staged_predict(X):
            yield float(r2_score(y, predicted, sample_weight=sample_weight))

    # ---- its file ----

    def _check_state(self) -> None:
        super()._check_state()
        if hasattr(self, "estimators_"):
            require(all(map(is_regressor, self.estimators_)), "a member is no regressor")


def weighted_median(values: Numbers, weights: Numbers) -> Numbers:
    """Give of each row the least value up to which lies half of the weight.  (n, t), (t,) -> (n,)

    >>> weighted_median(np.array([[1.0, 5.0, 9.0]]), np.array([1.0, 1.0, 3.0])).tolist()
    [9.0]
    """
    order = np.argsort(values, axis=1, kind="stable")
    reached = np.cumsum(weights[order], axis=1)
    middle = np.argmax(reached >= 0.5 * reached[:, -1:], axis=1)
    rows = np.arange(len(values))
    return np.asarray(values[rows, order[rows, middle]])

"""Ensemble selection: greedy forward selection of members from a library of models (Caruana et al., 2004)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from spinney.base import parameters
from spinney.core.elementary import log
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, Integer, Kind, Real, Rule, Use, draw_seed
from spinney.core.seeds import stream
from spinney.data.target import by_output, most_probable
from spinney.ensembles.base import RULES, _WeightedMean
from spinney.ensembles.decisions import choose_labels
from spinney.ensembles.predictions import Array, Classes, FitTask, Method, OutOfFold, split_columns
from spinney.io import require
from spinney.members.tables import describe_input

Counts = NDArray[np.int64]

# ---- greedy forward selection ----


class EnsembleLoss(Protocol):
    """Loss of an ensemble with one more member."""

    n_members: int

    def losses(self, counts: Counts) -> Array:
        """Return the loss of the mean of the members, each as often as counted, with one more of each.

        counts (n_members,) -> (n_members,)
        """


@dataclass(frozen=True)
class Selection:
    """How often each member was selected, and the steps: which member, and the loss with it."""

    counts: Counts
    members: tuple[int, ...]
    losses: tuple[float, ...]


def select(
    loss: EnsembleLoss,
    n_steps: int,
    *,
    n_initial: int = 1,
    replacement: bool = True,
    allowed: NDArray[np.bool_] | None = None,
) -> Selection:
    """Start with the best members, add the one that helps most at each step, and keep the best ensemble.

    The first ``n_initial`` of ``n_steps`` members are selected by their own loss, the others by the loss of
    the ensemble. Of equal members the first is selected, of equal ensembles the smallest. With
    ``replacement`` a member can be selected again, which increases its weight.

    >>> loss = SquaredLoss([np.array([[0.0]]), np.array([[3.0]])], np.array([[1.0]]))
    >>> select(loss, 3).counts.tolist()
    [2, 1]
    """
    usable = np.ones(loss.n_members, dtype=bool) if allowed is None else allowed.copy()
    counts = np.zeros(loss.n_members, dtype=np.int64)
    alone = np.where(usable, loss.losses(counts), np.inf)
    initial = np.argsort(alone, kind="stable")[: min(n_initial, int(usable.sum()))].tolist()
    members: list[int] = []
    losses: list[float] = []
    while len(members) < n_steps and usable.any():
        trials = np.where(usable, loss.losses(counts), np.inf)
        chosen = initial[len(members)] if len(members) < len(initial) else _first_min(trials)
        counts[chosen] += 1
        members.append(chosen)
        losses.append(float(trials[chosen]))
        if not replacement:
            usable[chosen] = False
    first = min(len(initial), len(losses)) - 1
    n_best = first + _first_min(np.array(losses[first:])) + 1
    kept = np.bincount(members[:n_best], minlength=loss.n_members).astype(np.int64)
    return Selection(kept, tuple(members), tuple(losses))


def _first_min(losses: Array) -> int:
    """Return the first of the smallest losses; differences by rounding do not count."""
    finite = losses[np.isfinite(losses)]
    return int(np.argmax(losses <= finite.min() + 1e-12 * np.abs(finite).max()))


def row_shares(weights: Array | None, n_rows: int) -> Array:
    """Return row weights with sum 1."""
    weights = np.ones(n_rows) if weights is None else weights
    return np.asarray(weights / weights.sum())


class SquaredLoss:
    """Squared error of the mean prediction.

    predictions: one array (n_rows, width) per member; target (n_rows, width). The products of the members'
    errors determine the loss of every ensemble, so no step looks at the rows again.
    """

    def __init__(self, predictions: Sequence[Array], target: Array, weights: Array | None = None) -> None:
        self.n_members = len(predictions)
        errors = np.stack([(one - target).ravel() for one in predictions])
        shares = np.repeat(row_shares(weights, len(target)), target.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):
            self._products = np.array([(errors * one).sum(axis=1) for one in errors * shares])
        if not np.isfinite(self._products).all():
            raise InputError("The predictions of members, or the targets, are too large for squared errors.")

    def losses(self, counts: Counts) -> Array:
        """Return the mean squared error with one more of each member."""
        so_far = (self._products * counts).sum(axis=1)
        total = (counts * so_far).sum() + 2 * so_far + np.diag(self._products)
        return np.asarray(total / (counts.sum() + 1) ** 2)


class LogLoss:
    """Log loss of the mean probability, summed over the outputs.

    predictions: one array (n_rows, n_classes) per member; true (n_rows, n_classes): True for the true class,
    of each output if several are side by side.
    """

    def __init__(
        self, predictions: Sequence[Array], true: NDArray[np.bool_], weights: Array | None = None
    ) -> None:
        self.n_members = len(predictions)
        self._true = np.stack([one[true] for one in predictions])
        self._shares = np.repeat(row_shares(weights, len(true)), true.sum(axis=1))

    def losses(self, counts: Counts) -> Array:
        """Return the log loss with one more of each member."""
        so_far = np.zeros(self._true.shape[1])
        for i in np.flatnonzero(counts):
            so_far += counts[i] * self._true[i]
        mean = (so_far + self._true) / (counts.sum() + 1)
        return np.asarray(-(log(np.clip(mean, np.finfo(np.float64).eps, 1.0)) * self._shares).sum(axis=1))


class ScorerLoss:
    """Negative score of the mean prediction by a scikit-learn scorer.

    predictions: one array (n_rows, n_classes) per member, or (n_rows, n_outputs) in regression.
    """

    def __init__(
        self,
        scorer: Any,
        predictions: Sequence[Array],
        y: NDArray[Any],
        classes: Classes,
        weights: Array | None = None,
    ) -> None:
        self.n_members = len(predictions)
        self._scorer, self._predictions = scorer, np.stack(predictions)
        # Metrics do not accept labels in an object array.
        self._y = np.array(y.tolist()) if y.dtype == object else y
        plain = None if classes is None else [np.array(labels.tolist()) for labels in by_output(classes)]
        self._classes = plain if plain is None or type(classes) is list else plain[0]
        self._metadata = {} if weights is None else {"sample_weight": weights}

    def losses(self, counts: Counts) -> Array:
        """Return the negative score with one more of each member."""
        total = np.tensordot(counts, self._predictions, 1)
        return np.array([-self._score((total + one) / (counts.sum() + 1)) for one in self._predictions])

    def _score(self, mean: Array) -> float:
        kind = _GivenValues if self._classes is None else _GivenProbabilities
        given = kind(mean, self._classes)
        return float(self._scorer(given, np.arange(len(mean))[:, None], self._y, **self._metadata))


class _GivenValues(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Regressor that returns predictions computed before, for a scorer."""

    def __init__(self, values: Array, classes: Classes = None) -> None:
        self.values, self.classes_ = values, classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        values = self.values[rows[:, 0]]
        return np.asarray(values[:, 0] if values.shape[1] == 1 else values)


class _GivenProbabilities(ClassifierMixin, _GivenValues):  # type: ignore[misc]
    """Classifier that returns probabilities computed before, for a scorer."""

    def predict_proba(self, rows: NDArray[np.int64]) -> Any:
        parts = split_columns(self.values[rows[:, 0]], self.classes_)
        return parts if type(self.classes_) is list else parts[0]

    def predict(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        return most_probable(by_output(self.predict_proba(rows)), self.classes_)


# ---- estimators ----

_FUNCTION = Kind("a function of (estimator, X, y)", Callable)  # type: ignore[arg-type]


@parameters
class _EnsembleSelection(_WeightedMean):
    """Base class of ensemble selection."""

    _has_default_members: ClassVar[bool] = True
    _required_attributes: ClassVar[tuple[str, ...]] = ("path_",)
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = RULES | {
        "scoring": (NONE, Kind("the name of a scorer", str), _FUNCTION),
        "n_steps": (Integer(1),),
        "n_initial": (Integer(1),),
        "replacement": (FLAG,),
        "n_bags": (Integer(1),),
        "max_samples": (Real(0.0, 1.0, open_ends="("),),
    }
    _parameter_uses = (Use(("max_samples",), "n_bags", unless=(1,)),)

    scoring: Any = None
    n_steps: int = 50
    n_initial: int = 1
    replacement: bool = True
    n_bags: int = 1
    max_samples: float = 0.5

    path_: list[list[tuple[str, float]]] = field(init=False)

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, groups: Any = None, **metadata: Any
    ) -> Self:
        """Select members by their predictions for unseen rows, and fit the selected ones to all rows.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Anything that all members accept; it is passed on unchanged.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Class labels or target values; several outputs if all members support them.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights for every member and for the selection.
        groups : array-like of shape (n_rows,), default=None
            Groups of the rows, for the splitter given as ``cv``.
        **metadata : dict
            Further arguments for the members, with scikit-learn's metadata routing switched on.

        Returns
        -------
        self
            The fitted ensemble.
        """
        task = self._read_task(X, y, sample_weight, groups, metadata)
        methods = self._methods(task.names, task.members)
        selections = self._select(self._loss(task, self._predict_held_out(task, methods)), task)
        weights = np.mean([one.counts / one.counts.sum() for one in selections], axis=0)
        chosen = task.select(np.flatnonzero(weights))
        return self._set_fitted(
            estimators_=self._fit_members(chosen),
            _names=list(chosen.names),
            weights_=weights[weights > 0],
            **self._describe_outputs(task),
            path_=[
                [(task.names[i], step) for i, step in zip(one.members, one.losses, strict=True)]
                for one in selections
            ],
            **describe_input(X),
        )

    def _loss(self, task: FitTask, held_out: OutOfFold) -> EnsembleLoss:
        rows, predictions = held_out.rows, held_out.predictions
        weights = None if task.weights is None else task.weights[rows]
        if self.scoring is not None:
            from sklearn.metrics import get_scorer

            return ScorerLoss(get_scorer(self.scoring), predictions, task.y[rows], task.classes, weights)
        if task.classes is None:
            return SquaredLoss(predictions, task.target_columns()[rows], weights)
        return LogLoss(predictions, task.target_columns()[rows] > 0, weights)

    def _select(self, loss: EnsembleLoss, task: FitTask) -> list[Selection]:
        """Select from all members or, with several bags, from a random subset of them per bag."""
        n = loss.n_members
        subsets: list[NDArray[np.bool_] | None] = [None]
        if self.n_bags > 1:
            seed = draw_seed(None) if task.seed is None else task.seed
            size = max(1, round(self.max_samples * n))
            # The streams before these are those of the members.
            orders = [stream(seed, len(self._pairs()) + bag).permutation(n) for bag in range(self.n_bags)]
            subsets = [np.isin(np.arange(n), order[:size]) for order in orders]
        again = bool(self.replacement)
        return [
            select(loss, self.n_steps, n_initial=self.n_initial, replacement=again, allowed=subset)
            for subset in subsets
        ]

    def _check_fitted(self) -> None:
        super()._check_fitted()
        path: Any = self.path_
        require(type(path) is list and all(type(steps) is list for steps in path), "there is no path")
        steps = [step for steps in path for step in steps]
        valid = all(type(step) is tuple and [*map(type, step)] == [str, float] for step in steps)
        require(valid, "a step is not a member and a loss")


class EnsembleSelectionClassifier(ClassifierMixin, _EnsembleSelection):  # type: ignore[misc]
    """Ensemble selection from a library of classifiers (Caruana et al., 2004).

    Greedy forward selection with replacement: start with the ``n_initial`` best members and add the one that
    improves the ensemble most, up to ``n_steps``; keep the best ensemble found. The weight of a member is how
    often it was selected. Losses are computed on out-of-fold predictions, or with cv="prefit" on the rows
    given to ``fit``. Only selected members are fitted to all rows. A member without ``predict_proba`` votes.

    Parameters
    ----------
    estimators : list of (str, estimator) pairs or None, default=None
        The library of models by name; "drop" leaves one out. None is gradient boosting, a random
        forest, extra-trees, a linear model, up to 10,000 rows an SVM, and naive Bayes, all at their defaults;
        only the forests if y has several columns.
    cv : int, splitter, list of splits, "loo", "prefit" or None, default=None
        Splits of the out-of-fold predictions; None is 5 folds. With "prefit" the members are fitted already,
        and X should be rows that they have not seen.
    n_jobs : int or None, default=None
        Number of members fitted in parallel, −1 for all cores. None is all cores for Spinney's own members
        and 1 for others, within the limits of an active joblib or threadpoolctl context. The model does not
        depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the subsets and of the members' random states; None leaves the latter alone.
    verbose : int, default=0
        Above 0: show a progress bar.
    scoring : str, callable or None, default=None
        scikit-learn scorer to maximize; None minimizes the log loss.
    n_steps : int, default=50
        Number of selection steps.
    n_initial : int, default=1
        Number of members selected by their own loss at the start.
    replacement : bool, default=True
        Allow a member to be selected several times.
    n_bags : int, default=1
        Number of selections, each from a random subset of the members, that are averaged. More than 1
        reduces overfitting if there are many models and few rows.
    max_samples : float in (0, 1], default=0.5
        Fraction of the members in each subset, with ``n_bags`` above 1.

    Attributes
    ----------
    estimators_ : list of estimators
        Selected members, fitted.
    named_estimators_ : Bunch
        Selected members by name.
    weights_ : ndarray of shape (n_members,)
        Weights of the selected members, with sum 1.
    path_ : list of list of (str, float)
        For each bag, the name of the member selected at each step, and the loss with it.
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        Class labels, a list if there are several outputs.
    n_outputs_ : int
        Number of outputs.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier, EnsembleSelectionClassifier
    >>> models = [(f"depth {d}", DecisionTreeClassifier(max_depth=d)) for d in (1, 2, 3)]
    >>> X, y = [[i] for i in range(12)], ["a", "a", "a", "b", "b", "b"] * 2
    >>> EnsembleSelectionClassifier(models, cv=3).fit(X, y).named_estimators_.keys() <= dict(models).keys()
    True
    """

    _task = "classification"

    def _method(self, name: str, member: Any) -> Method:
        return "predict_proba" if hasattr(member, "predict_proba") else "votes"

    def predict_proba(self, X: Any) -> Any:
        """Predict the weighted mean probability of the selected members.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or list of such arrays with several outputs
            Probabilities.
        """
        return self._mean_probabilities(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Class labels.
        """
        return choose_labels(by_output(self.predict_proba(X)), by_output(self.classes_))


class EnsembleSelectionRegressor(RegressorMixin, _EnsembleSelection):  # type: ignore[misc]
    """Ensemble selection from a library of regressors (Caruana et al., 2004).

    Greedy forward selection as in :class:`EnsembleSelectionClassifier`, by the squared error.

    Parameters
    ----------
    estimators : list of (str, estimator) pairs or None, default=None
        The library of models by name; "drop" leaves one out. None is gradient boosting, a random
        forest, extra-trees, a linear model, and up to 10,000 rows an SVM, all at their defaults.
    cv : int, splitter, list of splits, "loo", "prefit" or None, default=None
        Splits of the out-of-fold predictions; None is 5 folds. With "prefit" the members are fitted already,
        and X should be rows that they have not seen.
    n_jobs : int or None, default=None
        Number of members fitted in parallel, −1 for all cores. None is all cores for Spinney's own members
        and 1 for others, within the limits of an active joblib or threadpoolctl context. The model does not
        depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the subsets and of the members' random states; None leaves the latter alone.
    verbose : int, default=0
        Above 0: show a progress bar.
    scoring : str, callable or None, default=None
        scikit-learn scorer to maximize; None minimizes the squared error.
    n_steps : int, default=50
        Number of selection steps.
    n_initial : int, default=1
        Number of members selected by their own loss at the start.
    replacement : bool, default=True
        Allow a member to be selected several times.
    n_bags : int, default=1
        Number of selections, each from a random subset of the members, that are averaged. More than 1
        reduces overfitting if there are many models and few rows.
    max_samples : float in (0, 1], default=0.5
        Fraction of the members in each subset, with ``n_bags`` above 1.

    Attributes
    ----------
    estimators_ : list of estimators
        Selected members, fitted.
    named_estimators_ : Bunch
        Selected members by name.
    weights_ : ndarray of shape (n_members,)
        Weights of the selected members, with sum 1.
    path_ : list of list of (str, float)
        For each bag, the name of the member selected at each step, and the loss with it.
    n_outputs_ : int
        Number of outputs.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import DecisionTreeRegressor, EnsembleSelectionRegressor
    >>> models = [(f"depth {d}", DecisionTreeRegressor(max_depth=d)) for d in (1, 2, 3)]
    >>> X, y = [[i] for i in range(12)], [1.0, 1.0, 1.0, 5.0, 5.0, 5.0] * 2
    >>> EnsembleSelectionRegressor(models, cv=3).fit(X, y).weights_.sum()
    np.float64(1.0)
    """

    _task = "regression"

    def predict(self, X: Any) -> Array:
        """Predict the weighted mean of the selected members.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Predictions.
        """
        return self._mean_values(X)

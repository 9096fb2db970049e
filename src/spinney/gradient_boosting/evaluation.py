"""Evaluation during training: the sets of ``eval_set``, their metrics, and the values after every round."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, InputTypeError, show_value
from spinney.core.frames import to_frame
from spinney.core.parameter_names import near_name
from spinney.data.target import by_output, decode_classes
from spinney.gradient_boosting.rounds import LossScorer, ScoredRows, Scorer, SklearnScorer
from spinney.gradient_boosting.training_set import ValidationRows
from spinney.losses.losses import Loss
from spinney.native import core

Floats = NDArray[np.float64]
EvalSet: TypeAlias = tuple[Any, ...]
EvalsResult: TypeAlias = dict[str, dict[str, list[float]]]
EvalMetric: TypeAlias = str | Callable[[Any, Any], Any]

_FORMS = "(X, y), (X, y, sample_weight) or (X, y, sample_weight, init_score)"
# Names of LightGBM and XGBoost: the scorer of scikit-learn, and whether its sign is turned.
# Scikit-learn has no "neg_zero_one_loss"; _find_metric makes it.
_PEER_METRICS: Mapping[str, tuple[str, bool]] = {
    "auc": ("roc_auc", False),
    "aucpr": ("average_precision", False),
    "average_precision": ("average_precision", False),
    "accuracy": ("accuracy", False),
    "error": ("neg_zero_one_loss", True),
    "binary_error": ("neg_zero_one_loss", True),
    "merror": ("neg_zero_one_loss", True),
    "multi_error": ("neg_zero_one_loss", True),
    "logloss": ("neg_log_loss", True),
    "binary_logloss": ("neg_log_loss", True),
    "mlogloss": ("neg_log_loss", True),
    "multi_logloss": ("neg_log_loss", True),
    "rmse": ("neg_root_mean_squared_error", True),
    "mse": ("neg_mean_squared_error", True),
    "l2": ("neg_mean_squared_error", True),
    "mae": ("neg_mean_absolute_error", True),
    "l1": ("neg_mean_absolute_error", True),
    "mape": ("neg_mean_absolute_percentage_error", True),
    "r2": ("r2", False),
}


_PLAIN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


# ---- arguments of fit ----


@dataclass(frozen=True)
class EvalArguments:
    """The arguments of ``fit`` about evaluation; ``sets`` are tuples of two to four parts.

    ``metrics`` None is the score of early stopping.
    """

    sets: tuple[EvalSet, ...]
    names: tuple[str, ...]
    metrics: tuple[EvalMetric, ...] | None = None

    @classmethod
    def read(
        cls, eval_set: Any, eval_names: Any = None, eval_metric: Any = None, eval_sample_weight: Any = None
    ) -> EvalArguments | None:
        """Return the arguments in one form; None without an ``eval_set``."""
        if isinstance(eval_set, EvalArguments):
            return eval_set
        if eval_set is None or (isinstance(eval_set, list) and not eval_set):
            given = {"eval_names": eval_names, "eval_metric": eval_metric}
            given |= {"eval_sample_weight": eval_sample_weight}
            for name, value in given.items():
                if value is not None:
                    raise InputError(f"{name} is given without an eval_set", fix="Pass an eval_set, too.")
            return None
        sets = _add_weights(read_eval_sets(eval_set), eval_sample_weight)
        return cls(sets, _read_names(eval_names, len(sets)), _read_metrics(eval_metric))


def read_eval_sets(eval_set: Any) -> tuple[EvalSet, ...]:
    """Return the sets of an ``eval_set``: one set, or a sequence of them.

    A set has two to four parts, of which the first is a table. What has tables as its items is therefore a
    set, and what has sets as its items is a sequence of them.

    >>> X, y = np.zeros((2, 3)), np.zeros(2)
    >>> [len(read_eval_sets(given)) for given in ((X, y), [(X, y)], [(X, y), (X, y, None)])]
    [1, 1, 2]
    """
    if isinstance(eval_set, tuple | list):
        if all(map(_is_set, eval_set)):
            return tuple(tuple(one) for one in eval_set)
        if _is_set(eval_set):
            return (tuple(eval_set),)
        wrong = [i for i, one in enumerate(eval_set) if not _is_set(one)]
        if isinstance(eval_set, list) and len(wrong) < len(eval_set):
            raise InputError(
                f"eval_set[{wrong[0]}] is a {type(eval_set[wrong[0]]).__name__}, not a set of rows",
                fix=f"Every set is {_FORMS}.",
            )
    raise InputError(f"eval_set must be {_FORMS}, or a list of these.")


def _is_set(given: Any) -> bool:
    return isinstance(given, tuple | list) and 2 <= len(given) <= 4 and _is_table(given[0])


def _is_table(given: Any) -> bool:
    shape = getattr(given, "shape", None)
    if isinstance(shape, tuple):
        return len(shape) == 2
    if isinstance(given, Mapping):
        return True
    if not isinstance(given, Sequence) or isinstance(given, str | bytes) or not given:
        return False
    return isinstance(given[0], Mapping) or _is_vector(given[0])


def _is_vector(given: Any) -> bool:
    """Return whether this is one row of values."""
    shape = getattr(given, "shape", None)
    if isinstance(shape, tuple):
        return len(shape) == 1
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        return False
    return not given or isinstance(given[0], str | bytes) or not hasattr(given[0], "__len__")


def _add_weights(sets: tuple[EvalSet, ...], weights: Any) -> tuple[EvalSet, ...]:
    """Return the sets with the weights of ``eval_sample_weight``, one entry per set."""
    if weights is None:
        return sets
    each = [weights] if len(sets) == 1 and _is_vector(weights) else weights
    if not isinstance(each, Sequence) or isinstance(each, str) or len(each) != len(sets):
        raise InputError(
            f"eval_sample_weight must have one entry per set of eval_set; there are {len(sets)}",
            fix="Pass a list of arrays; None for a set without weights.",
        )
    out = []
    for i, (one, own) in enumerate(zip(sets, each, strict=True)):
        X, y, inside, init_score = (*one, None, None)[:4]
        if own is not None and inside is not None:
            raise InputError(
                f"eval_set[{i}] has weights, and eval_sample_weight too", fix="Pass them in one place."
            )
        out.append((X, y, inside if own is None else own, init_score))
    return tuple(out)


def _read_names(names: Any, n: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"validation_{i}" for i in range(n))
    given = [names] if isinstance(names, str) else list(names)
    if len(given) != n or len(set(given)) != n or not all(isinstance(name, str) for name in given):
        raise InputError(f"eval_names must be {n} different strings, one per set; it is {show_value(names)}.")
    return tuple(given)


def _read_metrics(metrics: Any) -> tuple[EvalMetric, ...] | None:
    if metrics is None:
        return None
    given = [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
    for metric in given:
        if not callable(metric) and not isinstance(metric, str):
            raise InputError(f"eval_metric contains {show_value(metric)}, neither a name nor a function.")
    return tuple(given)


# ---- metrics ----


@dataclass(frozen=True)
class MetricScorer:
    """A function of (y, prediction) as a scorer; predictions are probabilities in classification.

    Those of two classes are the probabilities of the second one, of several outputs a column each.
    """

    function: Callable[..., Any]
    weights: inspect.Parameter | None
    with_raw_scores: Callable[[Floats], Any]
    classes: NDArray[Any] | list[NDArray[Any]] | None
    returned_names: set[str] = field(default_factory=set)

    def __call__(self, X: Any, y: Floats, raw_scores: Floats, weights: Floats | None) -> float:
        """Return the value of the metric; of LightGBM's (name, value, is_higher_better) note the name."""
        model = self.with_raw_scores(raw_scores)
        if self.classes is None:
            labels, predicted = y, model.predict(X)
        else:
            labels = decode_classes(y.astype(np.intp), self.classes)
            predicted = [
                part[:, 1] if part.shape[1] == 2 else part for part in by_output(model.predict_proba(X))
            ]
            predicted = predicted[0] if len(predicted) == 1 else np.column_stack(predicted)
        more: dict[str, Any] = {}
        argument = self.weights
        if argument is not None and (weights is not None or argument.default is argument.empty):
            more[argument.name] = weights
        value = self.function(labels, predicted, **more)
        if isinstance(value, tuple):
            self.returned_names.add(str(value[0]))
            value = value[1]
        try:
            return float(value)
        except TypeError:
            raise InputTypeError(
                f"A function given as eval_metric returned {show_value(value)}",
                fix="Return a number, or (name, number, is_higher_better), and pass a list of functions for "
                "several metrics.",
            ) from None


@dataclass(frozen=True)
class Metric:
    """A metric with its name; ``sign`` turns a scorer, for which greater is better, into a loss."""

    name: str
    scorer: Scorer
    sign: float = 1.0

    @property
    def recorded_name(self) -> str:
        """The name that the function returned with its values, if it has been one, or that of the metric."""
        returned = self.scorer.returned_names if isinstance(self.scorer, MetricScorer) else ()
        return next(iter(returned)) if len(returned) == 1 else self.name


def make_metric(
    given: EvalMetric,
    estimator: Any,
    loss: Loss,
    with_raw_scores: Callable[[Floats], Any],
    classes: NDArray[Any] | list[NDArray[Any]] | None,
) -> Metric:
    """Return the metric of a name or function of ``eval_metric``."""
    if not isinstance(given, str):
        scored: Any = getattr(given, "_score_func", None)  # of scikit-learn's make_scorer
        name = getattr(given if scored is None else scored, "__name__", type(given).__name__)
        if scored is not None:
            return Metric(name, SklearnScorer(given, with_raw_scores, classes))
        return Metric(name, MetricScorer(given, _weights_argument(given), with_raw_scores, classes))
    if given == "loss":
        if not loss.has_value:
            raise InputError(
                f"{type(loss).__name__} has no value to evaluate",
                fix="Define value(y, score) in it, or pass an eval_metric.",
            )
        return Metric("loss", LossScorer(loss), -1.0)
    from sklearn.metrics import check_scoring

    name, turned = _find_metric(given)
    if name == "roc_auc" and isinstance(classes, np.ndarray) and len(classes) > 2:
        name = "roc_auc_ovr"
    scorer = SklearnScorer(check_scoring(estimator, name), with_raw_scores, classes)
    return Metric(given, scorer, -1.0 if turned else 1.0)


def _find_metric(given: str) -> tuple[Any, bool]:
    """Return the scorer of a name in any case, with or without neg_, and whether its sign is reversed."""
    from sklearn.metrics import get_scorer_names, make_scorer, zero_one_loss

    lower, scorers = given.lower(), get_scorer_names()
    if lower in _PEER_METRICS:
        name, turned = _PEER_METRICS[lower]
        if name == "neg_zero_one_loss":
            return make_scorer(zero_one_loss, greater_is_better=False), turned
        return name, turned
    if given in scorers:
        return given, False
    if f"neg_{lower}" in scorers:
        return f"neg_{lower}", True
    near = near_name(lower, ["loss", *_PEER_METRICS, *scorers])
    names = f"Names: loss, {', '.join(_PEER_METRICS)}, and scikit-learn's scorers."
    raise InputError(
        f"There is no eval_metric {given!r}", fix=f"Did you mean {near!r}? {names}" if near else names
    )


def _weights_argument(function: Callable[..., Any]) -> inspect.Parameter | None:
    """Return the argument of a metric that takes weights: ``sample_weight``, or a third without a default.

    >>> _weights_argument(lambda y, prediction, weight: 0.0).name
    'weight'
    """
    try:
        arguments = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    if "sample_weight" in arguments:
        return arguments["sample_weight"]
    required = [one for one in arguments.values() if one.default is one.empty and one.kind in _PLAIN]
    return required[2] if len(required) == 3 else None


# ---- recording ----


@dataclass(frozen=True)
class Evaluation:
    """What is evaluated in one fit: sets that were read, the last one for early stopping, and metrics."""

    sets: tuple[ValidationRows, ...]
    names: tuple[str, ...]
    metrics: tuple[Metric, ...]

    def recorder(self, rows: Sequence[ScoredRows], earlier: EvalsResult | None, n_done: int) -> EvalRecorder:
        """Return a recorder for the rows of the sets; it continues the values of ``n_done`` rounds."""
        return EvalRecorder(tuple(rows), self.names, self.metrics, earlier or {}, n_done)


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names, with a number where one is there again.

    >>> _distinct(["auc", "<lambda>", "<lambda>"])
    ['auc', '<lambda>', '<lambda> (2)']
    """
    return [
        name if name not in names[:i] else f"{name} ({names[: i + 1].count(name)})"
        for i, name in enumerate(names)
    ]


@dataclass
class EvalRecorder:
    """Values of the metrics of every set after every round.

    The booster's loop adds the trees to the last of ``rows``, which it scores itself; the others are kept
    here.
    """

    rows: tuple[ScoredRows, ...]
    names: tuple[str, ...]
    metrics: tuple[Metric, ...]
    earlier: EvalsResult = field(default_factory=dict)
    n_done: int = 0
    n_recorded: int = 0
    keys: list[str] = field(init=False)
    result: EvalsResult = field(init=False)

    def __post_init__(self) -> None:
        self._start()

    def _start(self) -> None:
        """Begin the lists of the metrics by the values of earlier rounds, NaN where there are none."""
        self.keys = _distinct([metric.recorded_name for metric in self.metrics])
        self.result = {}
        for name in self.names:
            known = self.earlier.get(name, {})
            before = {key: known.get(key, []) for key in self.keys}
            self.result[name] = {
                key: list(values) if len(values) == self.n_done else [np.nan] * self.n_done
                for key, values in before.items()
            }

    def update(self, trees: Sequence[core.GrownTree]) -> None:
        """Add the trees of one round, and record all values."""
        for rows in self.rows[:-1]:
            rows.add(trees)
        values = [[metric.sign * rows.score(metric.scorer) for metric in self.metrics] for rows in self.rows]
        if not self.n_recorded:
            self._start()  # functions have told the names of their values
        self.n_recorded += 1
        for name, of_set in zip(self.names, values, strict=True):
            for key, value in zip(self.keys, of_set, strict=True):
                self.result[name][key].append(value)

    def copy_result(self) -> EvalsResult:
        """Return the values so far."""
        return {
            name: {metric: list(values) for metric, values in one.items()}
            for name, one in self.result.items()
        }


def evals_frame(result: EvalsResult) -> Any:
    """Return recorded values as a data frame: one row per round, one column per set and metric.

    >>> evals_frame({"validation_0": {"loss": [0.5, 0.4]}}).columns.tolist()
    ['round', 'validation_0-loss']
    """
    columns = {f"{name}-{metric}": values for name, one in result.items() for metric, values in one.items()}
    n_rounds = max(map(len, columns.values()), default=0)
    return to_frame({"round": list(range(1, n_rounds + 1)), **columns})


def is_evals_result(value: object) -> bool:
    """Return whether an unchecked value is a dict of dicts of lists of numbers."""
    return type(value) is dict and all(
        type(name) is str
        and type(one) is dict
        and all(
            type(metric) is str and type(values) is list and all(type(v) is float for v in values)
            for metric, values in one.items()
        )
        for name, one in value.items()
    )

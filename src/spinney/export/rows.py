"""`compile_row`: predictions of single rows in a few microseconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.elementary import exp, expit, log, softmax
from spinney.core.errors import InputError, UnseenCategoryError, show_value
from spinney.data.schema import Schema, Table
from spinney.export.expressions import (
    Apply,
    CategoryMeans,
    Column,
    Constant,
    Decision,
    Expression,
    Feature,
    Linear,
    OneHot,
    Place,
    Trees,
    WeightedSum,
)
from spinney.export.scoring import describe_scoring
from spinney.tree.predictor import Predictor

Compute: TypeAlias = Callable[[list[float]], Floats]
"""Computes an expression from the values of a row, codes for categories."""
_MAX_EXPONENT = 500.0


def compile_row(model: Any) -> RowPredictor:
    """Return a predictor of single rows, which skips everything that tables need.

    Parameters
    ----------
    model : estimator
        A fitted model that `to_c` accepts.

    Returns
    -------
    RowPredictor
        The predictor; its predictions are those of the model.

    Raises
    ------
    InputTypeError
        If the model, or a member of it, is of a kind that cannot be described.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> X = {"color": ["red", "blue"], "size": [1.0, 2.0]}
    >>> row = compile_row(DecisionTreeClassifier().fit(X, ["no", "yes"]))
    >>> row.predict({"color": "blue", "size": None}), row.predict(["red", 1.0])
    ('yes', 'no')
    """
    return RowPredictor(model)


class RowPredictor:
    """Predicts single rows of a fitted model; made by `compile_row`.

    Parameters
    ----------
    model : estimator
        A fitted model.

    Examples
    --------
    >>> from spinney import DecisionTreeRegressor
    >>> RowPredictor(DecisionTreeRegressor().fit([[0.0], [1.0]], [2.0, 3.0])).predict([0.9])
    3.0
    """

    def __init__(self, model: Any) -> None:
        scoring = describe_scoring(model)
        self._read = _reader(scoring.schema, getattr(model, "unseen", "missing") == "error")
        known: dict[int, Compute] = {}
        self._response = _compile(scoring.response, known)
        self._decide = None if scoring.decision is None else _decision(scoring.decision, known)
        self._labels = None if scoring.classes is None else scoring.classes.tolist()
        self._has_probabilities = self._labels is not None and scoring.response is not scoring.scores

    def predict(self, row: Any) -> Any:
        """Predict the class or value of a row.

        Parameters
        ----------
        row : dict, sequence, or data frame of one row
            Values by name, or in the order of the features. None and NaN are missing values.

        Returns
        -------
        object
            The class label, the value, or an array of values with several outputs.
        """
        values = self._read(row)
        if self._decide is not None and self._labels is not None:
            return self._labels[self._decide(values)]
        found = self._response(values)
        return float(found[0]) if len(found) == 1 else found

    def predict_proba(self, row: Any) -> Floats:
        """Predict the class probabilities of a row.

        Parameters
        ----------
        row : dict, sequence, or data frame of one row
            Values by name, or in the order of the features. None and NaN are missing values.

        Returns
        -------
        ndarray of shape (n_classes,)
            Probabilities.
        """
        if not self._has_probabilities:
            raise AttributeError("This model has no probabilities.")
        return self._response(self._read(row))


# ---- reading a row ----


def _reader(schema: Schema, strict: bool) -> Callable[[Any], list[float]]:
    """Return a function from a row to its numbers, codes for categories and NaN for missing values."""
    names = schema.names
    codes = [one.code_of if one.kind == "categorical" else None for one in schema.features]
    pairs = list(zip(names, codes, strict=True))
    n = len(names)

    def number(value: Any, j: int) -> float:
        if value is None:
            return math.nan
        try:
            found = float(value)
        except (TypeError, ValueError):
            raise InputError(f"{show_value(value)} is not a number", column=names[j], row=0) from None
        if math.isinf(found) or isinstance(value, str | bytes):
            raise InputError(f"{show_value(value)} is not a finite number", column=names[j], row=0)
        return found

    def code(value: Any, j: int, known: Mapping[Any, int]) -> float:
        try:
            found = known.get(value, -1)
        except TypeError:
            raise InputError(f"{show_value(value)} is not a category", column=names[j], row=0) from None
        if strict and found < 0 and not (value is None or value != value):  # noqa: PLR0124  (NaN)
            raise UnseenCategoryError(names[j], 0, value, list(known))
        return math.nan if found < 0 else float(found)

    def read(row: Any) -> list[float]:
        values = row
        if isinstance(row, Mapping):
            try:
                values = [row[name] for name in names]
            except KeyError as error:
                raise InputError(f"The row has no value for column {show_value(error.args[0])}.") from None
        elif type(row) is not list and type(row) is not tuple:
            values = _single_row(row, names if schema.has_names else None)
        if len(values) != n:
            raise InputError(f"The row has {len(values)} values, but the model has {n} features.")
        return [
            (value if type(value) is float and -1e308 < value < 1e308 else number(value, j))
            if known is None
            else code(value, j, known)
            for j, (value, (_, known)) in enumerate(zip(values, pairs, strict=True))
        ]

    return read


def _single_row(row: Any, names: Sequence[str] | None) -> list[Any]:
    """Return the values of an array, or of a data frame of one row, in the order of the features."""
    if hasattr(row, "columns"):
        if len(row) != 1:
            raise InputError(f"The frame has {len(row)} rows; one is expected.")
        found = list(row.columns)
        # iat of pandas takes half the time of to_numpy.
        values = [row.iat[0, j] for j in range(len(found))] if hasattr(row, "iat") else row.row(0)
        if names is None or found == list(names):
            return list(values)
        by_name = dict(zip(found, values, strict=True))
        try:
            return [by_name[name] for name in names]
        except KeyError as error:
            raise InputError(f"The row has no value for column {show_value(error.args[0])}.") from None
    array = np.asarray(row, dtype=object) if not isinstance(row, np.ndarray) else row
    if array.ndim == 2 and len(array) == 1:
        array = array[0]
    if array.ndim != 1:
        raise InputError(f"A row has one dimension; this has the shape {array.shape}.")
    found_values: list[Any] = array.tolist()
    return found_values


# ---- expressions ----


def _compile(expression: Expression, known: dict[int, Compute]) -> Compute:
    """Return a function that computes an expression; equal ones are compiled once."""
    if id(expression) not in known:
        makers: dict[type, Callable[[Any, dict[int, Compute]], Compute]] = {
            Trees: _trees,
            Linear: _linear,
            Constant: lambda one, _: lambda _row: np.asarray(one.values),
            Apply: _apply,
            WeightedSum: _weighted,
            Place: _place,
            OneHot: _one_hot,
        }
        known[id(expression)] = makers[type(expression)](expression, known)
    return known[id(expression)]


def _columns(columns: tuple[Column, ...], known: dict[int, Compute]) -> Callable[[list[float]], list[float]]:
    if all(isinstance(one, Feature) and one.index == j for j, one in enumerate(columns)):
        return lambda row: row
    getters = [_column(column, known) for column in columns]
    return lambda row: [get(row) for get in getters]


def _column(column: Column, known: dict[int, Compute]) -> Callable[[list[float]], float]:
    j = column.index
    if isinstance(column, Feature):
        return lambda row: row[j]
    if isinstance(column, CategoryMeans):
        means = column.means.tolist()
        return lambda row: means[-1 if math.isnan(row[j]) else int(row[j])]
    compute = _compile(column.of, known)
    return lambda row: float(compute(row)[j])


def _trees(expression: Trees, known: dict[int, Compute]) -> Compute:
    columns = _columns(expression.columns, known)
    ensemble, per_round = expression.ensemble, expression.per_round
    predictor = Predictor(ensemble, per_round)
    shape = (1, per_round) if per_round else (1, *ensemble.value.shape[1:])
    start = expression.start.reshape(shape) if expression.start.any() else None
    divisor = expression.divisor
    schema = Schema((), False)

    def compute(row: list[float]) -> Floats:
        block: NDArray[np.float64] = np.array([columns(row)])
        sums = predictor.sum(Table(schema, 1, block), start=start).reshape(-1)
        return sums if divisor == 1.0 else sums / divisor

    return compute


def _linear(expression: Linear, known: dict[int, Compute]) -> Compute:
    columns = _columns(expression.columns, known)
    fill, coefficients, intercept = expression.fill, expression.coefficients, expression.intercept
    begins = np.concatenate([[0], np.cumsum(expression.widths)]).tolist()
    one_hot, n = expression.one_hot, len(expression.fill)

    def compute(row: list[float]) -> Floats:
        numbers = np.zeros(n)
        for j, value in enumerate(columns(row)):
            begin, end = begins[j], begins[j + 1]
            if math.isnan(value):
                numbers[begin:end] = fill[begin:end]
            elif one_hot[j]:
                numbers[begin + int(value)] = 1.0
            else:
                numbers[begin] = value
        if np.isnan(numbers).any():
            raise InputError("A value of the row is missing, and the model has no value for it.")
        return np.asarray(coefficients @ numbers + intercept)

    return compute


def _apply(expression: Apply, known: dict[int, Compute]) -> Compute:
    of, factor = _compile(expression.of, known), expression.factor

    def simplex(sums: Floats) -> Floats:
        ranked = -np.sort(-sums)
        excess = (np.cumsum(ranked) - 1.0) / np.arange(1, len(sums) + 1)
        return np.asarray(np.maximum(sums - excess[(ranked > excess).sum() - 1], 0.0))

    functions: dict[str, Callable[[Floats], Floats]] = {
        "sigmoid": lambda scores: np.asarray(expit(factor * scores)),
        "softmax": softmax,
        "log": lambda shares: log(np.maximum(shares, factor)),
        "exp": lambda scores: exp(np.clip(scores, -_MAX_EXPONENT, _MAX_EXPONENT)),
        "complement": lambda mean: np.array([1.0 - mean[0], mean[0]]),
        "normalize": lambda each: np.asarray(each / max(each.sum(), np.finfo(np.float64).tiny)),
        "center": lambda scores: np.asarray(scores - scores.mean()),
        "simplex": simplex,
    }
    function = functions[expression.function]
    return lambda row: function(of(row))


def _weighted(expression: WeightedSum, known: dict[int, Compute]) -> Compute:
    parts = [_compile(part, known) for part in expression.parts]
    pairs = list(zip(parts, expression.weights, strict=True))

    def compute(row: list[float]) -> Floats:
        total: Floats = pairs[0][1] * pairs[0][0](row)
        for part, weight in pairs[1:]:
            total = total + weight * part(row)
        return np.asarray(total / expression.divisor)

    return compute


def _place(expression: Place, known: dict[int, Compute]) -> Compute:
    of, positions = _compile(expression.of, known), list(expression.positions)

    def compute(row: list[float]) -> Floats:
        out = np.zeros(expression.width)
        out[positions] = of(row)
        return out

    return compute


def _one_hot(expression: OneHot, known: dict[int, Compute]) -> Compute:
    decide, identity = _decision(expression.decision, known), np.eye(expression.width)
    return lambda row: np.asarray(identity[decide(row)])


def _decision(decision: Decision, known: dict[int, Compute]) -> Callable[[list[float]], int]:
    of, above = _compile(decision.of, known), decision.above
    if above is None:
        return lambda row: int(of(row).argmax())
    return lambda row: int(of(row)[-1] > above)

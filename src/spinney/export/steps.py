"""Expressions as a list of steps, which model files hold: a step refers to earlier ones by their positions.

So nothing contains itself, what is used twice is stored once, and every number is checked in one pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, NamedTuple, get_args

import numpy as np

from spinney.data.schema import Schema
from spinney.export.expressions import (
    Apply,
    CategoryMeans,
    Column,
    Computed,
    Constant,
    Decision,
    Expression,
    Feature,
    Function,
    KernelSum,
    Linear,
    OneHot,
    Place,
    Trees,
    WeightedSum,
)
from spinney.io import require
from spinney.tree.ensemble import TreeEnsemble

MAX_DEPTH = 64
"""Steps from a result down to the columns."""
MAX_WIDTH = 1 << 24
"""Numbers per row of all steps together."""
KERNELS = ("poly", "rbf", "laplacian", "sigmoid")
_FUNCTIONS = get_args(Function)
_EXPRESSIONS = get_args(Expression)


# ---- writing ----


def to_steps(roots: Iterable[Expression]) -> tuple[list[dict[str, Any]], dict[int, int]]:
    """Return the steps that compute some expressions, and the position of the step of each, by its identity.

    >>> steps, position = to_steps([ones := Constant(np.ones(1)), Apply("exp", ones)])
    >>> steps[1], position[id(ones)]
    ({'kind': 'Apply', 'function': 'exp', 'of': 0, 'factor': 1.0}, 0)
    """
    steps: list[dict[str, Any]] = []
    position: dict[int, int] = {}

    def write(value: Any) -> Any:
        if isinstance(value, _EXPRESSIONS):
            if id(value) not in position:
                step = {field.name: write(getattr(value, field.name)) for field in fields(value)}
                position[id(value)] = len(steps)
                steps.append({"kind": type(value).__name__, **step})
            return position[id(value)]
        if isinstance(value, Feature):
            return value.index
        if isinstance(value, CategoryMeans | Computed | Decision):
            parts = {field.name: write(getattr(value, field.name)) for field in fields(value)}
            return [type(value).__name__, *parts.values()]
        if type(value) is tuple:
            return tuple(map(write, value))
        return value.item() if isinstance(value, np.generic) else value

    for root in roots:
        write(root)
    return steps, position


# ---- reading ----


class Known(NamedTuple):
    """What the steps before have: expressions, their widths and depths by identity, features, classes."""

    schema: Schema
    n_classes: int
    expressions: list[Expression]
    widths: dict[int, int]
    depths: dict[int, int]

    def get(self, position: Any) -> Expression:
        """Return the expression of an earlier step.

        >>> known.get(0)  # doctest: +SKIP
        """
        require(_is_index(position, len(self.expressions)), "a step refers to none before it")
        found: Expression = self.expressions[position]
        return found

    def width(self, expression: Expression) -> int:
        """Return the number of outputs of an expression.

        >>> known.width(known.get(0))  # doctest: +SKIP
        """
        return self.widths[id(expression)]

    def n_decided(self, decision: Decision) -> int:
        """Return the number of indexes that a decision chooses among.

        >>> known.n_decided(decision)  # doctest: +SKIP
        """
        return self.width(decision.of) if decision.above is None else 2

    def n_categories(self, column: Column) -> int:
        """Return the number of categories of a column, 0 for numbers.

        >>> known.n_categories(Feature(0))  # doctest: +SKIP
        """
        feature = self.schema.features[column.index] if isinstance(column, Feature) else None
        return len(feature.categories) if feature is not None and feature.kind == "categorical" else 0

    def is_numeric(self, column: Column) -> bool:
        """Return whether a column holds numbers.

        >>> known.is_numeric(Feature(0))  # doctest: +SKIP
        """
        return not isinstance(column, Feature) or self.schema.features[column.index].kind == "numeric"


def from_steps(steps: Any, schema: Schema, n_classes: int) -> Known:
    """Build the expressions of unchecked steps; ModelFileError names what is wrong.

    >>> from spinney.data import read_table
    >>> step = {"kind": "Constant", "values": np.ones(2)}
    >>> known = from_steps([step], read_table([[1.0]]).schema, 2)
    >>> known.width(known.get(0))
    2
    """
    require(type(steps) is list, "the steps are not a list")
    known = Known(schema, n_classes, [], {}, {})
    for step in steps:
        require(type(step) is dict, "a step is not a dict")
        values = dict(step)
        kind = values.pop("kind", None)
        reader = _READERS.get(kind) if type(kind) is str else None
        require(reader is not None, "a step is of no known kind")
        assert reader is not None
        names = {field.name for field in fields(reader.made)}
        require(set(values) == names, f"a step {kind} does not have the parts of one")
        values, depth = _resolve(values, known)
        width = reader.check(values, known)
        made = reader.made(**values)
        known.expressions.append(made)
        known.widths[id(made)], known.depths[id(made)] = width, depth
    require(sum(known.widths.values()) <= MAX_WIDTH, "the steps have too many numbers per row")
    return known


def read_decision(stored: Any, known: Known) -> Decision:
    """Return a decision of unchecked data."""
    valid = type(stored) is list and len(stored) == 3 and type(stored[0]) is str and stored[0] == "Decision"
    require(valid, "a decision is not valid")
    of, above = known.get(stored[1]), stored[2]
    require(above is None or _is_number(above), "the threshold of a decision is not a number")
    return Decision(of, above)


def _resolve(values: dict[str, Any], known: Known) -> tuple[dict[str, Any], int]:
    """Replace positions of steps by their expressions; return them with the depth of the new step."""
    used: list[Expression] = []

    def expression(position: Any) -> Expression:
        found = known.get(position)
        used.append(found)
        return found

    def column(stored: Any) -> Column:
        if type(stored) is int:
            require(0 <= stored < known.schema.n_features, "a step reads a feature that there is not")
            return Feature(stored)
        valid = type(stored) is list and len(stored) == 3 and type(stored[0]) is str
        require(valid and stored[0] in ("CategoryMeans", "Computed"), "a column of a step is not valid")
        if stored[0] == "Computed":
            of = expression(stored[1])
            require(_is_index(stored[2], known.width(of)), "a step reads a number that there is not")
            return Computed(of, stored[2])
        index, means = stored[1:]
        require(_is_index(index, known.schema.n_features), "a step reads a feature that there is not")
        feature = known.schema.features[index]
        valid = feature.kind == "categorical" and _is_array(means, (len(feature.categories) + 1,))
        require(valid and np.isfinite(means).all(), "the means of the categories are not valid")
        return CategoryMeans(index, means)

    resolved = dict(values)
    for name in ("columns", "parts"):
        if name in values:
            require(type(values[name]) is tuple, f"the {name} of a step are not a tuple")
            one = column if name == "columns" else expression
            resolved[name] = tuple(map(one, values[name]))
    if "of" in values:
        resolved["of"] = expression(values["of"])
    if "decision" in values:
        resolved["decision"] = read_decision(values["decision"], known)
        used.append(resolved["decision"].of)
    depth = 1 + max((known.depths[id(one)] for one in used), default=0)
    require(depth <= MAX_DEPTH, f"the steps are nested more than {MAX_DEPTH} levels deep")
    return resolved, depth


# ---- rules of each kind; they return its width ----


def _is_index(value: Any, n: int) -> bool:
    return type(value) is int and 0 <= value < n


def _is_number(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)


def _are_numbers(values: Any, n: int) -> bool:
    return type(values) is tuple and len(values) == n and all(map(_is_number, values))


def _is_array(value: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float64 and value.shape == shape


def _are_known(value: Any, n: int | None = None) -> bool:
    """Return whether a value is a vector of numbers other than NaN, of a given length."""
    length = n if n is not None else len(value) if isinstance(value, np.ndarray) and value.ndim == 1 else -1
    return _is_array(value, (length,)) and not bool(np.isnan(value).any())


def _check_trees(values: dict[str, Any], known: Known) -> int:
    ensemble, per_round, columns = values["ensemble"], values["per_round"], values["columns"]
    require(type(ensemble) is TreeEnsemble, "the trees of a step are none")
    require(ensemble.n_features == len(columns), "the trees of a step have other columns")
    ensemble.validate([known.n_categories(column) for column in columns])
    width = ensemble.n_outputs * ensemble.width
    if per_round is not None:
        valid = type(per_round) is int and per_round >= 1 and ensemble.n_trees % per_round == 0
        require(valid and width == 1, "the trees of a step are no rounds")
        width = per_round
    require(_are_known(values["start"], width), "the start of a sum of trees is not valid")
    require(_is_number(values["divisor"]) and values["divisor"] > 0, "the divisor of a step is not valid")
    return int(width)


def _check_linear(values: dict[str, Any], known: Known) -> int:
    columns, widths, one_hot, fill = (values[name] for name in ("columns", "widths", "one_hot", "fill"))
    valid = type(one_hot) is tuple and len(one_hot) == len(columns)
    require(
        valid and all(type(one) is bool for one in one_hot), "the one-hot columns of a step are not valid"
    )
    expected = [
        known.n_categories(column) if coded else 1 for column, coded in zip(columns, one_hot, strict=True)
    ]
    numeric = [known.is_numeric(column) for column in columns]
    require(
        numeric == [not coded for coded in one_hot], "a step takes numbers for categories, or the reverse"
    )
    valid = type(widths) is tuple and all(type(one) is int for one in widths) and list(widths) == expected
    require(valid, "the coding of the columns of a step does not fit them")
    valid = _is_array(fill, (sum(widths),)) and not np.isinf(fill).any()
    require(valid, "the numbers for missing values of a step are not valid")
    intercept, coefficients = values["intercept"], values["coefficients"]
    require(_are_known(intercept) and len(intercept) > 0, "the intercepts of a step are not valid")
    valid = _is_array(coefficients, (len(intercept), len(fill))) and not np.isnan(coefficients).any()
    require(valid, "the coefficients of a step are not valid")
    return len(intercept)


def _check_kernel_sum(values: dict[str, Any], known: Known) -> int:
    columns, coefficients = values["columns"], values["coefficients"]
    require(all(map(known.is_numeric, columns)) and len(columns) > 0, "a kernel takes numbers only")
    require(type(values["kernel"]) is str and values["kernel"] in KERNELS, "a kernel is not known")
    valid = all(_is_number(values[name]) for name in ("gamma", "coef0", "intercept"))
    require(valid and _is_index(values["degree"], 2**31), "the numbers of a kernel are not valid")
    require(_are_known(coefficients), "the coefficients of support vectors are not valid")
    valid = _is_array(values["vectors"], (len(coefficients), len(columns)))
    require(valid and np.isfinite(values["vectors"]).all(), "the support vectors are not valid")
    return 1


def _check_constant(values: dict[str, Any], known: Known) -> int:
    numbers: Any = values["values"]
    require(_are_known(numbers) and len(numbers) > 0, "a constant is not valid")
    return len(numbers)


def _check_apply(values: dict[str, Any], known: Known) -> int:
    function, width = values["function"], known.width(values["of"])
    require(type(function) is str and function in _FUNCTIONS, "a step applies an unknown function")
    require(_is_number(values["factor"]) and values["factor"] > 0, "the factor of a function is not valid")
    require(function != "complement" or width == 1, "a step takes the complement of several numbers")
    return 2 if function == "complement" else width


def _check_weighted_sum(values: dict[str, Any], known: Known) -> int:
    parts = values["parts"]
    widths = {known.width(part) for part in parts}
    require(len(widths) == 1, "the parts of a sum differ in width, or there are none")
    require(_are_numbers(values["weights"], len(parts)), "the weights of a sum are not valid")
    require(_is_number(values["divisor"]) and values["divisor"] != 0, "the divisor of a sum is not valid")
    return widths.pop()


def _check_place(values: dict[str, Any], known: Known) -> int:
    width, positions = values["width"], values["positions"]
    require(_is_index(width, known.n_classes + 1), "a step has more numbers than there are classes")
    valid = type(positions) is tuple and len(positions) == known.width(values["of"])
    valid = valid and all(_is_index(one, width) for one in positions)
    require(valid and len(set(positions)) == len(positions), "the positions of numbers are not valid")
    return int(width)


def _check_one_hot(values: dict[str, Any], known: Known) -> int:
    width = values["width"]
    valid = type(width) is int and width == known.n_decided(values["decision"])
    require(valid, "a step has another number of classes than its decision")
    return int(width)


class _Reader(NamedTuple):
    made: type[Any]
    check: Callable[[dict[str, Any], Known], int]


_READERS = {
    "Trees": _Reader(Trees, _check_trees),
    "Linear": _Reader(Linear, _check_linear),
    "KernelSum": _Reader(KernelSum, _check_kernel_sum),
    "Constant": _Reader(Constant, _check_constant),
    "Apply": _Reader(Apply, _check_apply),
    "WeightedSum": _Reader(WeightedSum, _check_weighted_sum),
    "Place": _Reader(Place, _check_place),
    "OneHot": _Reader(OneHot, _check_one_hot),
}

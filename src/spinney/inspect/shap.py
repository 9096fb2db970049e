"""SHAP values of sums of trees (path-dependent, interventional, interactions) and of linear models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney.core.arrays import Floats
from spinney.core.errors import InputError, show_value
from spinney.core.frames import free_name, to_frame
from spinney.core.parameters import thread_count
from spinney.data.schema import Schema, Table
from spinney.inspect.linear_sum import LinearSum
from spinney.tree.predictor import used_columns
from spinney.tree.tree_sum import TreeSum

# Below this many rows and trees, finding out the number of threads takes longer than the work itself.
_MIN_WORK_FOR_THREADS = 1 << 12


@dataclass(frozen=True, eq=False)
class ShapValues:
    """Contributions of the features to the output of each row.

    For every row the contributions and the base value sum to the output of the model. The attributes have
    the names and shapes of ``shap.Explanation``, which `to_explanation` returns.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features), or (n_rows, n_features, n_outputs)
        SHAP values. Interactions have the shape (n_rows, n_features, n_features), with a last axis for
        several outputs.
    base_values : ndarray of shape (n_rows,), or (n_rows, n_outputs)
        Mean output: over the training rows, or over the background.
    data : ndarray of shape (n_rows, n_features)
        The values of the features; of type object if some are categories.
    feature_names : tuple of str
        Names of the features.
    output_names : tuple of str
        Names of the outputs, empty if there is only one.
    space : {"raw", "probability", "value"}
        What the contributions sum to: raw scores, probabilities, or predicted values.

    Examples
    --------
    >>> from spinney import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor().fit([[0.0], [1.0]], [2.0, 3.0])
    >>> found = model.shap_values([[0.2]])
    >>> found.base_values.tolist(), found.values.tolist()
    ([2.5], [[-0.5]])
    """

    values: Floats
    base_values: Floats
    data: NDArray[Any]
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    space: Literal["raw", "probability", "value"]

    def __repr__(self) -> str:
        return f"ShapValues(shape={self.values.shape}, space={self.space!r})"

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_interaction(self) -> bool:
        """Whether the values are interactions of pairs of features."""
        return self.values.ndim - self.base_values.ndim == 2

    def select(self, output: str | int) -> ShapValues:
        """Return the contributions to one output.

        Parameters
        ----------
        output : str or int
            Name or position of the output.

        Returns
        -------
        ShapValues
            The same rows.

        Examples
        --------
        >>> model.shap_values(X).select("ripe").values.shape  # doctest: +SKIP
        (17, 8)
        """
        if not self.output_names:
            raise InputError("These SHAP values are of one output, so there is none to select")
        if output in self.output_names:
            at = self.output_names.index(output)
        elif isinstance(output, int | np.integer) and -len(self.output_names) <= output < len(
            self.output_names
        ):
            at = int(output)
        else:
            raise InputError(
                f"There is no output {show_value(output)}; outputs: {', '.join(self.output_names)}"
            )
        return replace(
            self, values=self.values[..., at], base_values=self.base_values[..., at], output_names=()
        )

    def largest(self, row: int = 0, n: int | None = None) -> list[tuple[str, Any, float]]:
        """Return the contributions to one row, those of the largest size first.

        Parameters
        ----------
        row : int, default=0
            Position of the row.
        n : int or None, default=None
            Number of features; None is all.

        Returns
        -------
        list of tuple
            Name, value and contribution of each feature.

        Examples
        --------
        >>> from spinney import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor().fit([[0.0, 5.0], [1.0, 5.0]], [2.0, 3.0])
        >>> model.shap_values([[0.2, 5.0]]).largest(n=1)
        [('x0', 0.2, -0.5)]
        """
        if self.values.ndim != 2:
            raise InputError(
                "These SHAP values are of several outputs, or of pairs of features",
                fix="Call select(output) first, and leave interactions out.",
            )
        own, values = self.values[row], self.data[row].tolist()
        order = np.argsort(-np.abs(own), kind="stable")[:n]
        return [(self.feature_names[at], values[at], float(own[at])) for at in order]

    def mean_abs(self) -> Floats:
        """Return the mean absolute SHAP value of each feature, its importance.

        Returns
        -------
        ndarray of shape (n_features,), or (n_features, n_outputs)
            The importances. Interactions have one per pair of features.
        """
        mean: Floats = np.abs(self.values).mean(axis=0)
        return mean

    def to_frame(self) -> Any:
        """Return the contributions as a data frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One line per row and output, with the base value and a column per feature. Interactions have one
            line per row, output and pair of features.

        Examples
        --------
        >>> model.shap_values(X).to_frame()  # doctest: +SKIP
        """
        n_rows, names = len(self), self.output_names or ("",)
        n_outputs = len(names)
        values = self.values.reshape(*self.values.shape[: 3 if self.is_interaction else 2], n_outputs)
        columns: dict[str, Any] = {"row": np.repeat(np.arange(n_rows), n_outputs)}
        if self.output_names:
            columns["output"] = list(names) * n_rows
        base = self.base_values.reshape(n_rows, n_outputs)
        if not self.is_interaction:
            by_feature = zip(self.feature_names, np.moveaxis(values, 1, 0), strict=True)
            columns["base_value"] = base.ravel()
            for name, part in by_feature:
                columns[free_name(name, columns)] = part.ravel()
            return to_frame({name: list(column) for name, column in columns.items()})
        n = len(self.feature_names)
        columns = {name: np.repeat(column, n * n) for name, column in columns.items()}
        columns["feature"] = [one for one in self.feature_names for _ in range(n)] * (n_rows * n_outputs)
        columns["other"] = list(self.feature_names) * (n * n_rows * n_outputs)
        columns["interaction"] = np.moveaxis(values, 3, 1).ravel()
        return to_frame({name: list(column) for name, column in columns.items()})

    def to_explanation(self) -> Any:
        """Return the contributions as ``shap.Explanation``, which the plots of the shap package take.

        Returns
        -------
        shap.Explanation
            The same numbers; the shap package must be installed.

        Examples
        --------
        >>> shap.plots.beeswarm(model.shap_values(X).to_explanation())  # doctest: +SKIP
        """
        try:
            shap = import_module("shap")
        except ImportError as error:
            raise ImportError("to_explanation needs the shap package: pip install shap.") from error
        return shap.Explanation(
            values=self.values,
            base_values=self.base_values,
            data=self.data,
            feature_names=list(self.feature_names),
            output_names=list(self.output_names) or None,
        )


def shap_values(
    model: Any,
    X: Any,
    *,
    background: Any = None,
    interactions: bool = False,
    output: Literal["raw", "probability"] | None = None,
    n_jobs: int | None = None,
) -> ShapValues:
    """Compute exact SHAP values of a model that is a sum of trees, or linear.

    Trees, forests, gradient boosting, AdaBoost classifiers and bagged trees have them, whatever their splits:
    category sets, multiway splits and fractional instances included; and so have weighted means of such
    models, where they are additive: voting, ensemble selection, and stacks of regressors with a linear final
    estimator. Linear models need background rows. The result has the same bits for any number of threads.

    Without a background, absent features are averaged by the training weight on each side of a split
    ("path-dependent" TreeSHAP, Lundberg et al. 2018). The integrals of the Shapley values are computed by
    Gauss–Legendre quadrature, which is exact here (Wettenstein, Mitchell and Yu 2026). With background rows,
    absent features take the values of these rows ("interventional").

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        Rows to explain.
    background : array-like or data frame of shape (n_background, n_features) or None, default=None
        Background rows; 100 to 1000 are usual. None is path-dependent.
    interactions : bool, default=False
        Whether to divide the contributions among pairs of features: the diagonal has the main effects, and
        the interaction of two features is divided equally between (i, j) and (j, i). Not with a background.
    output : {"raw", "probability"} or None, default=None
        What to explain: raw scores, or class probabilities, where the model is a sum of them. None is
        probabilities for trees, forests and bagging, and raw scores for boosting.
    n_jobs : int or None, default=None
        Number of threads; None is that of the model.

    Returns
    -------
    ShapValues
        Contributions, base values and the rows.

    Raises
    ------
    InputError
        If the model is not a sum of trees in this space, or has oblique splits.

    Examples
    --------
    >>> from spinney import RandomForestRegressor
    >>> from spinney.inspect import shap_values
    >>> X, y = [[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 0.0]], [0.0, 1.0, 2.0, 3.0]
    >>> model = RandomForestRegressor(10, random_state=0).fit(X, y)
    >>> found = shap_values(model, X)
    >>> bool(abs(found.values.sum(axis=1) + found.base_values - model.predict(X)).max() < 1e-12)
    True
    """
    if interactions and background is not None:
        raise InputError(
            "Interactions are computed without background rows only", fix="Leave out the background."
        )
    if hasattr(model, "additive_members"):
        options = {"background": background, "interactions": interactions, "output": output, "n_jobs": n_jobs}
        return _sum_of_members(model, X, options)
    if hasattr(model, "linear_sum"):
        return _of_linear_sum(model, X, background, output)
    total = find_tree_sum(model, output)
    total.check_axis_parallel("SHAP values")
    table = total.read(X)
    _check_votes(total, table)
    explainer = total.explainer()
    columns = used_columns(table, explainer.used_features)
    large = table.n_rows * total.trees.n_trees >= _MIN_WORK_FOR_THREADS
    n_threads = thread_count(total.n_jobs if n_jobs is None else n_jobs) if large or n_jobs else 1
    if background is not None:
        others = total.read(background)
        _check_votes(total, others)
        if others.n_rows == 0:
            raise InputError("The background has no rows")
        values, base = explainer.interventional(
            columns, used_columns(others, explainer.used_features), n_threads, table.n_rows, others.n_rows
        )
    else:
        compute = explainer.interactions if interactions else explainer.values
        values, base = compute(columns, n_threads, table.n_rows), explainer.base()
    values = values[..., total.columns] * total.scale
    base = base[total.columns] * total.scale + total.offset
    single = not total.output_names
    return ShapValues(
        values[..., 0] if single else values,
        np.full(table.n_rows, base[0]) if single else np.tile(base, (table.n_rows, 1)),
        _values_of(total.schema, X, table),
        total.schema.names,
        total.output_names,
        total.space,
    )


def _sum_of_members(model: Any, X: Any, options: Mapping[str, Any]) -> ShapValues:
    """Return the SHAP values of a weighted sum of models: contributions are additive."""
    offset, added = model.additive_members()
    weights, members = zip(*added, strict=True)
    parts = [shap_values(member, X, **options) for member in members]
    first = parts[0]
    wanted = "probability" if hasattr(model, "classes_") else "value"
    for part, member in zip(parts, members, strict=True):
        if part.space != wanted or part.output_names != first.output_names:
            raise InputError(
                f"The output of {type(model).__name__} is not a sum of contributions, because its member "
                f"{type(member).__name__} is explained as {part.space}, not as {wanted}",
                fix="Explain the members in estimators_.",
            )
    pairs = list(zip(weights, parts, strict=True))
    values = np.asarray(sum(weight * part.values for weight, part in pairs))
    base = np.asarray(sum((weight * part.base_values for weight, part in pairs), offset))
    return replace(first, values=values, base_values=base)


def _of_linear_sum(model: Any, X: Any, background: Any, output: str | None) -> ShapValues:
    """Return the SHAP values of a linear model."""
    check_is_fitted(model)
    total: LinearSum = model.linear_sum()
    if background is None:
        raise InputError(
            f"SHAP values of {type(model).__name__} compare rows with background rows",
            fix="Pass background=, for example the training rows.",
        )
    if output == "probability":
        raise InputError(
            f"{type(model).__name__} is a sum of raw scores, and probabilities are no sum of them",
            fix='Use output="raw".',
        )
    values, base = total.contributions(X, background)
    single = not total.output_names
    return ShapValues(
        values[..., 0] if single else values,
        np.full(len(values), base[0]) if single else np.tile(base, (len(values), 1)),
        _values_of(total.schema, X, total.schema.read(X)),
        total.schema.names,
        total.output_names,
        total.space,
    )


def find_tree_sum(model: Any, output: str | None = None) -> TreeSum:
    """Return a model as a sum of trees in the space of an output; raise InputError if it is none."""
    check_is_fitted(model)
    if not hasattr(model, "tree_sum"):
        raise InputError(
            f"{type(model).__name__} is not a sum of trees, so it has no exact SHAP values here",
            fix="Explain its members, or use spinney.inspect.permutation_importance.",
        )
    total: TreeSum = model.tree_sum()
    if output is not None and output not in ("raw", "probability"):
        raise InputError(f'output must be "raw", "probability" or None, not {show_value(output)}')
    # Probabilities of trees are their raw output; there is nothing before a link.
    if output == "probability" and total.space != "probability":
        kind = "raw scores" if total.space == "raw" else "predicted values"
        raise InputError(
            f"The trees of {type(model).__name__} sum to {kind}, and probabilities are no sum of them",
            fix='Use output="raw".',
        )
    return total


def _check_votes(total: TreeSum, table: Table) -> None:
    """Raise InputError if missing values divide a row of voting trees: its vote is no sum over leaves."""
    if not total.votes or not total.is_fractional:
        return
    for j in range(table.n_features):
        column = table.column(j)
        missing = column < 0 if column.dtype == np.int32 else np.isnan(column)
        if missing.any():
            raise InputError(
                f"Row {int(missing.argmax())} has a missing value in {table.schema.names[j]!r}, which "
                "divides it among leaves, and the vote of a divided row is not a sum of contributions",
                fix="Fill in the missing values, or fit members with missing='direction'.",
            )


def _values_of(schema: Schema, X: Any, table: Table) -> NDArray[Any]:
    """Return the values of the features as an array, categories as they are."""
    if table.block is not None:
        return np.asarray(table.block)
    if not schema.categorical.any():
        return np.column_stack([np.asarray(table.column(j), float) for j in range(schema.n_features)])
    plain = schema.read(X) if table.schema is not schema else table
    out = np.empty((table.n_rows, schema.n_features), dtype=object)
    for j, feature in enumerate(schema.features):
        column = plain.column(j)
        if feature.kind == "categorical":
            known: Sequence[Any] = (*feature.categories, None)
            out[:, j] = [known[code] for code in column.tolist()]
        else:
            out[:, j] = column
    return out

"""Partial dependence, individual conditional expectations and accumulated local effects of sums of trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError, show_value, suggest_columns
from spinney.core.frames import free_name, to_frame
from spinney.core.parameters import thread_count
from spinney.data.schema import Schema, Table
from spinney.inspect.shap import find_tree_sum
from spinney.tree.predictor import used_columns
from spinney.tree.tree_sum import TreeSum

Kind = Literal["average", "individual", "accumulated"]


@dataclass(frozen=True, eq=False)
class Dependence:
    """How the output of a model depends on one or two features.

    Attributes
    ----------
    features : tuple of str
        Names of the features.
    grid : tuple of ndarray
        Points of each feature: numbers, or categories.
    values : ndarray of shape (n_points, …)
        Outputs at the points, with one axis per feature. ``kind="individual"`` has a first axis for the rows,
        and several outputs have a last axis.
    kind : {"average", "individual", "accumulated"}
        Partial dependence, individual conditional expectations, or accumulated local effects.
    output_names : tuple of str
        Names of the outputs, empty if there is only one.
    space : {"raw", "probability", "value"}
        What the outputs are.

    Examples
    --------
    >>> partial_dependence(model, X, "age").to_frame()  # doctest: +SKIP
    """

    features: tuple[str, ...]
    grid: tuple[NDArray[Any], ...]
    values: Floats
    kind: Kind
    output_names: tuple[str, ...]
    space: Literal["raw", "probability", "value"]

    def to_frame(self) -> Any:
        """Return the dependence as a data frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One line per point, and per row if there are individual ones; a column per feature and output.
        """
        names = self.output_names or ("value",)
        values = self.values if self.output_names else self.values[..., None]
        lengths = values.shape[:-1]
        axes = np.meshgrid(*(np.arange(n) for n in lengths), indexing="ij")
        columns: dict[str, Any] = {"row": axes[0].ravel().tolist()} if self.kind == "individual" else {}
        for name, points, axis in zip(self.features, self.grid, axes[len(columns) :], strict=True):
            columns[free_name(name, columns)] = points[axis.ravel()].tolist()
        for k, name in enumerate(names):
            columns[free_name(name, columns)] = values[..., k].ravel().tolist()
        return to_frame(columns)


def partial_dependence(
    model: Any,
    X: Any,
    features: str | int | Sequence[str | int],
    *,
    kind: Kind = "average",
    grid: Any = None,
    max_points: int = 50,
    n_jobs: int | None = None,
) -> Dependence:
    """Compute the dependence of a sum of trees on one or two features.

    The output is averaged over the rows while the features take the points of a grid (partial dependence,
    Friedman 2001), or kept for every row (individual conditional expectations, Goldstein et al. 2015). Each
    row is sent down each tree once for all points.

    Accumulated local effects (Apley and Zhu 2020) sum mean differences between neighbouring points over the
    rows between them, and so do not use combinations of values that the data do not have. They are centred:
    their mean over the rows is 0. Of two features they are the second-order effects.

    Parameters
    ----------
    model : estimator
        A fitted model that is a sum of trees; oblique splits are not supported.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        Rows to average over.
    features : str, int or sequence of them
        Name or position of one feature, or of two.
    kind : {"average", "individual", "accumulated"}, default="average"
        What to compute. "accumulated" needs numeric features.
    grid : sequence, or sequence of sequences, or None, default=None
        Points of the feature, or of each of two features. None takes quantiles of X, or all categories.
    max_points : int, default=50
        Maximum number of points of a numeric feature.
    n_jobs : int or None, default=None
        Number of threads; None is that of the model.

    Returns
    -------
    Dependence
        Grid and outputs.

    Examples
    --------
    >>> from spinney import DecisionTreeRegressor
    >>> from spinney.inspect import partial_dependence
    >>> model = DecisionTreeRegressor().fit([[0.0], [1.0]], [2.0, 3.0])
    >>> partial_dependence(model, [[0.0], [1.0]], 0).values.tolist()
    [2.0, 3.0]
    """
    if kind not in ("average", "individual", "accumulated"):
        raise InputError(f'kind must be "average", "individual" or "accumulated", not {show_value(kind)}')
    total = find_tree_sum(model)
    total.check_axis_parallel("Partial dependences")
    schema = total.schema
    chosen = _positions(features, schema)
    given = [None] * len(chosen) if grid is None else [grid] if len(chosen) == 1 else list(grid)
    if len(given) != len(chosen):
        raise InputError(f"grid must have one sequence of points per feature; it has {len(given)}")
    table, plain = total.read(X), schema.read(X)
    if table.n_rows == 0:
        raise InputError("X has no rows to average over")
    grids = [
        _grid(plain, table, j, points, max_points, kind) for j, points in zip(chosen, given, strict=True)
    ]
    compute = _Responses(total, table, thread_count(total.n_jobs if n_jobs is None else n_jobs))
    if kind == "accumulated":
        values = _accumulate(compute, plain, chosen, [codes for codes, _ in grids])
    else:
        mesh = np.meshgrid(*(codes for codes, _ in grids), indexing="ij")
        found = compute.at(chosen, np.stack([axis.ravel() for axis in mesh]), kind == "individual")
        shape = (len(found), *(len(codes) for codes, _ in grids), found.shape[-1])
        values = found.reshape(shape) if kind == "individual" else found.reshape(shape[1:]) / table.n_rows
        values = values * total.scale + total.offset
    return Dependence(
        tuple(schema.names[j] for j in chosen),
        tuple(shown for _, shown in grids),
        values if total.output_names else values[..., 0],
        kind,
        total.output_names,
        total.space,
    )


class _Responses:
    """Sums of trees over the rows of a table with some features replaced."""

    def __init__(self, total: TreeSum, table: Table, n_threads: int) -> None:
        self.total, self.table, self.n_threads = total, table, n_threads
        self.core = total.explainer()
        self.columns = used_columns(table, self.core.used_features)

    def at(self, features: Sequence[int], points: Floats, individual: bool) -> Floats:
        """Return the sums at points (n_features, n_points), before scale and offset."""
        found: Floats = self.core.responses(
            self.columns, self.n_threads, self.table.n_rows, list(features), points, individual
        )
        return found[..., self.total.columns]

    def replaced(self, features: Sequence[int], values: Sequence[Floats]) -> Floats:
        """Return the output of every row with its own new values of some features.  -> (n_rows, n_outputs)"""
        new = {j: np.ascontiguousarray(v, np.float64) for j, v in zip(features, values, strict=True)}
        columns = [
            new.get(j, self.table.column(j) if j in set(self.core.used_features) else None)
            for j in range(self.table.n_features)
        ]
        none = np.empty((0, 1))
        found: Floats = self.core.responses(columns, self.n_threads, self.table.n_rows, [], none, True)
        return found[:, 0, self.total.columns] * self.total.scale


def _positions(features: str | int | Sequence[str | int], schema: Schema) -> list[int]:
    """Return the positions of one or two features."""
    items = [features] if isinstance(features, str | int | np.integer) else list(features)
    if len(items) not in (1, 2):
        raise InputError(f"features must be one feature or two; there are {len(items)}")
    positions = []
    for item in items:
        if isinstance(item, str) and item in schema.names:
            positions.append(schema.names.index(item))
        elif isinstance(item, int | np.integer) and -schema.n_features <= item < schema.n_features:
            positions.append(int(item) % schema.n_features)
        else:
            raise InputError(
                f"There is no feature {show_value(item)}", fix=suggest_columns(item, list(schema.names))
            )
    if len(set(positions)) < len(positions):
        raise InputError("features must be two different features")
    return positions


def _grid(
    plain: Table, encoded: Table, j: int, points: Any, max_points: int, kind: Kind
) -> tuple[Floats, NDArray[Any]]:
    """Return the points of a feature as the trees read them, and as they are shown."""
    feature = plain.schema.features[j]
    if feature.kind != encoded.schema.features[j].kind:
        raise InputError(
            f"{feature.name!r} is encoded by target statistics, which the points of a grid do not have",
            fix='Fit with categorical_encoding="subset", or use sklearn.inspection.partial_dependence.',
        )
    if feature.kind == "categorical":
        if kind == "accumulated":
            raise InputError(
                f"Accumulated local effects need an order, and {feature.name!r} has categories",
                fix='Use kind="average".',
            )
        shown = list(feature.categories) if points is None else list(points)
        unknown = [value for value in shown if value not in feature.code_of]
        if unknown:
            raise InputError(f"{feature.name!r} has no category {show_value(unknown[0])}")
        return np.array([feature.code_of[value] for value in shown], float), np.array(shown, dtype=object)
    if points is not None:
        numbers = np.asarray(points, dtype=np.float64)
        if numbers.ndim != 1 or not len(numbers):
            raise InputError("The points of a feature must be a sequence of numbers")
        return numbers, numbers
    known = np.asarray(plain.column(j), np.float64)
    known = np.unique(known[~np.isnan(known)])
    if not len(known):
        raise InputError(f"{feature.name!r} has only missing values in X", fix="Pass a grid.")
    if len(known) > max_points:
        known = np.unique(np.quantile(known, np.linspace(0, 1, max_points), method="closest_observation"))
    return known, known


# ---- accumulated local effects ----


def _accumulate(
    compute: _Responses, plain: Table, features: Sequence[int], grids: Sequence[Floats]
) -> Floats:
    """Return the accumulated local effects at the points.  -> (*n_points, n_outputs)"""
    bins, edges = [], []
    for j, grid in zip(features, grids, strict=True):
        if len(grid) < 2 or (np.diff(grid) <= 0).any():
            raise InputError("Accumulated local effects need at least two ascending points per feature")
        column = np.nan_to_num(np.asarray(plain.column(j), np.float64), nan=grid[0])
        at = np.clip(np.searchsorted(grid, column, side="left") - 1, 0, len(grid) - 2)
        bins.append(at)
        edges.append((grid[at], grid[at + 1]))
    if len(features) == 1:
        (low, high), (at,) = edges[0], bins
        step = compute.replaced(features, [high]) - compute.replaced(features, [low])
        effect, counts = _bin_means([at], step, [len(grids[0]) - 1])
        total = np.concatenate([np.zeros((1, step.shape[1])), np.cumsum(effect, axis=0)])
        middle = (total[1:] + total[:-1]) / 2
        return np.asarray(total - (counts[:, None] * middle).sum(axis=0) / counts.sum())
    (low, high), (under, over) = edges
    f = {
        (a, b): compute.replaced(features, [a_value, b_value])
        for a, a_value in enumerate((low, high))
        for b, b_value in enumerate((under, over))
    }
    step = f[1, 1] - f[0, 1] - f[1, 0] + f[0, 0]
    effect, counts = _bin_means(bins, step, [len(grid) - 1 for grid in grids])
    return _centre_pairs(effect, counts)


def _bin_means(
    bins: Sequence[NDArray[np.intp]], step: Floats, shape: Sequence[int]
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the mean differences per bin, 0 where there are no rows, and the numbers of rows."""
    flat = np.ravel_multi_index(tuple(bins), tuple(shape))
    size = int(np.prod(shape))
    counts = np.bincount(flat, minlength=size)
    sums = np.stack([np.bincount(flat, column, size) for column in step.T], axis=-1)
    means = sums / np.maximum(counts, 1)[:, None]
    return means.reshape(*shape, -1), counts.reshape(tuple(shape))


def _centre_pairs(effect: Floats, counts: NDArray[np.int64]) -> Floats:
    """Accumulate second-order differences, and subtract both first-order effects and the mean."""
    total = np.zeros((effect.shape[0] + 1, effect.shape[1] + 1, effect.shape[2]))
    total[1:, 1:] = effect.cumsum(axis=0).cumsum(axis=1)
    for axis in (0, 1):
        steps = np.diff(total, axis=axis)
        other = (steps[:, 1:] + steps[:, :-1]) / 2 if axis == 0 else (steps[1:] + steps[:-1]) / 2
        weights = counts[..., None]
        mean = (weights * other).sum(axis=1 - axis) / np.maximum(weights.sum(axis=1 - axis), 1)
        main = np.concatenate([np.zeros((1, mean.shape[1])), np.cumsum(mean, axis=0)])
        total = total - (main[:, None] if axis == 0 else main[None])
    corners = (total[1:, 1:] + total[1:, :-1] + total[:-1, 1:] + total[:-1, :-1]) / 4
    return np.asarray(total - (counts[..., None] * corners).sum(axis=(0, 1)) / max(int(counts.sum()), 1))

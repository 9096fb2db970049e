"""Plots of explanations with matplotlib: importances, SHAP values, dependence, rounds, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.calibration import calibration_curve
from sklearn.utils.validation import check_is_fitted

from spinney.core.arrays import Floats
from spinney.core.errors import InputError, InputTypeError, show_value, suggest_columns
from spinney.inspect.importances import Importances
from spinney.inspect.partial_dependence import Dependence
from spinney.inspect.shap import ShapValues
from spinney.inspect.wording import printable
from spinney.plotting.matplotlib_plots import new_axes, quiet_axes
from spinney.plotting.picture import FAINT_INK, INK, LINE, class_color

_UP, _DOWN, _UNKNOWN = "#d1495b", "#2e6fae", "#9aa0a6"
_COLORS = ("#2e6fae", "#7d5ba6", "#d1495b")  # from low to high values
_ROW_INCHES = 0.34
_UNITS = {"raw": "raw score", "probability": "probability", "value": "prediction"}


def plot_importance(importances: Importances, ax: Any = None, *, max_features: int = 20) -> Any:
    """Draw feature importances as bars, the largest on top, with their intervals.

    Parameters
    ----------
    importances : Importances
        What :func:`spinney.inspect.feature_importances` or `permutation_importance` returns.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into. By default those of a new figure.
    max_features : int, default=20
        Number of features to show.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> plot_importance(feature_importances(model)).figure.savefig("importance.png")  # doctest: +SKIP
    """
    _check_record(importances, Importances, "spinney.inspect.feature_importances")
    order = np.argsort(-importances.values, kind="stable")[:max_features][::-1]
    ax = new_axes("plot_importance", ax, (6.4, 1.0 + _ROW_INCHES * len(order)))
    spread = None
    if importances.low is not None and importances.high is not None:
        values = importances.values[order]
        spread = np.abs(np.stack([values - importances.low[order], importances.high[order] - values]))
    look = {"color": class_color(0), "height": 0.7, "ecolor": INK, "error_kw": {"linewidth": 1}}
    ax.barh(range(len(order)), importances.values[order], xerr=spread, **look)
    _name_rows(ax, [importances.names[i] for i in order])
    labels = {
        "gain": "total gain, as a fraction", "split": "number of splits, as a fraction",
        "shap": "mean |SHAP value|, as a fraction", "permutation": "decrease of the score",
    }  # fmt: skip
    ax.set_xlabel(labels[importances.kind], color=INK)
    quiet_axes(ax, "x")
    return ax


def plot_metric(model: Any, ax: Any = None) -> Any:
    """Draw the training and validation scores of gradient boosting against the rounds.

    Parameters
    ----------
    model : GradientBoostingClassifier or GradientBoostingRegressor
        A model that was fitted with early stopping or an ``eval_set``.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into. By default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; a vertical line marks the best round.

    Examples
    --------
    >>> plot_metric(model).figure.savefig("rounds.png")  # doctest: +SKIP
    """
    check_is_fitted(model)
    curves = {"training": "train_score_", "validation": "validation_score_"}
    known = {name: np.atleast_1d(getattr(model, attribute, ())) for name, attribute in curves.items()}
    known = {name: scores for name, scores in known.items() if len(scores)}
    if not known:
        raise InputError(
            f"This {type(model).__name__} has no scores per round",
            fix="Fit it with early_stopping=True or an eval_set.",
        )
    ax = new_axes("plot_metric", ax, (6.4, 4.0))
    for index, (name, scores) in enumerate(known.items()):
        ax.plot(np.arange(len(scores)), scores, color=class_color(index), linewidth=1.8, label=name)
    best = known.get("validation")
    if best is not None:
        at = int(np.nanargmax(best))
        ax.axvline(at, color=LINE, linewidth=1, linestyle="--")
        ax.annotate(f"best: {at}", (at, best[at]), (5, -14), textcoords="offset points", color=FAINT_INK)
    ax.set_xlabel("round", color=INK)
    ax.set_ylabel("score (higher is better)", color=INK)
    ax.legend(frameon=False, labelcolor=INK)
    quiet_axes(ax, "both")
    return ax


def plot_shap(
    values: ShapValues,
    kind: Literal["beeswarm", "bar", "waterfall", "dependence"] = "beeswarm",
    ax: Any = None,
    *,
    row: int = 0,
    feature: str | int | None = None,
    color_by: str | int | None = None,
    max_features: int = 15,
) -> Any:
    """Draw SHAP values: of all rows, of one row, or of one feature.

    Parameters
    ----------
    values : ShapValues
        SHAP values of one output; select it by ``values.select``.
    kind : {"beeswarm", "bar", "waterfall", "dependence"}, default="beeswarm"
        All values of the most important features, coloured by the value of the feature; their mean absolute
        values; how the features of one row lead from the base value to the output; or the SHAP values of one
        feature against its values.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into. By default those of a new figure.
    row : int, default=0
        Row of a waterfall.
    feature : str, int or None, default=None
        Feature of a dependence plot; None is the most important one.
    color_by : str, int or None, default=None
        Numeric feature that colours the points of a dependence plot.
    max_features : int, default=15
        Number of features to show; a waterfall sums the others.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> plot_shap(model.shap_values(X), "waterfall", row=3).figure.savefig("row.png")  # doctest: +SKIP
    """
    _check_record(values, ShapValues, "spinney.inspect.shap_values")
    if values.is_interaction:
        raise InputError("These are interactions of pairs", fix="Compute SHAP values without interactions.")
    if values.values.ndim == 3:
        raise InputError(
            f"There are {len(values.output_names)} outputs: {', '.join(values.output_names)}",
            fix=f"Draw one of them: values.select({values.output_names[-1]!r}).",
        )
    draw = {"beeswarm": _beeswarm, "bar": _bar, "waterfall": _waterfall, "dependence": _dependence}
    if kind not in draw:
        raise InputError(f"kind must be one of {', '.join(draw)}, not {show_value(kind)}")
    if kind == "waterfall":
        return _waterfall(values, ax, row, max_features)
    if kind == "dependence":
        return _dependence(values, ax, feature, color_by)
    return _beeswarm(values, ax, max_features) if kind == "beeswarm" else _bar(values, ax, max_features)


def _bar(values: ShapValues, ax: Any, max_features: int) -> Any:
    means = values.mean_abs()
    order = np.argsort(-means, kind="stable")[:max_features][::-1]
    ax = new_axes("plot_shap", ax, (6.4, 1.0 + _ROW_INCHES * len(order)))
    ax.barh(range(len(order)), means[order], color=class_color(0), height=0.7)
    _name_rows(ax, [values.feature_names[j] for j in order])
    ax.set_xlabel(f"mean |SHAP value|  ({_UNITS[values.space]})", color=INK)
    quiet_axes(ax, "x")
    return ax


def _beeswarm(values: ShapValues, ax: Any, max_features: int) -> Any:
    order = np.argsort(-values.mean_abs(), kind="stable")[:max_features][::-1]
    ax = new_axes("plot_shap", ax, (7.2, 1.2 + 1.25 * _ROW_INCHES * len(order)))
    ax.axvline(0, color=LINE, linewidth=1)
    points = None
    for place, j in enumerate(order.tolist()):
        shap = values.values[:, j]
        level = _levels(values.data[:, j])
        y = place + _swarm(shap, values.values)
        known = ~np.isnan(level)
        ax.scatter(shap[~known], y[~known], s=9, color=_UNKNOWN, linewidths=0)
        found = ax.scatter(
            shap[known], y[known], s=9, c=level[known], cmap=_color_map(), vmin=0, vmax=1, linewidths=0
        )
        points = found if known.any() else points
    _name_rows(ax, [values.feature_names[j] for j in order])
    ax.set_xlabel(f"SHAP value  ({_UNITS[values.space]})", color=INK)
    if points is not None:
        bar = ax.figure.colorbar(points, ax=ax, aspect=40, pad=0.02, ticks=[0, 1])
        bar.ax.set_yticklabels(["low", "high"], color=FAINT_INK)
        bar.set_label("value of the feature", color=INK, labelpad=-12)
        bar.outline.set_visible(False)
    quiet_axes(ax, "x")
    return ax


def _waterfall(values: ShapValues, ax: Any, row: int, max_features: int) -> Any:
    if not -len(values) <= row < len(values):
        raise InputError(f"row {row} is not one of the {len(values)} rows")
    shap, base = values.values[row], float(values.base_values[row])
    order = np.argsort(-np.abs(shap), kind="stable")
    shown = order[: max_features if len(order) <= max_features else max_features - 1]
    names = [f"{values.feature_names[j]} = {_value_text(values.data[row, j])}" for j in shown]
    steps = shap[shown].tolist()
    if len(shown) < len(order):
        names.append(f"{len(order) - len(shown)} other features")
        steps.append(float(shap[order[len(shown) :]].sum()))
    ax = new_axes("plot_shap", ax, (7.2, 1.4 + 1.2 * _ROW_INCHES * len(steps)))
    n, at = len(steps), base
    span = max(np.ptp([base, *(base + np.cumsum(steps[::-1]))]), 1e-300)
    for place, step in enumerate(steps[::-1]):
        ax.barh(place, step, left=at, color=_UP if step > 0 else _DOWN, height=0.7)
        ax.plot(
            [at + step, at + step], [place - 0.35, min(place + 1.35, n - 0.65)], color=LINE, linewidth=0.8
        )
        side = 1 if step >= 0 else -1
        ax.text(at + step + side * 0.01 * span, place, f"{step:+.3g}", color=FAINT_INK, fontsize=9,
                va="center", ha="left" if side > 0 else "right")  # fmt: skip
        at += step
    ax.axvline(base, color=LINE, linewidth=1, linestyle=":")
    _name_rows(ax, names[::-1])
    ax.use_sticky_edges = False
    ax.margins(x=0.14)
    ax.set_title(f"output {at:.4g}", color=INK, fontsize=10, loc="right")
    ax.set_xlabel(f"{_UNITS[values.space]}, from the base value {base:.4g}", color=INK)
    quiet_axes(ax, "x")
    return ax


def _dependence(values: ShapValues, ax: Any, feature: str | int | None, color_by: str | int | None) -> Any:
    j = int(values.mean_abs().argmax()) if feature is None else _position(values, feature)
    ax = new_axes("plot_shap", ax, (6.4, 4.4))
    column = values.data[:, j]
    x = _numbers(column)
    if x is None:  # categories side by side
        texts = [_value_text(item) for item in column]
        labels = sorted(set(texts))
        x = np.array([labels.index(text) for text in texts], float)
        ax.set_xticks(range(len(labels)), labels)
        x = x + np.random.default_rng(0).uniform(-0.18, 0.18, len(x))
    look: dict[str, Any] = {"color": class_color(0)}
    if color_by is not None:
        k = _position(values, color_by)
        level = _numbers(values.data[:, k])
        if level is None:
            raise InputError(f"{values.feature_names[k]!r} has categories, so it cannot colour the points")
        look = {"c": level, "cmap": _color_map()}
    points = ax.scatter(x, values.values[:, j], s=14, linewidths=0, alpha=0.8, **look)
    ax.axhline(0, color=LINE, linewidth=1)
    ax.set_xlabel(printable(values.feature_names[j]), color=INK, parse_math=False)
    ax.set_ylabel(f"SHAP value  ({_UNITS[values.space]})", color=INK)
    if color_by is not None:
        bar = ax.figure.colorbar(points, ax=ax, aspect=40, pad=0.02)
        bar.set_label(printable(values.feature_names[k]), color=INK, parse_math=False)
        bar.outline.set_visible(False)
    quiet_axes(ax, "both")
    return ax


def plot_dependence(dependence: Dependence, ax: Any = None, *, output: int = -1) -> Any:
    """Draw partial dependence, individual conditional expectations, or accumulated local effects.

    Parameters
    ----------
    dependence : Dependence
        What :func:`spinney.inspect.partial_dependence` returns, of one feature or two.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into. By default those of a new figure.
    output : int, default=-1
        Which of several outputs to draw.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Individual curves are faint, with their mean above them.

    Examples
    --------
    >>> plot_dependence(partial_dependence(model, X, "age")).figure.savefig("age.png")  # doctest: +SKIP
    """
    _check_record(dependence, Dependence, "spinney.inspect.partial_dependence")
    values = dependence.values[..., output] if dependence.output_names else dependence.values
    ax = new_axes("plot_dependence", ax, (6.4, 4.4))
    ticks, color = [_ticks(points) for points in dependence.grid], class_color(0)
    label = _UNITS[dependence.space]
    if dependence.kind == "accumulated":
        label = f"accumulated effect on the {label}"
    if len(dependence.features) == 1:
        if dependence.kind == "individual":
            ax.plot(ticks[0], values[:300].T, color=class_color(0), alpha=0.12, linewidth=0.8)
            values, color = values.mean(axis=0), INK
        by_category = dependence.grid[0].dtype == object
        ax.plot(ticks[0], values, color=color, linewidth=2, marker="o" if by_category else None)
        ax.set_ylabel(label, color=INK)
        quiet_axes(ax, "both")
    else:
        if dependence.kind == "individual":
            values = values.mean(axis=0)
        image = ax.pcolormesh(ticks[0], ticks[1], values.T, cmap=_color_map(), shading="nearest")
        ax.set_ylabel(printable(dependence.features[1]), color=INK, parse_math=False)
        bar = ax.figure.colorbar(image, ax=ax, aspect=40, pad=0.02)
        bar.set_label(label, color=INK)
        bar.outline.set_visible(False)
    ax.set_xlabel(printable(dependence.features[0]), color=INK, parse_math=False)
    for points, name in zip(dependence.grid, ("x", "y"), strict=False):
        if points.dtype == object:
            getattr(ax, f"set_{name}ticks")(range(len(points)), [printable(str(p)) for p in points])
    return ax


def plot_calibration(
    y: ArrayLike, probabilities: ArrayLike, ax: Any = None, *, n_bins: int = 10, name: str | None = None
) -> Any:
    """Draw how often the positive class occurs against its predicted probability.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of two classes.
    probabilities : array-like of shape (n_rows,) or (n_rows, 2)
        Predicted probabilities of the second class, or what ``predict_proba`` returns.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into, such as those of another model. By default those of a new figure.
    n_bins : int, default=10
        Number of bins with equal numbers of rows.
    name : str, optional
        Name in the legend.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; on the diagonal, probabilities are frequencies.

    Examples
    --------
    >>> plot_calibration(y, model.predict_proba(X)).figure.savefig("calibration.png")  # doctest: +SKIP
    """
    p = np.asarray(probabilities, np.float64)
    p = p[:, 1] if p.ndim == 2 and p.shape[1] == 2 else p
    labels = np.asarray(y)
    classes = np.unique(labels)
    if p.ndim != 1 or len(p) != len(labels) or len(classes) != 2:
        raise InputError(
            f"Calibration needs labels of two classes and one probability per row; there are {len(classes)} "
            f"classes, {len(labels)} labels and probabilities of shape {p.shape}"
        )
    frequency, mean = calibration_curve(labels, p, n_bins=n_bins, strategy="quantile", pos_label=classes[1])
    ax = new_axes("plot_calibration", ax, (4.8, 4.8))
    if not ax.get_lines():
        ax.plot([0, 1], [0, 1], color=LINE, linewidth=1, linestyle="--")
    index = sum(line.get_marker() == "o" for line in ax.get_lines())
    ax.plot(mean, frequency, marker="o", markersize=4, linewidth=1.6, color=class_color(index), label=name)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set_xlabel(f"predicted probability of {printable(str(classes[1]))}", color=INK, parse_math=False)
    ax.set_ylabel("observed frequency", color=INK)
    if name is not None:
        ax.legend(frameon=False, labelcolor=INK, loc="upper left")
    quiet_axes(ax, "both")
    return ax


# ---- parts ----


def _check_record(record: Any, kind: type, source: str) -> None:
    if not isinstance(record, kind):
        raise InputTypeError(
            f"{type(record).__name__} is not {kind.__name__}", fix=f"Pass what {source} returns."
        )


def _position(values: ShapValues, feature: str | int) -> int:
    names = values.feature_names
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, int | np.integer) and -len(names) <= feature < len(names):
        return int(feature) % len(names)
    raise InputError(f"There is no feature {show_value(feature)}", fix=suggest_columns(feature, list(names)))


def _name_rows(ax: Any, names: Sequence[str]) -> None:
    ax.set_yticks(range(len(names)), [_shorten(printable(name)) for name in names])
    for text in ax.get_yticklabels():
        text.set_parse_math(False)
    ax.set_ylim(-0.6, len(names) - 0.4)


def _shorten(text: str, length: int = 40) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _value_text(value: Any) -> str:
    """Return the value of a feature as text.

    >>> _value_text(22000.0), _value_text(0.123456), _value_text("pro"), _value_text(None)
    ('22000', '0.1235', 'pro', 'missing')
    """
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return "missing"
    if not isinstance(value, float | np.floating):
        return printable(str(value))
    size = float(value)
    return f"{size:.0f}" if 1e3 <= abs(size) < 1e15 else f"{size:.4g}"


def _numbers(column: NDArray[Any]) -> Floats | None:
    """Return a column as floats, None if it has categories."""
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _levels(column: NDArray[Any]) -> Floats:
    """Return the ranks of the values between 0 and 1; NaN for missing values and categories."""
    numbers = _numbers(column)
    if numbers is None:
        return np.full(len(column), np.nan)
    known = ~np.isnan(numbers)
    distinct, rank = np.unique(numbers[known], return_inverse=True)
    levels = np.full(len(numbers), np.nan)
    levels[known] = rank / max(len(distinct) - 1, 1)
    return levels


def _swarm(shap: Floats, every: Floats) -> Floats:
    """Return vertical offsets that keep points of similar SHAP values apart."""
    bins = np.floor((shap - every.min()) / max(float(np.ptp(every)), 1e-300) * 100).astype(int)
    offsets = np.zeros(len(shap))
    for one in np.unique(bins):
        here = np.flatnonzero(bins == one)
        ranks = np.arange(len(here))
        offsets[here] = np.where(ranks % 2, -1, 1) * ((ranks + 1) // 2)
    widest = max(np.abs(offsets).max(initial=0.0), 6.0)
    return np.asarray(offsets / widest * 0.38)


def _ticks(points: NDArray[Any]) -> NDArray[Any]:
    return np.arange(len(points)) if points.dtype == object else points


def _color_map() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("low-high", _COLORS)

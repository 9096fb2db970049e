"""The tab that replays boosting round by round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from spinney.plotting.picture import shorten
from spinney.reporting.drawing.charts import Chart, Scale
from spinney.reporting.drawing.markup import clean, data, figure, gallery, number, text
from spinney.reporting.replay import BOUND_NAMES, Axis, Frame, Replay

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def draw_replay(found: Replay) -> str:
    """Return the slider and what it moves: regions and points, ledger, margins."""
    last = len(found.frames) - 1
    frames: list[dict[str, Any]] = [
        {"r": one.round, "f": [[name, number(v)] for name, v in one.facts]} for one in found.frames
    ]
    figures = []
    if found.axes is not None and found.points:
        figures.append(_regions(found, frames))
    figures.append(_margins(found, frames))
    if (chart := _series(found, frames)) is not None:
        figures.append(chart)
    facts = "".join(
        f"<div><dt>{text(name)}</dt><dd>{number(value)}</dd></div>"
        for name, value in found.frames[last].facts
    )
    note = (
        ""
        if found.has_ledger
        else "<p class=faint>Fit with <code>ledger=True</code> to see losses and bounds of every round.</p>"
    )
    shown = (
        f"{len(found.frames)} of {found.n_rounds} rounds"
        if len(found.frames) < found.n_rounds
        else f"All {found.n_rounds} rounds"
    )
    return (
        f'<div class="controls"><button type="button" id="play" aria-pressed="false">Play</button>'
        f'<label class="slider grow">Round <output id="round">{found.frames[last].round}</output> of '
        f"{found.n_rounds}"
        f'<input type="range" id="rounds" min="0" max="{last}" step="1" value="{last}" '
        'aria-label="round"></label></div>'
        f'<dl class="facts small" id="round-facts">{facts}</dl>{note}{gallery(figures)}'
        f"<p class=faint>{shown}. Rows are those that the model was fitted to, if they were passed, else "
        "the reported ones.</p>" + data("replay-data", frames)
    )


def _regions(found: Replay, frames: list[dict[str, Any]]) -> str:
    assert found.axes is not None
    x_axis, y_axis = found.axes
    chart = Chart(
        _scale(x_axis), _scale(y_axis), label=f"decision regions of {x_axis.name} and {y_axis.name}",
        x_label=x_axis.name, y_label=y_axis.name, x_names=x_axis.levels, y_names=y_axis.levels, height=340,
    )  # fmt: skip
    lefts, rights = _cells(x_axis)
    lows, highs = _cells(y_axis)
    xs = [(chart.px(a), chart.px(b)) for a, b in zip(lefts, rights, strict=True)]
    ys = [(chart.py(b), chart.py(a)) for a, b in zip(lows, highs, strict=True)]
    for one, frame in zip(found.frames, frames, strict=True):
        frame["g"] = _paths(one, xs, ys, len(found.levels))
    last = frames[-1]
    chart.raw("".join(f'<path class="region c{k % 8}" d="{d}"/>' for k, d in enumerate(last["g"])))
    kept = [k for k, (a, b, _) in enumerate(found.points) if math.isfinite(a) and math.isfinite(b)]
    for one, frame in zip(found.frames, frames, strict=True):
        frame["s"] = "".join(_DIGITS[round(35 * one.sizes[k] ** 0.5)] for k in kept)
        frame["w"] = "".join("01"[one.wrong[k]] for k in kept)
    circles = []
    for place, k in enumerate(kept):
        a, b, level = found.points[k]
        shift = 0.3 * math.sin(12.9898 * k)
        x = chart.px(a + shift if x_axis.levels else a)
        y = chart.py(b + 0.3 * math.cos(78.233 * k) if y_axis.levels else b)
        radius = 1.5 + 5.5 * _DIGITS.index(last["s"][place]) / 35
        wrong = " wrong" if last["w"][place] == "1" else ""
        circles.append(
            f'<circle class="point c{level % 8}{wrong}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>'
        )
    chart.raw("".join(circles))
    keys = ", ".join(
        f'<span class="key c{k % 8}"></span>{text(shorten(name, 30))}' for k, name in enumerate(found.levels)
    )
    caption = (
        f"Prediction on {text(x_axis.name, 40)} and {text(y_axis.name, 40)}, other features as in a "
        "typical row. "
        f"Size of a point: {text(found.weight)}; ringed: wrong. {keys}"
    )
    return figure(chart.svg("regions"), caption)


def _scale(axis: Axis) -> Scale:
    if axis.levels:
        return Scale(-0.5, len(axis.levels) - 0.5)
    return Scale(axis.values[0], axis.values[-1])


def _cells(axis: Axis) -> tuple[list[float], list[float]]:
    """Return the edges of the cells around the values of a grid."""
    values = axis.values
    if axis.levels:
        return [v - 0.5 for v in values], [v + 0.5 for v in values]
    middles = [(a + b) / 2 for a, b in pairwise(values)]
    return [values[0], *middles], [*middles, values[-1]]


def _paths(
    one: Frame, xs: Sequence[tuple[float, float]], ys: Sequence[tuple[float, float]], n_levels: int
) -> list[str]:
    """Return the cells of each level as a path; neighbours in a row are joined."""
    paths = [""] * n_levels
    width = len(xs)
    for row, (top, bottom) in enumerate(ys):
        levels = one.regions[row * width : (row + 1) * width]
        start = 0
        for k in range(1, width + 1):
            if k == width or levels[k] != levels[start]:
                left, right = xs[start][0], xs[k - 1][1]
                paths[levels[start]] += f"M{left:.0f} {top:.1f}H{right:.0f}V{bottom:.1f}H{left:.0f}z"
                start = k
    return paths


def _margins(found: Replay, frames: list[dict[str, Any]]) -> str:
    every = [value for one in found.frames for value in one.margins]
    scale = Scale.around(every)
    chart = Chart(
        scale,
        Scale(0, 1),
        label=f"cumulative distribution of the {found.margin}",
        x_label=found.margin,
        y_label="share of the rows",
        height=340,
    )
    for one, frame in zip(found.frames, frames, strict=True):
        n = len(one.margins) - 1
        frame["m"] = " ".join(f"{chart.px(v):.0f},{chart.py(k / n):.0f}" for k, v in enumerate(one.margins))
    if scale.low < 0 < scale.high:
        chart.segment(0, 0, 0, 1, "guide")
    chart.raw(f'<polyline class="line c0" id="margin-line" points="{frames[-1]["m"]}"/>')
    return figure(chart.svg(), f"Cumulative distribution of the {text(found.margin)}")


def _series(found: Replay, frames: list[dict[str, Any]]) -> str | None:
    lines = [(name, values) for name, values in found.series if name in BOUND_NAMES]
    lines = [(name, values) for name, values in lines if any(math.isfinite(v) for v in values)]
    lines = lines or [(name, values) for name, values in found.series if "ε" in name]
    if not lines:
        return None
    first, n = found.first_round, max(len(values) for _, values in lines)
    every = [v for _, values in lines for v in values if math.isfinite(v)]
    chart = Chart(
        Scale(first, first + n - 1),
        Scale.around(every, zero=min(every) < max(every) / 3),
        label="ledger by round",
        x_label="round",
        height=340,
    )
    step = max(n // 200, 1)
    for k, (name, values) in enumerate(lines):
        points = [
            (first + i, v) for i, v in enumerate(values) if math.isfinite(v) and (i % step == 0 or i == n - 1)
        ]
        chart.line(points, f"c{k % 8}", clean(name), dashed="bound" in name)
    chart.upright(found.frames[-1].round, mark_id="round-mark")
    for one, frame in zip(found.frames, frames, strict=True):
        frame["x"] = round(chart.px(one.round), 1)
    return figure(chart.svg(), "What the ledger recorded, by round")

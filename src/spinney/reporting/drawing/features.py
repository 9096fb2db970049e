"""The tabs of features and of ensemble members."""

from __future__ import annotations

import math

from spinney.plotting.picture import shorten
from spinney.reporting.drawing.charts import Chart, Scale
from spinney.reporting.drawing.markup import details, figure, gallery, number, table, text
from spinney.reporting.ensemble import Members
from spinney.reporting.features import FeatureEffect, Features

_SPACES = {"raw": "raw score", "probability": "probability", "value": "predicted value", "": "output"}


def draw_features(found: Features) -> str:
    """Return importances three ways, dependence and SHAP values."""
    shown = found.importances[:15]
    panels = []
    if any(one.gain is not None for one in shown):
        panels.append(_bars(found, "gain", "Gain: share of the impurity decrease"))
    if any(one.permutation is not None for one in shown):
        panels.append(_bars(found, "permutation", f"Permutation: decrease of {found.score}"))
    if any(one.shap is not None for one in shown):
        panels.append(_bars(found, "shap", f"Mean |SHAP|, in units of the {_SPACES[found.space]}"))
    rows = []
    for one in found.importances:
        p = one.permutation
        interval = (
            "–"
            if p is None
            else f'{number(p[0], 3)}<span class="ci">{number(p[1], 2)} – {number(p[2], 2)}</span>'
        )
        rows.append([f"<b>{text(one.name, 60)}</b>", number(one.gain, 3), interval, number(one.shap, 3)])
    listing = table(
        ["Feature", "Gain", f"Permutation ({found.score})", "Mean |SHAP|"],
        rows,
        caption=f"Importances of {len(rows)} of {found.n_features} features",
        numeric=[1, 2, 3],
        sortable=True,
    )
    parts = [
        "<h3>Importances</h3>",
        f'<div class="grid">{"".join(panels)}</div>',
        details("Table of importances", listing),
    ]
    if found.effects:
        parts.append("<h3>Dependence and SHAP values</h3>")
        parts.append(
            '<p class="faint">Line: mean output while the feature takes each value (partial dependence), '
            "less its mean. Dots: SHAP values of single rows.</p>"
        )
        parts.append(f'<div class="grid">{"".join(_effect(one, found.space) for one in found.effects)}</div>')
    return "".join(parts)


def _bars(found: Features, kind: str, caption: str) -> str:
    shown = [one for one in found.importances[:15] if getattr(one, kind) is not None]
    values = [one.permutation if kind == "permutation" else (getattr(one, kind),) for one in shown]
    flat = [value for entry in values for value in (entry or ())]
    chart = Chart(
        Scale.around([0.0, *flat], zero=True), Scale(-0.6, len(shown) - 0.4), label=caption,
        height=46 + 22 * len(shown), y_names=[shorten(one.name, 22) for one in reversed(shown)],
    )  # fmt: skip
    for k, (one, entry) in enumerate(zip(reversed(shown), reversed(values), strict=True)):
        assert entry is not None
        chart.bar(0, entry[0], k - 0.34, k + 0.34, "c0", f"{one.name}: {entry[0]:.4g}")
        if len(entry) == 3:
            chart.segment(entry[1], k, entry[2], k, "whisker c7")
    return figure(chart.svg(), text(caption))


def _effect(one: FeatureEffect, space: str) -> str:
    name = shorten(one.name, 40)
    line = _centred(one)
    same = one.dots_output in (one.output, "") or not one.output
    if one.line and not same:
        line = []  # another output than that of the dots
    ys = [y for _, y in line] + [y for _, y in one.dots]
    x_scale = (
        Scale(-0.5, len(one.levels) - 0.5) if one.levels else Scale.around([x for x, _ in (*line, *one.dots)])
    )
    output = one.dots_output or one.output
    of = f" of {output}" if output else ""
    chart = Chart(
        x_scale,
        Scale.around([0.0, *ys]),
        label=f"effect of {one.name}{of}",
        x_label=one.name,
        y_label=f"change of {_SPACES[space]}",
        x_names=one.levels,
        height=250,
    )
    chart.segment(x_scale.low, 0, x_scale.high, 0, "guide")
    if one.levels:
        # Places beside each other, so that the dots of a category can be told apart.
        dots = [(x + 0.3 * math.sin(12.9898 * k), y) for k, (x, y) in enumerate(one.dots)]
        chart.points(dots, "c0 faint", 2)
        for x, y in line:
            chart.segment(x - 0.35, y, x + 0.35, y, "line c1")
    else:
        chart.points(one.dots, "c0 faint", 2)
        chart.line(line, "c1")
    return figure(chart.svg(), f"<b>{text(name)}</b>{text(of, 60)}")


def _centred(one: FeatureEffect) -> list[tuple[float, float]]:
    """Return the line less its mean over the rows that are shown, or over its points."""
    if not one.line:
        return []
    at = [min(one.line, key=lambda point: abs(point[0] - x))[1] for x, _ in one.dots]
    values = at or [y for _, y in one.line]
    middle = sum(values) / len(values)
    return [(x, y - middle) for x, y in one.line]


def draw_members(found: Members) -> str:
    """Return the κ–error diagram, the members and measures of diversity."""
    figures = []
    if found.kappa_error:
        chart = Chart(
            Scale.around([k for k, _ in found.kappa_error]), Scale.around([e for _, e in found.kappa_error]),
            label=(
                "κ–error diagram of pairs of "
                "members"
            ), x_label="κ (agreement beyond chance)", y_label="mean error of the pair", height=290,
        )  # fmt: skip
        chart.points(found.kappa_error, "c0 faint", 2.4)
        centre = tuple(sum(one[i] for one in found.kappa_error) / len(found.kappa_error) for i in (0, 1))
        chart.points([(centre[0], centre[1])], "c1", 6)
        figures.append(
            figure(
                chart.svg(),
                "κ–error diagram: every dot is a pair of members, the large one the mean. Left is more "
                "diverse, low is more accurate",
            )
        )
    errors = [one.error for one in found.members]
    bars = Chart(
        Scale(0.5, len(errors) + 0.5), Scale.around([0.0, found.error, *errors], zero=True),
        label="errors of the members",
        x_label="member, by error", y_label=found.error_name, height=290,
    )  # fmt: skip
    for k, one in enumerate(sorted(found.members, key=lambda m: m.error)):
        bars.bar(k + 0.6, k + 1.4, 0, one.error, "c7", f"member {one.number}: {one.error:.4g}")
    bars.segment(0.5, found.error, len(errors) + 0.5, found.error, "whisker c1")
    figures.append(figure(bars.svg(), f"Errors of the members; line: the ensemble, {number(found.error)}"))
    rows = [
        [text(name), number(value), {"higher": "higher values", "lower": "lower values"}.get(better, "–")]
        for name, value, better in found.measures
    ]
    measures = table(
        ["Measure", "Value", "More diverse"],
        rows,
        caption=f"Diversity of {len(errors)} of {found.n_members} members",
        numeric=[1],
    )
    weighted = any(one.weight is not None for one in found.members)
    lines = [
        [str(one.number), text(one.kind), number(one.error), *([number(one.weight)] if weighted else [])]
        for one in found.members
    ]
    members = table(
        ["Member", "Kind", text(found.error_name), *(["Weight"] if weighted else [])],
        lines,
        caption="Members",
        numeric=[0, 2, 3],
        sortable=True,
    )
    return f"{gallery(figures)}{measures}{details('Members', members)}"

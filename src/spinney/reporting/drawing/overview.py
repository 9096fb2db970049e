"""The first tabs of a report: the verdict, and the data."""

from __future__ import annotations

from collections.abc import Sequence

from spinney.plotting.picture import shorten
from spinney.reporting.data_card import DataCard
from spinney.reporting.drawing.charts import Chart, Scale, sparkline
from spinney.reporting.drawing.markup import (
    details,
    figure,
    metric,
    metrics_alike,
    number,
    percent,
    table,
    text,
)
from spinney.reporting.record import ReportRecord
from spinney.reporting.scored import HIGHER_IS_BETTER
from spinney.reporting.verdict import ModelMetrics, Verdict

_OUTCOMES = {
    "better": ("good", "Better than the baselines"),
    "worse": ("bad", "Worse than a baseline"),
    "no clear difference": ("fair", "Not clearly better than a baseline"),
    "no baseline": ("fair", "No baseline to compare with"),
}


def draw_overview(record: ReportRecord) -> str:
    """Return the verdict, the main facts and the warnings."""
    parts = []
    if record.verdict is not None:
        parts.append(_verdict(record.verdict))
    parts.append(_facts(record))
    if record.verdict is not None:
        parts.append(_comparison(record.verdict))
    warnings = record.data.warnings
    if warnings:
        items = "".join(
            f"<li><strong>{text(one.kind)}.</strong> {text(one.finding, 900)} <span "
            f"class=faint>{text(one.advice)}</span></li>"
            for one in warnings
        )
        parts.append(f'<h3>Warnings about the data</h3><ul class="warnings">{items}</ul>')
    return "".join(parts)


def _verdict(verdict: Verdict) -> str:
    kind, title = _OUTCOMES[verdict.outcome]
    name, model = verdict.headline, verdict.model
    low, high = model.interval.get(name, (None, None))
    best = next((one for one in verdict.baselines if one.name == verdict.best_baseline), None)
    sentence = (
        f"{text(name)} of <b>{metric(model.values[name])}</b> on {verdict.n_rows:,} rows, "
        f"95&nbsp;% interval {metric(low)} to {metric(high)}"
    )
    if best is not None and verdict.gain is not None:
        gain, gain_low, gain_high = verdict.gain
        word = "ahead of" if gain >= 0 else "behind"
        bounds = sorted((gain_low, gain_high)) if gain >= 0 else sorted((-gain_low, -gain_high))
        size, least, most = metrics_alike([abs(gain), *bounds])
        sentence += (
            f". That is {size} {word} the best baseline, the {text(best.name)} "
            f"({metric(best.values[name])}); 95&nbsp;% interval of the difference {least} to {most}"
        )
    direction = "higher is better" if verdict.higher_is_better else "lower is better"
    return (
        f'<div class="verdict {kind}"><div class="big"><span '
        f'class="value">{metric(model.values[name])}</span>'
        f'<span class="unit">{text(name)}, {direction}</span></div>'
        f"<div><h2>{title}</h2><p>{sentence}.</p></div></div>"
    )


def _facts(record: ReportRecord) -> str:
    source, data = record.provenance, record.data
    facts = [("Rows reported", f"{data.n_rows:,}")]
    if data.n_total > data.n_rows:
        facts[-1] = ("Rows reported", f"{data.n_rows:,} drawn from {data.n_total:,}")
    if data.n_training is not None:
        facts.append(("Training rows", f"{data.n_training:,}"))
    facts.append(("Columns", f"{data.n_columns:,}"))
    if source.n_trees:
        facts += [("Trees", f"{source.n_trees:,}"), ("Nodes", f"{source.n_nodes:,}")]
    if data.classes:
        facts.append(("Classes", f"{len(data.classes)}"))
    if source.model_bytes:
        facts.append(("Model file", _bytes(source.model_bytes)))
    if record.output:
        facts.append(("Output shown", text(record.output)))
    return '<dl class="facts">' + "".join(f"<div><dt>{a}</dt><dd>{b}</dd></div>" for a, b in facts) + "</dl>"


def _bytes(n: int) -> str:
    return f"{n:,} bytes" if n < 10_000 else f"{n / 1e3:,.0f} kB" if n < 1e7 else f"{n / 1e6:,.1f} MB"


def _comparison(verdict: Verdict) -> str:
    models = [verdict.model, *verdict.baselines]
    chart = _headline_chart(verdict.headline, models)
    names = list(verdict.model.values)
    rows = []
    for name in names:
        better = "higher" if HIGHER_IS_BETTER[name] else "lower"
        cells = [f'<b>{text(name)}</b><span class="ci">{better} is better</span>']
        for one in models:
            shown = metric(one.values.get(name))
            if name in one.interval:
                low, high = one.interval[name]
                shown += f'<span class="ci">{metric(low)} – {metric(high)}</span>'
            cells.append(f"<b>{shown}</b>" if one is verdict.model else shown)
        rows.append(cells)
    note = (
        "The baselines are cross-validated on the reported rows, because no training rows were passed. "
        "Whether these rows were used to fit the model cannot be seen from here."
        if verdict.cross_validated
        else "The baselines are fitted to the training rows."
    )
    found = table(["Metric", *(text(one.name) for one in models)], rows,
                  caption=(
                      "Metrics with 95 % bootstrap "
                      "intervals"
                  ), numeric=range(1, len(models) + 1))  # fmt: skip
    return (
        "<h3>Against a constant, a stump and a linear model</h3><div "
        f"class=split>{figure(chart, f'{text(verdict.headline)} with 95 % interval')}"
        f"<div>{found}<p class=faint>{note}</p></div></div>"
    )


def _headline_chart(name: str, models: Sequence[ModelMetrics]) -> str:
    shown = [one for one in models if name in one.values and name in one.interval]
    bounds = [value for one in shown for value in (one.values[name], *one.interval[name])]
    scale = Scale.around(bounds, pad=0.08)
    chart = Chart(
        scale, Scale(-0.6, len(shown) - 0.4), label=f"{name} of the model and the baselines", x_label=name,
        height=56 + 34 * len(shown), y_names=[one.name for one in reversed(shown)],
    )  # fmt: skip
    for k, one in enumerate(reversed(shown)):
        low, high = one.interval[name]
        kind = "c0" if one is models[0] else "c7"
        chart.segment(low, k, high, k, f"whisker {kind}")
        chart.points([(one.values[name], k)], kind, 5)
    return chart.svg()


# ---- data ----


def draw_data(data: DataCard) -> str:
    """Return the columns and the balance of the target."""
    parts = []
    if data.classes:
        parts.append(_balance(data))
    elif data.target:
        parts.append(
            f"<p>Target: {text(data.target)} <span class=faint>(minimum … lower quarter | median | upper "
            "quarter … maximum)</span></p>"
        )
    has_alone = any(one.alone is not None for one in data.columns)
    has_drift = any(one.drift is not None for one in data.columns)
    head = ["Column", "Type", "Distribution", "Missing", "Distinct", "Values"]
    head += ["Explains alone"] * has_alone + ["Drift"] * has_drift
    rows = []
    for one in data.columns:
        cells = [
            f"<b>{text(one.name, 60)}</b>",
            text(one.kind),
            sparkline(one.histogram, f"histogram of {one.name}"),
            percent(one.missing) if one.missing else "–",
            f"{one.n_distinct:,}",
            f'<span class="values">{text(one.summary, 120)}</span>',
        ]
        if has_alone:
            cells.append(percent(one.alone))
        if has_drift:
            cells.append(number(one.drift, 2))
        rows.append(cells)
    numeric = [3, 4, *range(6, len(head))]
    parts.append(table(head, rows, caption="Columns", numeric=numeric, sortable=True))
    if data.n_columns > len(data.columns):
        parts.append(
            f"<p class=faint>The first {len(data.columns)} of {data.n_columns:,} columns are listed; all "
            "were checked.</p>"
        )
    notes = (
        "<p>Numeric values are shown as minimum … lower quarter | median | upper quarter … maximum. "
        "“Explains alone” is the share of the target’s variation that the column explains by itself, on "
        "rows that "
        "were not used to find it; close to 100 % is a sign of leakage. “Drift” is the largest "
        "difference of the "
        "cumulative distributions between training and reported rows, or the total variation of "
        "categories: 0 is no "
        "difference, 1 no overlap.</p>"
    )
    parts.append(details("How to read this table", notes))
    return "".join(parts)


def _balance(data: DataCard) -> str:
    shown = sorted(data.classes, key=lambda one: -one[1])[:20]
    chart = Chart(
        Scale(0, max(max(a, b or 0) for _, a, b in shown) * 1.05), Scale(-0.6, len(shown) - 0.4),
        label="share of the rows by class", x_label="share of the rows", height=52 + 26 * len(shown),
        y_names=[shorten(name, 22) for name, _, _ in reversed(shown)],
    )  # fmt: skip
    for k, (name, share, before) in enumerate(reversed(shown)):
        chart.bar(0, share, k - 0.3, k + 0.3, "c0", f"{name}: {share:.1%}")
        if before is not None:
            chart.segment(before, k - 0.42, before, k + 0.42, "whisker c1")
    caption = "Class balance" + (" (line: training rows)" if shown[0][2] is not None else "")
    rows = [[text(name), percent(share), percent(before)] for name, share, before in shown]
    more = details(
        "Table", table(["Class", "Share", "In training"], rows, caption="Class balance", numeric=[1, 2])
    )
    return f'<div class="grid">{figure(chart.svg(), caption, more)}</div>'

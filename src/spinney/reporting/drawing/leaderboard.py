"""The page of a comparison of learners."""

from __future__ import annotations

from spinney.reporting.drawing.charts import Chart, Scale
from spinney.reporting.drawing.markup import details, figure, gallery, metric, number, table, text
from spinney.reporting.drawing.page import assemble
from spinney.reporting.leaderboard import Leaderboard

_LINE = 13.0
"""Height of a line of names in a chart."""
_MAX_NAMES = 4


def draw_leaderboard(found: Leaderboard) -> str:
    """Return the page of a comparison as one HTML document."""
    sections = [
        ("overview", "Leaderboard", _overview(found)),
        ("folds", "Folds and times", _folds(found)),
        ("learners", "Learners", _learners(found)),
        ("origin", "Reproduce", _origin(found)),
    ]
    subtitle = f"{found.task} · {found.n_rows:,} rows · {found.n_folds} folds · {found.created}"
    return assemble(found.title, subtitle, sections)


def _overview(found: Leaderboard) -> str:
    best, rivals = found.entries[0], found.rivals
    direction = "higher is better" if found.higher_is_better else "lower is better"
    if rivals and len(found.entries) > 1:
        names = ", ".join(text(one, 40) for one in rivals[:_MAX_NAMES])
        more = f" and {len(rivals) - _MAX_NAMES} more" if len(rivals) > _MAX_NAMES else ""
        kind, verdict = "fair", f"Not clearly better than {names}{more}: their differences may be chance."
    elif len(found.entries) > 1:
        kind, verdict = "good", "Better than every other learner (corrected paired t-test, 5 % level)."
    else:
        kind, verdict = "fair", "There is no other learner to compare with."
    interval = "" if best.low is None else f" 95&nbsp;% interval {metric(best.low)} to {metric(best.high)}."
    head = (
        f'<div class="verdict {kind}"><div class="big"><span class="value">{metric(best.score)}</span>'
        f'<span class="unit">{text(found.metric)}, {direction}</span></div>'
        f"<div><h2>Best: {text(best.name)}</h2><p>{verdict}{interval}</p></div></div>"
    )
    rows = []
    for rank, one in enumerate(found.entries, start=1):
        shown = metric(one.score)
        if one.low is not None:
            shown += f'<span class="ci">{metric(one.low)} – {metric(one.high)}</span>'
        p_value = "–" if one.p_value is None else f"{one.p_value:.3f}"
        name = f'<b>{text(one.name, 60)}</b><span class="ci">{text(one.family, 60)}</span>'
        rows.append(
            [str(rank), name, shown, p_value, *map(metric, one.others), number(one.fit_seconds, 3),
             number(one.predict_seconds, 3), text(one.note, 120)]
        )  # fmt: skip
    titles = ["Rank", "Learner", text(found.metric), "p-value", *map(text, found.other_metrics)]
    titles += ["Fit, s", "Predict, s", "Note"]
    listing = table(
        titles, rows, caption="Means over the folds; p-value of the difference to the best",
        numeric=[0, *range(2, len(titles) - 1)], sortable=True,
    )  # fmt: skip
    facts = [
        ("Learners", f"{len(found.entries)}"),
        ("Folds", f"{found.n_folds}"),
        ("Rows used", f"{found.n_rows_used:,} of {found.n_rows:,}"),
        ("Time", f"{found.seconds:,.1f} s"),
    ]
    boxes = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    return f'{head}<dl class="facts">{boxes}</dl>{_scores(found)}{listing}'


def _scores(found: Leaderboard) -> str:
    """Return the scores with their intervals, one line per learner."""
    entries = found.entries[::-1]
    bounds = [v for one in entries for v in (one.score, one.low, one.high) if v is not None]
    chart = Chart(
        Scale.around(bounds), Scale(-0.6, len(entries) - 0.4), label=f"{found.metric} of the learners",
        x_label=found.metric, height=52 + 24 * len(entries), width=560, y_names=[one.name for one in entries],
    )  # fmt: skip
    rivals = {found.entries[0].name, *found.rivals}
    for k, one in enumerate(entries):
        kind = "c0" if one.name in rivals else "c7"
        if one.low is not None and one.high is not None:
            chart.segment(one.low, k, one.high, k, f"whisker {kind}")
        chart.points([(one.score, k)], kind, 4.5)
    caption = f"{text(found.metric)} with 95 % interval. Blue: the best, and those that may be as good"
    return f'<div class="grid two">{figure(chart.svg(), caption)}{_time_chart(found)}</div>'


def _time_chart(found: Leaderboard) -> str:
    times = [max(one.fit_seconds, 1e-4) for one in found.entries]
    chart = Chart(
        Scale.around(times, log=True), Scale.around([one.score for one in found.entries], pad=0.1),
        label=f"{found.metric} by time of a fit", x_label="seconds per fit (logarithmic)",
        y_label=found.metric, width=560, height=340,
    )  # fmt: skip
    taken: list[tuple[bool, float]] = []
    for k, (one, seconds) in enumerate(zip(found.entries, times, strict=True)):
        chart.points([(seconds, one.score)], "c0" if k == 0 else "c7", 5)
        right, height = chart.px(seconds) < chart.width * 0.7, chart.py(one.score) + 4
        if k < _MAX_NAMES:
            while any(side == right and abs(height - other) < _LINE for side, other in taken):
                height += _LINE  # below a name at the same height
            taken.append((right, height))
            place = f'x="{chart.px(seconds) + (8 if right else -8):.1f}" y="{height:.1f}"'
            anchor = "start" if right else "end"
            chart.raw(f'<text class="note" {place} text-anchor="{anchor}">{text(one.name, 30)}</text>')
    return figure(chart.svg(), "Quality against time; the best four are named")


def _folds(found: Leaderboard) -> str:
    entries = found.entries[::-1]
    every = [value for one in entries for value in one.folds]
    chart = Chart(
        Scale.around(every), Scale(-0.6, len(entries) - 0.4), label=f"{found.metric} by fold",
        x_label=found.metric, height=52 + 24 * len(entries), width=560, y_names=[one.name for one in entries],
    )  # fmt: skip
    for k, one in enumerate(entries):
        chart.points([(value, k) for value in one.folds], "c0 faint", 3.5)
        chart.segment(one.score, k - 0.3, one.score, k + 0.3, "whisker c1")
    n = max(len(one.folds) for one in found.entries)
    rows = [
        [
            f"<b>{text(one.name, 60)}</b>",
            *(metric(value) for value in one.folds),
            *["–"] * (n - len(one.folds)),
        ]
        for one in found.entries
    ]
    listing = table(
        ["Learner", *(f"Fold {k + 1}" for k in range(n))], rows, caption=f"{text(found.metric)} by fold",
        numeric=range(1, n + 1), sortable=True,
    )  # fmt: skip
    return gallery([figure(chart.svg(), "Dots: folds; line: their mean")]) + details("Table", listing)


def _learners(found: Leaderboard) -> str:
    rows = [
        [f"<b>{text(one.name, 60)}</b>", f"<code>{text(one.estimator, 600)}</code>"] for one in found.entries
    ]
    parts = [table(["Learner", "Estimator"], rows, caption="What was fitted")]
    if found.skipped:
        left = [[f"<b>{text(name, 60)}</b>", text(reason)] for name, reason in found.skipped]
        parts.append(table(["Learner", "Reason"], left, caption="Learners that were left out"))
    return "".join(parts)


def _origin(found: Leaderboard) -> str:
    facts = [("Seed", found.seed), ("Report made", found.created), *found.versions]
    rows = [[f"<b>{text(name)}</b>", text(value)] for name, value in facts]
    command = f'<h3>Command</h3><pre tabindex="0">{text(found.command, 4000)}</pre>'
    return command + table(["Fact", "Value"], rows, caption="Origin of this comparison")

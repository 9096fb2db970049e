"""The tab of how well a model predicts, and the tab of its mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spinney.reporting.drawing.charts import Chart, Scale
from spinney.reporting.drawing.markup import (
    data,
    details,
    figure,
    gallery,
    metric,
    number,
    percent,
    table,
    text,
)
from spinney.reporting.learning import LearningCurves, PruningPath
from spinney.reporting.mistakes import Mistakes
from spinney.reporting.performance import ClassPerformance, Curve, GroupMetrics, ValuePerformance
from spinney.reporting.record import ReportRecord

_MAX_SHARE = 0.85


def draw_performance(record: ReportRecord) -> str:
    """Return curves, confusion matrix or residuals, calibration and groups."""
    parts = []
    if record.classes is not None:
        parts.append(_classes(record.classes))
    if record.values is not None:
        parts.append(_values(record.values))
    if record.groups:
        parts.append("<h3>Metrics by group</h3>" + "".join(map(_groups, record.groups)))
    return "".join(parts)


# ---- classes ----


def _classes(found: ClassPerformance) -> str:
    roc = _curves(found.roc, "ROC curve", "false positive rate", "true positive rate", "AUC")
    recall = _curves(found.precision_recall, "Precision–recall curve", "recall", "precision", "AP")
    figures = []
    if found.thresholds and roc is not None and recall is not None:
        figures.append(_threshold_figure(found, roc, recall))
    else:
        figures.append(_confusion_matrix(found))
    if roc is not None:
        roc.segment(0, 0, 1, 1, "guide")
        area = ", ".join(f"{text(one.name, 30)} {number(one.area, 3)}" for one in found.roc)
        figures.append(figure(roc.svg("roc"), f"ROC curve. Area: {area}"))
    if recall is not None:
        for share in found.positive_share[:1] if len(found.positive_share) == 1 else ():
            recall.segment(0, share, 1, share, "guide")
        area = ", ".join(f"{text(one.name, 30)} {number(one.area, 3)}" for one in found.precision_recall)
        figures.append(figure(recall.svg("pr"), f"Precision and recall. Average precision: {area}"))
    if found.calibration:
        figures.append(_calibration(found))
    return gallery(figures)


def _curves(curves: Sequence[Curve], label: str, x_label: str, y_label: str, area: str) -> Chart | None:
    if not curves:
        return None
    names = ", ".join(f"{one.name}: {area} {number(one.area, 3)}" for one in curves)
    chart = Chart(
        Scale(0, 1), Scale(0, 1.02), label=f"{label}; {names}", x_label=x_label, y_label=y_label, height=280
    )
    for k, one in enumerate(curves):
        chart.line(one.points, f"c{k}", one.name if len(curves) > 1 else "")
    return chart


def _threshold_figure(found: ClassPerformance, roc: Chart, recall: Chart) -> str:
    """Return the confusion matrix of two classes with a slider for the threshold."""
    for chart in (roc, recall):
        chart.raw('<path class="dots c1 moving" stroke-width="11" d=""/>')
    steps: list[list[Any]] = []
    for level, tp, fp, fn, tn in found.thresholds:
        fpr, tpr = fp / max(fp + tn, 1e-12), tp / max(tp + fn, 1e-12)
        precision = tp / (tp + fp) if tp + fp > 0 else 1.0
        at = [roc.px(fpr), roc.py(tpr), recall.px(tpr), recall.py(precision)]
        steps.append(
            [round(level, 4), *(round(one, 3) for one in (tp, fp, fn, tn)), *(round(one, 1) for one in at)]
        )
    start = (
        min(range(len(steps)), key=lambda k: abs(steps[k][0] - 0.5))
        if found.is_probability
        else len(steps) // 2
    )
    negative, positive = (text(one, 40) for one in found.classes)
    _, tp, fp, fn, tn = steps[start][:5]
    what = "probability" if found.is_probability else "score"
    total = max(tp + fp + fn + tn, 1e-12)
    measures = _threshold_measures(tp, fp, fn, tn)
    return (
        '<figure><table class="confusion" id="confusion"><caption>Confusion matrix</caption>'
        f'<thead><tr><th></th><th scope="col">predicted {negative}</th><th scope="col">predicted '
        f"{positive}</th></tr></thead>"
        f'<tbody><tr><th scope="row">true {negative}'
        f"</th>{_cell(tn, total, True)}{_cell(fp, total, False)}</tr>"
        f'<tr><th scope="row">true {positive}</th>{_cell(fn, total, False)}{_cell(tp, total, True)}</tr>'
        "</tbody></table>"
        f'<label class="slider">Threshold of the {what} of {positive}: <output '
        f'id="threshold-value">{number(steps[start][0])}</output>'
        f'<input type="range" id="threshold" min="0" max="{len(steps) - 1}" step="1" value="{start}" '
        f'aria-label="threshold of the {what} of {positive}"></label>'
        f'<dl class="facts small" id="threshold-measures">{measures}</dl>'
        f"<figcaption>Rows with a {what} of at least the threshold are predicted {positive}</figcaption>"
        "</figure>" + data("threshold-data", steps)
    )


def _threshold_measures(tp: float, fp: float, fn: float, tn: float) -> str:
    total = tp + fp + fn + tn
    facts = [
        ("accuracy", (tp + tn) / total if total else None),
        ("precision", tp / (tp + fp) if tp + fp else None),
        ("recall", tp / (tp + fn) if tp + fn else None),
        ("specificity", tn / (tn + fp) if tn + fp else None),
        ("F1", 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else None),
    ]
    return "".join(f"<div><dt>{name}</dt><dd>{metric(value)}</dd></div>" for name, value in facts)


def _cell(count: float, total: float, right: bool) -> str:
    step = min(int(10 * count / total), 9) if total else 0
    return (
        f'<td class="{"hit" if right else "miss"} s{step}"><b>{number(count)}</b>'
        f"<span>{percent(count / total)}</span></td>"
    )


def _confusion_matrix(found: ClassPerformance) -> str:
    n = len(found.classes)
    short = [text(name, 18) for name in found.classes]
    head = "".join(f'<th scope="col"><span>{name}</span></th>' for name in short)
    body = []
    for i, counts in enumerate(found.confusion):
        total = sum(counts)
        cells = "".join(
            f'<td class="{"hit" if i == j else "miss"} s{min(int(10 * c / total), 9) if total else 0}">'
            f"{number(c) if c else '·'}</td>"
            for j, c in enumerate(counts)
        )
        body.append(f'<tr><th scope="row">{short[i]}</th>{cells}</tr>')
    note = f" {found.other_classes} rare classes are put together." if found.other_classes else ""
    return (
        f'<figure{" class=wide" if n > 6 else ""}><div class="scroll" tabindex="0" role="group" '
        'aria-label="confusion matrix">'
        '<table class="confusion many"><caption>Confusion matrix: true classes in rows, predicted in '
        "columns</caption>"
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
        f"<figcaption>Colours by share of the true class.{note}</figcaption></figure>"
    )


def _calibration(found: ClassPerformance) -> str:
    chart = Chart(
        Scale(0, 1), Scale(0, 1), label=f"calibration of the {found.calibrated_of}", height=280,
        x_label=f"predicted {found.calibrated_of}", y_label="observed share",
    )  # fmt: skip
    chart.segment(0, 0, 1, 1, "guide")
    for one in found.calibration:
        chart.segment(one.predicted, one.low, one.predicted, one.high, "whisker c0")
    chart.line([(one.predicted, one.observed) for one in found.calibration])
    chart.points([(one.predicted, one.observed) for one in found.calibration], "c0", 3.5)
    total = sum(one.n_rows for one in found.calibration)
    error = sum(one.n_rows * abs(one.predicted - one.observed) for one in found.calibration) / total
    rows = [
        [
            number(one.predicted, 3),
            number(one.observed, 3),
            f"{number(one.low, 3)} – {number(one.high, 3)}",
            f"{one.n_rows:,}",
        ]
        for one in found.calibration
    ]
    more = details(
        "Table",
        table(
            ["Predicted", "Observed", "95 % interval", "Rows"], rows, caption="Calibration", numeric=range(4)
        ),
    )
    return figure(
        chart.svg(),
        f"Calibration: on the diagonal, probabilities are right. Mean distance {number(error, 2)}",
        more,
    )


# ---- values ----


def _values(found: ValuePerformance) -> str:
    both = [value for point in found.points for value in point]
    scale = Scale.around(both)
    chart = Chart(
        scale,
        Scale.around(both),
        label="predicted against true values",
        x_label="true value",
        y_label="predicted value",
        height=300,
    )
    chart.segment(scale.low, scale.low, scale.high, scale.high, "guide")
    chart.points(found.points, "c0 faint", 2.2)
    bands = Chart(
        Scale.around([one[0] for one in found.bands]),
        Scale.around([value for one in found.bands for value in one[1:]], zero=True),
        label=(
            "quantiles of the residuals by "
            "predicted value"
        ), x_label="predicted value", y_label="predicted − true", height=300,
    )  # fmt: skip
    bands.area([(b[0], b[1]) for b in found.bands], [(b[0], b[5]) for b in found.bands])
    bands.area([(b[0], b[2]) for b in found.bands], [(b[0], b[4]) for b in found.bands])
    bands.line([(b[0], b[3]) for b in found.bands])
    bands.segment(bands.x.low, 0, bands.x.high, 0, "guide")
    top = max(one[2] for one in found.residuals)
    bars = Chart(
        Scale(found.residuals[0][0], found.residuals[-1][1]), Scale(0, top * 1.05),
        label="histogram of the residuals", x_label="predicted − true", y_label="rows", height=300,
    )  # fmt: skip
    for left, right, count in found.residuals:
        bars.bar(left, right, 0, count, "c0", f"{left:.4g} to {right:.4g}: {count} rows")
    rows = [[number(value) for value in one] for one in found.bands]
    more = details(
        "Table",
        table(
            ["Predicted", "5 %", "25 %", "median", "75 %", "95 %"],
            rows,
            caption="Quantiles of the residuals",
            numeric=range(6),
        ),
    )
    figures = [
        figure(chart.svg(), "Predicted against true values; on the line, they are equal"),
        figure(bands.svg(), "Residuals by predicted value: median, middle half and 90 %", more),
        figure(bars.svg(), "Residuals; the ends hold the rest"),
    ]
    return gallery(figures)


# ---- groups ----


def _groups(found: GroupMetrics) -> str:
    rows = []
    for name, n, entries in found.groups:
        cells = [f"<b>{text(name, 60)}</b>", f"{n:,}"]
        for entry in entries:
            if entry is None:
                cells.append("–")
            else:
                cells.append(
                    f'{metric(entry[0])}<span class="ci">{metric(entry[1])} – {metric(entry[2])}</span>'
                )
        rows.append(cells)
    by = text(found.by, 60)
    shown = table(
        [by, "Rows", *map(text, found.metrics)],
        rows,
        caption=f"By {by}",
        numeric=range(1, len(found.metrics) + 2),
        sortable=True,
    )
    left = (
        f"<p class=faint>{found.n_left_out} smaller groups are left out.</p>" if found.n_left_out > 0 else ""
    )
    return shown + left


# ---- learning ----


def draw_learning(curves: LearningCurves | None, path: PruningPath | None) -> str:
    """Return learning curves with the chosen round, and the path of pruning."""
    figures = []
    if curves is not None:
        for metric, lines in curves.charts:
            chart = Chart(
                Scale(min(one.rounds[0] for one in lines), max(one.rounds[-1] for one in lines)),
                Scale.around([value for one in lines for value in one.values]),
                label=f"{metric} by round", x_label="round", y_label=metric, height=280,
            )  # fmt: skip
            for k, one in enumerate(lines):
                chart.line(zip(one.rounds, one.values, strict=True), f"c{k % 8}", one.name)
            if curves.chosen is not None and curves.chosen <= chart.x.high:
                chart.upright(curves.chosen, f"chosen: {curves.chosen}")
            ends = ", ".join(f"{text(one.name, 30)} {number(one.values[-1])}" for one in lines)
            figures.append(figure(chart.svg(), f"{text(metric)} by round. At the end: {ends}"))
    if path is not None and len(path.steps) > 1:
        figures += _pruning(path)
    note = ""
    if curves is not None and curves.n_members > 1:
        note = (
            f'<p class="faint">The model is the mean of {curves.n_members} members, whose rounds follow each '
            "other: a loss that jumps back belongs to the next member.</p>"
        )
    return note + gallery(figures)


def _pruning(path: PruningPath) -> list[str]:
    alphas = [one[0] for one in path.steps]
    positive = [alpha for alpha in alphas if alpha > 0]
    low = min(positive) / 2 if positive else 1e-6
    scale = Scale(low, max([*positive, low * 2]), log=True)
    values = [one[3] for one in path.steps] + (
        [one[2] for one in path.steps] if path.on_training_rows else []
    )
    chart = Chart(
        scale,
        Scale.around(values),
        label=f"{path.metric} along the pruning path",
        x_label="α (logarithmic)",
        y_label=path.metric,
        height=280,
    )
    if path.on_training_rows:
        chart.line([(max(one[0], low), one[2]) for one in path.steps], "c1", "training rows")
    chart.line(
        [(max(one[0], low), one[3]) for one in path.steps],
        "c0",
        "reported rows" if path.on_training_rows else "",
    )
    chart.points([(max(one[0], low), one[3]) for one in path.steps], "c0", 2.5)
    leaves = Chart(
        scale,
        Scale.around([one[1] for one in path.steps], zero=True),
        label="leaves along the pruning path",
        x_label="α (logarithmic)",
        y_label="leaves",
        height=280,
    )
    leaves.line([(max(one[0], low), float(one[1])) for one in path.steps], "c2")
    leaves.points([(max(one[0], low), float(one[1])) for one in path.steps], "c2", 2.5)
    for one in (chart, leaves):
        if path.chosen is not None and path.chosen >= low:
            one.upright(path.chosen, "used")
    rows = [[number(a, 3), f"{n:,}", number(t), number(v)] for a, n, t, v in path.steps]
    more = details(
        "Table",
        table(
            ["α", "Leaves", f"{text(path.metric)}, training", f"{text(path.metric)}, reported"],
            rows,
            caption="Pruning path",
            numeric=range(4),
        ),
    )
    return [
        figure(chart.svg(), "Pruning path: quality of the subtree that is best for each α", more),
        figure(leaves.svg(), "Pruning path: size of the subtree"),
    ]


# ---- mistakes ----


def draw_mistakes(found: Mistakes) -> str:
    """Return the worst rows and the regions of high loss."""
    parts = [f"<p>Mean {text(found.loss)}: <b>{metric(found.mean_loss)}</b></p>"]
    if found.regions:
        rows = [
            [
                f"<code>{text(one.condition, 300)}</code>",
                percent(one.share),
                number(one.loss),
                f"{one.loss / found.mean_loss:.1f} ×",
            ]
            for one in found.regions
        ]
        parts.append("<h3>Where the model errs most</h3>")
        parts.append(
            table(
                ["Rows with", "Share", f"Mean {text(found.loss)}", "Against the mean"],
                rows,
                caption="Leaves of a tree of depth 3 that predicts the loss",
                numeric=[1, 2, 3],
            )
        )
    if found.rows:
        parts.append("<h3>Worst rows</h3>")
        head = ["Row", "Outcome", text(found.loss), *(text(name, 40) for name in found.columns)]
        rows = [
            [str(one.position), text(one.outcome), number(one.loss, 3), *(text(v, 40) for v in one.values)]
            for one in found.rows
        ]
        parts.append(
            table(
                head,
                rows,
                caption="Rows with the highest loss, counted from 0",
                numeric=[0, 2],
                sortable=True,
            )
        )
    return "".join(parts)

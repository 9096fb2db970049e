"""Tables of a terminal: data, scores, leaderboards, contributions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from spinney.cli.text_values import count_of, show_score, show_seconds, show_value

if TYPE_CHECKING:
    from spinney.cli.options import TrainingData
    from spinney.model_selection import Comparison, CrossValidation

_MAX_COLUMNS = 14
_MAX_CLASSES = 10
_MAX_NAME = 28
_MIN_VALUES = 10
_BAR, _MIN_BAR = 24, 6
_WIDE = 96
"""Width from which leaderboards have all columns."""


def make_table(*headings: str, numbers: Sequence[str] = ()) -> Table:
    """Return an empty table; columns of numbers are aligned to the right.

    >>> len(make_table("a", "b").columns)
    2
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for heading in headings:
        right = heading in numbers
        table.add_column(
            Text(heading), "", no_wrap=right,
            overflow="ellipsis" if right else "fold", justify="right" if right else "left",
        )  # fmt: skip
    return table


def bar(fraction: float, style: str = "cyan", width: int = _BAR) -> Text:
    """Return a horizontal bar.

    >>> bar(0.5, width=4).plain
    '━━'
    """
    halves = round(2 * width * min(max(fraction, 0.0), 1.0)) if isfinite(fraction) else 0
    return Text("━" * (halves // 2) + "╸" * (halves % 2), style, no_wrap=True)


def shorten(text: str, length: int) -> str:
    """Return a text of at most this length, the rest replaced by an ellipsis.

    >>> shorten("installment_commitment", 12)
    'installment…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"


def indented(part: RenderableType) -> Padding:
    """Return something with a margin."""
    return Padding(part, (0, 0, 1, 2), expand=False)


def data_table(data: TrainingData, recognised: bool, width: int = 100) -> Iterator[RenderableType]:
    """Yield what was read: rows, columns and their kinds, and the target."""
    file = data.file
    head = Text.assemble(
        (file.name, "bold"),
        f"  {file.format} · {count_of(file.n_rows, 'row')} · "
        f"{count_of(len(data.features), 'feature column')}",
    )
    yield head
    table = make_table("column", "kind", "missing", "values", numbers=("missing",))
    shown = data.features[:_MAX_COLUMNS]
    # Two spaces of margin, two other columns, and three gaps of three spaces.
    room = width - 2 - len("categorical") - len("missing") - 9
    longest = min(max(len(column.name) for column in shown), _MAX_NAME, max(room - _MIN_VALUES, 8))
    room = max(room - longest, _MIN_VALUES)
    for column in shown:
        share = column.n_missing / file.n_rows
        missing = f"{share:.1%}" if column.n_missing else ""
        style = "dim" if column.kind == "identifier" else ""
        name, values = shorten(column.name, longest), shorten(column.summary(), room)
        table.add_row(Text(name), column.kind, missing, Text(values), style=style)
    if len(data.features) > _MAX_COLUMNS:
        kinds = Counter(column.kind for column in data.features[_MAX_COLUMNS:])
        rest = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        table.add_row(f"… {len(data.features) - _MAX_COLUMNS} more", "", "", rest, style="dim")
    yield indented(table)
    how = "recognised; --task and --type override" if recognised else "as told"
    target = Text.assemble("target ", (data.target, "bold"), f": {data.task} ", (f"({how})", "dim"))
    text = _target_text(data)
    target.append(("  " if len(target) + 2 + len(text) <= width else "\n") + text)
    yield target
    yield ""


def _target_text(data: TrainingData) -> str:
    if data.task == "regression":
        return f"{data.y.min():g} … {data.y.max():g}, mean {data.y.mean():.4g}"
    labels, counts = np.unique(data.y.astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_MAX_CLASSES]
    shown = " · ".join(f"{labels[at]} {counts[at] / len(data.y):.1%}" for at in order)
    return shown + (f" · … ({len(labels)} classes)" if len(labels) > _MAX_CLASSES else "")


def scores_table(records: Sequence[Mapping[str, Any]], titles: Mapping[str, str]) -> Table:
    """Return a table of metrics with their intervals."""
    table = make_table("metric", "score", "95 % interval", numbers=("score",))
    for record in records:
        interval = ""
        if record["low"] is not None and isfinite(record["low"]):
            interval = f"{show_score(record['low'])} … {show_score(record['high'])}"
        table.add_row(titles.get(record["metric"], record["metric"]), show_score(record["mean"]), interval)
    return table


def validation_table(found: CrossValidation) -> Table:
    """Return the scores of a cross-validation."""
    return scores_table(found.to_records(), {metric.name: metric.title for metric in found.metrics})


def leaderboard(found: Comparison, width: int = 100) -> Iterator[RenderableType]:
    """Yield the leaderboard of a comparison and how to read it; narrow terminals get fewer columns."""
    metric = found.metrics[0]
    direction = "higher is better" if metric.greater_is_better else "lower is better"
    wide = width >= _WIDE
    headings = ["", "learner", *(["family"] if wide else []), metric.title, "± 95 %", "p", "fit", " "]
    table = make_table(*headings, numbers=("", metric.title, "± 95 %", "p", "fit"))
    table.columns[1].no_wrap = True
    scores = [entry.score for entry in found.entries if isfinite(entry.score)]
    worst, best = (min(scores), max(scores)) if metric.greater_is_better else (max(scores), min(scores))
    for rank, entry in enumerate(found.entries, 1):
        fraction = 1.0 if best == worst else 0.05 + 0.95 * (entry.score - worst) / (best - worst)
        # Not significantly worse than the best: as good a choice.
        close = rank == 1 or entry.p_value > 0.05
        style = "bold green" if rank == 1 else "" if close else "dim"
        half = show_score((entry.high - entry.low) / 2) if isfinite(entry.low) else "1 fold"
        p_value = "" if rank == 1 else "–" if isnan(entry.p_value) else f"{entry.p_value:.3f}"
        size = 16 if wide else 8
        family = [Text(entry.family, "dim")] if wide else []
        table.add_row(
            str(rank), Text(entry.name), *family, show_score(entry.score), half, p_value,
            show_seconds(entry.fit_seconds), bar(fraction, "green" if close else "bright_black", size),
            style=style,
        )  # fmt: skip
    yield indented(table)
    of_all = "" if found.n_rows_used == found.n_rows else f" of {found.n_rows:,}"
    yield Text(
        f"{metric.title}, {direction}; {found.n_rows_used:,}{of_all} rows, {found.n_folds} folds, "
        f"{show_seconds(found.seconds)}. ±: 95\u00a0% interval; p: paired test against the first; both "
        "corrected for overlapping folds. Dim: significantly worse.",
        "dim",
    )
    yield from _notes(found)
    yield ""


def _notes(found: Comparison) -> Iterator[RenderableType]:
    """Yield the members of the ensemble, and which learners were fitted to fewer folds, or to none."""
    groups: dict[str, list[str]] = {}
    for entry in found.entries:
        if entry.note and entry.family == "ensembles":
            yield Text.assemble((entry.name, "bold"), f": {entry.note}")
        elif entry.note:
            groups.setdefault(entry.note, []).append(entry.name)
    for name, why in found.skipped.items():
        groups.setdefault(f"not fitted, {why}", []).append(name)
    for why, names in groups.items():
        yield Text(f"{why}: {', '.join(names)}", "dim")


def confusion_table(y: Any, labels: Any, classes: Sequence[Any]) -> Table:
    """Return a confusion matrix: rows are true classes, columns predictions."""
    headings = [str(one) for one in classes]
    table = make_table("true \\ predicted", *headings, "recall", numbers=(*headings, "recall"))
    for one in classes:
        of_class = labels[y == one]
        counts = [int((of_class == other).sum()) for other in classes]
        cells = [
            Text(f"{count:,}", "bold green" if other == one else "red" if count else "dim")
            for other, count in zip(classes, counts, strict=True)
        ]
        recall = float((of_class == one).mean()) if len(of_class) else float("nan")
        table.add_row(Text(str(one)), *cells, f"{recall:.1%}" if isfinite(recall) else "–")
    return table


def contributions_table(
    names: Sequence[str], values: Sequence[Any], contributions: Any, n_shown: int = 15, width: int = 100
) -> Table:
    """Return the contributions of the features to the prediction of one row, the largest first."""
    table = make_table("feature", "value", "contribution", "", numbers=("contribution",))
    order = np.argsort(-np.abs(contributions), kind="stable")
    largest = max(float(np.abs(contributions).max()), 1e-300)
    shown = {int(at): (names[at], show_value(values[at])) for at in order[:n_shown]}
    # Names are worth more than long bars: two spaces of margin, three gaps, and the column of numbers.
    taken = sum(max((len(pair[part]) for pair in shown.values()), default=0) for part in (0, 1))
    size_of_bar = min(max(width - 2 - 9 - len("contribution") - taken, _MIN_BAR), _BAR)
    for at, (name, value) in shown.items():
        size = float(contributions[at])
        drawn = bar(abs(size) / largest, "green" if size >= 0 else "magenta", size_of_bar)
        table.add_row(Text(name), Text(value), f"{size:+.4f}", drawn)
    if len(order) > n_shown:
        rest = float(np.sum(np.asarray(contributions)[order[n_shown:]]))
        table.add_row(count_of(len(order) - n_shown, "other"), "", f"{rest:+.4f}", "", style="dim")
    return table


def importance_table(records: Sequence[Mapping[str, Any]], heading: str, n_shown: int = 20) -> Table:
    """Return the importances of the features, the largest first."""
    table = make_table("feature", heading, "", numbers=(heading,))
    largest = max((abs(record["importance"]) for record in records), default=1.0) or 1.0
    for record in records[:n_shown]:
        size = record["importance"]
        table.add_row(Text(record["feature"]), f"{size:.4g}", bar(abs(size) / largest))
    if len(records) > n_shown:
        table.add_row(count_of(len(records) - n_shown, "other"), "", "", style="dim")
    return table

"""The page TABLES.md: median, quartiles and the worst ratio of each learner, and every table's own."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.run import processor

PAGE = Path(__file__).with_name("TABLES.md")
# Least ratios that are aimed at, in the median and on the worst table: (learner, peer).
GOALS = {
    ("boosting", "LightGBM"): (2.5, 1.5),
    ("boosting", "fastest peer"): (2.0, 1.3),
    ("random forest", "scikit-learn"): (12.0, 6.0),
    ("extra-trees", "scikit-learn"): (8.0, 4.0),
    ("tree", "scikit-learn"): (30.0, 10.0),
    ("AdaBoost", "scikit-learn"): (250.0, 250.0),
    ("boosting, prediction", "fastest peer"): (2.0, 1.0),
    ("random forest, prediction", "scikit-learn"): (5.0, 1.0),
}


def ratios_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return one row per measurement and peer, the fastest peer among them."""
    return pd.DataFrame([line for row in rows for line in _ratios(row)])


def _ratios(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    clock = 1 if row["threads"] == 1 else 0
    seconds = {name: pair[clock] for name, pair in row["seconds"].items()}
    own = seconds.pop("Spinney")
    facts = {key: value for key, value in row.items() if key not in ("seconds", "loss")}
    losses = row.get("loss", {})
    for peer, spent in seconds.items():
        ratio = {"peer": peer, "ratio": spent / own, "own": own}
        if peer in losses:
            ratio["loss"] = losses["Spinney"] / losses[peer] if losses[peer] else 1.0
        yield facts | ratio
    if len(seconds) > 1:
        yield facts | {"peer": "fastest peer", "ratio": min(seconds.values()) / own, "own": own}


def make_page(rows: list[dict[str, Any]], note: str = "") -> str:
    """Write the page; the note says what is special about the run."""
    frame = ratios_of(rows)
    lines = [
        "# Speed over many tables",
        "",
        f"Measured {datetime.now(UTC):%Y-%m-%d} on {processor()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}; `python -m benchmarks.tables all --data FOLDER` makes it.",
        "A ratio is the peer's time over Spinney's: above 1 Spinney is faster. One thread: processor time; "
        "more threads: elapsed time. Medians of alternating runs, reading the table and binning included. "
        "Drawn tables come from a seed, real ones from a folder; no choice was made on the sealed half.",
        *([note] if note else []),
        "",
        "| learner | threads | vectors | tables | peer | n | median | quartiles | worst | on | goal |",
        "|---|--:|---|---|---|--:|--:|---|--:|---|---|",
        *_summaries(frame),
        "",
        "## Losses",
        "",
        "Spinney's test loss over the peer's at equal rounds: below 1 Spinney's is less.",
        "",
        "| learner | peer | n | median | quartiles |",
        "|---|---|--:|--:|---|",
        *_losses(frame),
        "",
        "## Every table",
        "",
        "Ratios by number of threads and vector level.",
        "",
        *_tables(frame),
    ]
    return "\n".join(lines) + "\n"


def _quartiles(values: pd.Series) -> str:
    low, high = np.quantile(values, [0.25, 0.75])
    return f"{low:.2f}–{high:.2f}"


def _summaries(frame: pd.DataFrame) -> Iterator[str]:
    halves = {"all": slice(None), **{half: half for half in frame["half"].unique()}}
    for (job, threads, level, peer), group in frame.groupby(["job", "threads", "level", "peer"], sort=False):
        for label, half in halves.items():
            part = group if label == "all" else group[group["half"] == half]
            if part.empty:
                continue
            worst = part.loc[part["ratio"].idxmin()]
            goal = GOALS.get((job, peer))
            wanted = f"{goal[0]:g}, {goal[1]:g}" if goal and label == "all" else ""
            yield (
                f"| {job} | {threads} | {level} | {label} | {peer} | {len(part)} | "
                f"{part['ratio'].median():.2f} | {_quartiles(part['ratio'])} | {worst['ratio']:.2f} | "
                f"{worst['table']} | {wanted} |"
            )


def _losses(frame: pd.DataFrame) -> Iterator[str]:
    known = frame.dropna(subset=["loss"])
    first = known.drop_duplicates(["job", "peer", "table"])
    for (job, peer), group in first.groupby(["job", "peer"], sort=False):
        loss = group["loss"]
        yield f"| {job} | {peer} | {len(loss)} | {loss.median():.3f} | {_quartiles(loss)} |"


def _tables(frame: pd.DataFrame) -> Iterator[str]:
    for job, group in frame[frame["peer"] != "fastest peer"].groupby("job", sort=False):
        configurations = list(group[["threads", "level"]].drop_duplicates().itertuples(index=False))
        peers = list(group["peer"].unique())
        heads = [f"{peer}, {threads} {level}" for threads, level in configurations for peer in peers]
        yield f"### {job}"
        yield ""
        yield "| table | rows × columns | task | ms, 1 thread | " + " | ".join(heads) + " |"
        yield "|---|---|---|--:|" + "--:|" * len(heads)
        for table, part in group.groupby("table", sort=False):
            facts = part.iloc[0]
            found = part.set_index(["threads", "level", "peer"])["ratio"].to_dict()
            cells = [
                f"{found[key]:.2f}" if (key := (threads, level, peer)) in found else ""
                for threads, level in configurations
                for peer in peers
            ]
            task = f"{facts['classes']} classes" if facts["classes"] > 1 else facts["task"]
            yield (
                f"| {table} | {facts['rows']:,} × {facts['columns']:,} | {task} | "
                f"{1e3 * facts['own']:.3g} | " + " | ".join(cells) + " |"
            )
        yield ""

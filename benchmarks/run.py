"""Run benchmark cases and show them in one table: `python -m benchmarks.run [case …] [--write]`."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import adaboost, boosting, explaining, forests, linear, other_learners, prediction, trees
from benchmarks.harness import Comparison, Measurement
from spinney.native import level

MODULES = (trees, forests, adaboost, boosting, prediction, explaining, linear, other_learners)
CASES = {name: case for module in MODULES for name, case in module.CASES.items()}
RESULTS = Path(__file__).with_name("RESULTS.md")
HEADINGS = (
    "case",
    "library",
    "median time",
    "peer ÷ Spinney",
    "test score",
    "peak MB",
    "peak ÷ input",
    "runs",
)


def show_seconds(seconds: float) -> str:
    """Write a time in the unit that reads best."""
    for limit, scale, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (float("inf"), 1.0, "s")):
        if seconds < limit:
            return f"{seconds * scale:.3g} {unit}"
    return "∞"


def table_row(comparison: Comparison, measurement: Measurement) -> list[str]:
    """Return the cells of one contender; a dash where there is nothing to say."""
    if measurement.median is None:
        return [
            comparison.case,
            measurement.name,
            measurement.reason or "not measured",
            "–",
            "–",
            "–",
            "–",
            "0",
        ]
    ratio = comparison.ratio(measurement)
    first = measurement is comparison.measurements[0]
    peak, given = measurement.peak_megabytes, comparison.input_megabytes
    return [
        comparison.case,
        measurement.name,
        show_seconds(measurement.median),
        "–" if ratio is None or first else f"{ratio:.2f}×",
        "–" if measurement.score is None else f"{measurement.score:.4f}",
        "–" if peak is None else f"{peak:.0f}",
        "–" if peak is None or not given else f"{peak / given:.2f}×",
        str(len(measurement.seconds)),
    ]


def all_rows(comparisons: Iterable[Comparison]) -> list[list[str]]:
    """Return every row of the table."""
    return [
        table_row(comparison, measurement)
        for comparison in comparisons
        for measurement in comparison.measurements
    ]


def kept_lines(page: str, measured: Iterable[str]) -> dict[str, tuple[list[str], list[str]]]:
    """Return the rows and notes of the cases on a page that were not measured again."""
    kept: dict[str, tuple[list[str], list[str]]] = {}
    for line in page.splitlines():
        note = line.startswith("- **")
        name = line[4:].split("**")[0] if note else line[2:].split(" |")[0]
        if name in CASES and name not in measured:
            kept.setdefault(name, ([], []))[note].append(line)
    return kept


def markdown(comparisons: Sequence[Comparison], before: str = "") -> str:
    """Write the results as a page, with what is needed to judge them; cases of the page before are kept."""
    lines = [
        "# Spinney beside its peers",
        "",
        f"Measured {datetime.now(UTC):%Y-%m-%d} on {processor()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}.",
        "A case is measured anew when it is asked for; those measured earlier stay. Below the table stands "
        "for each what was done, and the level of vector instructions of the processor: times of two levels "
        "are of two machines.",
        'Medians of alternating runs in one process; "peer ÷ Spinney" above 1 means that Spinney is faster. '
        "Peak memory is what a process needs on top of the data it was given. "
        "`python -m benchmarks.run --write` makes this page.",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|" + "---|" * len(HEADINGS),
    ]
    parts = kept_lines(before, {c.case for c in comparisons})
    for c in comparisons:
        rows = ["| " + " | ".join(row) + " |" for row in all_rows([c])]
        parts[c.case] = (rows, [f"- **{c.case}**: {c.note}; {level}"] if c.note else [])
    known = [parts[name] for name in CASES if name in parts]
    lines += [line for rows, _ in known for line in rows]
    lines += ["", *(line for _, notes in known for line in notes), ""]
    return "\n".join(lines)


def processor() -> str:
    """Return the processor's name where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the cases that are asked for, all of them if none is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description="Spinney beside its peers.")
    parser.add_argument("cases", nargs="*", metavar="case", help=", ".join(CASES))
    parser.add_argument("--write", action="store_true", help=f"also write {RESULTS.name}")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.cases if name not in CASES]
    if unknown:
        parser.error(f"no case named {', '.join(unknown)}; there are {', '.join(CASES)}")
    console = Console(width=None if sys.stdout.isatty() else 160)
    comparisons: list[Comparison] = []
    for name in asked.cases or CASES:
        with console.status(f"{name} …"):
            comparisons.append(CASES[name]())
    table = Table(*HEADINGS)
    for row in all_rows(comparisons):
        table.add_row(*row)
    console.print(table)
    for comparison in comparisons:
        console.print(f"{comparison.case}: {comparison.note}", highlight=False)
    if asked.write:
        before = RESULTS.read_text() if RESULTS.exists() else ""
        RESULTS.write_text(markdown(comparisons, before))
        console.print(f"wrote {RESULTS}")


if __name__ == "__main__":
    main()

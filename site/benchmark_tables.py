"""Tables of the page on performance, computed from benchmarks/RESULTS.md."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median

PLACE = "<!-- one row per peer, from benchmarks/RESULTS.md -->"


def read_ratios(text: str) -> dict[str, dict[str, float]]:
    """Return peer -> case -> how many times as long the peer takes.

    Parameters
    ----------
    text : str
        The page that `python -m benchmarks.run --write` makes.

    Returns
    -------
    dict
        Ratios; above 1 Spinney is faster.

    Examples
    --------
    >>> read_ratios("| forest | scikit-learn | 2 s | 20.00× | 0.8 | – | – | 3 |")
    {'scikit-learn': {'forest': 20.0}}
    """
    found: dict[str, dict[str, float]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        ratio = re.fullmatch(r"([\d.]+)×", cells[3]) if len(cells) > 4 else None
        if ratio and not cells[1].startswith("Spinney"):
            peer = cells[1].split(",")[0].removesuffix(" hist")
            cases = found.setdefault(peer, {})
            cases[cells[0]] = min(float(ratio[1]), cases.get(cells[0], float("inf")))
    return found


def summary_table(ratios: dict[str, dict[str, float]]) -> str:
    """Return a table with one row per peer: cases, median, worst and best ratio."""
    rows = ["| compared with | cases | median | worst | best |", "|---|--:|--:|---|---|"]
    for peer, cases in sorted(ratios.items(), key=lambda item: -len(item[1])):
        worst, best = min(cases, key=cases.__getitem__), max(cases, key=cases.__getitem__)
        rows.append(
            f"| {peer} | {len(cases)} | {_times(median(cases.values()))} | {_times(cases[worst])} ({worst}) "
            f"| {_times(cases[best])} ({best}) |"
        )
    return "\n".join(rows)


def _times(ratio: float) -> str:
    return f"{ratio:.0f}×" if ratio >= 10 else f"{ratio:.1f}×"


def fill(markdown: str, results: Path) -> str:
    """Put the table where the page has a place for it."""
    table = summary_table(read_ratios(results.read_text(encoding="utf-8")))
    if PLACE not in markdown:
        raise ValueError(f"docs/performance.md has no line {PLACE!r}")
    return markdown.replace(PLACE, table)

"""Loss against time: every library at ten settings, over real tables, as one picture.

    python -m benchmarks.pareto run FOLDER OUT.jsonl [--half development] [--tables "a,b"] [--libraries "A;B"]
                                                     [--jobs 16] [--limit SECONDS] [--max-rows N]
    python -m benchmarks.pareto draw OUT.jsonl PICTURE.svg

Tables, splits, losses and libraries are those of benchmarks.quality. A point is one setting of one library:
the CPU time of all its fits, and the geometric mean of its losses over the least loss of each table (each
ratio at most 2). A point that no other is both below and left of is on the front.
"""

from __future__ import annotations

from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from benchmarks.quality import LIBRARIES, MAX_ROWS, Library, Plan, list_tables, read_rows, run_all

Settings = dict[str, dict[str, Any]]


def ladder(rounds: str, rate: str, steps: list[tuple[int, float]]) -> Settings:
    """Return one setting per number of rounds and learning rate, and the defaults."""
    return {"defaults": {}} | {f"{n} x {r}": {rounds: n, rate: r} for n, r in steps}


STEPS = [
    (20, 0.3), (50, 0.3), (50, 0.1), (100, 0.2), (200, 0.1),
    (400, 0.05), (400, 0.1), (1000, 0.02), (1000, 0.05),
]  # fmt: skip
SPINNEY: Settings = {
    "classic": {"preset": "classic"},
    **{f"{n} rounds": {"n_estimators": n} for n in (20, 50, 100, 200, 400, 800)},
    "symmetric": {"growth": "symmetric"},
    "defaults": {},
    "strong": {"preset": "strong"},
}
FOREST: Settings = {
    f"{n} trees, {leaf} rows": {"n_estimators": n, "min_samples_leaf": leaf}
    for n in (10, 30, 100, 300, 600)
    for leaf in (1, 5)
}
SETTINGS: dict[str, Settings] = {
    "Spinney": SPINNEY,
    "CatBoost": {"defaults": {}}
    | {f"{n} rounds": {"iterations": n} for n in (20, 50, 100, 200, 400, 700, 1500)}
    | {"depth 4": {"depth": 4}, "depth 8": {"depth": 8}},
    "LightGBM": ladder("n_estimators", "learning_rate", STEPS),
    "XGBoost": ladder("n_estimators", "learning_rate", STEPS),
    "HistGradientBoosting": ladder("max_iter", "learning_rate", STEPS),
    "RandomForest": FOREST,
}
COLORS = dict(zip(SETTINGS, ("#d1242f", "#b08800", "#1a7f37", "#0969da", "#8250df", "#57606a"), strict=True))


def points(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return loss ratio and CPU time of every setting, over the tables that all settings finished."""
    frame = pd.DataFrame([row for row in rows if "loss" in row])
    loss = frame.pivot_table(index=["table", "seed"], columns="library", values="loss").dropna() + 1e-6
    cpu = frame.pivot_table(index=["table", "seed"], columns="library", values="cpu").loc[loss.index]
    ratio = loss.div(loss.min(axis=1), axis=0).clip(upper=2)
    out = pd.DataFrame({"ratio": np.exp(np.log(ratio).mean()), "cpu": cpu.sum(), "tables": len(loss)})
    better = [(out.ratio < row.ratio) & (out.cpu < row.cpu) for row in out.itertuples()]
    return out.assign(front=[not one.any() for one in better])


def picture(found: pd.DataFrame, width: int = 860, height: int = 520) -> str:
    """Return the points as an SVG picture: time on a logarithmic axis, loss ratios upwards."""
    left, bottom, right, top = 70, height - 60, width - 190, 30
    x_low, x_high = np.log10(found.cpu.min()) - 0.1, np.log10(found.cpu.max()) + 0.1
    y_low, y_high = 1.0, float(found.ratio.max()) * 1.02

    def x(seconds: float) -> float:
        return float(left + (np.log10(seconds) - x_low) / (x_high - x_low) * (right - left))

    def y(ratio: float) -> float:
        return float(bottom - (ratio - y_low) / (y_high - y_low) * (bottom - top))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="12" role="img"><title>Loss against time, every library at ten settings</title>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#57606a"/>',
        f'<text x="{(left + right) / 2}" y="{height - 18}" text-anchor="middle">CPU time of all fits in '
        f"seconds ({int(found.tables.iloc[0])} tables)</text>",
        f'<text x="18" y="{(top + bottom) / 2}" text-anchor="middle" transform="rotate(-90 18 '
        f'{(top + bottom) / 2})">loss over the least loss of the table, geometric mean</text>',
    ]
    for tick in np.arange(np.ceil(x_low), x_high + 1e-9):
        parts.append(
            f'<text x="{x(10**tick):.1f}" y="{bottom + 18}" text-anchor="middle">{10**tick:g}</text>'
        )
    for tick in np.linspace(y_low, y_high, 5):
        parts.append(f'<text x="{left - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.2f}</text>')
    labels: list[tuple[float, float]] = []
    for label, row in found.sort_values("cpu").iterrows():
        library, setting = str(label).split(": ", 1)
        radius, name = (6 if row.front else 4), escape(f"{label}: {row.ratio:.3f}, {row.cpu:.1f} s")
        parts.append(
            f'<circle cx="{x(row.cpu):.1f}" cy="{y(row.ratio):.1f}" r="{radius}" fill="{COLORS[library]}" '
            f'fill-opacity="0.8"><title>{name}</title></circle>'
        )
        if setting in ("defaults", "strong"):
            at = (x(row.cpu) + 8, y(row.ratio) + 4)
            while any(abs(at[0] - a[0]) < 60 and abs(at[1] - a[1]) < 12 for a in labels):
                at = (at[0], at[1] + 12)
            labels.append(at)
            parts.append(
                f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" fill="{COLORS[library]}">{escape(setting)}</text>'
            )
    for i, (library, color) in enumerate(COLORS.items()):
        line = top + 20 * i
        parts.append(f'<circle cx="{right + 20}" cy="{line}" r="5" fill="{color}"/>')
        parts.append(f'<text x="{right + 32}" y="{line + 4}">{escape(library)}</text>')
    return "\n".join([*parts, "</svg>", ""])


@click.group(help=__doc__)
def main() -> None:
    """Run or draw."""


@main.command("run")
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--half", default="development", type=click.Choice(["development", "sealed", "all"]))
@click.option("--tables", default="", help="Names, separated by commas; all where empty.")
@click.option("--libraries", "names", default=";".join(SETTINGS), help="Names, separated by semicolons.")
@click.option("--max-rows", default=MAX_ROWS, help="Number of training rows at most.")
@click.option("--threads", default=1, help="Threads of each fit.")
@click.option("--jobs", default=1, help="Fits at a time.")
@click.option("--limit", default=None, type=float, help="Seconds after which a fit is ended.")
def run_command(
    folder: Path,
    out: Path,
    half: str,
    tables: str,
    names: str,
    max_rows: int,
    threads: int,
    jobs: int,
    limit: float | None,
) -> None:
    """Measure every setting of the libraries, one split per table."""
    known = list_tables(folder, half)
    wanted = {name: known[name] for name in tables.split(",")} if tables else known
    libraries: dict[str, Library] = {
        f"{name}: {label}": partial(LIBRARIES[name], **params)
        for name in names.split(";")
        for label, params in SETTINGS[name].items()
    }
    run_all(wanted, Plan(libraries, 1, max_rows, threads, jobs, limit), out)


@main.command("draw")
@click.argument("results", type=click.Path(exists=True, path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
def draw_command(results: Path, target: Path) -> None:
    """Write the picture, and print the front."""
    found = points(read_rows([results]))
    target.write_text(picture(found))
    print(found[found.front].sort_values("cpu").to_string(float_format="{:.3f}".format))


if __name__ == "__main__":
    main()

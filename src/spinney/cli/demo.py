"""The command `demo`: a leaderboard, a tree with its ledger, boosting with SHAP values, a saved model."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text
from rich.tree import Tree

from spinney.cli.options import output_options
from spinney.cli.output import Output
from spinney.cli.tables import bar, contributions_table, importance_table, leaderboard, make_table

_MAX_WIDTH = 110  # longer lines are hard to read
_COMPARED = (
    "gradient-boosting", "random-forest", "extra-trees", "adaboost", "cart", "c4.5", "linear",
    "discriminant", "naive-bayes", "svm",
)  # fmt: skip
_MODEL, _REPORT = "demo.spinney", "demo.html"
_STYLES = {"yes": "green", "no": "magenta", "✓": "green", "✗": "red"}


@click.command(short_help="Show what the library does, in seconds.")
@click.option("--folder", type=click.Path(file_okay=False), metavar="FOLDER",
              help="Where the model and the report are written.  [default: a temporary folder]")  # fmt: skip
@output_options
def demo(folder: str | None, as_json: bool, quiet: bool) -> None:
    """Show what the library does, in seconds: leaderboard, tree, boosting, model file, report."""
    output = Output(as_json, quiet)
    console = Console(highlight=False, stderr=as_json, quiet=quiet or (as_json and not output.interactive))
    console.width = min(console.width, _MAX_WIDTH)
    place = Path(folder) if folder is not None else Path(tempfile.gettempdir()) / "spinney-demo"
    place.mkdir(parents=True, exist_ok=True)
    begin = perf_counter()
    run(console, place)
    if as_json:
        files = {"model": str(place / _MODEL), "report": str(place / _REPORT)}
        output.result(files | {"seconds": perf_counter() - begin})


def run(console: Console, folder: Path) -> None:
    """Print all sections to a console, each as soon as it is computed.

    >>> run(Console(width=100), Path("."))  # doctest: +SKIP
    """
    import spinney
    from spinney import native

    begin = perf_counter()
    opening = (
        f"[bold]Spinney [cyan]{spinney.__version__}[/][/] [dim]· {native.level} vector instructions[/]\n"
        "Decision trees and ensembles: fast, reproducible, and easy to inspect."
    )
    console.print(Panel(opening, border_style="cyan", padding=(0, 2)), "")
    for title, parts in _sections(folder, console.width):
        console.print(Rule(f"[bold cyan]{title}[/]", align="left", style="cyan"))
        for part in parts:
            console.print(Padding(Group(part), (0, 0, 0, 2), expand=False))
        console.print()
    ending = (
        f"[bold]All of it in {perf_counter() - begin:.1f} s.[/]\n"
        "Next, with data of your own:  spinney compare data.csv --target COLUMN\n"
        "In Python:                    spinney.compare(X, y)   README.md has a first program"
    )
    console.print(Panel(ending, border_style="green", padding=(0, 2)))


def _sections(folder: Path, width: int) -> Iterator[tuple[str, Iterator[RenderableType]]]:
    """Yield the title and the parts of each section."""
    from sklearn.datasets import load_breast_cancer

    from spinney import GradientBoostingClassifier
    from spinney.datasets import load_watermelon3

    found = load_breast_cancer()
    X = {str(name): found.data[:, j] for j, name in enumerate(found.feature_names)}
    y = found.target_names[found.target].astype(object)
    yield "A leaderboard: benign or malignant?", _leaderboard(X, y, width)
    yield "A tree, and why it splits as it does", _tree(*load_watermelon3())
    held_out = np.arange(len(y)) % 4 == 0
    train, test = ({name: column[rows] for name, column in X.items()} for rows in (~held_out, held_out))
    model = GradientBoostingClassifier(random_state=0, growth="leaf-wise", n_members=1, n_estimators=300)
    model.fit(train, y[~held_out], eval_set=(test, y[held_out]))
    yield "A boosted model, round by round", _boosting(model, test, y[held_out])
    yield "One prediction explained", _explanation(model, test)
    yield "A saved model, and a report", _files(model, test, y[held_out], folder)


def _leaderboard(X: Any, y: Any, width: int) -> Iterator[RenderableType]:
    import spinney

    yield (
        f"{len(y)} tumours (Wisconsin, 1995), {len(X)} measurements of cell nuclei. Learners of every "
        "family on the same three folds:\n"
    )
    found = spinney.compare(X, y, learners=_COMPARED, cv=3, repeats=1, time=30, random_state=0)
    yield from leaderboard(found, width)
    yield Text("spinney compare data.csv --target diagnosis   or   spinney.compare(X, y)", "dim")


def _tree(X: Any, y: Any) -> Iterator[RenderableType]:
    import spinney
    from spinney.inspect.wording import named_tree, split_text

    model = spinney.C45Classifier(ledger=True).fit(X, y)
    named = named_tree(model)
    root = Tree(f"C4.5 on {len(y)} watermelons: is it ripe?", guide_style="dim")
    queue = [(0, root)]
    while queue:
        node, parent = queue.pop()
        for which, child in enumerate(named.tree.children(node)):
            branch = Text(split_text(named, node, which))
            if named.tree.is_leaf[child]:
                counts = (named.tree.value[child, 0] * named.tree.weight[child]).round(2)
                inside = ", ".join(f"{k} {count:g}" for k, count in zip(model.classes_, counts, strict=True))
                label = str(next(iter(named.label(child))))
                branch = Text.assemble(
                    branch, " → ", (label, f"bold {_STYLES[label]}"), (f"  [{inside}]", "dim")
                )
            queue.append((child, parent.add(branch)))
    yield root
    yield "\nWhy the root splits on " + named.names[int(named.tree.feature[0])] + ":\n"
    yield _candidates(model)


def _candidates(model: Any) -> RenderableType:
    """Return the ledger of the root: every feature with its gain and gain ratio."""
    rows = [row for row in model.ledger_.to_records() if row["node"] == 0]
    average = float(np.mean([row["gain"] for row in rows]))
    best = max(row["gain_ratio"] for row in rows)
    table = make_table("feature", "split", "gain", "gain ratio", "", " ", numbers=("gain", "gain ratio"))
    for row in sorted(rows, key=lambda row: -row["gain_ratio"]):
        split = "multiway" if np.isnan(row["threshold"]) else f"<= {row['threshold']:g}"
        note, color, style = "", "cyan", ""
        if row["chosen"]:
            note, color, style = "chosen", "green", "bold green"
        elif row["gain"] < average:
            note, style = "below average gain", "dim"
        numbers = (f"{row[name]:.3f}" for name in ("gain", "gain_ratio"))
        table.add_row(
            row["feature"], split, *numbers, bar(row["gain_ratio"] / best, color, 12), note, style=style
        )
    return table


def _boosting(model: Any, X: Any, y: Any) -> Iterator[RenderableType]:
    curve = -np.asarray(model.validation_score_)
    yield (
        f"Log loss on {len(y)} tumours held out: {curve[0]:.3f} before the first tree, "
        f"{curve.min():.3f} after {int(curve.argmin())}, the round that is kept; accuracy "
        f"{model.score(X, y):.1%}.\n"
    )
    yield Text(plot_curve(curve), "cyan")
    yield ""
    found = model.shap_values(X)
    mean = found.mean_abs()
    order = np.argsort(-mean, kind="stable")
    records = [{"feature": found.feature_names[j], "importance": float(mean[j])} for j in order]
    yield importance_table(records[:6], "mean |SHAP|")


def plot_curve(values: Any, width: int = 60, height: int = 6) -> str:
    """Return a curve drawn with block characters, the largest value at the top.

    >>> print(plot_curve([2.0, 1.0], width=2, height=1))
        2.000 ▏█▁
    """
    levels = " ▁▂▃▄▅▆▇█"
    curve = np.asarray(values, np.float64)
    places = np.linspace(0, len(curve) - 1, min(width, len(curve))).round().astype(np.intp)
    points = curve[places]
    low, high = float(points.min()), float(points.max())
    heights = np.maximum(np.round((points - low) / ((high - low) or 1.0) * height * 8), 1).astype(int)
    lines = []
    for line in range(height - 1, -1, -1):
        parts = np.clip(heights - 8 * line, 0, 8)
        label = f"{high:9.3f}" if line == height - 1 else f"{low:9.3f}" if line == 0 else " " * 9
        lines.append(f"{label} ▏" + "".join(levels[part] for part in parts))
    return "\n".join(lines)


def _explanation(model: Any, X: Any) -> Iterator[RenderableType]:
    scores = np.asarray(model.decision_function(X))
    row = int(np.argmin(np.abs(scores)))
    one = {name: column[row : row + 1] for name, column in X.items()}
    found = model.shap_values(one)
    shares = " · ".join(
        f"{k} {p:.1%}" for k, p in zip(model.classes_, np.asarray(model.predict_proba(one))[0], strict=True)
    )
    yield (
        f"The tumour that the model is least sure of: {shares}. "
        f"What speaks for [green]{model.classes_[-1]}[/], what against:\n"
    )
    yield contributions_table(found.feature_names, found.data[0], found.values[0], n_shown=6)


def _files(model: Any, X: Any, y: Any, folder: Path) -> Iterator[RenderableType]:
    import spinney
    from spinney.io import ModelFileError

    path = folder / _MODEL
    spinney.save(model, path, metadata={"command": "spinney demo"})
    again = spinney.load(path)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    refusal = ""
    try:
        spinney.load(bytes(damaged))
    except ModelFileError as error:
        refusal = str(error).split(". ")[0]
    same = bool((np.asarray(model.predict_proba(X)) == np.asarray(again.predict_proba(X))).all())
    table = make_table("", "what", "result")
    for what, result, good in (
        ("saved and loaded", f"{path.stat().st_size:,} bytes, same predictions", same),
        ("one bit of the file flipped", refusal, bool(refusal)),
    ):
        mark = "✓" if good else "✗"
        table.add_row(Text(mark, f"bold {_STYLES[mark]}"), what, Text(result if good else "FAILED", "dim"))
    yield table
    yield Text(f"\nspinney inspect {path}", "dim")
    from spinney.core.frames import to_frame

    frame = to_frame({name: column.tolist() for name, column in X.items()})
    page = spinney.report(model, frame, y, command="spinney demo").save(folder / _REPORT)
    yield Text.assemble("report page: ", (str(page), "bold green"))
    yield f"open it:     xdg-open {page}"

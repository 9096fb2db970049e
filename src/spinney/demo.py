"""The demo of `make demo`: trees on small data sets, and how to inspect them."""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from time import perf_counter
from typing import Any

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text
from rich.tree import Tree
from sklearn.model_selection import train_test_split

import spinney
from spinney import DecisionTreeClassifier, datasets, native
from spinney.data import read_table
from spinney.inspect.wording import named_tree, split_text
from spinney.io import ModelFileError, dumps

_MAX_WIDTH = 110  # longer lines are hard to read
_NUMBERS = {"confidence", "support", "gain", "gain ratio", "leaves", "training", "test", "fit", "accuracy"}
_STYLES = {"yes": "green", "no": "magenta", "✓": "green", "✗": "red"}


class Stopwatch:
    """Fits models, counts them and adds up the time.

    >>> watch = Stopwatch()
    >>> watch.fit(DecisionTreeClassifier(), [[0.0], [1.0]], [0, 1]).get_n_leaves(), watch.n_fits
    (2, 1)
    """

    def __init__(self) -> None:
        self.started, self.n_fits, self.seconds, self.last = perf_counter(), 0, 0.0, 0.0

    def fit(self, model: Any, X: Any, y: Any) -> Any:
        """Fit a model and return it."""
        begin = perf_counter()
        model.fit(X, y)
        self.last = perf_counter() - begin
        self.n_fits, self.seconds = self.n_fits + 1, self.seconds + self.last
        return model


def run(console: Console) -> None:
    """Print all sections to a console, each as soon as it is computed.

    >>> run(Console(width=100))  # doctest: +SKIP
    """
    watch = Stopwatch()
    opening = (
        f"[bold]Spinney [cyan]{spinney.__version__}[/][/] [dim]· {native.level} vector instructions[/]\n"
        "Decision trees and ensembles: fast, reproducible, and easy to inspect."
    )
    console.print(Panel(opening, border_style="cyan", padding=(0, 2)), "")
    for title, *parts in _sections(watch, console.width):
        console.print(Rule(f"[bold cyan]{title}[/]", align="left", style="cyan"))
        spaced = [line for part in parts for line in (part, "")]
        console.print(Padding(Group(*spaced), (0, 0, 0, 2), expand=False))
    ending = (
        f"[bold]{watch.n_fits} trees fitted in {watch.seconds * 1e3:.0f} ms[/], all sections in "
        f"{perf_counter() - watch.started:.1f} s.\n"
        "Next: README.md has a first program, docs/index.md the documentation."
    )
    console.print(Panel(ending, border_style="green", padding=(0, 2)))


def _sections(watch: Stopwatch, width: int) -> Iterator[tuple[Any, ...]]:
    """Yield the title and the parts of each section."""
    melons, ripe = datasets.load_watermelon3()
    yield "Data", *_data(melons, ripe)
    model = watch.fit(spinney.C45Classifier(ledger=True), melons, ripe)
    yield "Decision tree", *_tree(model)
    yield "Rules", *_rules(model, width)
    yield f"Why the root splits on {model.schema_.names[model.tree_.feature[0]]}", *_candidates(model)
    yield "Missing values", *_missing(watch)
    yield "Pruning", *_pruning(watch)
    yield "Accuracy on unseen data", *_accuracy(watch)
    yield "Model files and threads", *_file(model, melons, watch)


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for heading in headings:
        number = heading in _NUMBERS
        table.add_column(heading, "", overflow="fold", justify="right" if number else "left", no_wrap=number)
    return table


def _bar(fraction: float, style: str = "cyan") -> Text:
    halves = round(24 * min(max(fraction, 0.0), 1.0))
    return Text("━" * (halves // 2) + "╸" * (halves % 2), style, no_wrap=True)


def _label(label: object) -> Text:
    return Text(str(label), f"bold {_STYLES.get(str(label), 'default')}")


def _data(X: Any, y: Any) -> Iterator[RenderableType]:
    table = read_table(X)
    counts = Text(f"{table.n_rows} watermelons. Ripe? ")
    for label, count in sorted(Counter(y).items()):
        counts += Text.assemble(_label(label), " ", ("●" * count, _STYLES[label]), f" {count}  ")
    yield counts
    shown = _table("feature", "kind", "values")
    for j, feature in enumerate(table.schema.features):
        column = table.column(j)
        numeric = feature.kind == "numeric"
        limits = f"{np.nanmin(column):g} … {np.nanmax(column):g}" if numeric else ""
        shown.add_row(feature.name, feature.kind, limits or " · ".join(map(str, feature.categories)))
    yield shown
    yield "[dim]Text columns are used as categories; no encoding is needed."


def _tree(model: Any) -> Iterator[RenderableType]:
    named = named_tree(model)
    root = Tree(f"C4.5 on {named.tree.n_samples[0]} watermelons", guide_style="dim")
    queue = [(0, root)]
    while queue:
        node, parent = queue.pop()
        for which, child in enumerate(named.tree.children(node)):
            branch = Text(split_text(named, node, which))
            if named.tree.is_leaf[child]:
                counts = (named.tree.value[child, 0] * named.tree.weight[child]).round(2)
                inside = ", ".join(f"{k} {count:g}" for k, count in zip(model.classes_, counts, strict=True))
                branch = Text.assemble(branch, " → ", _label(*named.label(child)), (f"  [{inside}]", "dim"))
            queue.append((child, parent.add(branch)))
    yield root
    depth, leaves = model.get_depth(), model.get_n_leaves()
    yield f"[dim]{leaves} leaves, depth {depth}. In brackets: training rows per class."


def _rules(model: Any, width: int) -> Iterator[RenderableType]:
    table = _table("IF", "THEN", "confidence", "support")
    for rule in model.rules():
        conditions = _conditions(list(map(str, rule.conditions)), width - 38)
        support = f"{rule.weight:g} ({rule.share:.0%})"
        table.add_row(conditions, _label(rule.prediction), f"{rule.confidence:.0%}", support)
    yield table
    yield "[dim]A rule with support 0 covers a category that no training row had at this node."


def _conditions(conditions: list[str], room: int) -> Text:
    """Join conditions by AND, with a line break before a condition that does not fit."""
    unbreakable = " AND\xa0".join(condition.replace(" ", "\xa0") for condition in conditions)
    lines = textwrap.wrap(unbreakable, room, break_long_words=False, break_on_hyphens=False)
    text = Text("\n".join(lines).replace("\xa0", " "))
    text.highlight_words(["AND"], "dim")
    return text


def _candidates(model: Any) -> Iterator[RenderableType]:
    rows = [row for row in model.ledger_.to_records() if row["node"] == 0]
    average = float(np.mean([row["gain"] for row in rows]))
    best = max(row["gain_ratio"] for row in rows)
    table = _table("feature", "split", "gain", "gain ratio", "", "")
    for row in sorted(rows, key=lambda row: -row["gain_ratio"]):
        split = "multiway" if np.isnan(row["threshold"]) else f"<= {row['threshold']:g}"
        note, color, style = "", "cyan", ""
        if row["chosen"]:
            note, color, style = "chosen", "green", "bold green"
        elif row["gain"] < average:
            note, style = "below average", "dim"
        numbers = (f"{row[name]:.3f}" for name in ("gain", "gain_ratio"))
        bar = _bar(row["gain_ratio"] / best, color)
        table.add_row(row["feature"], split, *numbers, bar, note, style=style)
    yield table
    yield (
        "[dim]C4.5 chooses the best gain ratio among features with at least average gain "
        f"({average:.3f} bits). With ledger=True the model records this table for every node."
    )


def _missing(watch: Stopwatch) -> Iterator[RenderableType]:
    X, y = datasets.load_watermelon2_missing()
    model = watch.fit(spinney.ID3Classifier(), X, y)
    reach = model.decision_path(X).toarray()[:, list(model.tree_.children(0))]
    divided = np.flatnonzero((reach > 0).sum(axis=1) > 1)
    n_known = len(X) - len(divided)
    yield (
        "The texture of melons 8 and 10 is missing. They are neither dropped nor imputed: each goes down "
        "every branch with a fraction of its weight, and the predictions are averaged by these fractions."
    )
    table = _table("branch of the root", "full rows", *(f"of melon {row + 1}" for row in divided))
    for which in np.argsort(-reach.sum(axis=0)).tolist():
        parts = reach[divided, which]
        numerators = [Fraction(part * n_known).limit_denominator(100) for part in parts]
        texts = (f"{a}/{n_known} = {part:.3f}" for a, part in zip(numerators, parts, strict=True))
        branch = split_text(named_tree(model), 0, which)
        table.add_row(branch, str((reach[:, which] == 1.0).sum()), *texts)
    yield table
    predictions = Text("Predicted probabilities: ", "dim")
    for row, proba in zip(divided, model.predict_proba(X)[divided], strict=True):
        predictions.append(f"melon {row + 1} ")
        for index in np.argsort(-proba):
            predictions.append_text(_label(model.classes_[index])).append(f" {proba[index]:.2f}  ", "dim")
    yield predictions


def _pruning(watch: Stopwatch) -> Iterator[RenderableType]:
    X, truth = datasets.make_box(600, frame=None)
    X_new, truth_new = datasets.make_box(2000, random_state=1, frame=None)
    y = np.where(np.random.default_rng(0).random(len(truth)) < 0.15, -truth, truth)
    yield (
        "600 random points, positive in one corner of the square; 15% of the training labels are flipped. "
        "An unpruned tree fits the noise; a pruned one finds the corner."
    )
    table = _table("pruning", "leaves", "training", "test", "")
    for method in (None, "pre", "reduced-error", "pessimistic", "cost-complexity"):
        model = watch.fit(DecisionTreeClassifier(pruning=method, random_state=0), X, y)
        seen, new = model.score(X, y), model.score(X_new, truth_new)
        table.add_row(str(method), str(model.get_n_leaves()), f"{seen:.1%}", f"{new:.1%}", _bar(new))
    yield table


def _accuracy(watch: Stopwatch) -> Iterator[RenderableType]:
    X, y = datasets.load_tic_tac_toe(frame=None)
    numbers = np.vectorize({"x": 1.0, "b": 0.0, "o": -1.0}.__getitem__)(X)
    table = _table("learner", "leaves", "fit", "accuracy", "")
    for name, learner, data in (
        ("ID3", spinney.ID3Classifier(), X),
        ("C4.5", spinney.C45Classifier(), X),
        ("CART", DecisionTreeClassifier(), X),
        ("oblique (x = 1, o = −1)", spinney.ObliqueTreeClassifier(random_state=0), numbers),
    ):
        train, test, y_train, y_test = train_test_split(data, y, test_size=0.3, random_state=0, stratify=y)
        model = watch.fit(learner, train, y_train)
        leaves, time, score = model.get_n_leaves(), watch.last * 1e3, model.score(test, y_test)
        table.add_row(name, str(leaves), f"{time:.1f} ms", f"{score:.1%}", _bar(score))
    yield (
        f"The 958 final boards of tic-tac-toe: has x won? {len(y_train)} boards for training, {len(y_test)} "
        f"for testing; always predicting yes has an accuracy of {np.mean(y_test == 'positive'):.1%}."
    )
    yield table
    yield "[dim]The squares of a line of three add up to 3, so splits on weighted sums need few leaves."


def _file(model: Any, X: Any, watch: Stopwatch) -> Iterator[RenderableType]:
    data = dumps(model)
    again = spinney.load(data)
    same = bool((model.predict_proba(X) == again.predict_proba(X)).all())
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 1
    refusal = ""
    try:
        spinney.load(bytes(damaged))
    except ModelFileError as error:
        refusal = f"refused: {str(error).split('. ')[0]}."
    X_many, y_many = datasets.make_box(20_000, frame=None)
    trees = [DecisionTreeClassifier(max_depth=8, n_jobs=n_jobs) for n_jobs in (1, 2, 7)]
    files = {dumps(watch.fit(tree, X_many, y_many).set_params(n_jobs=None)) for tree in trees}
    table = Table.grid(padding=(0, 2))
    for what, result, good in (
        ("saved and loaded", f"{len(data):,} bytes, same predictions", same),
        ("saved again", "same bytes", dumps(again) == data),
        ("one bit of the file flipped", refusal, bool(refusal)),
        ("20,000 rows fitted with 1, 2 and 7 threads", "same bytes", len(files) == 1),
    ):
        table.add_row(_label("✓" if good else "✗"), what, Text(result if good else "FAILED", "dim"))
    yield table
    yield "[dim]A model file has only numbers and text; loading one does not execute code."


def main() -> None:
    """Print the demo to the standard output."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # instead of an error, if the terminal lacks a character
    console = Console(highlight=False)
    console.width = min(console.width, _MAX_WIDTH)
    try:
        run(console)
    except ImportError as error:  # no data frame library; the message says what to install
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()

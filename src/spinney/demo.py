"""The demonstration that `make demo` runs: small data sets, and everything a tree can tell about itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text
from rich.tree import Tree
from sklearn.model_selection import train_test_split

from spinney import (
    C45Classifier,
    DecisionTreeClassifier,
    ID3Classifier,
    ObliqueTreeClassifier,
    __version__,
    datasets,
    load,
    native,
    save,
)
from spinney.data import read_table
from spinney.inspect.wording import NamedTree, named_tree, split_text
from spinney.io import ModelFileError, dumps

_WIDEST = 110  # longer lines are hard to read
_BAR = 12
_CLASS_STYLES = {"yes": "green", "no": "magenta"}
_FLIPPED = 0.15

Chapter = tuple[str, RenderableType]


class Stopwatch:
    """Fit models, and add up how many there were and how long it took.

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
    """Show all chapters on a console, each as soon as it is computed.

    >>> run(Console(width=100))  # doctest: +SKIP
    """
    watch = Stopwatch()
    console.print(_opening(), "")
    for title, body in _chapters(watch, console.width):
        console.print(Rule(Text(title, "bold cyan"), align="left", style="cyan"))
        console.print(Padding(body, (0, 0, 1, 2), expand=False))
    console.print(_ending(watch))


def _chapters(watch: Stopwatch, width: int) -> Iterator[Chapter]:
    melons, ripe = datasets.load_watermelon3()
    yield "The data", _data(melons, ripe)
    model = watch.fit(C45Classifier(ledger=True), melons, ripe)
    yield "The tree", _tree(model)
    yield "Its rules", _rules(model, width)
    asked = model.schema_.names[model.tree_.feature[0]]
    yield f"Why the root asks for {asked}", _candidates(model)
    yield "Missing values", _missing(watch)
    yield "Pruning", _pruning(watch)
    yield "Accuracy on boards never seen", _accuracy(watch)
    yield "Files, and any number of threads", _file(model, melons, watch)


# ---- parts of the page ----


def _opening() -> RenderableType:
    what = Text.assemble(
        ("Spinney ", "bold"),
        (__version__, "bold cyan"),
        (f" · {native.level} instructions", "dim"),
        "\nDecision trees by the book, fast, and able to show how they were made.",
    )
    return Panel(what, box=box.ROUNDED, border_style="cyan", padding=(0, 2))


def _ending(watch: Stopwatch) -> RenderableType:
    trees, total = f"{watch.n_fits} trees", perf_counter() - watch.started
    done = Text.assemble(
        (f"{trees} fitted in {watch.seconds * 1e3:.0f} ms", "bold"),
        f", the whole page in {total:.1f} s.\n",
        "Next: README.md for a first program, docs/index.md for everything else.",
    )
    return Panel(done, box=box.ROUNDED, border_style="green", padding=(0, 2))


def _page(*parts: RenderableType) -> Group:
    """Put parts below each other with a blank line between them."""
    spaced: list[RenderableType] = []
    for part in parts:
        spaced += ["", part] if spaced else [part]
    return Group(*spaced)


def _table(*headings: str, numbers: tuple[str, ...] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="bold", show_edge=False)
    for heading in headings:
        right = heading in numbers
        table.add_column(
            heading, justify="right" if right else "left", no_wrap=right, overflow="fold", vertical="top"
        )
    return table


def _bar(share: float, style: str = "cyan") -> Text:
    halves = round(2 * _BAR * min(max(share, 0.0), 1.0))
    return Text("━" * (halves // 2) + "╸" * (halves % 2), style, no_wrap=True)


def _label(label: object) -> Text:
    return Text(str(label), f"bold {_CLASS_STYLES.get(str(label), 'default')}")


# ---- chapters ----


def _data(X: Any, y: Any) -> RenderableType:
    table = read_table(X)
    shown = _table("feature", "kind", "values")
    for j, feature in enumerate(table.schema.features):
        if feature.kind == "categorical":
            values = " · ".join(map(str, feature.categories))
        else:
            column = table.column(j)
            values = f"{np.nanmin(column):g} … {np.nanmax(column):g}"
        shown.add_row(feature.name, feature.kind, values)
    labels, counts = np.unique(np.asarray(y, dtype=object), return_counts=True)
    classes = Text(f"{table.n_rows} watermelons. Ripe? ")
    for label, count in zip(labels.tolist(), counts.tolist(), strict=True):
        classes.append_text(
            Text.assemble(_label(label), " ", ("●" * count, _CLASS_STYLES[label]), f" {count}  ")
        )
    return _page(classes, shown, Text("Text columns are read as they are: nothing to encode.", "dim"))


def _tree(model: Any) -> RenderableType:
    named = named_tree(model)
    root = Tree(Text(f"C4.5 on {named.tree.n_samples[0]} watermelons"), guide_style="dim")
    waiting = [(0, root)]
    while waiting:
        node, place = waiting.pop()
        for which, child in enumerate(named.tree.children(node)):
            branch = Text(split_text(named, node, which))
            if named.tree.is_leaf[child]:
                branch.append_text(_leaf(named, child))
            waiting.append((child, place.add(branch)))
    depth, leaves = model.get_depth(), model.get_n_leaves()
    return _page(root, Text(f"{leaves} leaves, depth {depth}. In brackets: the rows of each class.", "dim"))


def _leaf(named: NamedTree, node: int) -> Text:
    (label,), ((classes),) = named.label(node), named.labels or ((),)
    counts = named.tree.value[node, 0] * named.tree.weight[node]
    inside = ", ".join(f"{name} {count:g}" for name, count in zip(classes, counts.round(2), strict=True))
    return Text.assemble(" → ", _label(label), (f"  [{inside}]", "dim"))


def _rules(model: Any, width: int) -> RenderableType:
    table = _table("IF", "THEN", "confidence", "support", numbers=("confidence", "support"))
    for rule in model.rules():
        support = f"{rule.weight:g} ({rule.share:.0%})"
        table.add_row(
            _conditions(list(map(str, rule.conditions)), width - 38),
            _label(rule.prediction),
            f"{rule.confidence:.0%}",
            support,
        )
    note = "A rule with support 0 answers for a category that no training row had there."
    return _page(table, Text(note, "dim"))


def _conditions(conditions: list[str], room: int) -> Text:
    """Join conditions by AND, with a new line before the one that would not fit in whole."""
    text, used = Text(), 0
    for condition in conditions:
        joint = 5 if text else 0
        if used + joint + len(condition) > room and text:
            text.append("\n")
            used, joint = 0, 4
        text.append(" AND "[5 - joint :] if joint else "", "dim").append(condition)
        used += joint + len(condition)
    return text


def _candidates(model: Any) -> RenderableType:
    rows = [row for row in model.ledger_.to_records() if row["node"] == 0]
    average = float(np.mean([row["gain"] for row in rows]))
    best = max(row["gain_ratio"] for row in rows)
    table = _table("feature", "test", "gain", "gain ratio", "", "", numbers=("gain", "gain ratio"))
    for row in sorted(rows, key=lambda row: -row["gain_ratio"]):
        ruled_out = row["gain"] < average
        style = "bold green" if row["chosen"] else "dim" if ruled_out else ""
        table.add_row(
            row["feature"],
            "a branch each" if np.isnan(row["threshold"]) else f"<= {row['threshold']:g}",
            f"{row['gain']:.3f}",
            f"{row['gain_ratio']:.3f}",
            _bar(row["gain_ratio"] / best, "green" if row["chosen"] else "cyan"),
            "chosen" if row["chosen"] else "below average" if ruled_out else "",
            style=style,
        )
    note = (
        f"C4.5 takes the best gain ratio among features of at least average gain ({average:.3f} bits). "
        "With ledger=True the model keeps this table for every node."
    )
    return _page(table, Text(note, "dim"))


def _missing(watch: Stopwatch) -> RenderableType:
    X, y = datasets.load_watermelon2_missing()
    model = watch.fit(ID3Classifier(), X, y)
    named, children = named_tree(model), list(model.tree_.children(0))
    reach = model.decision_path(X).toarray()[:, children]
    divided = np.flatnonzero((reach > 0).sum(axis=1) > 1)
    table = _table("branch of the root", "whole rows", *(f"of melon {row + 1}" for row in divided))
    for which in np.argsort(-reach.sum(axis=0)).tolist():
        whole = int((reach[:, which] == 1.0).sum())
        table.add_row(
            split_text(named, 0, which),
            str(whole),
            *(_fraction(reach[row, which]) for row in divided),
        )
    proba = model.predict_proba(X)[divided]
    answers = Text("Answers added up: ", "dim")
    for row, shares in zip(divided, proba, strict=True):
        answers.append(f"melon {row + 1} ")
        for place in np.argsort(-shares):
            answers.append_text(_label(model.classes_[place])).append(f" {shares[place]:.2f}  ", "dim")
    opening = (
        "Of melons 8 and 10 the texture is not known. Neither is dropped nor guessed: each goes down "
        "every branch with a part of its weight, and its answers are added up in the same parts."
    )
    return _page(Text(opening), table, answers)


def _fraction(share: float) -> str:
    known = 15  # rows whose texture is known
    return f"{Fraction(share * known).limit_denominator(100)}/{known} = {share:.3f}"


def _pruning(watch: Stopwatch) -> RenderableType:
    X, truth = datasets.make_box(600, frame=None)
    flipped = np.random.default_rng(0).random(len(truth)) < _FLIPPED
    X_new, truth_new = datasets.make_box(2000, random_state=1, frame=None)
    table = _table(
        "pruning", "leaves", "seen rows", "new rows", "", numbers=("leaves", "seen rows", "new rows")
    )
    for method in (None, "pre", "reduced-error", "pessimistic", "cost-complexity"):
        y = np.where(flipped, -truth, truth)
        model = watch.fit(DecisionTreeClassifier(pruning=method, random_state=0), X, y)
        seen, new = model.score(X, y), model.score(X_new, truth_new)
        table.add_row(str(method), str(model.get_n_leaves()), f"{seen:.1%}", f"{new:.1%}", _bar(new))
    opening = (
        f"600 points in a square, positive in one corner of it; {_FLIPPED:.0%} of the labels are wrong. "
        "A full tree learns the noise by heart; a pruned one finds the corner."
    )
    return _page(Text(opening), table)


def _accuracy(watch: Stopwatch) -> RenderableType:
    X, y = datasets.load_tic_tac_toe(frame=None)
    numbers = np.vectorize({"x": 1.0, "b": 0.0, "o": -1.0}.__getitem__)(X)
    learners: list[tuple[str, Any, NDArray[Any]]] = [
        ("ID3", ID3Classifier(), X),
        ("C4.5", C45Classifier(), X),
        ("CART", DecisionTreeClassifier(), X),
        ("oblique, on x = 1, o = −1", ObliqueTreeClassifier(random_state=0), numbers),
    ]
    table = _table("learner", "leaves", "fit", "accuracy", "", numbers=("leaves", "fit", "accuracy"))
    for name, learner, data in learners:
        train, test, y_train, y_test = train_test_split(data, y, test_size=0.3, random_state=0, stratify=y)
        model = watch.fit(learner, train, y_train)
        accuracy = model.score(test, y_test)
        table.add_row(
            name, str(model.get_n_leaves()), f"{watch.last * 1e3:.1f} ms", f"{accuracy:.1%}", _bar(accuracy)
        )
    most = float(np.mean(y_test == "positive"))
    opening = (
        f"The 958 final boards of tic-tac-toe: has x won? {len(y_train)} boards to learn from, {len(y_test)} "
        f"held out; always saying yes would be right on {most:.1%} of them."
    )
    note = "A line of three is a sum, so tests of weighted sums need few leaves here."
    return _page(Text(opening), table, Text(note, "dim"))


def _file(model: Any, X: Any, watch: Stopwatch) -> RenderableType:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "melons.spinney"
        save(model, path)
        data = path.read_bytes()
        again = load(path)
    same = bool((model.predict_proba(X) == again.predict_proba(X)).all())
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 1
    try:
        load(bytes(damaged))
        refusal = "NOT NOTICED"
    except ModelFileError as error:
        refusal = f"refused: {str(error).split('. ')[0]}."
    X_many, y_many = datasets.make_box(20_000, frame=None)
    files = set()
    for n_jobs in (1, 2, 7):
        tree = watch.fit(DecisionTreeClassifier(max_depth=8, n_jobs=n_jobs), X_many, y_many)
        files.add(dumps(tree.set_params(n_jobs=None)))
    table = Table.grid(padding=(0, 2))
    for what, result, good in (
        (
            "saved and loaded again",
            f"{len(data):,} bytes, the same predictions" if same else "DIFFERENT",
            same,
        ),
        ("saved once more", "the same bytes" if dumps(again) == data else "DIFFERENT", dumps(again) == data),
        ("one bit of the file flipped", refusal, refusal != "NOT NOTICED"),
        (
            "20,000 rows on 1, 2 and 7 threads",
            "the same bytes" if len(files) == 1 else "DIFFERENT",
            len(files) == 1,
        ),
    ):
        table.add_row(
            Text("✓" if good else "✗", "bold green" if good else "bold red"), what, Text(result, "dim")
        )
    return _page(table, Text("A model file holds numbers and text only: loading one runs no code.", "dim"))


def main() -> None:
    """Show the demonstration on the standard output."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal without these signs shows others, not an error
    console = Console(highlight=False)
    try:
        run(Console(highlight=False, width=min(console.width, _WIDEST)))
    except ImportError as error:  # no library for data frames: the message says what to install
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()

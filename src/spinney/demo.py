"""The demo of `make demo`: trees on small data sets, and how to inspect them."""

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

_MAX_WIDTH = 110  # longer lines are hard to read
_BAR = 12
_CLASS_STYLES = {"yes": "green", "no": "magenta"}
_FLIPPED = 0.15

Section = tuple[str, RenderableType]


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
    console.print(_opening(), "")
    for title, body in _sections(watch, console.width):
        console.print(Rule(Text(title, "bold cyan"), align="left", style="cyan"))
        console.print(Padding(body, (0, 0, 1, 2), expand=False))
    console.print(_ending(watch))


def _sections(watch: Stopwatch, width: int) -> Iterator[Section]:
    melons, ripe = datasets.load_watermelon3()
    yield "Data", _data(melons, ripe)
    model = watch.fit(C45Classifier(ledger=True), melons, ripe)
    yield "Decision tree", _tree(model)
    yield "Rules", _rules(model, width)
    root_feature = model.schema_.names[model.tree_.feature[0]]
    yield f"Why the root splits on {root_feature}", _candidates(model)
    yield "Missing values", _missing(watch)
    yield "Pruning", _pruning(watch)
    yield "Accuracy on unseen data", _accuracy(watch)
    yield "Model files and threads", _file(model, melons, watch)


# ---- layout ----


def _opening() -> RenderableType:
    what = Text.assemble(
        ("Spinney ", "bold"),
        (__version__, "bold cyan"),
        (f" · {native.level} vector instructions", "dim"),
        "\nDecision trees and ensembles: fast, reproducible, and easy to inspect.",
    )
    return Panel(what, box=box.ROUNDED, border_style="cyan", padding=(0, 2))


def _ending(watch: Stopwatch) -> RenderableType:
    trees, total = f"{watch.n_fits} trees", perf_counter() - watch.started
    done = Text.assemble(
        (f"{trees} fitted in {watch.seconds * 1e3:.0f} ms", "bold"),
        f", all sections in {total:.1f} s.\n",
        "Next: README.md has a first program, docs/index.md the documentation.",
    )
    return Panel(done, box=box.ROUNDED, border_style="green", padding=(0, 2))


def _page(*parts: RenderableType) -> Group:
    """Stack parts with a blank line between them."""
    spaced: list[RenderableType] = []
    for part in parts:
        spaced += ["", part] if spaced else [part]
    return Group(*spaced)


def _table(*headings: str, numbers: tuple[str, ...] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="bold", show_edge=False)
    for heading in headings:
        look: dict[str, Any] = {"justify": "right", "no_wrap": True} if heading in numbers else {}
        table.add_column(heading, overflow="fold", vertical="top", **look)
    return table


def _bar(fraction: float, style: str = "cyan") -> Text:
    halves = round(2 * _BAR * min(max(fraction, 0.0), 1.0))
    return Text("━" * (halves // 2) + "╸" * (halves % 2), style, no_wrap=True)


def _label(label: object) -> Text:
    return Text(str(label), f"bold {_CLASS_STYLES.get(str(label), 'default')}")


# ---- sections ----


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
    return _page(classes, shown, Text("Text columns are used as categories; no encoding is needed.", "dim"))


def _tree(model: Any) -> RenderableType:
    named = named_tree(model)
    root = Tree(Text(f"C4.5 on {named.tree.n_samples[0]} watermelons"), guide_style="dim")
    queue = [(0, root)]
    while queue:
        node, parent = queue.pop()
        for which, child in enumerate(named.tree.children(node)):
            branch = Text(split_text(named, node, which))
            if named.tree.is_leaf[child]:
                branch.append_text(_leaf(named, child))
            queue.append((child, parent.add(branch)))
    depth, leaves = model.get_depth(), model.get_n_leaves()
    return _page(root, Text(f"{leaves} leaves, depth {depth}. In brackets: training rows per class.", "dim"))


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
    note = "A rule with support 0 covers a category that no training row had at this node."
    return _page(table, Text(note, "dim"))


def _conditions(conditions: list[str], room: int) -> Text:
    """Join conditions by AND, with a line break before a condition that does not fit."""
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
    table = _table("feature", "split", "gain", "gain ratio", "", "", numbers=("gain", "gain ratio"))
    for row in sorted(rows, key=lambda row: -row["gain_ratio"]):
        below_average = row["gain"] < average
        style = "bold green" if row["chosen"] else "dim" if below_average else ""
        table.add_row(
            row["feature"],
            "multiway" if np.isnan(row["threshold"]) else f"<= {row['threshold']:g}",
            f"{row['gain']:.3f}",
            f"{row['gain_ratio']:.3f}",
            _bar(row["gain_ratio"] / best, "green" if row["chosen"] else "cyan"),
            "chosen" if row["chosen"] else "below average" if below_average else "",
            style=style,
        )
    note = (
        f"C4.5 chooses the best gain ratio among features with at least average gain ({average:.3f} bits). "
        "With ledger=True the model records this table for every node."
    )
    return _page(table, Text(note, "dim"))


def _missing(watch: Stopwatch) -> RenderableType:
    X, y = datasets.load_watermelon2_missing()
    model = watch.fit(ID3Classifier(), X, y)
    named, children = named_tree(model), list(model.tree_.children(0))
    reach = model.decision_path(X).toarray()[:, children]
    divided = np.flatnonzero((reach > 0).sum(axis=1) > 1)
    table = _table("branch of the root", "full rows", *(f"of melon {row + 1}" for row in divided))
    for which in np.argsort(-reach.sum(axis=0)).tolist():
        full = int((reach[:, which] == 1.0).sum())
        table.add_row(
            split_text(named, 0, which), str(full), *(_fraction(reach[row, which]) for row in divided)
        )
    predictions = Text("Predicted probabilities: ", "dim")
    for row, proba in zip(divided, model.predict_proba(X)[divided], strict=True):
        predictions.append(f"melon {row + 1} ")
        for index in np.argsort(-proba):
            predictions.append_text(_label(model.classes_[index])).append(f" {proba[index]:.2f}  ", "dim")
    opening = (
        "The texture of melons 8 and 10 is missing. They are neither dropped nor imputed: each goes down "
        "every branch with a fraction of its weight, and the predictions are averaged by these fractions."
    )
    return _page(Text(opening), table, predictions)


def _fraction(weight: float) -> str:
    n_known = 15  # rows whose texture is known
    return f"{Fraction(weight * n_known).limit_denominator(100)}/{n_known} = {weight:.3f}"


def _pruning(watch: Stopwatch) -> RenderableType:
    X, truth = datasets.make_box(600, frame=None)
    flipped = np.random.default_rng(0).random(len(truth)) < _FLIPPED
    X_new, truth_new = datasets.make_box(2000, random_state=1, frame=None)
    table = _table("pruning", "leaves", "training", "test", "", numbers=("leaves", "training", "test"))
    for method in (None, "pre", "reduced-error", "pessimistic", "cost-complexity"):
        y = np.where(flipped, -truth, truth)
        model = watch.fit(DecisionTreeClassifier(pruning=method, random_state=0), X, y)
        seen, new = model.score(X, y), model.score(X_new, truth_new)
        table.add_row(str(method), str(model.get_n_leaves()), f"{seen:.1%}", f"{new:.1%}", _bar(new))
    opening = (
        f"600 random points, positive in one corner of the square; {_FLIPPED:.0%} of the training labels are "
        "flipped. An unpruned tree fits the noise; a pruned one finds the corner."
    )
    return _page(Text(opening), table)


def _accuracy(watch: Stopwatch) -> RenderableType:
    X, y = datasets.load_tic_tac_toe(frame=None)
    numbers = np.vectorize({"x": 1.0, "b": 0.0, "o": -1.0}.__getitem__)(X)
    learners: list[tuple[str, Any, NDArray[Any]]] = [
        ("ID3", ID3Classifier(), X),
        ("C4.5", C45Classifier(), X),
        ("CART", DecisionTreeClassifier(), X),
        ("oblique (x = 1, o = −1)", ObliqueTreeClassifier(random_state=0), numbers),
    ]
    table = _table("learner", "leaves", "fit", "accuracy", "", numbers=("leaves", "fit", "accuracy"))
    for name, learner, data in learners:
        train, test, y_train, y_test = train_test_split(data, y, test_size=0.3, random_state=0, stratify=y)
        model = watch.fit(learner, train, y_train)
        accuracy = model.score(test, y_test)
        table.add_row(
            name, str(model.get_n_leaves()), f"{watch.last * 1e3:.1f} ms", f"{accuracy:.1%}", _bar(accuracy)
        )
    majority = float(np.mean(y_test == "positive"))
    opening = (
        f"The 958 final boards of tic-tac-toe: has x won? {len(y_train)} boards for training, {len(y_test)} "
        f"for testing; always predicting yes has an accuracy of {majority:.1%}."
    )
    note = "The squares of a line of three add up to 3, so splits on weighted sums need few leaves."
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
    refusal = ""
    try:
        load(bytes(damaged))
    except ModelFileError as error:
        refusal = f"refused: {str(error).split('. ')[0]}."
    X_many, y_many = datasets.make_box(20_000, frame=None)
    files = set()
    for n_jobs in (1, 2, 7):
        tree = watch.fit(DecisionTreeClassifier(max_depth=8, n_jobs=n_jobs), X_many, y_many)
        files.add(dumps(tree.set_params(n_jobs=None)))
    table = Table.grid(padding=(0, 2))
    for what, result, good in (
        ("saved and loaded", f"{len(data):,} bytes, same predictions", same),
        ("saved again", "same bytes", dumps(again) == data),
        ("one bit of the file flipped", refusal, bool(refusal)),
        ("20,000 rows fitted with 1, 2 and 7 threads", "same bytes", len(files) == 1),
    ):
        mark = Text("✓", "bold green") if good else Text("✗", "bold red")
        table.add_row(mark, what, Text(result if good else "FAILED", "dim"))
    return _page(
        table, Text("A model file has only numbers and text; loading one does not execute code.", "dim")
    )


def main() -> None:
    """Print the demo to the standard output."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # instead of an error, if the terminal lacks a character
    console = Console(highlight=False)
    try:
        run(Console(highlight=False, width=min(console.width, _MAX_WIDTH)))
    except ImportError as error:  # no data frame library; the message says what to install
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()

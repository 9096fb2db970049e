"""A tree in the DOT language of Graphviz, in the format of scikit-learn's export_graphviz."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError
from spinney.inspect.wording import NamedTree, named_tree, printable, split_text, splits_on_missing
from spinney.tree.tree_arrays import LEAF, MULTIWAY, NUMERIC

_CUT_FILL = "#C0C0C0"
_MAX_CATEGORIES = 12  # of a set, in one node


class TextFile(Protocol):
    """A file to write text to."""

    def write(self, text: str, /) -> object:
        """Write text."""


def export_graphviz(
    decision_tree: Any,
    out_file: str | os.PathLike[str] | TextFile | None = None,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | bool | None = None,
    label: Literal["all", "root", "none"] = "all",
    filled: bool = False,
    leaves_parallel: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rotate: bool = False,
    rounded: bool = False,
    special_characters: bool = False,
    precision: int = 3,
    fontname: str = "helvetica",
) -> str | None:
    """Export a fitted tree in the DOT language of Graphviz.

    The output for trees of numeric splits is that of scikit-learn's ``export_graphviz``. Splits by sets of
    categories and by sums of features are written out; the branches of multiway splits have labels.

    Parameters
    ----------
    decision_tree : estimator or TreeArrays
        A fitted tree, or its ``tree_``.
    out_file : str, path-like, file or None, default=None
        File to write; None returns the text.
    max_depth : int or None, default=None
        Nodes below this depth are cut off.
    feature_names : sequence of str or None, default=None
        Names of the features. Defaults to those seen in `fit`, otherwise x[0], x[1], ...
    class_names : sequence, bool or None, default=None
        Names of the classes, which then are shown; True shows y[0], y[1], ... For one output only.
    label : {"all", "root", "none"}, default="all"
        Nodes in which numbers have a label.
    filled : bool, default=False
        Whether to colour nodes by class, value, or impurity if there are several outputs.
    leaves_parallel : bool, default=False
        Whether to draw all leaves at the bottom.
    impurity : bool, default=True
        Whether to show the impurity.
    node_ids : bool, default=False
        Whether to show the number of the node.
    proportion : bool, default=False
        Whether to show proportions instead of numbers of rows.
    rotate : bool, default=False
        Whether to draw from left to right.
    rounded : bool, default=False
        Whether boxes have round corners.
    special_characters : bool, default=False
        Whether to write HTML labels, with ≤ and subscripts.
    precision : int, default=3
        Digits after the decimal point.
    fontname : str, default="helvetica"
        Font.

    Returns
    -------
    str or None
        The text, if ``out_file`` is None.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> print(export_graphviz(model, impurity=False, label="none").splitlines()[3])
    0 [label="x[0] <= 0.5\\n2\\n[1, 1]"] ;
    """
    _check_arguments(label, max_depth, precision)
    symbols = _HTML if special_characters else _PLAIN
    unnamed = f"x{symbols.sub_open}{{}}{symbols.sub_close}"
    named = _named(decision_tree, feature_names, unnamed)
    classes = _class_names(named, class_names)
    names_given = feature_names is not None or named.names != _unnamed(named, unnamed)
    writer = _DotWriter(
        named, symbols, classes, getattr(decision_tree, "criterion", None), names_given=names_given,
        max_depth=max_depth, label=label, filled=filled, leaves_parallel=leaves_parallel, impurity=impurity,
        node_ids=node_ids, proportion=proportion, rotate=rotate, rounded=rounded, precision=precision,
        fontname=fontname,
    )  # fmt: skip
    text = "".join(writer.lines())
    if out_file is None:
        return text
    if isinstance(out_file, str | os.PathLike):
        Path(out_file).write_text(text, encoding="utf-8")
    else:
        out_file.write(text)
    return None


def _check_arguments(label: str, max_depth: int | None, precision: int) -> None:
    if label not in ("all", "root", "none"):
        raise InputError(f"label is {label!r}; it takes 'all', 'root' or 'none'.")
    for name, value in (("max_depth", max_depth), ("precision", precision)):
        is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not (value is None and name == "max_depth") and not (is_integer and int(value) >= 0):  # type: ignore[arg-type]
            raise InputError(f"{name} is {value!r}; it takes an integer of at least 0.")


def _named(model: Any, feature_names: Sequence[str] | None, unnamed: str) -> NamedTree:
    if feature_names is not None:
        n = getattr(getattr(model, "tree_", model), "n_features", None)
        if not all(isinstance(name, str) for name in feature_names):
            raise InputError("All feature names must be strings.")
        if n is not None and len(feature_names) != n:
            raise InputError(
                f"Length of feature_names, {len(feature_names)} does not match number of features, {n}"
            )
    return named_tree(model, feature_names, unnamed=unnamed)


def _unnamed(named: NamedTree, template: str) -> tuple[str, ...]:
    return tuple(template.format(j) for j in range(len(named.names)))


def _class_names(named: NamedTree, given: Sequence[Any] | bool | None) -> list[str] | bool:
    """Return the names of the classes to show, True for numbers, False for none."""
    if given is None or given is False or named.tree.max_n_classes == 1 or named.tree.n_outputs > 1:
        return False
    if given is True:
        return True
    if len(given) < named.tree.max_n_classes:
        raise InputError(
            f"class_names has {len(given)} names; the tree has {named.tree.max_n_classes} classes."
        )
    return [str(name) for name in given]


@dataclass(frozen=True)
class _Symbols:
    """Characters of plain or HTML labels."""

    number: str
    sub_open: str
    sub_close: str
    at_most: str
    line: str
    open: str
    close: str

    def escape(self, text: str) -> str:
        """Escape a text so that it can neither end the label nor begin markup."""
        text = printable(text)
        if self.open == "<":
            return html.escape(text, quote=False)
        text = re.sub(r"&(?=#?\w+;)", "&amp;", text)  # Graphviz reads entities in plain labels, too
        return text.replace("\\", "\\\\").replace('"', '\\"')


_PLAIN = _Symbols("#", "[", "]", "<=", "\\n", '"', '"')
_HTML = _Symbols("&#35;", "<SUB>", "</SUB>", "&le;", "<br/>", "<", ">")


@dataclass(frozen=True)
class _DotWriter:
    """Writes a tree in the DOT language; see `export_graphviz` for its options."""

    named: NamedTree
    symbols: _Symbols
    classes: list[str] | bool
    criterion: str | None
    names_given: bool
    max_depth: int | None
    label: str
    filled: bool
    leaves_parallel: bool
    impurity: bool
    node_ids: bool
    proportion: bool
    rotate: bool
    rounded: bool
    precision: int
    fontname: str

    def lines(self) -> Iterator[str]:
        """Yield the text in pieces."""
        yield from self._head()
        tree, ranks = self.named.tree, {"leaves": list[str]()}
        fill = _Fill(tree) if self.filled else None
        # Depth first, as scikit-learn's, without recursion: trees may be deep.
        stack: list[tuple[int, int]] = [(0, -1)]
        while stack:
            node, parent = stack.pop()
            depth = int(tree.depth[node])
            cut = self.max_depth is not None and depth > self.max_depth
            is_leaf = tree.kind[node] == LEAF
            ranks.setdefault("leaves" if is_leaf or cut else str(depth), []).append(str(node))
            color = "" if fill is None else f', fillcolor="{_CUT_FILL if cut else fill.color(node)}"'
            text = '"(...)"' if cut else self._node(node)
            yield f"{node} [label={text}{color}] ;\n"
            if parent >= 0:
                yield f"{parent} -> {node}{'' if cut else self._edge(parent, node)} ;\n"
            if not is_leaf and not cut:
                stack += [(child, node) for child in reversed(tree.children(node))]
        if self.leaves_parallel:
            for rank in sorted(ranks):
                yield "{rank=same ; " + "; ".join(ranks[rank]) + "} ;\n"
        yield "}"

    def _head(self) -> Iterator[str]:
        font = _PLAIN.escape(self.fontname)
        style = [name for name, wanted in (("filled", self.filled), ("rounded", self.rounded)) if wanted]
        look = f', style="{", ".join(style)}", color="black"' if style else ""
        yield f'digraph Tree {{\nnode [shape=box{look}, fontname="{font}"] ;\n'
        if self.leaves_parallel:
            yield "graph [ranksep=equally, splines=polyline] ;\n"
        yield f'edge [fontname="{font}"] ;\n'
        if self.rotate:
            yield "rankdir=LR ;\n"

    def _edge(self, parent: int, node: int) -> str:
        """Return the attributes of an edge: True or False at the root, or the branch of a multiway split."""
        tree = self.named.tree
        which = node - int(tree.first_child[parent])
        if tree.kind[parent] == MULTIWAY:
            return f' [label="{_PLAIN.escape(split_text(self.named, parent, which, self.precision))}"]'
        if parent != 0:
            return ""
        angle = (-45 if which else 45) * (-1 if self.rotate else 1)
        return f' [labeldistance=2.5, labelangle={angle}, headlabel="{not which}"]'

    def _node(self, node: int) -> str:
        """Return the label of a node, with its quotes."""
        tree, symbols = self.named.tree, self.symbols
        labels = self.label == "all" or (self.label == "root" and node == 0)

        def line(name: str, text: str) -> str:
            return f"{name} = {text}" if labels else text

        lines = [f"{'node ' if labels else ''}{symbols.number}{node}"] if self.node_ids else []
        if tree.kind[node] != LEAF:
            lines.append(self._split(node))
        if self.impurity:
            name = symbols.escape(self.criterion or "impurity")
            lines.append(line(name, str(round(float(tree.impurity[node]), self.precision))))
        n, all_rows = int(tree.n_samples[node]), int(tree.n_samples[0])
        lines.append(line("samples", f"{round(100.0 * n / all_rows, 1)}%" if self.proportion else str(n)))
        lines.append(line("value", self._value(node).replace("\n ", symbols.line)))
        if self.classes is not False:
            best = int(tree.value[node, 0].argmax())
            unnamed = f"y{symbols.sub_open}{best}{symbols.sub_close}"
            text = unnamed if self.classes is True else symbols.escape(self.classes[best])
            lines.append(line("class", text))
        return symbols.open + symbols.line.join(lines) + symbols.close

    def _split(self, node: int) -> str:
        tree, named, symbols = self.named.tree, self.named, self.symbols
        if tree.kind[node] == MULTIWAY:
            return self._name(int(tree.feature[node]))
        if tree.kind[node] != NUMERIC or splits_on_missing(named, node):
            return symbols.escape(split_text(named, node, 0, self.precision, _MAX_CATEGORIES))
        feature = int(tree.feature[node])
        threshold = round(float(tree.threshold[node]), self.precision)
        too = " or missing" if named.shows_missing[feature] and tree.missing[node] == 0 else ""
        return f"{self._name(feature)} {symbols.at_most} {threshold}{too}"

    def _name(self, feature: int) -> str:
        name = self.named.names[feature]
        return self.symbols.escape(name) if self.names_given else name

    def _value(self, node: int) -> str:
        """Return class weights, proportions or values as NumPy prints them, without quotes."""
        tree = self.named.tree
        is_class = tree.max_n_classes > 1
        value: NDArray[Any] = tree.value[node]
        if is_class and not self.proportion:
            value = np.round(value * tree.weight[node], 9)
        value = value[0] if tree.n_outputs == 1 else value
        whole = is_class and not self.proportion and bool((value % 1 == 0).all())
        shown = value.astype(np.int64) if whole else np.around(value, self.precision)
        text = str(shown.astype("S32")).replace("b'", "'").replace("' '", ", ").replace("'", "")
        return text.strip("[]") if not is_class and tree.n_outputs == 1 else text


class _Fill:
    """Colours of nodes: hue by class, strength by purity, value or impurity."""

    def __init__(self, tree: Any) -> None:
        self._tree = tree
        n_classes = tree.max_n_classes
        self._colors = _spread_hues(n_classes)
        self._measure: NDArray[np.float64] | None = None
        if tree.n_outputs > 1:
            self._measure = -tree.impurity
        elif n_classes == 1 and len(np.unique(tree.value)) > 1:
            self._measure = tree.value[:, 0, 0]

    def color(self, node: int) -> str:
        """Return the colour of a node, as #RRGGBB."""
        if self._measure is not None:
            low, high = float(self._measure.min()), float(self._measure.max())
            strength = (float(self._measure[node]) - low) / (high - low) if high > low else 0.0
            base = self._colors[0]
        else:
            value = self._tree.value[node, 0]
            first, second = (*sorted(value.tolist(), reverse=True), 1.0)[:2]
            strength = (first - second) / (1 - second) if second < 1 and len(value) > 1 else 0.0
            base = self._colors[int(value.argmax())]
        mixed = (round(strength * part + (1 - strength) * 255) for part in base)
        return "#" + "".join(f"{part:02x}" for part in mixed)


def _spread_hues(n: int) -> list[tuple[int, int, int]]:
    """Return n colours with equally spaced hues, those of scikit-learn."""
    saturation, brightness = 0.75, 0.9
    chroma = saturation * brightness
    shift = brightness - chroma
    colors = []
    for hue in np.arange(25, 385, 360.0 / n).astype(int).tolist():
        sector = hue / 60.0
        x = chroma * (1 - abs((sector % 2) - 1))
        c = chroma
        rgb = [(c, x, 0), (x, c, 0), (0, c, x), (0, x, c), (x, 0, c), (c, 0, x), (c, x, 0)][int(sector)]
        red, green, blue = (int(255 * (part + shift)) for part in rgb)
        colors.append((red, green, blue))
    return colors

"""The picture of a tree as a plain record: boxes, edges and a legend in pixels, for the drawing files."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spinney.inspect.wording import NamedTree, display_width, format_number, named_tree, printable, split_text
from spinney.plotting.colors import class_color, node_fills
from spinney.plotting.layout import tidy_positions
from spinney.tree.tree_arrays import MULTIWAY, TreeArrays

FONT = 12.0
LINE_HEIGHT = 16.0
BAR = 6.0  # height of the bar of class shares at the foot of a box
_PADDING = 8.0
_GAP = 14.0
_LEVEL_GAP = 56.0
LABEL_ROOM = 22.0  # above a box, where a branch runs straight down behind its label
_MARGIN = 12.0
_LONGEST_LINE = 36
_MOST_HEADLINES = 3
_MOST_TERMS = 6  # of a sum, or categories of a set
_MOST_CLASSES = 5
_LONGEST_LEGEND = 12


@dataclass(frozen=True)
class Box:
    """Place one node: centre x, top y, its lines (n_bold of them bold), fill, and the classes' shares."""

    node: int
    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    n_bold: int
    fill: str
    shares: tuple[tuple[str, float], ...]
    hint: str


@dataclass(frozen=True)
class Edge:
    """Draw one branch from the foot of a box to the head of another, thicker the more weight takes it."""

    x0: float
    y0: float
    x1: float
    y1: float
    label: str
    share: float


@dataclass(frozen=True)
class Picture:
    """Hold everything to draw, in pixels from the top left corner."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    legend: tuple[tuple[float, float, str, str], ...]  # x, y, colour, text


def tree_picture(
    model: Any,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    decimals: int | None = None,
    show_missing: bool | None = None,
) -> Picture:
    """Lay out a fitted tree (an estimator, or its ``tree_``); branches below max_depth are only counted."""
    if max_depth is not None and (not isinstance(max_depth, int) or max_depth < 0):
        raise ValueError(f"max_depth is {max_depth!r}; it takes a whole number of at least 0, or None.")
    named = named_tree(model, feature_names, class_names, show_missing=show_missing)
    tree = named.tree
    # Breadth first, so the nodes down to a depth are the first so many.
    shown = tree.node_count if max_depth is None else tree.levels[min(max_depth, tree.max_depth)][1]
    hidden = _nodes_below(tree) if shown < tree.node_count else []
    criterion = str(getattr(model, "criterion", "impurity"))
    lines, hints = [], []
    for node in range(shown):
        cut = hidden[node] if hidden and tree.first_child[node] >= shown else 0
        head, *rest = _lines(named, node, criterion, decimals, cut)
        full = head if tree.is_leaf[node] else _test(named, node, decimals)
        lines.append(
            (wrap(head, _LONGEST_LINE, _MOST_HEADLINES), [shorten(line, _LONGEST_LINE) for line in rest])
        )
        hints.append("\n".join([f"node {node}", full, *rest]))
    labels = [""] + [shorten(_edge_label(named, node, decimals), _LONGEST_LINE) for node in range(1, shown)]
    return _place(named, lines, hints, labels)


def _lines(named: NamedTree, node: int, criterion: str, decimals: int | None, cut: int) -> list[str]:
    tree = named.tree
    answer = ", ".join(
        printable(str(a)) if named.labels is not None else _short(a, decimals) for a in named.label(node)
    )
    lines = [answer if tree.is_leaf[node] else _test(named, node, decimals, _MOST_TERMS)]
    lines.append(f"{printable(criterion)} = {_short(tree.impurity[node], decimals)}")
    samples, weight = int(tree.n_samples[node]), float(tree.weight[node])
    lines.append(
        f"samples = {samples}" + ("" if weight == samples else f", weight = {_short(weight, decimals)}")
    )
    if named.labels is not None:
        lines += [_class_shares(row.tolist(), decimals) for row in tree.value[node]]
    if not tree.is_leaf[node]:
        lines.append(f"{'value' if named.labels is None else 'class'} = {answer}")
    if cut:
        lines.append(f"… {cut} more nodes below")
    return lines


def _class_shares(row: list[float], decimals: int | None) -> str:
    """Write the share of every class, or of the largest alone where they are too many to tell apart."""
    told = [f"{share:.3g}" if decimals is None else format_number(share, decimals) for share in row]
    if len(row) > _MOST_CLASSES:
        return f"share = {told[row.index(max(row))]}"
    return f"value = [{', '.join(told)}]"


def _short(value: float, decimals: int | None) -> str:
    return f"{float(value):.4g}" if decimals is None else format_number(value, decimals)


def _test(named: NamedTree, node: int, decimals: int | None, most: int | None = None) -> str:
    if named.tree.kind[node] == MULTIWAY:
        return f"{named.names[int(named.tree.feature[node])]} ?"
    phrase = split_text(named, node, 0, decimals, most)
    return phrase.removesuffix(" or missing").replace(" <= ", " ≤ ")


def _edge_label(named: NamedTree, child: int, decimals: int | None) -> str:
    tree = named.tree
    node = int(tree.parent[child])
    which = child - int(tree.first_child[node])
    phrase = split_text(named, node, which, decimals, _MOST_TERMS)
    if tree.kind[node] == MULTIWAY:
        name = named.names[int(tree.feature[node])]
        return phrase.removeprefix(name).strip().removeprefix("= ")
    return ("yes" if which == 0 else "no") + (" or missing" if phrase.endswith(" or missing") else "")


def _nodes_below(tree: TreeArrays) -> list[int]:
    """Count the descendants of each node.  -> (n_nodes,)"""
    below = [0] * tree.node_count
    for node in range(tree.node_count - 1, 0, -1):
        below[tree.parent[node]] += below[node] + 1
    return below


def _place(
    named: NamedTree, lines: list[tuple[list[str], list[str]]], hints: list[str], labels: list[str]
) -> Picture:
    """Put boxes of these lines (bold ones, others) and branches of these labels where they belong."""
    tree, shown = named.tree, len(lines)
    fills = node_fills(named)
    legend, legend_width, legend_height = _legend(named)
    has_bar = named.labels is not None
    widths = [
        2 * _PADDING + max(*(text_width(line, bold=True) for line in head), *map(text_width, rest))
        for head, rest in lines
    ]
    heights = [2 * _PADDING + LINE_HEIGHT * (len(head) + len(rest)) + BAR * has_bar for head, rest in lines]
    columns = [max(width, text_width(label) + 4.0) for width, label in zip(widths, labels, strict=True)]
    children = [[child for child in tree.children(node) if child < shown] for node in range(shown)]
    centres = [x + _MARGIN for x in tidy_positions(children, columns, _GAP)]
    tops, bottom = [], _MARGIN + legend_height
    for begin, end in tree.levels:
        if begin < shown:
            tops += [bottom] * (end - begin)
            bottom += max(heights[begin:end]) + _LEVEL_GAP
    boxes = [
        Box(
            node=node,
            x=centres[node],
            y=tops[node],
            width=widths[node],
            height=heights[node],
            lines=(*head, *rest),
            n_bold=len(head),
            fill=fills[node],
            shares=_shares(named, node),
            hint=hints[node],
        )
        for node, (head, rest) in enumerate(lines)
    ]
    edges = []
    for child in range(1, shown):
        above, box = boxes[int(tree.parent[child])], boxes[child]
        share = float(tree.weight[child] / tree.weight[0]) if tree.weight[0] > 0 else 0.0
        edges.append(Edge(above.x, above.y + above.height, box.x, box.y, labels[child], min(share, 1.0)))
    right = max(centre + column / 2 for centre, column in zip(centres, columns, strict=True))
    width = max(right, legend_width) + _MARGIN
    return Picture(width, bottom - _LEVEL_GAP + _MARGIN, tuple(boxes), tuple(edges), legend)


def _shares(named: NamedTree, node: int) -> tuple[tuple[str, float], ...]:
    """Give the colour and share of each class of the first output that the node has at all."""
    if named.labels is None:
        return ()
    row = named.tree.value[node, 0].tolist()
    return tuple((class_color(index), share) for index, share in enumerate(row) if share > 0)


def _legend(named: NamedTree) -> tuple[tuple[tuple[float, float, str, str], ...], float, float]:
    """Place the class names in one line at the top; give the entries, the width and the height taken."""
    if named.labels is None or len(named.labels[0]) > _LONGEST_LEGEND:
        return (), 0.0, 0.0
    entries, x = [], _MARGIN
    for index, label in enumerate(named.labels[0]):
        text = shorten(printable(str(label)), _LONGEST_LINE)
        entries.append((x, _MARGIN, class_color(index), text))
        x += LINE_HEIGHT + 4.0 + text_width(text) + _GAP
    return tuple(entries), x - _GAP, LINE_HEIGHT + _GAP


# ---- how wide text is, without asking a font ----

_NARROW, _WIDE = frozenset("iljtfrI.,:;'|![](){} "), frozenset("mwMW@%")


def text_width(text: str, bold: bool = False) -> float:
    """Estimate the width of a text in pixels, on the safe side of the common sans-serif fonts.

    >>> text_width("纹理") == 2 * FONT
    True
    """
    em = 0.0
    for sign in text:
        if unicodedata.east_asian_width(sign) in "WF":
            em += 1.0
        elif sign in _NARROW:
            em += 0.42
        elif sign in _WIDE:
            em += 1.0
        else:
            em += 0.75 if sign.isupper() else 0.65
    return em * FONT * (1.1 if bold else 1.0)


def shorten(text: str, columns: int) -> str:
    """Cut a text to so many columns, with an ellipsis where something is missing."""
    if display_width(text) <= columns:
        return text
    kept = ""
    for sign in text:
        if display_width(kept + sign) > columns - 1:
            break
        kept += sign
    return kept + "…"


def wrap(text: str, columns: int, most: int) -> list[str]:
    """Break a text at its blanks into lines of so many columns, and cut what does not fit into so many lines.

    >>> wrap("0.5*length - 2*width <= 1", 12, 2)
    ['0.5*length -', '2*width <= 1']
    """
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and display_width(longer) > columns:
            lines.append(word)
        else:
            lines[-1] = longer
    if len(lines) > most:
        lines[most - 1] += " …"
    return [shorten(line, columns) for line in lines[:most]]

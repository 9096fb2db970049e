"""Picture of a tree as boxes, edges and a legend in pixels: texts, layout and colours, without a library."""

from __future__ import annotations

import colorsys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.inspect.wording import NamedTree, display_width, format_number, named_tree, printable, split_text
from spinney.tree.tree_arrays import MULTIWAY

INK = "#1f2328"
FAINT_INK = "#57606a"
LINE = "#8c959f"

# Hues that most colour-blind readers can distinguish; further classes get hues spread by the golden ratio.
_HUES = [
    "#3b7dd8", "#f28e2b", "#3f9e5a", "#d1495b", "#8562b8",
    "#2aa6a1", "#c9a227", "#d67bb2", "#7a6a5a", "#6b8e9e",
]  # fmt: skip
_GOLDEN = 0.61803398875
_FAINTEST, _STRONGEST = 0.06, 0.55

FONT = 12.0
LINE_HEIGHT = 16.0
BAR = 6.0  # height of the bar of class proportions at the bottom of a box
_PADDING = 8.0
_GAP = 14.0
_LEVEL_GAP = 56.0
_LABEL_ROOM = 22.0  # above a box, where an edge runs vertically behind its label
_MARGIN = 12.0
_MAX_COLUMNS = 36
_MAX_HEADLINES = 3
_MAX_TERMS = 6  # of a sum, or categories of a set
_MAX_CLASSES = 5
_MAX_LEGEND = 12


@dataclass(frozen=True)
class Box:
    """A node: centre x, top y, lines of text (n_bold of them bold), fill, (colour, proportion) per class."""

    node: int
    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    n_bold: int
    fill: str
    proportions: tuple[tuple[str, float], ...]
    hint: str

    @property
    def bar(self) -> list[tuple[float, float, float, str]]:
        """Left edge, top, width and colour of each piece of the bar of class proportions."""
        parts = np.array([part for _, part in self.proportions])
        widths = (self.width - 2 * _PADDING) * parts / sum(parts)
        start, top = self.x - self.width / 2 + _PADDING, self.y + self.height - BAR - 4
        pieces = []
        for (color, _), width in zip(self.proportions, widths.tolist(), strict=True):
            pieces.append((start, top, width, color))
            start += width
        return pieces


@dataclass(frozen=True)
class Edge:
    """A branch from the bottom of a box to the top of another; fraction is that of all weight."""

    x0: float
    y0: float
    x1: float
    y1: float
    label: str
    fraction: float

    @property
    def width(self) -> float:
        """Width in pixels: from 1 to 6, by the fraction of all weight."""
        return 1.0 + 5.0 * self.fraction

    @property
    def corners(self) -> list[tuple[float, float]]:
        """Start, two control points and end of a Bézier curve, and the end of the vertical line after it."""
        straight = self.y1 - _LABEL_ROOM
        bend = (self.y0 + straight) / 2
        return [(self.x0, self.y0), (self.x0, bend), (self.x1, bend), (self.x1, straight), (self.x1, self.y1)]


@dataclass(frozen=True)
class Picture:
    """All elements of a picture, in pixels from the top left corner."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    legend: tuple[tuple[float, float, str, str], ...]  # x, y, colour, text


def tree_picture(
    model: Any,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    decimals: int | None = None,
    show_missing: bool | None = None,
) -> Picture:
    """Lay out a fitted tree (an estimator, or its ``tree_``); nodes below max_depth are only counted."""
    if max_depth is not None and (not isinstance(max_depth, int) or max_depth < 0):
        raise ValueError(f"max_depth is {max_depth!r}; it must be an integer of at least 0, or None.")
    named = named_tree(model, feature_names, class_names, show_missing=show_missing)
    tree = named.tree
    # Nodes are in breadth-first order, so those down to a depth come first.
    shown = tree.node_count if max_depth is None else tree.levels[min(max_depth, tree.max_depth)][1]
    below = np.zeros(tree.node_count, dtype=np.intp)  # number of descendants
    for node in range(tree.node_count - 1, 0, -1):
        below[tree.parent[node]] += below[node] + 1
    criterion = str(getattr(model, "criterion", "impurity"))
    lines, hints = [], []
    for node in range(shown):
        n_hidden = int(below[node]) if tree.first_child[node] >= shown else 0
        head, *rest = _lines(named, node, criterion, decimals, n_hidden)
        full = head if tree.is_leaf[node] else _split(named, node, decimals)
        lines.append(
            (wrap(head, _MAX_COLUMNS, _MAX_HEADLINES), [shorten(line, _MAX_COLUMNS) for line in rest])
        )
        hints.append("\n".join([f"node {node}", full, *rest]))
    labels = [""] + [shorten(_edge_label(named, node, decimals), _MAX_COLUMNS) for node in range(1, shown)]
    return _arrange(named, lines, hints, labels)


def _lines(named: NamedTree, node: int, criterion: str, decimals: int | None, n_hidden: int) -> list[str]:
    tree = named.tree
    outputs = named.label(node)
    regression = named.labels is None
    prediction = ", ".join(_short(one, decimals) if regression else printable(str(one)) for one in outputs)
    samples, weight = int(tree.n_samples[node]), float(tree.weight[node])
    is_leaf = bool(tree.is_leaf[node])
    lines = [prediction if is_leaf else _split(named, node, decimals, _MAX_TERMS)]
    if not (is_leaf and criterion == "gain"):  # leaves gain nothing
        lines.append(f"{printable(criterion)} = {_short(tree.impurity[node], decimals)}")
    lines.append(
        f"samples = {samples}" + ("" if weight == samples else f", weight = {_short(weight, decimals)}")
    )
    if not regression:
        lines += [_proportions_text(row.tolist(), decimals) for row in tree.value[node]]
    if not is_leaf:
        lines.append(f"{'value' if regression else 'class'} = {prediction}")
    if n_hidden:
        lines.append(f"… {n_hidden} more nodes below")
    return lines


def _proportions_text(row: list[float], decimals: int | None) -> str:
    """The proportion of every class, or of the most frequent one if there are many."""
    shown = [_short(part, decimals, digits=3) for part in row]
    if len(row) > _MAX_CLASSES:
        return f"share = {shown[row.index(max(row))]}"
    return f"value = [{', '.join(shown)}]"


def _short(value: float, decimals: int | None, digits: int = 4) -> str:
    return f"{float(value):.{digits}g}" if decimals is None else format_number(value, decimals)


def _split(named: NamedTree, node: int, decimals: int | None, max_items: int | None = None) -> str:
    if named.tree.kind[node] == MULTIWAY:
        return f"{named.names[int(named.tree.feature[node])]} ?"
    phrase = split_text(named, node, 0, decimals, max_items)
    return phrase.removesuffix(" or missing").replace(" <= ", " ≤ ")


def _edge_label(named: NamedTree, child: int, decimals: int | None) -> str:
    tree = named.tree
    node = int(tree.parent[child])
    which = child - int(tree.first_child[node])
    phrase = split_text(named, node, which, decimals, _MAX_TERMS)
    if tree.kind[node] == MULTIWAY:
        name = named.names[int(tree.feature[node])]
        return phrase.removeprefix(name).strip().removeprefix("= ")
    return ("yes" if which == 0 else "no") + (" or missing" if phrase.endswith(" or missing") else "")


def _arrange(
    named: NamedTree, lines: list[tuple[list[str], list[str]]], hints: list[str], labels: list[str]
) -> Picture:
    """Arrange boxes with these lines (bold, others) and edges with these labels."""
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
    boxes = []
    for node, (head, rest) in enumerate(lines):
        row = tree.value[node, 0].tolist() if has_bar else ()
        proportions = tuple((class_color(index), part) for index, part in enumerate(row) if part > 0)
        place, look = (centres[node], tops[node], widths[node], heights[node]), (fills[node], proportions)
        boxes.append(Box(node, *place, (*head, *rest), len(head), *look, hints[node]))
    edges = []
    for child in range(1, shown):
        above, box = boxes[int(tree.parent[child])], boxes[child]
        part = float(tree.weight[child] / tree.weight[0]) if tree.weight[0] > 0 else 0.0
        edges.append(Edge(above.x, above.y + above.height, box.x, box.y, labels[child], min(part, 1.0)))
    right = max(centre + column / 2 for centre, column in zip(centres, columns, strict=True))
    width = max(right, legend_width) + _MARGIN
    return Picture(width, bottom - _LEVEL_GAP + _MARGIN, tuple(boxes), tuple(edges), legend)


def _legend(named: NamedTree) -> tuple[tuple[tuple[float, float, str, str], ...], float, float]:
    """Entries of the legend, one line of class names at the top, and its width and height."""
    if named.labels is None or len(named.labels[0]) > _MAX_LEGEND:
        return (), 0.0, 0.0
    entries, x = [], _MARGIN
    for index, label in enumerate(named.labels[0]):
        text = shorten(printable(str(label)), _MAX_COLUMNS)
        entries.append((x, _MARGIN, class_color(index), text))
        x += LINE_HEIGHT + 4.0 + text_width(text) + _GAP
    return tuple(entries), x - _GAP, LINE_HEIGHT + _GAP


# ---- layout ----


class _Side:
    """Left or right edge of a subtree at each level, the deepest level first, moved by `shift` as a whole."""

    def __init__(self) -> None:
        self.edges: list[float] = []
        self.shift = 0.0

    def add_top(self, edge: float) -> None:
        self.edges.append(edge - self.shift)

    def top(self, n: int) -> list[float]:
        """Return the edges of the first n levels, the deepest of them first."""
        return [edge + self.shift for edge in self.edges[len(self.edges) - n :]]

    def covered_by(self, other: _Side) -> _Side:
        """Return the other side, and this one below it; the longer list is changed in place."""
        if len(other.edges) >= len(self.edges):
            return other
        n = len(other.edges)
        self.edges[len(self.edges) - n :] = [edge - self.shift for edge in other.top(n)]
        return self


class _Contour:
    """Outline of a subtree. Joining two takes as long as the lower of them is high, so that all joins of a
    tree take time linear in its nodes.
    """

    def __init__(self) -> None:
        self.left, self.right = _Side(), _Side()

    def move(self, by: float) -> None:
        self.left.shift += by
        self.right.shift += by

    def add_top(self, half: float) -> None:
        self.left.add_top(-half)
        self.right.add_top(half)

    def distance(self, other: _Contour, gap: float) -> float:
        """Return how far the other has to be moved to the right of this one."""
        n = min(len(self.right.edges), len(other.left.edges))
        pairs = zip(self.right.top(n), other.left.top(n), strict=True)
        return max((end - start + gap for end, start in pairs), default=0.0)

    def joined(self, other: _Contour) -> _Contour:
        """Return the outline of both, of which the other is on the right; neither can be used after it."""
        both = _Contour()
        both.left = other.left.covered_by(self.left)
        both.right = self.right.covered_by(other.right)
        return both


def tidy_positions(children: Sequence[Sequence[int]], widths: Sequence[float], gap: float) -> list[float]:
    """Horizontal centre of each node by the algorithm of Reingold and Tilford, the leftmost edge at 0.

    children and widths have one entry per node, and children come after their parent. Subtrees are moved
    together until the smallest distance between them on any level is gap.

    >>> tidy_positions([[1, 2], [], []], [10, 10, 10], gap=2)
    [11.0, 5.0, 17.0]
    """
    from_parent = [0.0] * len(children)
    contours: dict[int, _Contour] = {}
    for node in range(len(children) - 1, -1, -1):
        merged: _Contour | None = None
        offsets: list[float] = []
        for child in children[node]:
            contour = contours.pop(child)
            offset = 0.0 if merged is None else merged.distance(contour, gap)
            offsets.append(offset)
            contour.move(offset)
            merged = contour if merged is None else merged.joined(contour)
        middle = (offsets[0] + offsets[-1]) / 2 if offsets else 0.0
        for child, offset in zip(children[node], offsets, strict=True):
            from_parent[child] = offset - middle
        merged = merged or _Contour()
        merged.move(-middle)
        merged.add_top(widths[node] / 2)
        contours[node] = merged
    centre = [0.0] * len(children)
    centre[0] = -min(contours[0].left.edges) - contours[0].left.shift
    for node, below in enumerate(children):
        for child in below:
            centre[child] = centre[node] + from_parent[child]
    return centre


# ---- colours ----


def class_color(index: int) -> str:
    """Colour of a class."""
    if index < len(_HUES):
        return _HUES[index]
    red, green, blue = colorsys.hls_to_rgb((index * _GOLDEN) % 1.0, 0.48, 0.5)
    return _hex(np.array([red, green, blue]) * 255)


def tint(color: str, strength: float) -> str:
    """Mix a colour with white; 0 is nearly white, 1 the strongest on which dark text is readable."""
    part = _FAINTEST + (_STRONGEST - _FAINTEST) * min(max(strength, 0.0), 1.0)
    full = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float64)
    return _hex(255 + (full - 255) * part)


def node_fills(named: NamedTree) -> list[str]:
    """Fill of each node, by the class of the first output and its margin, or by its mean.  -> (n_nodes,)"""
    first: NDArray[np.float64] = named.tree.value[:, 0, :]
    if named.labels is None:
        low, high = float(first.min()), float(first.max())
        spread = high - low
        position = (first[:, 0] - low) / spread if 0 < spread < np.inf else np.full(len(first), 0.5)
        return [tint(class_color(0), float(at)) for at in position]
    ordered = np.sort(first, axis=1)
    # 0 if two classes tie, 1 if the node is pure.
    margin = ordered[:, -1] - ordered[:, -2] if first.shape[1] > 1 else np.ones(len(first))
    return [tint(class_color(int(row.argmax())), float(at)) for row, at in zip(first, margin, strict=True)]


def _hex(channels: NDArray[np.float64]) -> str:
    return "#" + "".join(f"{round(float(channel)):02x}" for channel in channels)


# ---- text ----

_NARROW, _WIDE = frozenset("iljtfrI.,:;'|![](){} "), frozenset("mwMW@%")


def text_width(text: str, bold: bool = False) -> float:
    """Estimate the width of a text in pixels, an upper bound for the common sans-serif fonts.

    >>> text_width("纹理") == 2 * FONT
    True
    """
    return sum(map(_char_width, text)) * FONT * (1.1 if bold else 1.0)


def _char_width(char: str) -> float:
    """Width of a character in multiples of the font size."""
    if char in _WIDE or unicodedata.east_asian_width(char) in "WF":
        return 1.0
    return 0.42 if char in _NARROW else 0.75 if char.isupper() else 0.65


def shorten(text: str, columns: int) -> str:
    """Truncate a text to so many columns, with an ellipsis."""
    if display_width(text) <= columns:
        return text
    fitting = (n for n in range(len(text), -1, -1) if display_width(text[:n]) < columns)
    return text[: next(fitting, 0)] + "…"


def wrap(text: str, columns: int, max_lines: int) -> list[str]:
    """Wrap a text at spaces into at most max_lines lines of so many columns; truncate the rest.

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
    if len(lines) > max_lines:
        lines[max_lines - 1] += " …"
    return [shorten(line, columns) for line in lines[:max_lines]]

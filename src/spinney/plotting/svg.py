"""Plots of trees as SVG documents, without a plotting library."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

from spinney.plotting.picture import BAR, FAINT_INK, FONT, INK, LINE, LINE_HEIGHT, Box, tree_picture

_FAMILY = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', 'PingFang SC', "
    "'Microsoft YaHei', 'Noto Sans CJK SC', 'WenQuanYi Micro Hei', sans-serif"
)


def tree_svg(
    model: Any,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    decimals: int | None = None,
    show_missing: bool | None = None,
) -> str:
    """Draw a fitted tree as an SVG document. Hovering over a node shows its full text.

    Parameters
    ----------
    model : estimator or TreeArrays
        A fitted tree, or its ``tree_``.
    max_depth : int, optional
        Draw the tree down to this depth; the nodes below are only counted.
    feature_names : sequence of str, optional
        Names of the features. Defaults to those seen in `fit`.
    class_names : sequence, optional
        Labels of the classes. Defaults to ``classes_``.
    decimals : int, optional
        Digits after the decimal point. Defaults to four significant digits.
    show_missing : bool, optional
        Whether to show which branch missing values take. Defaults to features that had some in training.

    Returns
    -------
    str
        The SVG document.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    >>> tree_svg(model).splitlines()[1]
    '<title>Decision tree</title>'
    """
    picture = tree_picture(model, max_depth, feature_names, class_names, decimals, show_missing)
    width, height = f"{picture.width:.1f}", f"{picture.height:.1f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{_FAMILY}" font-size="{FONT:g}" fill="{INK}" '
        'role="img">',
        "<title>Decision tree</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for x, y, color, text in picture.legend:
        parts.append(f'<rect x="{x:.1f}" y="{y + 2:.1f}" width="12" height="12" rx="2" fill="{color}"/>')
        parts.append(f'<text x="{x + LINE_HEIGHT + 2:.1f}" y="{y + FONT:.1f}">{_text(text)}</text>')
    for edge in picture.edges:
        start, *curve, end = (f"{x:.1f} {y:.1f}" for x, y in edge.corners)
        parts.append(
            f'<path d="M{start} C{" ".join(curve)} V{end.split()[1]}" '
            f'fill="none" stroke="{LINE}" stroke-width="{edge.width:.2f}"/>'
        )
    parts += [_box(box) for box in picture.boxes]
    # The white outline below the letters separates them from the edge behind.
    parts += [
        f'<text x="{edge.x1:.1f}" y="{edge.y1 - 7:.1f}" text-anchor="middle" fill="{FAINT_INK}" '
        'stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke">'
        f"{_text(edge.label)}</text>"
        for edge in picture.edges
        if edge.label
    ]
    return "\n".join([*parts, "</svg>\n"])


def _text(text: str) -> str:
    """Escape a text for XML; characters that XML does not allow are replaced by U+FFFD."""
    return escape(re.sub("[^\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text))


def _box(box: Box) -> str:
    left = box.x - box.width / 2
    parts = [
        f"<g><title>{_text(box.hint)}</title>",
        f'<rect x="{left:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="5" '
        f'fill="{box.fill}" stroke="{LINE}"/>',
    ]
    for index, line in enumerate(box.lines):
        y = box.y + 8 + LINE_HEIGHT * index + FONT
        weight = ' font-weight="600"' if index < box.n_bold else ""
        parts.append(f'<text x="{box.x:.1f}" y="{y:.1f}" text-anchor="middle"{weight}>{_text(line)}</text>')
    size = f'height="{BAR:g}"'
    for x, y, width, color in box.bar:
        parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" {size} fill="{color}"/>')
    return "".join([*parts, "</g>"])

"""A tree drawn by matplotlib: the one file that imports it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spinney.inspect.wording import display_width
from spinney.plotting.colors import FAINT_INK, INK, LINE
from spinney.plotting.picture import BAR, FONT, LABEL_ROOM, LINE_HEIGHT, Box, Edge, Picture, tree_picture
from spinney.plotting.svg import bar_pieces, edge_width

# matplotlib's own font has no Chinese, Japanese or Korean; it falls back on those of these that are there.
_FALLBACKS = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "SimHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Arial Unicode MS",
)
_BOLD_WEIGHTS = (600, 700, 800, "semibold", "demibold", "bold", "heavy")
_POINTS_PER_PIXEL = 0.75
_LARGEST_SIDE = 100.0  # inches; a larger figure than this is memory, not a picture


def plot_tree(
    model: Any,
    ax: Any = None,
    max_depth: int | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    decimals: int | None = None,
    show_missing: bool | None = None,
) -> Any:
    """Draw a fitted tree (an estimator, or its ``tree_``) and return the axes.

    Without ax a figure of the right size is made; with one, the tree is scaled into it. Branches below
    max_depth are only counted; decimals None writes four significant digits.

    >>> plot_tree(model, max_depth=3).figure.savefig("tree.png")  # doctest: +SKIP
    """
    picture = tree_picture(
        model,
        max_depth=max_depth,
        feature_names=feature_names,
        class_names=class_names,
        decimals=decimals,
        show_missing=show_missing,
    )
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plot_tree needs matplotlib; pip install matplotlib, or call tree_svg.") from None
    if ax is None:
        inches = [side * _POINTS_PER_PIXEL / 72 for side in (picture.width, picture.height)]
        scale = min(1.0, _LARGEST_SIDE / max(inches))
        figure = plt.figure(figsize=(inches[0] * scale, inches[1] * scale))
        ax = figure.add_axes((0, 0, 1, 1))
    draw_matplotlib(picture, ax)
    return ax


def draw_matplotlib(picture: Picture, ax: Any) -> None:
    """Draw a picture into axes, scaled to fit them."""
    ax.set_xlim(0, picture.width)
    ax.set_ylim(picture.height, 0)
    ax.set_aspect("equal", adjustable="box", anchor="C")
    ax.axis("off")
    room = ax.get_window_extent()
    # Points on paper for one pixel of the picture, in axes of the size they have now.
    points = min(room.width / picture.width, room.height / picture.height) * 72 / ax.figure.dpi
    plain, bold, bold_is_complete = _families()
    style = {"fontsize": FONT * points, "color": INK, "family": plain, "parse_math": False, "clip_on": True}
    head = style | {"family": bold, "fontweight": "bold"}
    for x, y, color, text in picture.legend:
        _rectangle(ax, x, y + 2, 12, 12, facecolor=color)
        ax.text(x + LINE_HEIGHT + 2, y + 8, text, va="center_baseline", ha="left", **style)
    for edge in picture.edges:
        _draw_edge(ax, edge, points)
    for box in picture.boxes:
        _draw_box(ax, box, points, style, head, bold_is_complete)
    outline = {"facecolor": "white", "edgecolor": "none", "pad": 0.8 * points, "alpha": 0.85}
    for edge in picture.edges:
        if edge.label:
            place = (edge.x1, edge.y1 - 12)
            ax.text(
                *place, edge.label, va="center", ha="center", **(style | {"color": FAINT_INK}), bbox=outline
            )


def _families() -> tuple[list[str], list[str], bool]:
    """Give the fonts for plain and for bold text, and whether the bold ones cover as much as the plain ones.

    matplotlib complains on the log about a font that has no bold, so none such is asked for.
    """
    from matplotlib import font_manager, rcParams

    installed = {font.name for font in font_manager.fontManager.ttflist}
    with_bold = {f.name for f in font_manager.fontManager.ttflist if f.weight in _BOLD_WEIGHTS}
    fallbacks = [name for name in _FALLBACKS if name in installed]
    bold = [name for name in fallbacks if name in with_bold]
    own = list(rcParams["font.family"])
    return own + fallbacks, own + bold, bool(bold) or not fallbacks


def _draw_edge(ax: Any, edge: Edge, points: float) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    straight = edge.y1 - LABEL_ROOM
    bend = (edge.y0 + straight) / 2
    corners = [(edge.x0, edge.y0), (edge.x0, bend), (edge.x1, bend), (edge.x1, straight), (edge.x1, edge.y1)]
    path = Path(corners, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO])
    ax.add_patch(PathPatch(path, fill=False, edgecolor=LINE, linewidth=edge_width(edge) * points))


def _draw_box(
    ax: Any, box: Box, points: float, style: dict[str, Any], head: dict[str, Any], bold_is_complete: bool
) -> None:
    from matplotlib.patches import FancyBboxPatch

    left = box.x - box.width / 2
    shape = "round,pad=0,rounding_size=5"
    ax.add_patch(
        FancyBboxPatch(
            (left, box.y),
            box.width,
            box.height,
            boxstyle=shape,
            facecolor=box.fill,
            edgecolor=LINE,
            linewidth=points,
        )
    )
    wide = any(display_width(line) > len(line) for line in box.lines[: box.n_bold])
    for index, line in enumerate(box.lines):
        y = box.y + 8 + LINE_HEIGHT * (index + 0.5)
        chosen = head if index < box.n_bold and (bold_is_complete or not wide) else style
        ax.text(box.x, y, line, va="center_baseline", ha="center", **chosen)
    for start, width, color in bar_pieces(box):
        _rectangle(ax, start, box.y + box.height - BAR - 4, width, BAR, facecolor=color)


def _rectangle(ax: Any, x: float, y: float, width: float, height: float, facecolor: str) -> None:
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((x, y), width, height, facecolor=facecolor, edgecolor="none"))

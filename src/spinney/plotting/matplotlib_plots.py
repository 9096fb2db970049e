"""Plots with matplotlib: trees and the κ–error diagram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from spinney.core.errors import InputTypeError
from spinney.diversity import KappaErrorPoints
from spinney.inspect.wording import display_width, printable
from spinney.plotting.picture import BAR, FAINT_INK, FONT, INK, LINE, LINE_HEIGHT, class_color, tree_picture

_MARKERS = "osD^vP*X"
_FEW = 200  # points that are drawn opaque
# matplotlib's default font has no Chinese, Japanese or Korean; those of these that are installed are used.
_FALLBACKS = [
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "PingFang SC", "Hiragino Sans GB",
    "Microsoft YaHei", "SimHei", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Arial Unicode MS",
]  # fmt: skip
_BOLD_WEIGHTS = (600, 700, 800, "semibold", "demibold", "bold", "heavy")
_POINTS_PER_PIXEL = 0.75
_MAX_SIDE = 100.0  # inches; larger figures only take memory


def plot_tree(
    model: Any,
    ax: Any = None,
    max_depth: int | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | bool | None = None,
    decimals: int | None = None,
    show_missing: bool | None = None,
    filled: bool | None = None,
    fontsize: float | None = None,
    label: str | None = None,
    impurity: bool | None = None,
    node_ids: bool | None = None,
    proportion: bool | None = None,
    rounded: bool | None = None,
    precision: int | None = None,
) -> Any:
    """Draw a fitted tree with matplotlib.

    With one of the parameters of scikit-learn's ``plot_tree`` that this drawing lacks (`label`, `impurity`,
    `node_ids`, `proportion`, `rounded`, `precision`), the tree is drawn by scikit-learn, whose annotations
    are returned.

    Parameters
    ----------
    model : estimator or TreeArrays
        A fitted tree, or its ``tree_``.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into; the tree is scaled to fit them. By default a new figure of the right size.
    max_depth : int, optional
        Draw the tree down to this depth; the nodes below are only counted.
    feature_names : sequence of str, optional
        Names of the features. Defaults to those seen in `fit`.
    class_names : sequence or bool, optional
        Labels of the classes. Defaults to ``classes_``, as do True and False.
    decimals : int, optional
        Digits after the decimal point. Defaults to four significant digits.
    show_missing : bool, optional
        Whether to show which branch missing values take. Defaults to features that had some in training.
    filled : bool, optional
        Whether to colour the boxes by class or value. By default they are, but not by scikit-learn.
    fontsize : float, optional
        Size of the text in points. By default it fits the boxes.
    label : {"all", "root", "none"}, optional
        scikit-learn's drawing: which nodes name their values.
    impurity : bool, optional
        scikit-learn's drawing: whether to show the impurity of the nodes.
    node_ids : bool, optional
        scikit-learn's drawing: whether to show the numbers of the nodes.
    proportion : bool, optional
        scikit-learn's drawing: whether to show fractions instead of numbers of rows.
    rounded : bool, optional
        scikit-learn's drawing: whether the boxes have round corners.
    precision : int, optional
        scikit-learn's drawing: digits after the decimal point.

    Returns
    -------
    matplotlib.axes.Axes or list of matplotlib.text.Annotation
        The axes with the tree; the annotations, if scikit-learn draws it.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    >>> plot_tree(model, max_depth=3).figure.savefig("tree.png")  # doctest: +SKIP
    """
    theirs = {
        "label": label, "impurity": impurity, "node_ids": node_ids, "proportion": proportion,
        "rounded": rounded, "precision": precision,
    }  # fmt: skip
    asked = {name: value for name, value in theirs.items() if value is not None}
    if asked:
        shared = {"filled": filled or False, "ax": ax, "fontsize": fontsize, "max_depth": max_depth}
        return _plot_by_scikit_learn(model, feature_names, class_names, **shared, **asked)
    labels = None if isinstance(class_names, bool) else class_names
    picture = tree_picture(model, max_depth, feature_names, labels, decimals, show_missing)
    plt = _pyplot("plot_tree needs matplotlib; pip install matplotlib, or call tree_svg.")
    from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
    from matplotlib.path import Path

    if ax is None:
        inches = [side * _POINTS_PER_PIXEL / 72 for side in (picture.width, picture.height)]
        scale = min(1.0, _MAX_SIDE / max(inches))
        ax = plt.figure(figsize=(inches[0] * scale, inches[1] * scale)).add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, picture.width), ylim=(picture.height, 0))
    ax.set_aspect("equal", adjustable="box", anchor="C")
    ax.axis("off")
    room = ax.get_window_extent()
    # Points per pixel of the picture, for the current size of the axes.
    points = min(room.width / picture.width, room.height / picture.height) * 72 / ax.figure.dpi
    plain, bold, bold_is_complete = _families()
    size = FONT * points if fontsize is None else fontsize
    style = {"fontsize": size, "color": INK, "family": plain, "parse_math": False, "clip_on": True}
    head = style | {"family": bold, "fontweight": "bold"}
    for x, y, color, text in picture.legend:
        ax.add_patch(Rectangle((x, y + 2), 12, 12, facecolor=color, edgecolor="none"))
        ax.text(x + LINE_HEIGHT + 2, y + 8, text, va="center_baseline", ha="left", **style)
    steps = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO]
    for edge in picture.edges:
        path = Path(edge.corners, steps)
        ax.add_patch(PathPatch(path, fill=False, edgecolor=LINE, linewidth=edge.width * points))
    border = {"boxstyle": "round,pad=0,rounding_size=5", "edgecolor": LINE, "linewidth": points}
    for box in picture.boxes:
        corner = (box.x - box.width / 2, box.y)
        ax.add_patch(
            FancyBboxPatch(
                corner,
                box.width,
                box.height,
                facecolor=box.fill if filled is not False else "white",
                **border,
            )
        )
        wide = any(display_width(line) > len(line) for line in box.lines[: box.n_bold])
        for index, line in enumerate(box.lines):
            chosen = head if index < box.n_bold and (bold_is_complete or not wide) else style
            y = box.y + 8 + LINE_HEIGHT * (index + 0.5)
            ax.text(box.x, y, line, va="center_baseline", ha="center", **chosen)
        for x, y, width, color in box.bar:
            ax.add_patch(Rectangle((x, y), width, BAR, facecolor=color, edgecolor="none"))
    outline = {"facecolor": "white", "edgecolor": "none", "pad": 0.8 * points, "alpha": 0.85}
    faint = style | {"color": FAINT_INK, "bbox": outline}
    for edge in picture.edges:
        if edge.label:
            ax.text(edge.x1, edge.y1 - 12, edge.label, va="center", ha="center", **faint)
    return ax


def _plot_by_scikit_learn(
    model: Any, feature_names: Sequence[str] | None, class_names: Sequence[Any] | bool | None, **options: Any
) -> Any:
    """Draw a tree by scikit-learn's ``plot_tree``, and return its annotations."""
    from sklearn.tree import plot_tree as draw

    names = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    return draw(
        model,
        feature_names=None if names is None else list(names),
        class_names=class_names
        if class_names is None or isinstance(class_names, bool)
        else list(class_names),
        **options,
    )


def _families() -> tuple[list[str], list[str], bool]:
    """Fonts for plain and for bold text, and whether the bold ones cover the same characters.

    matplotlib logs a warning about a font without a bold version, so such fonts are left out.
    """
    from matplotlib import font_manager, rcParams

    fonts = font_manager.fontManager.ttflist
    installed = {font.name for font in fonts}
    with_bold = {font.name for font in fonts if font.weight in _BOLD_WEIGHTS}
    fallbacks = [name for name in _FALLBACKS if name in installed]
    bold = [name for name in fallbacks if name in with_bold]
    own = list(rcParams["font.family"])
    return own + fallbacks, own + bold, bool(bold) or not fallbacks


# ---- κ–error diagram ----


def plot_kappa_error(points: KappaErrorPoints | Mapping[str, KappaErrorPoints], ax: Any = None) -> Any:
    """Draw the κ–error diagram of one or several ensembles with matplotlib.

    The x axis is κ of a pair of members, the y axis their mean error; a cross marks the mean of each
    ensemble. Points further left belong to more diverse members, lower ones to more accurate members.

    Parameters
    ----------
    points : KappaErrorPoints or mapping of str to KappaErrorPoints
        What :func:`spinney.diversity.kappa_error` returns, for one ensemble or for several by name.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into. By default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the diagram.

    Examples
    --------
    >>> from spinney.diversity import kappa_error
    >>> points = kappa_error([[1, 1], [1, 1], [0, 0], [1, 0]], [1, 1, 0, 0])
    >>> plot_kappa_error({"bagging": points}).figure.savefig("kappa_error.png")  # doctest: +SKIP
    """
    clouds = dict(points) if isinstance(points, Mapping) else {"": points}
    for name, cloud in clouds.items():
        if not isinstance(cloud, KappaErrorPoints):
            raise InputTypeError(
                f"The points {f'of {name!r} ' if name else ''}are of the type {type(cloud).__name__}",
                fix="Give what spinney.diversity.kappa_error returns, or a mapping of names to it.",
            )
    ax = new_axes("plot_kappa_error", ax, (6.4, 4.8))
    handles = []
    for index, cloud in enumerate(clouds.values()):
        alpha = min(1.0, max(0.25, (_FEW / len(cloud.kappa)) ** 0.5))
        look = {"marker": _MARKERS[index % len(_MARKERS)], "color": class_color(index), "alpha": alpha}
        handles.append(ax.scatter(cloud.kappa, cloud.error, s=16, linewidths=0, **look))
        # Means are above all points, so that none is hidden by the points of another ensemble.
        for color, size, width in (("white", 14, 5.0), (INK, 12, 2.0)):
            cross = {"marker": "+", "markersize": size, "markeredgewidth": width, "color": color}
            ax.plot(cloud.mean_kappa, cloud.mean_error, zorder=3 + index, **cross)
    ax.set_xlabel("κ of the pair  (lower: more diverse)", color=INK)
    ax.set_ylabel("mean error of the pair", color=INK)
    quiet_axes(ax, "both")
    if any(clouds):
        _draw_legend(ax, handles, list(clouds))
    return ax


def _draw_legend(ax: Any, handles: list[Any], names: list[str]) -> None:
    # matplotlib leaves out labels that begin with an underscore, and parses dollar signs as mathematics.
    texts = [printable(str(name)) for name in names]
    labels = [f" {text}" if text.startswith("_") else text for text in texts]
    legend = ax.legend(handles, labels, frameon=False, labelcolor=INK)
    for handle in legend.legend_handles:
        handle.set_alpha(1.0)
    for text in legend.get_texts():
        text.set_parse_math(False)


def new_axes(function: str, ax: Any, size: tuple[float, float]) -> Any:
    """Return the given axes, or those of a new figure of a size in inches."""
    plt = _pyplot(f"{function} needs matplotlib; pip install matplotlib.")
    return plt.figure(figsize=size, layout="constrained").add_subplot() if ax is None else ax


def quiet_axes(ax: Any, grid: Literal["x", "y", "both"]) -> None:
    """Draw a faint grid behind the data, and only two faint spines."""
    ax.grid(axis=grid, color=LINE, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(LINE)
    ax.tick_params(colors=FAINT_INK)


def _pyplot(problem: str) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(problem) from None
    return plt

"""The κ–error diagram drawn by matplotlib: one point a pair of members, one cloud an ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spinney.core.errors import InputTypeError
from spinney.diversity import KappaErrorPoints
from spinney.inspect.wording import printable
from spinney.plotting.colors import FAINT_INK, INK, LINE, class_color

_MARKERS = "osD^vP*X"
_FEW = 200  # points that are still drawn at full strength


def plot_kappa_error(points: KappaErrorPoints | Mapping[str, KappaErrorPoints], ax: Any = None) -> Any:
    """Draw the points of :func:`spinney.diversity.kappa_error`, of one ensemble or of several by name.

    κ runs to the right and the mean error of a pair upwards; a cross marks the middle of each cloud. A cloud
    further left is of more diverse members, a lower one of more accurate members. Returns the axes, made in a
    new figure where none are given.

    >>> plot_kappa_error({"bagging": points}).figure.savefig("kappa_error.png")  # doctest: +SKIP
    """
    clouds = dict(points) if isinstance(points, Mapping) else {"": points}
    for name, cloud in clouds.items():
        if not isinstance(cloud, KappaErrorPoints):
            raise InputTypeError(
                f"{'The points' if not name else f'What is called {name!r}'} are of the type "
                f"{type(cloud).__name__}",
                fix="Give what spinney.diversity.kappa_error returns, or a mapping of names to it.",
            )
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plot_kappa_error needs matplotlib; pip install matplotlib.") from None
    if ax is None:
        ax = plt.figure(figsize=(6.4, 4.8), layout="constrained").add_subplot()
    handles = [_draw_cloud(ax, cloud, index) for index, cloud in enumerate(clouds.values())]
    # Above all clouds: a middle is not to be hidden by the points of another.
    for index, cloud in enumerate(clouds.values()):
        _draw_middle(ax, cloud, index)
    _label(ax)
    if any(clouds):
        _draw_legend(ax, handles, list(clouds))
    return ax


def _draw_cloud(ax: Any, cloud: KappaErrorPoints, index: int) -> Any:
    strength = min(1.0, max(0.25, (_FEW / len(cloud.kappa)) ** 0.5))
    return ax.scatter(
        cloud.kappa,
        cloud.error,
        s=16,
        marker=_MARKERS[index % len(_MARKERS)],
        color=class_color(index),
        alpha=strength,
        linewidths=0,
    )


def _draw_middle(ax: Any, cloud: KappaErrorPoints, index: int) -> None:
    place = (cloud.mean_kappa, cloud.mean_error)
    for color, size, width in (("white", 14, 5.0), (INK, 12, 2.0)):
        ax.plot(*place, marker="+", markersize=size, markeredgewidth=width, color=color, zorder=3 + index)


def _label(ax: Any) -> None:
    ax.set_xlabel("κ of the pair  (less: more diverse)", color=INK)
    ax.set_ylabel("mean error of the pair", color=INK)
    ax.grid(color=LINE, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(LINE)
    ax.tick_params(colors=FAINT_INK)


def _draw_legend(ax: Any, handles: list[Any], names: list[str]) -> None:
    # matplotlib leaves out what starts with an underscore, and reads dollar signs as mathematics.
    texts = [printable(str(name)) for name in names]
    legend = ax.legend(
        handles,
        [f" {text}" if text.startswith("_") else text for text in texts],
        frameon=False,
        labelcolor=INK,
    )
    for handle in legend.legend_handles:
        handle.set_alpha(1.0)
    for text in legend.get_texts():
        text.set_parse_math(False)

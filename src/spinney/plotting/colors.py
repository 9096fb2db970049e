"""The colours of drawn nodes: a hue for the answer, stronger the surer it is, light enough for dark text."""

from __future__ import annotations

import colorsys

import numpy as np
from numpy.typing import NDArray

from spinney.inspect.wording import NamedTree

INK = "#1f2328"
FAINT_INK = "#57606a"
LINE = "#8c959f"

# Hues that stay apart for most colour-blind readers; further classes get hues spread by the golden ratio.
_HUES = (
    "#3b7dd8",
    "#f28e2b",
    "#3f9e5a",
    "#d1495b",
    "#8562b8",
    "#2aa6a1",
    "#c9a227",
    "#d67bb2",
    "#7a6a5a",
    "#6b8e9e",
)
_GOLDEN = 0.61803398875
_FAINTEST, _STRONGEST = 0.06, 0.55


def class_color(index: int) -> str:
    """Give the full colour of a class."""
    if index < len(_HUES):
        return _HUES[index]
    red, green, blue = colorsys.hls_to_rgb((index * _GOLDEN) % 1.0, 0.48, 0.5)
    return _hex(np.array([red, green, blue]) * 255)


def tint(color: str, strength: float) -> str:
    """Mix a colour into white; strength 0 is nearly white, 1 the strongest that dark text is read on."""
    part = _FAINTEST + (_STRONGEST - _FAINTEST) * min(max(strength, 0.0), 1.0)
    full = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float64)
    return _hex(255 + (full - 255) * part)


def node_fills(named: NamedTree) -> list[str]:
    """Give each node's fill, by the class of the first output and its lead, or by its mean.  -> (n_nodes,)"""
    first: NDArray[np.float64] = named.tree.value[:, 0, :]
    if named.labels is None:
        low, high = float(first.min()), float(first.max())
        spread = high - low
        position = (first[:, 0] - low) / spread if 0 < spread < np.inf else np.full(len(first), 0.5)
        return [tint(class_color(0), float(at)) for at in position]
    ordered = np.sort(first, axis=1)
    # 0 where two classes tie, 1 where one has all.
    lead = ordered[:, -1] - ordered[:, -2] if first.shape[1] > 1 else np.ones(len(first))
    return [tint(class_color(int(row.argmax())), float(at)) for row, at in zip(first, lead, strict=True)]


def _hex(channels: NDArray[np.float64]) -> str:
    return "#" + "".join(f"{round(float(channel)):02x}" for channel in channels)

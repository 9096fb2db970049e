"""SVG charts: axes with ticks, lines, areas, points and bars. Colours are classes of the style sheet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from spinney.plotting.picture import shorten
from spinney.reporting.drawing.markup import text

_CHAR = 6.2  # mean width of a character of the labels


class Scale:
    """A range of values and where they lie on an axis.

    >>> Scale(0, 10).ticks(5)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """

    def __init__(self, low: float, high: float, *, log: bool = False) -> None:
        if not (math.isfinite(low) and math.isfinite(high)):
            low, high = 0.0, 1.0
        if not high > low:
            pad = abs(low) * 0.1 or 0.5
            low, high = low - pad, high + pad
        self.low, self.high, self.log = low, high, log and low > 0

    @classmethod
    def around(
        cls, values: Iterable[float], *, zero: bool = False, pad: float = 0.04, log: bool = False
    ) -> Scale:
        """Return a scale that holds the values, with some room at the ends."""
        known = [value for value in values if math.isfinite(value)]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
        room = (high - low) * pad
        if log and low > 0:
            return cls(low, high * 1.1, log=True)
        return cls(low if zero and low == 0 else low - room, high if zero and high == 0 else high + room)

    def at(self, value: float) -> float:
        """Return where a value lies: 0 at the lower end, 1 at the upper."""
        if self.log:
            value = max(value, self.low)
            return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return (value - self.low) / (self.high - self.low)

    def ticks(self, n: int = 5) -> list[float]:
        """Return about n round values within the range."""
        if self.log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            found = [10.0**p for p in powers if self.low <= 10.0**p <= self.high]
            if len(found) >= 2:
                return found
        raw = (self.high - self.low) / max(n, 1)
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(k * step, 12) + 0.0 for k in range(first, last + 1)]


def tick_label(value: float) -> str:
    """Return the label of a tick.

    >>> tick_label(0.25), tick_label(20000.0), tick_label(-3.0)
    ('0.25', '20,000', '−3')
    """
    size = abs(value)
    if size >= 1e6 or (0 < size < 1e-4):
        shown = f"{value:.3g}"
    elif value == int(value):
        shown = f"{int(value):,}"
    else:
        shown = f"{value:.4g}"
    return shown.replace("-", "−")


class Chart:
    """A chart with two axes, to which marks are added.

    Parameters
    ----------
    x, y : Scale
        The axes.
    label : str
        What the chart shows, for screen readers.
    x_label, y_label : str
        Names of the axes.
    width, height : int
        Size in pixels.
    x_names, y_names : sequence of str
        Names of the positions 0, 1, 2, … if an axis has categories.
    """

    def __init__(
        self,
        x: Scale,
        y: Scale,
        *,
        label: str,
        x_label: str = "",
        y_label: str = "",
        width: int = 380,
        height: int = 250,
        x_names: Sequence[str] = (),
        y_names: Sequence[str] = (),
    ) -> None:
        self.x, self.y, self.width, self.height = x, y, width, height
        self._label, self._x_label, self._y_label = label, x_label, y_label
        self._x_names, self._y_names = x_names, y_names
        names = [shorten(name, 22) for name in y_names]
        widest = max((len(one) for one in (names or map(tick_label, y.ticks()))), default=3)
        self.left = 14 + widest * _CHAR + (16 if y_label else 0)
        self._slanted = sum(min(len(n), 14) + 2 for n in x_names) * _CHAR > width - self.left - 12
        self.bottom = 26 + (16 if x_label else 0) + (44 if self._slanted else 0)
        self.top, self.right = 12.0, 14.0
        self._marks: list[str] = []
        self._legend: list[tuple[str, str, str]] = []

    def px(self, value: float) -> float:
        """Return the horizontal place of a value."""
        return self.left + self.x.at(value) * (self.width - self.left - self.right)

    def py(self, value: float) -> float:
        """Return the vertical place of a value."""
        return self.height - self.bottom - self.y.at(value) * (self.height - self.top - self.bottom)

    def line(
        self, points: Iterable[tuple[float, float]], kind: str = "c0", name: str = "", dashed: bool = False
    ) -> None:
        """Add a line through points."""
        path = " ".join(f"{self.px(a):.1f},{self.py(b):.1f}" for a, b in points)
        dash = " dash" if dashed else ""
        title = f"<title>{text(name)}</title>" if name else ""
        self._marks.append(f'<polyline class="line {kind}{dash}" points="{path}">{title}</polyline>')
        if name:
            self._legend.append((kind + dash, name, "line"))

    def area(
        self, lower: Sequence[tuple[float, float]], upper: Sequence[tuple[float, float]], kind: str = "c0"
    ) -> None:
        """Add the area between two lines."""
        corners = [*lower, *reversed(upper)]
        path = " ".join(f"{self.px(a):.1f},{self.py(b):.1f}" for a, b in corners)
        self._marks.append(f'<polygon class="area {kind}" points="{path}"/>')

    def points(
        self, points: Iterable[tuple[float, float]], kind: str = "c0", radius: float = 2.4, name: str = ""
    ) -> None:
        """Add points as one path of dots, which takes few bytes."""
        dots = "".join(f"M{self.px(a):.1f} {self.py(b):.1f}h0" for a, b in points)
        self._marks.append(f'<path class="dots {kind}" stroke-width="{2 * radius:g}" d="{dots}"/>')
        if name:
            self._legend.append((kind, name, "dot"))

    def bar(self, x0: float, x1: float, y0: float, y1: float, kind: str = "c0", hint: str = "") -> None:
        """Add a rectangle between values."""
        left, right = sorted((self.px(x0), self.px(x1)))
        top, bottom = sorted((self.py(y0), self.py(y1)))
        title = f"<title>{text(hint)}</title>" if hint else ""
        self._marks.append(
            f'<rect class="bar {kind}" x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 0.5):.1f}" '
            f'height="{max(bottom - top, 0.5):.1f}">{title}</rect>'
        )

    def segment(self, x0: float, y0: float, x1: float, y1: float, kind: str = "guide") -> None:
        """Add a straight line between two points."""
        self._marks.append(
            f'<line class="{kind}" x1="{self.px(x0):.1f}" y1="{self.py(y0):.1f}" x2="{self.px(x1):.1f}" '
            f'y2="{self.py(y1):.1f}"/>'
        )

    def upright(self, x: float, name: str = "", mark_id: str = "") -> None:
        """Add a vertical line over the whole height, with a label beside it."""
        at, top, bottom = self.px(x), self.top, self.height - self.bottom
        own = f' id="{mark_id}"' if mark_id else ""
        self._marks.append(
            f'<line{own} class="marker" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{bottom}"/>'
        )
        if name:
            after = at < self.width - self.right - len(name) * _CHAR - 8
            anchor, shift = ("start", 5) if after else ("end", -5)
            self._marks.append(
                f'<text class="note" x="{at + shift:.1f}" y="{top + 10}" '
                f'text-anchor="{anchor}">{text(name)}</text>'
            )

    def raw(self, markup: str) -> None:
        """Add markup that is safe already."""
        self._marks.append(markup)

    def svg(self, chart_id: str = "") -> str:
        """Return the chart."""
        legend, extra = self._draw_legend()
        own = f' id="{chart_id}"' if chart_id else ""
        total = self.height + extra
        return (
            f'<svg{own} class="chart" viewBox="0 0 {self.width} {total:g}" role="img" '
            f'aria-label="{text(self._label)}">'
            f"{self._axes()}{''.join(self._marks)}{legend}</svg>"
        )

    def _axes(self) -> str:
        left, right = self.left, self.width - self.right
        top, bottom = self.top, self.height - self.bottom
        parts = []
        n_y = max(2, int((bottom - top) / 42))
        ys = range(len(self._y_names)) if self._y_names else self.y.ticks(n_y)
        for tick in ys:
            at = self.py(tick)
            name = shorten(self._y_names[int(tick)], 22) if self._y_names else tick_label(tick)
            if not self._y_names:
                parts.append(
                    f'<line class="grid" x1="{left:.1f}" x2="{right:.1f}" y1="{at:.1f}" y2="{at:.1f}"/>'
                )
            parts.append(
                f'<text class="tick" x="{left - 6:.1f}" y="{at + 4:.1f}" '
                f'text-anchor="end">{text(name)}</text>'
            )
        parts += self._x_ticks(top, bottom)
        parts.append(
            f'<line class="axis" x1="{left:.1f}" x2="{right:.1f}" y1="{bottom:.1f}" y2="{bottom:.1f}"/>'
        )
        if self._x_label:
            parts.append(
                f'<text class="label" x="{(left + right) / 2:.1f}" y="{self.height - 5}" '
                f'text-anchor="middle">{text(shorten(self._x_label, 48))}</text>'
            )
        if self._y_label:
            middle = (top + bottom) / 2
            parts.append(
                f'<text class="label" x="12" y="{middle:.1f}" text-anchor="middle" '
                f'transform="rotate(-90 12 {middle:.1f})">{text(shorten(self._y_label, 34))}</text>'
            )
        return "".join(parts)

    def _x_ticks(self, top: float, bottom: float) -> list[str]:
        parts = []
        widest = max((len(tick_label(one)) for one in self.x.ticks(6)), default=3)
        n_x = max(2, min(6, int((self.width - self.left - self.right) / ((widest + 3) * _CHAR))))
        xs = range(len(self._x_names)) if self._x_names else self.x.ticks(n_x)
        for tick in xs:
            at = self.px(tick)
            name = shorten(self._x_names[int(tick)], 12) if self._x_names else tick_label(tick)
            if not self._x_names:
                parts.append(
                    f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>'
                )
            turn = f' transform="rotate(-40 {at:.1f} {bottom + 14:.1f})"' if self._slanted else ""
            anchor = "end" if self._slanted else "middle"
            parts.append(
                f'<text class="tick" x="{at:.1f}" y="{bottom + 16:.1f}" '
                f'text-anchor="{anchor}"{turn}>{text(name)}</text>'
            )
        return parts

    def _draw_legend(self) -> tuple[str, float]:
        """Return the legend below the chart, and its height."""
        if len(self._legend) < 2:
            return "", 0.0
        parts, x, y = [], self.left, self.height + 12.0
        for kind, name, mark in self._legend:
            shown = shorten(name, 30)
            width = 26 + len(shown) * _CHAR
            if x + width > self.width and x > self.left:
                x, y = self.left, y + 18
            if mark == "line":
                parts.append(
                    f'<line class="line {kind}" x1="{x:.1f}" x2="{x + 16:.1f}" y1="{y - 4:.1f}" '
                    f'y2="{y - 4:.1f}"/>'
                )
            else:
                parts.append(f'<path class="dots {kind}" stroke-width="7" d="M{x + 8:.1f} {y - 4:.1f}h0"/>')
            parts.append(f'<text class="tick" x="{x + 21:.1f}" y="{y:.1f}">{text(shown)}</text>')
            x += width + 10
        return "".join(parts), y - self.height + 8


def sparkline(heights: Sequence[float], label: str) -> str:
    """Return a small histogram for a line of text."""
    if not heights:
        return ""
    step = 84 / max(len(heights), 1)
    bars = "".join(
        f'<rect x="{k * step:.1f}" y="{20 - 18 * h:.1f}" width="{max(step - 1, 1):.1f}" '
        f'height="{max(18 * h, 0.6):.1f}"/>'
        for k, h in enumerate(heights)
    )
    return f'<svg class="spark" viewBox="0 0 84 20" role="img" aria-label="{text(label)}">{bars}</svg>'

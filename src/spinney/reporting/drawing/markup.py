"""Markup: escaped text, tables, figures and embedded data."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from html import escape as html_escape
from typing import Any

_NOT_ALLOWED = re.compile("[^\t\n\r -\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0001fffd]")
# Invisible characters that turn the direction of the text around them.
_DIRECTION = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MAX_TEXT = 200


def text(value: object, limit: int = _MAX_TEXT) -> str:
    """Escape a value for HTML and SVG; characters that are not allowed there are replaced by U+FFFD.

    >>> text("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    plain = _DIRECTION.sub("\ufffd", _NOT_ALLOWED.sub("\ufffd", str(value)))
    if len(plain) > limit:
        plain = plain[: limit - 1] + "…"
    return html_escape(plain)


def number(value: float | None, digits: int = 4) -> str:
    """Return a number as text, with so many significant digits; a dash if there is none.

    >>> number(0.123456), number(12345.6), number(None)
    ('0.1235', '12,346', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e6:
        shown = f"{int(value):,}"
    elif 1000 <= abs(value) < 1e6:
        shown = f"{value:,.0f}"
    else:
        shown = f"{value:.{digits}g}"
    return shown.replace("-", "−")


def metric(value: float | None) -> str:
    """Return a metric as text, with three digits after the point, or four significant ones.

    >>> metric(0.5), metric(0.00012), metric(12345.6)
    ('0.500', '0.00012', '12,346')
    """
    if value is None or math.isnan(value) or abs(value) >= 10 or 0 < abs(value) < 0.01:
        return number(value)
    return f"{value:.3f}".replace("-", "−")


def metrics_alike(values: Sequence[float]) -> list[str]:
    """Return metrics as text with the same number of digits after the point, as the largest one needs.

    >>> metrics_alike([0.024, -0.002294, 0.05])
    ['0.024', '−0.002', '0.050']
    """
    largest = max(map(abs, values), default=0.0)
    if not 0.01 <= largest < 10:
        return [metric(value) for value in values]
    return [f"{value:.3f}".replace("-", "−") for value in values]


def percent(share: float | None) -> str:
    """Return a share as text.

    >>> percent(0.1234), percent(0.00004)
    ('12.3 %', '< 0.1 %')
    """
    if share is None:
        return "–"
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{share:.1%}".replace("%", " %").replace(".0 ", " ")


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    numeric: Iterable[int] = (),
    sortable: bool = False,
) -> str:
    """Return a table whose cells are markup; columns of numbers are aligned to the right."""
    right = set(numeric)

    def cell(k: int, content: str) -> str:
        return f'<td class="n">{content}</td>' if k in right else f"<td>{content}</td>"

    heads = "".join(
        f'<th scope="col"{" class=n" if k in right else ""}>{name}</th>' for k, name in enumerate(head)
    )
    body = "".join(f"<tr>{''.join(cell(k, content) for k, content in enumerate(row))}</tr>\n" for row in rows)
    title = f"<caption>{caption}</caption>" if caption else ""
    kind = ' class="sortable"' if sortable else ""
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{caption or "table"}">'
        f"<table{kind}>{title}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def figure(chart: str, caption: str, more: str = "", wide: bool = False) -> str:
    """Return a chart with its caption and, folded below it, what else belongs to it."""
    kind = ' class="wide"' if wide else ""
    return f"<figure{kind}>{chart}<figcaption>{caption}</figcaption>{more}</figure>"


def gallery(figures: Sequence[str]) -> str:
    """Return figures side by side: two in a row if they are two or four, else three."""
    kind = "grid two" if len(figures) in (1, 2, 4) else "grid"
    return f'<div class="{kind}">{"".join(figures)}</div>'


def details(summary: str, content: str) -> str:
    """Return content that is folded until it is asked for."""
    return f"<details><summary>{summary}</summary>{content}</details>"


def data(name: str, value: Any) -> str:
    """Return values for the script of the page, as JSON that cannot end its element."""
    encoded = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    safe = encoded.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/json" id="{name}">{safe}</script>\n'


def clean(value: str, limit: int = _MAX_TEXT) -> str:
    """Return text for embedded data, which the script inserts as text and never as markup."""
    plain = _DIRECTION.sub("\ufffd", _NOT_ALLOWED.sub("\ufffd", value))
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"

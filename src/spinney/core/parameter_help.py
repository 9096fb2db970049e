"""Help texts in the HTML that notebooks show for an estimator: docstrings of parameters, under the mouse."""

from __future__ import annotations

import re
from typing import Any

LINK = "help"
"""Stands for the address of a documentation page: scikit-learn shows help texts only beside a link."""

_ADDRESS = re.compile(rf'\s*rel="noreferrer" target="_blank" href="{LINK}#[^"]*"')
_ANCHOR = "position-anchor:"
_WRAPPED = "max-width: 32em; white-space: normal; "


def with_help(table: Any) -> Any:
    """Make a table of parameters or attributes show help texts without links.

    Parameters
    ----------
    table : sklearn.utils._repr_html.params.ParamsDict or AttrsDict
        The table, made for a documentation page at `LINK`.

    Returns
    -------
    object
        The same table.
    """
    # scikit-learn has no public name for this.
    html = table._html_repr  # noqa: SLF001

    def show() -> str:
        return _ADDRESS.sub(' tabindex="0"', html()).replace(_ANCHOR, _WRAPPED + _ANCHOR)

    table._html_repr = show  # noqa: SLF001
    return table

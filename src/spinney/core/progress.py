"""Progress of a fit: a bar in a terminal or a notebook, or messages of the logger ``spinney``."""

from __future__ import annotations

import html
import logging
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")

LOGGER = logging.getLogger("spinney")
LOGGER.addHandler(logging.NullHandler())

_REDRAW_SECONDS = 0.1


class _Display(Protocol):
    """Where progress is shown."""

    def update(self, done: int, text: str) -> None:
        """Show the number of steps done and a text."""

    def close(self, leave: bool) -> None:
        """Show the last state, and stop; where nothing is left, remove what was drawn."""


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """Progress bar with a title, the number of steps done, a text and the remaining time.

    It is drawn on standard error, or as HTML in the output of a notebook cell. If the logger ``spinney`` is
    enabled for INFO messages, there are messages instead of a bar.

    Parameters
    ----------
    title : str
        Text before the bar.
    total : int
        Number of steps.
    shown : bool or int, default=True
        False or 0 shows nothing and costs nothing: estimators pass `verbose`. A number k above 1 logs one
        message every k steps; True and 1 log ten messages in all.
    done : int, default=0
        Number of steps done before.
    console : rich.console.Console or None, default=None
        Where to draw; None is standard error.

    Examples
    --------
    >>> with ProgressBar("growing trees", 10, shown=False) as bar:
    ...     bar.update(1)
    """

    leave: ClassVar[bool] = True
    """Whether bars stay on the terminal when they end; the command line removes them."""

    def __init__(
        self,
        title: str,
        total: int,
        *,
        shown: bool | int = True,
        done: int = 0,
        console: Console | None = None,
    ) -> None:
        self._display: _Display | None = None
        self._title, self._total, self._shown, self._done = title, total, shown, done
        self._console = console

    def __enter__(self) -> ProgressBar:
        if self._shown:
            self._display = self._open()
        return self

    def _open(self) -> _Display:
        """Choose where to show the progress."""
        if self._console is None and LOGGER.isEnabledFor(logging.INFO):
            every = int(self._shown) if self._shown > 1 else max(1, self._total // 10)
            return _Messages(self._title, self._total, every, self._done)
        if self._console is None and _in_notebook():
            return _NotebookBar(self._title, self._total, self._done)
        return _TerminalBar(self._title, self._total, self._done, self._console)

    def __exit__(self, *error: object) -> None:
        self.close(self.leave)

    def close(self, leave: bool) -> None:
        """Stop the bar.

        Parameters
        ----------
        leave : bool
            Whether it stays on the terminal.
        """
        if self._display is not None:
            self._display.close(leave)
            self._display = None

    def update(self, done: int, text: str = "") -> None:
        """Redraw the bar.

        Parameters
        ----------
        done : int
            Number of steps done so far.
        text : str, default=""
            Text beside the bar, such as the newest scores.
        """
        if self._display is not None:
            self._display.update(done, text)


class _TerminalBar:
    """A bar of rich."""

    def __init__(self, title: str, total: int, done: int, console: Console | None) -> None:
        from rich import progress
        from rich.console import Console as StandardConsole

        self._bar = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[text]}", markup=False),
            progress.TimeRemainingColumn(),
            console=console or StandardConsole(stderr=True),
        )
        self._task = self._bar.add_task(title, total=total, completed=done, text="")
        self._bar.start()

    def update(self, done: int, text: str) -> None:
        self._bar.update(self._task, completed=done, text=text)

    def close(self, leave: bool) -> None:
        self._bar.live.transient = not leave
        self._bar.stop()


class _Messages:
    """Messages of the logger, one every so many steps and one for the last step."""

    def __init__(self, title: str, total: int, every: int, done: int) -> None:
        self._title, self._total, self._every, self._logged = title, total, every, done
        self._last = (done, "")

    def update(self, done: int, text: str) -> None:
        self._last = (done, text)
        if done // self._every > self._logged // self._every:
            self._log()

    def _log(self) -> None:
        done, text = self._last
        LOGGER.info("%s %d/%d%s", self._title, done, self._total, f"  {text}" if text else "")
        self._logged = done

    def close(self, leave: bool) -> None:
        if self._last[0] > self._logged:
            self._log()


class _NotebookBar:
    """A bar as HTML in the output of a cell, which every front end can replace while the cell runs."""

    def __init__(self, title: str, total: int, done: int) -> None:
        from IPython.display import HTML, display

        self._html: Any = HTML
        self._title, self._total, self._begin = title, max(total, 1), done
        self._last, self._started, self._drawn = (done, ""), time.monotonic(), 0.0
        self._handle: Any = display(HTML(self._draw()), display_id=True)

    def update(self, done: int, text: str) -> None:
        self._last = (done, text)
        if time.monotonic() - self._drawn >= _REDRAW_SECONDS:
            self._show()

    def close(self, leave: bool) -> None:
        self._show()

    def _show(self) -> None:
        self._drawn = time.monotonic()
        if self._handle is not None:
            self._handle.update(self._html(self._draw()))

    def _draw(self) -> str:
        done, text = self._last
        seconds = time.monotonic() - self._started
        left = seconds * (self._total - done) / max(done - self._begin, 1)
        clock = f"{seconds:.1f} s" if done >= self._total or done == self._begin else f"{left:.0f} s left"
        title, shown = html.escape(self._title), html.escape(text)
        return (
            '<div style="font-family: monospace; white-space: pre-wrap">'
            f'{title} <progress value="{done}" max="{self._total}" aria-label="{title}"></progress> '
            f"{done}/{self._total}  {shown}  {clock}</div>"
        )


def _in_notebook() -> bool:
    """Return whether the code runs in a cell of a notebook, whose output can hold HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def track(items: Iterable[T], title: str | None, total: int) -> Iterator[T]:
    """Iterate over items and show how many were consumed, as `ProgressBar` does.

    Parameters
    ----------
    items : iterable
        What to iterate over.
    title : str or None
        Text before the bar; None shows no bar.
    total : int
        Number of items.

    Yields
    ------
    object
        The items.

    Examples
    --------
    >>> list(track("ab", None, 2))
    ['a', 'b']
    """
    with ProgressBar(title or "", total, shown=title is not None) as bar:
        for done, item in enumerate(items, 1):
            yield item
            bar.update(done)

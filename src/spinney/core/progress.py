"""Progress bars on standard error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """Progress bar with a title, the number of steps done, a text and the remaining time.

    Parameters
    ----------
    title : str
        Text before the bar.
    total : int
        Number of steps.
    shown : bool or int, default=True
        False or 0 shows nothing and costs nothing: estimators pass `verbose`.
    done : int, default=0
        Number of steps done before.
    console : rich.console.Console or None, default=None
        Where to draw; None is standard error.

    Examples
    --------
    >>> with ProgressBar("growing trees", 10, shown=False) as bar:
    ...     bar.update(1)
    """

    def __init__(
        self,
        title: str,
        total: int,
        *,
        shown: bool | int = True,
        done: int = 0,
        console: Console | None = None,
    ) -> None:
        self._bar = None
        if shown:
            from rich import progress
            from rich.console import Console as StandardConsole

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TextColumn("{task.fields[text]}"),
                progress.TimeRemainingColumn(),
                console=console or StandardConsole(stderr=True),
            )
            self._task = self._bar.add_task(title, total=total, completed=done, text="")

    def __enter__(self) -> ProgressBar:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, text: str = "") -> None:
        """Redraw the bar.

        Parameters
        ----------
        done : int
            Number of steps done so far.
        text : str, default=""
            Text beside the bar, such as the newest scores.
        """
        if self._bar is not None:
            self._bar.update(self._task, completed=done, text=text)


def track(items: Iterable[T], title: str | None, total: int) -> Iterator[T]:
    """Iterate over items and show how many were consumed.

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

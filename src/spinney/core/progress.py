"""A progress bar on standard error, for those who ask for one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any


class Progress(AbstractContextManager["Progress"]):
    """Show how far long work has come, if asked to; else cost nothing.

    >>> with Progress(False, "growing", 10) as progress:
    ...     progress.report(1)
    """

    def __init__(self, shown: bool | int, title: str, total: int) -> None:
        self._bar: Any = nullcontext()
        self._task: Any = None
        if shown:
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True))
            self._task = self._bar.add_task(title, total=total)

    def __enter__(self) -> Progress:
        self._bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)

    def report(self, done: int, text: str | None = None) -> None:
        """Tell how many parts are done, and what is to stand beside the bar from now on."""
        if self._task is not None:
            self._bar.update(self._task, completed=done, description=text)

"""Where results go: tables and bars to a terminal on standard error, data to standard output."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spinney.cli.failures import ReaderGoneError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_MAX_WIDTH = 120
_MIN_ROOM = 12
"""Lines of trees that are indented so far that fewer characters are left are broken anywhere."""


class Output:
    """The two streams of a command.

    Tables, notes and progress bars are shown on standard error, and only if that is a terminal. The result
    goes to standard output: as JSON with ``--json``, else as text or CSV; a result that was shown as a table
    is not repeated on the same terminal.

    Parameters
    ----------
    as_json : bool, default=False
        Whether the result is JSON.
    quiet : bool, default=False
        Whether to show nothing but the result and errors.

    Examples
    --------
    >>> Output(as_json=True).as_json
    True
    """

    def __init__(self, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet
        self._console: Console | None = None

    @property
    def interactive(self) -> bool:
        """Whether tables and progress bars are shown."""
        return sys.stderr.isatty() and not self.quiet

    @property
    def console(self) -> Console:
        """The console of standard error."""
        if self._console is None:
            from rich.console import Console

            self._console = Console(stderr=True, highlight=False)
            self._console.width = min(self._console.width, _MAX_WIDTH)
        return self._console

    def show(self, *parts: RenderableType) -> None:
        """Show something, if anybody looks.

        Parameters
        ----------
        *parts : renderables
            What to show.
        """
        if self.interactive:
            for part in parts:
                self.console.print(part)

    def note(self, text: str, style: str = "dim") -> None:
        """Show a line of text that is wrapped at the width of the terminal.

        Parameters
        ----------
        text : str
            The text, without markup.
        style : str, default="dim"
            Its style.
        """
        if self.interactive:
            self.console.print(text, style=style, markup=False)

    def warn(self, text: str) -> None:
        """Show a warning, also if standard error is not a terminal.

        Parameters
        ----------
        text : str
            The text.
        """
        if self.interactive:
            self.console.print(f"[yellow]warning:[/] {_escape(text)}")
        elif not self.quiet:
            sys.stderr.write(f"warning: {text}\n")

    def result(
        self,
        document: Mapping[str, Any],
        rows: Sequence[Mapping[str, Any]] = (),
        *shown: RenderableType,
        text: str | None = None,
    ) -> None:
        """Write the result of a command.

        Parameters
        ----------
        document : dict
            The result for ``--json``.
        rows : sequence of dict, default=()
            The result as CSV.
        *shown : renderables
            The result as tables of a terminal.
        text : str or None, default=None
            The result as text, which is written to standard output in any case.
        """
        if self.as_json:
            self.show(*shown)
            write_text(json.dumps(plain(document), indent=2, ensure_ascii=False) + "\n")
            return
        self.show(*shown)
        if text is not None:
            write_text(text if text.endswith("\n") else text + "\n")
        elif rows and not (self.interactive and sys.stdout.isatty()):
            write_text(to_csv(rows))


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def write_text(text: str) -> None:
    """Write to standard output, with replacements for characters that it cannot show."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGoneError("The reader of the output has gone") from None


def wrapped(text: str, width: int | None = None) -> str:
    """Return lines of trees and rules no wider than the terminal; pipes get them as they are.

    >>> print(wrapped("|--- color in {red, blue}", width=18))
    |--- color in
    |      {red, blue}
    """
    if width is None:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    lines: list[str] = []
    for line in text.splitlines():
        lines += [line] if len(line) <= width else _wrapped_line(line, width)
    return "\n".join(lines)


def _wrapped_line(line: str, width: int) -> list[str]:
    branches = re.match(r"[| -]*", line)
    margin = branches[0] if branches is not None else ""
    if len(margin) > width - _MIN_ROOM:
        return [line[begin : begin + width] for begin in range(0, len(line), width)]
    rest = margin.replace("-", " ") + "  "
    text = " ".join(line[len(margin) :].split())
    return textwrap.wrap(text, width, initial_indent=margin, subsequent_indent=rest)


def write_result_file(path: str, data: bytes) -> None:
    """Write a file that is complete or not there; devices and pipes, such as /dev/stdout, are written to."""
    from spinney.io import replace_file

    target = Path(path)
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("wb") as stream:
            stream.write(data)
        return
    replace_file(target, data)


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV.

    >>> to_csv([{"a": 1, "b": "x, y"}])
    'a,b\\n1,"x, y"\\n'
    """
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return stream.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, float | np.floating) and not math.isfinite(value):
        return "" if math.isnan(value) else value
    return value


def plain(value: Any) -> Any:  # noqa: PLR0911
    """Return a value as plain data for JSON: NaN and infinities become None, arrays lists.

    >>> plain({"a": np.array([1.0, np.nan])})
    {'a': [1.0, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)

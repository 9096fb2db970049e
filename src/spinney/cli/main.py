"""The group of commands, and how their errors become messages and exit codes."""

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings
from typing import Any, NoReturn

import click

from spinney.cli import failures
from spinney.cli.failures import exit_code_of
from spinney.core.progress import ProgressBar

_COMMANDS = {
    "fit": "fitting:fit",
    "predict": "predicting:predict",
    "evaluate": "predicting:evaluate",
    "compare": "choosing:compare",
    "tune": "choosing:tune",
    "explain": "explaining:explain",
    "rules": "explaining:rules",
    "tree": "explaining:tree",
    "diagnose": "explaining:diagnose",
    "report": "explaining:report",
    "convert": "model_files:convert",
    "inspect": "model_files:inspect",
    "resume": "fitting:resume",
    "demo": "demo:demo",
    "completion": "completion:completion",
}
"""Commands in the order of the help, and the functions behind them, which are imported on use."""


class Commands(click.Group):
    """Group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the help."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in _COMMANDS:
            return None
        from importlib import import_module

        module, _, name = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"spinney.cli.{module}"), name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command, or name the one that was meant."""
        import difflib

        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            near = difflib.get_close_matches(args[0], _COMMANDS, n=1)
            if near:
                raise click.UsageError(
                    f"No such command {args[0]!r}. Did you mean {near[0]!r}?", ctx
                ) from None
            raise


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: "
    + "; ".join(
        f"{code} {meaning.split(';')[0].split(':')[0]}" for code, meaning in failures.MEANINGS.items()
    )
    + ".",
)
@click.version_option(package_name="spinney", message="spinney %(version)s")
@click.option("--debug", is_flag=True, help="Show where an error was raised.")
def cli(debug: bool) -> None:
    """Decision trees and ensembles from the command line.

    \b
    spinney compare data.csv --target churn        which learner suits these data?
    spinney fit data.csv --target churn            fit one, score it, save it
    spinney predict churn.spinney new.csv          predict new rows
    spinney explain churn.spinney new.csv --row 0  explain one prediction

    DATA is a CSV, Parquet, Arrow or Feather file, compressed or not, or - for standard input. Tables and
    progress bars are shown on terminals; pipes get CSV, or JSON with --json.
    """


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with a documented code.

    Parameters
    ----------
    arguments : list of str or None, default=None
        The arguments; None is those of the process.

    Examples
    --------
    >>> main(["--version"])  # doctest: +SKIP
    spinney 0.1.0
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # instead of an error, if the terminal lacks a character
    warnings.showwarning = _show_warning
    ProgressBar.leave = False
    try:
        code = cli.main(given, prog_name="spinney", standalone_mode=False)
        sys.stdout.flush()
    except SystemExit:
        raise
    except BaseException as error:
        code = _report(error, given)
    finally:
        ProgressBar.leave = True
    sys.exit(code if isinstance(code, int) else 0)


def _report(error: BaseException, arguments: list[str]) -> int:
    """Write the message of an error and return its exit code."""
    if isinstance(error, click.exceptions.Exit):
        return int(error.exit_code)
    if isinstance(error, BrokenPipeError | failures.ReaderGoneError):
        # The reader has gone; Python would complain once more when it flushes standard output at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return failures.BROKEN_PIPE
    if isinstance(error, click.exceptions.Abort) or _was_interrupted(error):
        message, code = "Interrupted.", failures.INTERRUPTED
        # If the last exec or eval of a text was interrupted (dataclasses are made by one), Python would end
        # with SIGINT instead of the exit code.
        eval("0")
    elif isinstance(error, click.ClickException):
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "spinney"
        message, code = f"{error.format_message()} See {where} --help.", failures.USAGE
    else:
        code = exit_code_of(error)
        message = str(error) or type(error).__name__
        if code == failures.INTERNAL:
            message = f"Unexpected {type(error).__name__}: {message}. Please report it; --debug shows where."
    if "--debug" in arguments:
        traceback.print_exception(error)
    if "--json" in arguments:
        sys.stdout.write(json.dumps({"error": message, "exit_code": code}, ensure_ascii=False) + "\n")
    prefix = "\x1b[1;31merror:\x1b[0m" if _has_colours() else "error:"
    sys.stderr.write(f"{prefix} {message}\n")
    return code


def _was_interrupted(error: BaseException | None) -> bool:
    """Return whether Ctrl-C is behind an error: compiled modules turn it into others while they are imported.

    >>> _was_interrupted(KeyboardInterrupt()), _was_interrupted(ValueError())
    (True, False)
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _has_colours() -> bool:
    return sys.stderr.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _show_warning(message: Any, category: Any, *place: Any, **more: Any) -> None:
    """Write a warning as one line, without the place in the code."""
    if "-q" not in sys.argv and "--quiet" not in sys.argv and not issubclass(category, DeprecationWarning):
        sys.stderr.write(f"warning: {' '.join(str(message).split())}\n")

"""The command line: `spinney` and `python -m spinney`."""

from spinney.cli.main import main

__all__ = ["main"]

"""``python -m spinney`` and the script ``spinney``: the command line."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Import the command line and run it; Ctrl-C has the same answer during the imports as after them.

    Examples
    --------
    >>> main()  # doctest: +SKIP
    """
    try:
        from spinney.cli import main as run
    except KeyboardInterrupt:
        eval("0")  # as in spinney.cli.main
        sys.stderr.write("error: Interrupted.\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()

"""``python -m spinney``: the command line."""

from spinney.cli import main

if __name__ == "__main__":
    main()

"""The end boards of tic-tac-toe, found by going through all boards."""

from __future__ import annotations

from itertools import product
from typing import Any

from spinney.datasets.output import Frame, hand_over

_SQUARES = [
    f"{row}-{column}-square" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right")
]
_LINES = [
    *((3 * i, 3 * i + 1, 3 * i + 2) for i in range(3)),
    *((i, i + 3, i + 6) for i in range(3)),
    (0, 4, 8),
    (2, 4, 6),
]


def load_tic_tac_toe(frame: Frame = "auto") -> tuple[Any, Any]:
    """Load the 958 boards on which tic-tac-toe can end when x begins; y is "positive" where x has won.

    Squares hold "x", "o" or "b" for blank. ``frame`` is "pandas", "polars", None for numpy arrays, or "auto".

    >>> X, y = load_tic_tac_toe(frame=None)
    >>> X.shape, int((y == "positive").sum())
    ((958, 9), 626)
    """
    won, rest = [], []
    for board in product("xob", repeat=9):
        lead = board.count("x") - board.count("o")
        x_wins, o_wins = _wins(board, "x"), _wins(board, "o")
        # The winner moved last, which also rules out boards where both have a line.
        if x_wins and not o_wins and lead == 1:
            won.append(board)
        elif not x_wins and ((o_wins and lead == 0) or (not o_wins and lead == 1 and "b" not in board)):
            rest.append(board)
    columns = dict(zip(_SQUARES, map(list, zip(*won, *rest, strict=True)), strict=True))
    return hand_over(columns, "class", ["positive"] * len(won) + ["negative"] * len(rest), frame)


def _wins(board: tuple[str, ...], player: str) -> bool:
    return any(all(board[square] == player for square in line) for line in _LINES)

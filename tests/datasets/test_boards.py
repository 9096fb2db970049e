"""The end boards of tic-tac-toe are those that games reach."""

import pandas as pd

from spinney.datasets import load_tic_tac_toe

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def winner(board):
    return next((board[a] for a, b, c in LINES if board[a] != "b" and board[a] == board[b] == board[c]), None)


def play(board, player, ends):
    """Add every end that can be reached from a board, playing on move by move."""
    if winner(board) or "b" not in board:
        ends[board] = "positive" if winner(board) == "x" else "negative"
        return
    for square in range(9):
        if board[square] == "b":
            play(board[:square] + player + board[square + 1 :], "o" if player == "x" else "x", ends)


def test_the_boards_are_the_ends_of_all_games():
    ends = {}
    play("b" * 9, "x", ends)
    X, y = load_tic_tac_toe()
    assert isinstance(X, pd.DataFrame) and X.shape == (958, 9) and y.name == "class"
    assert {"".join(row): label for row, label in zip(X.to_numpy(), y, strict=True)} == ends
    assert y.value_counts().to_dict() == {"positive": 626, "negative": 332}


def test_columns_are_named_by_the_square():
    X, _ = load_tic_tac_toe()
    assert list(X.columns[:3]) == ["top-left-square", "top-middle-square", "top-right-square"]
    assert X.columns[4] == "middle-middle-square" and X.columns[8] == "bottom-right-square"

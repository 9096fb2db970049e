"""Early stopping: end training when a score has not improved for a number of iterations."""

from __future__ import annotations

import math


class EarlyStopping:
    """Early stopping by a score that should rise.

    Parameters
    ----------
    n_iter_no_change : int
        Number of iterations without an improvement after which training stops.
    tol : float
        A score counts as an improvement if it exceeds the reference by more than this.
    best_so_far : bool, default=False
        What a new score is compared with: False, the score of the last improvement; True, the best score so
        far, so that many gains below `tol` do not add up to an improvement.

    Attributes
    ----------
    n_iter : int
        Number of scores seen.
    best_iter : int
        Iteration of the last improvement, counted from 1; 0 before the first score.
    best_score : float
        The score that the next one is compared with.

    Examples
    --------
    >>> stopping = EarlyStopping(n_iter_no_change=2, tol=0.0)
    >>> [stopping.update(score) for score in (-3.0, -2.0, -2.5, -2.2)]
    [False, False, False, True]
    >>> stopping.best_iter
    2
    """

    def __init__(self, n_iter_no_change: int, tol: float, *, best_so_far: bool = False) -> None:
        self.n_iter_no_change, self.tol, self.best_so_far = n_iter_no_change, tol, best_so_far
        self.n_iter, self.best_iter = 0, 0
        self.best_score = -math.inf

    def update(self, score: float) -> bool:
        """Record the score of one more iteration.

        Parameters
        ----------
        score : float
            Greater is better; the negative loss or error. NaN is no improvement.

        Returns
        -------
        bool
            Whether to stop.
        """
        self.n_iter += 1
        if score > self.best_score + self.tol:
            self.best_score, self.best_iter = score, self.n_iter
        elif self.best_so_far and score > self.best_score:
            self.best_score = score
        return self.should_stop

    @property
    def should_stop(self) -> bool:
        """Whether `n_iter_no_change` iterations have passed since the last improvement."""
        return self.n_iter - self.best_iter >= self.n_iter_no_change

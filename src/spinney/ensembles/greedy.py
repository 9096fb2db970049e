"""Greedy forward selection: of many members, one after the other, the one that helps the ensemble most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

Counts = NDArray[np.int64]


class Judge(Protocol):
    """Say how well an ensemble would do with one member more; less is better."""

    n_members: int

    def losses(self, counts: Counts) -> NDArray[np.float64]:
        """Give the loss of the mean of the members, each as often as counted, with one more of each.

        counts (n_members,) -> (n_members,)
        """


@dataclass(frozen=True)
class Selection:
    """Hold how often each member was chosen, and the steps: which member, and the loss with it."""

    counts: Counts
    members: tuple[int, ...]
    losses: tuple[float, ...]


def select(
    judge: Judge,
    n_steps: int,
    *,
    n_initial: int = 1,
    replacement: bool = True,
    allowed: NDArray[np.bool_] | None = None,
) -> Selection:
    """Start with the best members, add the most helpful one at each step, and keep the best ensemble met.

    ``n_initial`` members are taken by their own loss, the further ones by that of the ensemble; ``n_steps``
    are all of these together. Of equally good members the first is taken, of equally good ensembles the
    smallest. ``replacement`` lets a member be chosen again, which weighs it more.

    >>> judge = SquaredJudge([np.array([[0.0]]), np.array([[3.0]])], np.array([[1.0]]))
    >>> select(judge, 3).counts.tolist()
    [2, 1]
    """
    usable = np.ones(judge.n_members, dtype=bool) if allowed is None else allowed.copy()
    counts = np.zeros(judge.n_members, dtype=np.int64)
    alone = judge.losses(counts)
    first = [int(i) for i in np.argsort(np.where(usable, alone, np.inf), kind="stable")]
    first = first[: min(n_initial, int(usable.sum()))]
    members: list[int] = []
    losses: list[float] = []
    while len(members) < n_steps and usable.any():
        helped = np.where(usable, judge.losses(counts), np.inf)
        chosen = first[len(members)] if len(members) < len(first) else _first_least(helped)
        counts[chosen] += 1
        members.append(chosen)
        losses.append(float(helped[chosen]))
        if not replacement:
            usable[chosen] = False
    least = min(len(first), len(losses)) - 1
    best = least + _first_least(np.array(losses[least:])) + 1
    kept = np.bincount(members[:best], minlength=judge.n_members).astype(np.int64)
    return Selection(kept, tuple(members), tuple(losses))


def _first_least(losses: NDArray[np.float64]) -> int:
    """Give the first of the least losses; what differs by rounding alone is equal."""
    finite = losses[np.isfinite(losses)]
    return int(np.argmax(losses <= finite.min() + 1e-12 * np.abs(finite).max()))


class SquaredJudge:
    """Judge by the squared error of the mean answer.

    answers: one array (n_rows, width) a member; target (n_rows, width). The products of the members' errors
    say it for every ensemble, so no step looks at the rows again.
    """

    def __init__(
        self,
        answers: Sequence[NDArray[np.float64]],
        target: NDArray[np.float64],
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        self.n_members = len(answers)
        errors = np.stack([(answer - target).ravel() for answer in answers])
        rows = np.ones(len(target)) if weights is None else weights
        self._products = (errors * np.repeat(rows / rows.sum(), target.shape[1])) @ errors.T

    def losses(self, counts: Counts) -> NDArray[np.float64]:
        """Give the mean squared error with one more of each member."""
        so_far = self._products @ counts
        total = counts @ so_far + 2 * so_far + np.diag(self._products)
        return np.asarray(total / (counts.sum() + 1) ** 2)


class LogJudge:
    """Judge by the log loss of the mean probability.

    answers: one array (n_rows, n_classes) a member; codes (n_rows,) the true classes.
    """

    def __init__(
        self,
        answers: Sequence[NDArray[np.float64]],
        codes: NDArray[Any],
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        self.n_members = len(answers)
        self._true = np.stack([answer[np.arange(len(codes)), codes] for answer in answers])
        rows = np.ones(len(codes)) if weights is None else weights
        self._rows = rows / rows.sum()

    def losses(self, counts: Counts) -> NDArray[np.float64]:
        """Give the log loss with one more of each member."""
        mean = (counts @ self._true + self._true) / (counts.sum() + 1)
        return np.asarray(-np.log(np.clip(mean, np.finfo(np.float64).eps, 1.0)) @ self._rows)


class ScorerJudge:
    """Judge by a scikit-learn scorer, of which more is better.

    answers: one array (n_rows, n_classes) a member, or in regression (n_rows, 1).
    """

    def __init__(
        self,
        scorer: Any,
        answers: Sequence[NDArray[np.float64]],
        y: NDArray[Any],
        classes: NDArray[Any] | None,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        self.n_members = len(answers)
        self._scorer, self._answers = scorer, np.stack(answers)
        # Metrics do not know labels in an array of objects.
        self._y = np.array(y.tolist()) if y.dtype == object else y
        self._classes = np.array(classes.tolist()) if classes is not None else None
        self._metadata = {} if weights is None else {"sample_weight": weights}

    def losses(self, counts: Counts) -> NDArray[np.float64]:
        """Give the score, its sign changed, with one more of each member."""
        total = np.tensordot(counts, self._answers, 1)
        return np.array([-self._score((total + one) / (counts.sum() + 1)) for one in self._answers])

    def _score(self, mean: NDArray[np.float64]) -> float:
        given = _GivenValues(mean) if self._classes is None else _GivenShares(mean, self._classes)
        return float(self._scorer(given, np.arange(len(mean))[:, None], self._y, **self._metadata))


class _GivenValues(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Answer a scorer with predictions made before."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self.values = values

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(self.values[rows[:, 0], 0])


class _GivenShares(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Answer a scorer with probabilities made before."""

    def __init__(self, values: NDArray[np.float64], classes: NDArray[Any]) -> None:
        self.values, self.classes_ = values, classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.values[rows[:, 0]]

    def predict(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_.take(self.values[rows[:, 0]].argmax(axis=1))
        return labels

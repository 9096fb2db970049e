"""The models whose files are fuzzed and kept for ever: the learners of the contracts, and toys."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from persistence.toys import Free, fitted_toy, toy_data

try:
    from contracts.learners import LEARNERS
except ImportError:
    LEARNERS = []


@dataclass(frozen=True)
class Subject:
    """A way to a fitted model, and rows to predict with it."""

    name: str
    fit: Callable[[], Any]
    rows: Callable[[], Any]


def toys() -> list[Subject]:
    return [
        Subject("toy", fitted_toy, lambda: toy_data()[0]),
        Subject("toy-nested", lambda: Free(value=[1, {0: 2.5}, "x"], base=fitted_toy()), lambda: None),
    ]


def learners() -> list[Subject]:
    """Give the learners of the contracts: entries with a name, `make()`, and `data()` for (X, y)."""

    def subject(learner: Any) -> Subject:
        return Subject(learner.name, lambda: learner.make().fit(*learner.data()), lambda: learner.data()[0])

    return [subject(learner) for learner in LEARNERS]

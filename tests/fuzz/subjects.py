"""The models whose files are fuzzed and kept for ever: the learners of the contracts, and toys."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import RepeatedKFold, StratifiedKFold

import spinney as sp
from contracts.learners import LEARNERS, mixed_data
from persistence.toys import Free, fitted_toy, toy_data

for _name in sp.__all__:  # a file that names another class imports all of Spinney
    getattr(sp, _name)

N_ROWS = 60
"""Few, so that the files are small and damage seldom falls where it changes nothing."""


@dataclass(frozen=True)
class Subject:
    """A way to a fitted model, and rows to predict with it."""

    name: str
    fit: Callable[[], Any]
    rows: Callable[[], Any]


def toys() -> list[Subject]:
    values = [StratifiedKFold(3), {1, "a"}, RepeatedKFold(n_splits=3), np.array(["b", None], dtype=object)]
    return [
        Subject("toy", fitted_toy, lambda: toy_data()[0]),
        Subject("toy-values", lambda: Free(value=values), lambda: None),
        Subject("toy-nested", lambda: Free(value=[1, {0: 2.5}, "x"], base=fitted_toy()), lambda: None),
    ]


def learners() -> list[Subject]:
    """Return every learner of the contracts, fitted to a frame of numbers, text and missing values."""

    def subject(learner: Any) -> Subject:
        X, y, _ = mixed_data(learner.kind, N_ROWS)
        return Subject(learner.name, lambda: learner().fit(X, y), lambda: X)

    return [subject(learner) for learner in LEARNERS]


def predictors() -> list[Subject]:
    """Return predictors of tables, with steps of every kind that learners of tables have."""
    names = (
        "GradientBoostingClassifier",
        "StackingClassifier",
        "AdaBoostClassifier",
        "BaggingClassifier-votes",
    )

    def subject(learner: Any) -> Subject:
        X, y, _ = mixed_data(learner.kind, N_ROWS)
        return Subject(f"predictor-{learner.name}", lambda: sp.to_predictor(learner().fit(X, y)), lambda: X)

    return [subject(learner) for learner in LEARNERS if learner.name in names]

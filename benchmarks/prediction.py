"""The cases for prediction with boosted trees: many rows at once, and one row a call, beside every peer."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks.boosting import N_LEAVES, RATE
from benchmarks.data import Problem, normal_problem
from benchmarks.harness import Comparison, Contender, NotMeasuredError, Timed, compare
from benchmarks.trees import N_JOBS, spinney

N_FIT, N_PREDICT, CALLS = 20_000, 200_000, 2000

# How each library is asked for the probability of the second class: through what a user would call.
Predict = Callable[[Any, np.ndarray], np.ndarray]


@cache
def problem() -> Problem:
    """Return the table that models are fitted to."""
    return normal_problem(N_FIT)


@cache
def rows() -> np.ndarray:
    """Return the rows to predict."""
    return normal_problem(N_PREDICT, seed=7).X


def make_spinney(n_trees: int) -> Any:
    """Make Spinney's booster."""
    settings = {"n_estimators": n_trees, "max_leaf_nodes": N_LEAVES, "learning_rate": RATE}
    return spinney(
        "GradientBoostingClassifier", preset="classic", early_stopping=False, n_jobs=N_JOBS, **settings
    )


def make_lightgbm(n_trees: int) -> Any:
    """Make LightGBM's."""
    from lightgbm import LGBMClassifier

    settings = {"n_estimators": n_trees, "num_leaves": N_LEAVES, "learning_rate": RATE}
    return LGBMClassifier(n_jobs=N_JOBS, verbose=-1, **settings)


def make_xgboost(n_trees: int) -> Any:
    """Make XGBoost's."""
    from xgboost import XGBClassifier

    settings = {"n_estimators": n_trees, "max_leaves": N_LEAVES, "learning_rate": RATE}
    return XGBClassifier(grow_policy="lossguide", max_depth=0, n_jobs=N_JOBS, **settings)


def make_catboost(n_trees: int) -> Any:
    """Make CatBoost's, with symmetric trees of 32 leaves, whose prediction is its fastest."""
    from catboost import CatBoostClassifier

    settings = {"iterations": n_trees, "depth": 5, "learning_rate": RATE}
    return CatBoostClassifier(thread_count=N_JOBS, verbose=0, allow_writing_files=False, **settings)


MAKERS = {
    f"Spinney, n_jobs={N_JOBS}": make_spinney,
    "LightGBM": make_lightgbm,
    "XGBoost": make_xgboost,
    "CatBoost": make_catboost,
}


@cache
def fitted(name: str, n_trees: int) -> Any:
    """Fit one library's model, once for all cases."""
    try:
        model = MAKERS[name](n_trees)
    except ImportError as error:
        raise NotMeasuredError(f"not measured: {error}") from error
    return model.fit(problem().X, problem().y)


def compare_batch(case: str, n_trees: int) -> Comparison:
    """Predict many rows in one call."""
    contenders = []
    for name in MAKERS:
        model = fitted(name, n_trees)
        model.predict_proba(rows()[:1000])  # what is packed at first use is packed
        contenders.append(Contender(name, lambda model=model: model.predict_proba(rows()), memory=False))
    note = f"predict_proba of {N_PREDICT:,} × 28 rows in one call, {n_trees} trees of {N_LEAVES} leaves"
    return compare(case, contenders, repeats=7, note=note)


def compare_one_row(case: str, n_trees: int) -> Comparison:
    """Predict one row again and again through the public method."""
    row = np.ascontiguousarray(rows()[:1])

    def calls(model: Any) -> Callable[[], Timed]:
        def run() -> Timed:
            start = time.perf_counter()
            for _ in range(CALLS):
                model.predict(row)
            return Timed((time.perf_counter() - start) / CALLS, None)

        return run

    contenders = [Contender(name, calls(fitted(name, n_trees)), memory=False) for name in MAKERS]
    return compare(case, contenders, note=f"one row through predict, {n_trees} trees, a call")


CASES: dict[str, Callable[[], Comparison]] = {
    "boosted-predict-100": lambda: compare_batch("boosted-predict-100", 100),
    "boosted-predict-1000": lambda: compare_batch("boosted-predict-1000", 1000),
    "boosted-one-row": lambda: compare_one_row("boosted-one-row", 100),
}

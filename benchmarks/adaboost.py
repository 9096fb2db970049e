"""The cases for AdaBoost: fitting and predicting with stumps, beside scikit-learn."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier as ScikitAdaBoost

from benchmarks.harness import Comparison, Contender, Timed, compare
from benchmarks.trees import N_JOBS, fitting, normal, spinney

# scikit-learn takes about half a second a round, the same in each: so many are timed, the others reckoned.
SCIKIT_ROUNDS = 5


def compare_stumps(case: str, n_estimators: int) -> Comparison:
    """Fit AdaBoost with stumps; the ensembles are the same up to binning."""
    problem = normal(100_000)
    ours = fitting(
        f"Spinney, n_jobs={N_JOBS}",
        lambda: spinney("AdaBoostClassifier", n_estimators=n_estimators, n_jobs=N_JOBS),
        problem,
    )

    def scikit() -> Timed:
        begin = time.perf_counter()
        model = ScikitAdaBoost(n_estimators=SCIKIT_ROUNDS, random_state=0).fit(problem.X, problem.y)
        return Timed((time.perf_counter() - begin) / SCIKIT_ROUNDS * n_estimators, model)

    note = (
        f"{len(problem.y):,} × {problem.X.shape[1]}, {n_estimators} stumps; "
        f"scikit-learn's time is that of {SCIKIT_ROUNDS} rounds times {n_estimators // SCIKIT_ROUNDS}"
    )
    return compare(case, [ours, Contender("scikit-learn", scikit, memory=False)], note=note)


def adaboost_50() -> Comparison:
    """Fit the default number of stumps."""
    return compare_stumps("adaboost-50", 50)


def adaboost_500() -> Comparison:
    """Fit ten times as many, where the first look at the table weighs less."""
    return compare_stumps("adaboost-500", 500)


def adaboost_predict() -> Comparison:
    """Predict with fifty stumps."""
    problem = normal(100_000)
    makers: dict[str, Callable[[], Any]] = {
        f"Spinney, n_jobs={N_JOBS}": lambda: spinney("AdaBoostClassifier", n_estimators=50, n_jobs=N_JOBS),
        "scikit-learn": lambda: ScikitAdaBoost(n_estimators=50, random_state=0),
    }
    contenders = []
    for name, make in makers.items():
        # Few rows are enough to fit stumps that predict as long as any.
        model = cache(lambda make=make: make().fit(problem.X[:5000], problem.y[:5000]))

        def run(model: Callable[[], Any] = model) -> np.ndarray:
            return np.asarray(model().predict(problem.X))

        run()  # fits, and warms the caches of both alike
        contenders.append(Contender(name, run, memory=False))
    note = f"{len(problem.y):,} rows in one call, 50 stumps"
    return compare("adaboost-predict", contenders, repeats=9, note=note)


CASES: dict[str, Callable[[], Comparison]] = {
    "adaboost-50": adaboost_50,
    "adaboost-500": adaboost_500,
    "adaboost-predict": adaboost_predict,
}

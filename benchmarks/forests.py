"""The cases for forests and bagging: fitting beside scikit-learn and YDF; predicting many rows, and one."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from benchmarks.data import Problem, normal_problem
from benchmarks.harness import Comparison, Contender, Timed, compare
from benchmarks.trees import N_JOBS, spinney

N_TREES = 100
ROWS_A_CALL, CALLS = 1, 3000

normal = cache(normal_problem)


@cache
def numbers(n_rows: int) -> Problem:
    """Return the drawn table with a number to predict: what its classes are made of, with noise."""
    problem, noise = normal(n_rows), np.random.default_rng(5)

    def target(X: Any) -> Any:
        return X[:, 0] * X[:, 1] + X[:, 2] + np.abs(X[:, 3]) + noise.normal(size=len(X))

    return Problem(problem.X, target(problem.X), problem.X_test, target(problem.X_test))


def score(model: Any, problem: Problem) -> float:
    """Return the accuracy, or R², on rows not seen."""
    return float(model.score(problem.X_test, problem.y_test))


def fitting(name: str, make: Callable[[], Any], problem: Problem) -> Contender:
    """Contend by fitting."""
    return Contender(name, lambda: make().fit(problem.X, problem.y), lambda model: score(model, problem))


def ydf_forest(problem: Problem, n_trees: int) -> Any:
    """Fit YDF's forest as Spinney's is: as deep as the classes need, bags of all rows, √d features a node."""
    import ydf

    ydf.verbose(0)
    data = {f"x{j}": problem.X[:, j] for j in range(problem.X.shape[1])} | {"y": problem.y}
    learner = ydf.RandomForestLearner(
        label="y",
        num_trees=n_trees,
        max_depth=-1,
        min_examples=1,
        num_threads=N_JOBS,
        winner_take_all=False,
        compute_oob_performances=False,
        random_seed=0,
    )
    return learner.train(data)


def ydf_score(model: Any, problem: Problem) -> float:
    """Return the accuracy of a model of YDF."""
    rows = {f"x{j}": problem.X_test[:, j] for j in range(problem.X_test.shape[1])}
    said = model.predict(rows, use_slow_engine=True)  # its other engine refuses large trees
    return float(np.mean((said > 0.5) == problem.y_test))


def compare_forest(case: str, n_rows: int, n_trees: int, repeats: int, with_ydf: bool = True) -> Comparison:
    """Fit a random forest."""
    problem = normal(n_rows)
    settings = {"n_estimators": n_trees, "random_state": 0, "n_jobs": N_JOBS}
    contenders = [
        fitting(f"Spinney, n_jobs={N_JOBS}", lambda: spinney("RandomForestClassifier", **settings), problem),
        fitting("scikit-learn", lambda: RandomForestClassifier(**settings), problem),
    ]
    if with_ydf:
        contenders.append(
            Contender(
                "YDF",
                lambda: ydf_forest(problem, n_trees),
                lambda model: ydf_score(model, problem),
                memory=False,
            )
        )
    note = f"{n_trees} trees without a limit, √d of 28 features a node, reading and binning included"
    return compare(case, contenders, repeats=repeats, input_megabytes=problem.megabytes, note=note)


def compare_kind(
    case: str, name: str, peer: Callable[..., Any], problem: Problem, n_trees: int, repeats: int, **more: Any
) -> Comparison:
    """Fit another kind of forest beside scikit-learn's of the same name."""
    settings = {"n_estimators": n_trees, "random_state": 0, "n_jobs": N_JOBS, **more}
    contenders = [
        fitting(f"Spinney, n_jobs={N_JOBS}", lambda: spinney(name, **settings), problem),
        fitting("scikit-learn", lambda: peer(**settings), problem),
    ]
    asked = ", ".join(f"{key}={value:.3g}" for key, value in more.items())
    note = f"{name}, {n_trees} trees without a limit{', ' + asked if asked else ''}"
    return compare(case, contenders, repeats=repeats, input_megabytes=problem.megabytes, note=note)


def compare_bagging(case: str, n_rows: int, n_trees: int) -> Comparison:
    """Bag each library's own trees."""
    problem = normal(n_rows)
    settings = {"n_estimators": n_trees, "random_state": 0, "n_jobs": N_JOBS}
    contenders = [
        fitting(f"Spinney, n_jobs={N_JOBS}", lambda: spinney("BaggingClassifier", **settings), problem),
        fitting("scikit-learn", lambda: BaggingClassifier(DecisionTreeClassifier(), **settings), problem),
    ]
    note = f"bagging of {n_trees} trees without a limit, all 28 features at every node"
    return compare(case, contenders, repeats=3, input_megabytes=problem.megabytes, note=note)


@cache
def fitted_forests(n_rows: int) -> tuple[Any, Any]:
    """Fit one forest of each library to predict with."""
    problem = normal(n_rows)
    settings = {"n_estimators": N_TREES, "random_state": 0, "n_jobs": N_JOBS}
    ours = spinney("RandomForestClassifier", **settings).fit(problem.X, problem.y)
    return ours, RandomForestClassifier(**settings).fit(problem.X, problem.y)


def compare_prediction(case: str) -> Comparison:
    """Predict many rows with forests that are there already."""
    problem = normal(20_000)
    rows = np.ascontiguousarray(np.tile(problem.X_test, (5, 1)))
    ours, peer = fitted_forests(20_000)
    contenders = [
        Contender(f"Spinney, n_jobs={N_JOBS}", lambda: ours.predict_proba(rows)),
        Contender("scikit-learn", lambda: peer.predict_proba(rows)),
    ]
    note = f"predict_proba of {len(rows):,} rows by {N_TREES} trees fitted to 20,000"
    return compare(case, contenders, note=note)


def compare_one_row(case: str) -> Comparison:
    """Predict one row again and again through the public method."""
    ours, peer = fitted_forests(20_000)
    row = normal(20_000).X_test[:ROWS_A_CALL]

    def calls(model: Any, n: int) -> Callable[[], Timed]:
        def run() -> Timed:
            start = time.perf_counter()
            for _ in range(n):
                model.predict(row)
            return Timed((time.perf_counter() - start) / n, None)

        return run

    peer.set_params(n_jobs=1)  # threads only cost where there is one row
    contenders = [
        Contender("Spinney", calls(ours, CALLS), memory=False),
        Contender("scikit-learn", calls(peer, 50), memory=False),
    ]
    return compare(case, contenders, note=f"one row through predict, {N_TREES} trees, a call")


CASES: dict[str, Callable[[], Comparison]] = {
    "forest-1k": lambda: compare_forest("forest-1k", 1_000, N_TREES, 5),
    "forest-10k": lambda: compare_forest("forest-10k", 10_000, N_TREES, 5),
    "forest-100k": lambda: compare_forest("forest-100k", 100_000, 50, 3, with_ydf=False),
    "forest-500k": lambda: compare_forest("forest-500k", 500_000, 10, 3, with_ydf=False),
    "extra-trees-100k": lambda: compare_kind(
        "extra-trees-100k", "ExtraTreesClassifier", ExtraTreesClassifier, normal(100_000), 50, 3
    ),
    "forest-numbers-100k": lambda: compare_kind(
        "forest-numbers-100k",
        "RandomForestRegressor",
        RandomForestRegressor,
        numbers(100_000),
        20,
        3,
        max_features=1 / 3,
    ),
    "extra-trees-numbers-100k": lambda: compare_kind(
        "extra-trees-numbers-100k",
        "ExtraTreesRegressor",
        ExtraTreesRegressor,
        numbers(100_000),
        20,
        3,
        max_features=1 / 3,
    ),
    "bagging-100k": lambda: compare_bagging("bagging-100k", 100_000, 10),
    "forest-predict": lambda: compare_prediction("forest-predict"),
    "forest-one-row": lambda: compare_one_row("forest-one-row"),
}

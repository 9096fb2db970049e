"""The cases for single trees: fitting, predicting, and the memory a fit takes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier as ScikitTree

from benchmarks.data import Problem, mixed_problem, normal_problem
from benchmarks.harness import Comparison, Contender, NotMeasuredError, Timed, compare
from benchmarks.weka import weka_j48_seconds

N_JOBS = 2  # what the other libraries are given; scikit-learn's single trees use one thread whatever is asked

normal = cache(normal_problem)
mixed = cache(mixed_problem)


def spinney(name: str, **parameters: Any) -> Any:
    """Make one of Spinney's estimators; a class that does not exist yet is reported, not an error."""
    try:
        import spinney as library

        return getattr(library, name)(**parameters)
    except (ImportError, AttributeError) as error:
        raise NotMeasuredError(f"not measured: {error}") from error


def fitting(name: str, make: Callable[[], Any], problem: Problem, **options: Any) -> Contender:
    """Contend by fitting; the score is the accuracy on rows not seen."""
    return Contender(
        name,
        lambda: make().fit(problem.X, problem.y),
        lambda model: float(np.mean(model.predict(problem.X_test) == problem.y_test)),
        **options,
    )


def compare_cart(case: str, n_rows: int, max_bins: int | None, max_depth: int | None) -> Comparison:
    """Fit CART beside scikit-learn."""
    problem = normal(n_rows)
    shared = {"max_depth": max_depth, "random_state": 0}
    ours = fitting(
        f"Spinney, {'exact' if max_bins is None else f'{max_bins} bins'}, n_jobs={N_JOBS}",
        lambda: spinney("DecisionTreeClassifier", max_bins=max_bins, n_jobs=N_JOBS, **shared),
        problem,
    )
    theirs = fitting("scikit-learn", lambda: ScikitTree(**shared), problem)
    depth = "full depth" if max_depth is None else f"depth {max_depth}"
    note = f"{len(problem.y):,} × {problem.X.shape[1]}, {depth}"
    return compare(case, [ours, theirs], input_megabytes=problem.megabytes, note=note)


def cart_binned() -> Comparison:
    """Fit a full-depth tree on codes of one byte."""
    return compare_cart("cart-binned", 100_000, 255, None)


def cart_exact() -> Comparison:
    """Fit a full-depth tree on the values as they are."""
    return compare_cart("cart-exact", 100_000, None, None)


def cart_large() -> Comparison:
    """Fit a shallow tree on a million rows."""
    return compare_cart("cart-large", 1_000_000, 255, 8)


def c45_python(max_depth: int | None = None, n_rows: int = 50_000) -> Comparison:
    """Fit C4.5 beside the fastest of the Python implementations on the package index that ran."""
    problem = mixed(n_rows)

    def c50py() -> Any:
        from c50py import C5Classifier

        return C5Classifier(max_depth=max_depth)

    ours = fitting(
        f"Spinney C4.5, n_jobs={N_JOBS}",
        lambda: spinney("C45Classifier", n_jobs=N_JOBS, max_depth=max_depth),
        problem,
    )
    theirs = fitting("c50py", c50py, problem, memory=False)
    depth = "full depth" if max_depth is None else f"depth {max_depth}"
    size = f"{len(problem.y):,} × {problem.X.shape[1]}"
    note = (
        f"{size} mixed, 6 % missing, {depth}, pruned; c50py follows C5.0 and splits categories into two sets"
    )
    case = "c45-python" if max_depth is None else "c45-python-shallow"
    return compare(case, [ours, theirs], input_megabytes=problem.megabytes, note=note)


def c45_python_shallow() -> Comparison:
    """Fit C4.5 of depth 5 beside Python: small trees, where reading the table weighs more."""
    return c45_python(max_depth=5)


def c45_weka(n_rows: int = 50_000) -> Comparison:
    """Fit C4.5 beside Weka's J48; Java's own clock is taken, without reading files or starting up."""
    problem = mixed(n_rows)

    def j48() -> Timed:
        result = weka_j48_seconds(problem.X, problem.y, problem.X_test, problem.y_test)
        return Timed(result.seconds, result)

    contenders = [
        fitting(f"Spinney C4.5, n_jobs={N_JOBS}", lambda: spinney("C45Classifier", n_jobs=N_JOBS), problem),
        Contender("Weka J48", j48, lambda result: float(result.test_accuracy), memory=False),
    ]
    note = f"{len(problem.y):,} × {problem.X.shape[1]} mixed, 6 % missing, pruned at 0.25"
    return compare("c45-weka", contenders, input_megabytes=problem.megabytes, note=note)


def compare_predicting(case: str, X: np.ndarray, calls: int, note: str) -> Comparison:
    """Predict with full-depth trees grown from the same rows; one run is `calls` calls."""
    problem = normal(100_000)
    makers = {
        f"Spinney, n_jobs={N_JOBS}": lambda: spinney("DecisionTreeClassifier", n_jobs=N_JOBS, random_state=0),
        "scikit-learn": lambda: ScikitTree(random_state=0),
    }
    contenders = []
    for name, make in makers.items():
        model = cache(lambda make=make: make().fit(problem.X, problem.y))

        def run(model: Callable[[], Any] = model) -> np.ndarray:
            fitted = model()
            for _ in range(calls):
                answer = fitted.predict(X)
            return np.asarray(answer)

        with suppress(NotMeasuredError):
            run()  # fits, and warms the caches of both alike
        contenders.append(Contender(name, run, memory=False))
    comparison = compare(case, contenders, repeats=9, note=note)
    for measurement in comparison.measurements:
        measurement.seconds = [seconds / calls for seconds in measurement.seconds]
    return comparison


def predict_batch() -> Comparison:
    """Predict many rows at once."""
    X = normal(1_000_000).X[:500_000]
    return compare_predicting("predict-batch", X, 1, f"{len(X):,} rows in one call, full-depth tree")


def predict_one_row() -> Comparison:
    """Predict one row a call: the price of the door."""
    X = normal(100_000).X_test[:1]
    return compare_predicting("predict-one-row", X, 300, "one row a call, full-depth tree; time of one call")


CASES: dict[str, Callable[[], Comparison]] = {
    "cart-binned": cart_binned,
    "cart-exact": cart_exact,
    "cart-large": cart_large,
    "c45-python": c45_python,
    "c45-python-shallow": c45_python_shallow,
    "c45-weka": c45_weka,
    "predict-batch": predict_batch,
    "predict-one-row": predict_one_row,
}

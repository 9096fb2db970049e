"""Random problems of linear models: collinear, wide, constant columns, huge scales, weights."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Problem:
    """One problem, with what is difficult about it."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    intercept: bool
    collinear: bool


def regression_problems(seeds: Iterable[int], *, scales: bool = True) -> Iterator[Problem]:
    """Yield one problem per seed; ``scales`` allows columns of very different sizes."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        kind = ("plain", "wide", "collinear", "constant", "scales", "offset")[seed % 6]
        n, p = int(rng.integers(12, 80)), int(rng.integers(1, 10))
        if kind == "wide":
            n, p = int(rng.integers(5, 15)), int(rng.integers(20, 60))
        X = rng.normal(size=(n, p))
        if kind == "collinear":
            X = np.column_stack([X, X[:, 0], X @ rng.normal(size=p)])
        elif kind == "constant":
            X = np.column_stack([X, np.full(n, 3.7), np.zeros(n)])
        elif kind == "scales" and scales:
            X *= 10.0 ** rng.integers(-5, 6, p)
        elif kind == "offset":
            X += 100.0 * rng.normal(size=p)
        size = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
        y = X @ (rng.normal(size=X.shape[1]) / size) + 0.5 * rng.normal(size=n) + 3.0
        weights = rng.random(n) * 2 + 0.1 if seed % 4 == 1 else None
        intercept = seed % 5 != 3 or kind == "offset"
        deficient = kind in ("wide", "collinear", "constant")
        yield Problem(f"{kind} {seed}", X, y, weights, intercept, deficient)


def classes_of(problem: Problem, n_classes: int, seed: int = 0) -> NDArray[np.int64]:
    """Return noisy classes that depend on the target of a problem; every class occurs."""
    rng = np.random.default_rng(seed)
    noisy = problem.y + problem.y.std() * rng.normal(size=len(problem.y))
    codes = np.empty(len(noisy), np.int64)
    codes[np.argsort(noisy)] = np.arange(len(noisy)) * n_classes // len(noisy)
    return codes

"""Every learner that takes a numeric matrix, in the settings its contracts are tested under."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import spinney as sp
from contracts.learners import Learner


def _learner(make: Any, name: str = "", **params: Any) -> Learner:
    kind = "regressor" if make.__name__.endswith(("SVR", "Regressor")) else "classifier"
    return Learner(f"{make.__name__}{name and '-' + name}", make, kind, tuple(params.items()))


MATRIX_LEARNERS = [
    _learner(sp.GaussianNB),
    _learner(sp.MultinomialNB),
    _learner(sp.BernoulliNB),
    _learner(sp.LinearDiscriminantAnalysis),
    _learner(sp.LinearDiscriminantAnalysis, "eigen", solver="eigen", shrinkage=0.1),
    _learner(sp.LinearDiscriminantAnalysis, "lsqr", solver="lsqr", store_covariance=True),
    _learner(sp.Perceptron),
    _learner(sp.Perceptron, "elastic", penalty="elasticnet", ledger=True, early_stopping=True),
    _learner(sp.Perceptron, "dual", form="dual", kernel="rbf", max_iter=20, tol=None),
    _learner(sp.PassiveAggressiveClassifier, random_state=0),
    _learner(sp.PassiveAggressiveClassifier, "average", average=5, loss="squared_hinge", random_state=1),
    _learner(sp.PassiveAggressiveRegressor, random_state=0),
    _learner(sp.PassiveAggressiveRegressor, "ledger", C=float("inf"), ledger=True, random_state=0),
    # At the default tolerance, two solutions differ by more than a weight and a repeated row may.
    _learner(sp.SVC, tol=1e-11),
    _learner(sp.SVC, "linear", kernel="linear", probability=True, random_state=0, ledger=True),
    _learner(sp.SVR, tol=1e-11),
    _learner(sp.SVR, "laplacian", kernel="laplacian", C=10.0, ledger=True),
]


def matrix_data(
    kind: str, n_rows: int = 300, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.float64]]:
    """Make rows of numbers of at least 0, a target that depends on them, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(2.0, size=(n_rows, 5))
    signal = X[:, 0] - X[:, 1] + 0.3 * X[:, 2] ** 2 + rng.normal(scale=0.3, size=n_rows)
    y = np.digitize(signal, [0.0, 2.0]) if kind == "classifier" else signal
    return X, y, rng.integers(0, 4, n_rows) + 0.5 * rng.random(n_rows)

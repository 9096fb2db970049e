"""The cases for naive Bayes, discriminant analysis, online learners and support vector machines."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import sklearn.discriminant_analysis
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.svm
from sklearn.datasets import make_classification

import spinney
from benchmarks.harness import Comparison, Contender, compare
from benchmarks.trees import N_JOBS

N_ROWS, N_FEATURES = 100_000, 28
# Online learners stop when they please: as many epochs for both.
EPOCHS = {"max_iter": 10, "tol": None}


@cache
def numbers(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of numbers and two classes."""
    return make_classification(n_rows, N_FEATURES, n_informative=10, random_state=0)


@cache
def codes() -> tuple[np.ndarray, np.ndarray]:
    """Return rows of category codes from 0 to 7, and two classes."""
    X, y = numbers(N_ROWS)
    return np.clip(np.floor(X + 4.0), 0, 7).astype(np.int64), y


@cache
def targets(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of numbers and a target that is not linear in them."""
    X, _ = numbers(n_rows)
    noise = np.random.default_rng(0).normal(scale=0.1, size=n_rows)
    return X, 2.0 * X[:, 0] + np.sin(X[:, 1]) + noise


def fit_case(
    case: str, ours: Any, theirs: Any, data: Callable[[], tuple[np.ndarray, np.ndarray]], repeats: int = 7
) -> Comparison:
    """Fit both on the same rows; the score is that on the training rows."""
    X, y = data()

    def contender(name: str, model: Any) -> Contender:
        def run() -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                return model.fit(X, y)

        return Contender(name, run, lambda fitted: float(fitted.score(X[:5000], y[:5000])))

    contenders = [contender(f"Spinney, n_jobs={N_JOBS}", ours), contender("scikit-learn", theirs)]
    note = f"{X.shape[0]:,} × {X.shape[1]}"
    return compare(case, contenders, repeats=repeats, input_megabytes=X.nbytes / 1e6, note=note)


def predict_case(
    case: str,
    ours: Any,
    theirs: Any,
    method: str,
    data: Callable[[], tuple[np.ndarray, np.ndarray]],
    n_fitted: int,
    repeats: int = 7,
) -> Comparison:
    """Predict all rows with models that were fitted to the first of them."""
    X, y = data()
    contenders = []
    for name, model in ((f"Spinney, n_jobs={N_JOBS}", ours), ("scikit-learn", theirs)):
        call = getattr(model.fit(X[:n_fitted], y[:n_fitted]), method)
        call(X[:100])
        contenders.append(Contender(name, lambda call=call: call(X), memory=False))
    return compare(case, contenders, repeats=repeats, note=f"{len(X):,} rows in one call")


def _rows() -> tuple[np.ndarray, np.ndarray]:
    return numbers(N_ROWS)


def _svm_rows() -> tuple[np.ndarray, np.ndarray]:
    return numbers(10_000)


def _fits() -> dict[str, tuple[Any, Any, Callable[[], tuple[np.ndarray, np.ndarray]]]]:
    """Return our estimator, theirs, and the data of each case."""
    jobs = {"n_jobs": N_JOBS}
    bayes, linear, svm = sklearn.naive_bayes, sklearn.linear_model, sklearn.svm
    lda = sklearn.discriminant_analysis.LinearDiscriminantAnalysis
    sp = spinney
    return {
        "gaussian-nb": (sp.GaussianNB(**jobs), bayes.GaussianNB(), _rows),
        "bernoulli-nb": (sp.BernoulliNB(**jobs), bayes.BernoulliNB(), _rows),
        "multinomial-nb": (sp.MultinomialNB(**jobs), bayes.MultinomialNB(), codes),
        "categorical-nb": (sp.CategoricalNB(**jobs), bayes.CategoricalNB(), codes),
        "lda": (sp.LinearDiscriminantAnalysis(**jobs), lda(), _rows),
        "lda-lsqr": (sp.LinearDiscriminantAnalysis("lsqr", **jobs), lda("lsqr"), _rows),
        "perceptron": (sp.Perceptron(**EPOCHS, **jobs), linear.Perceptron(**EPOCHS), _rows),
        "passive-aggressive": (
            sp.PassiveAggressiveClassifier(**EPOCHS, random_state=0, **jobs),
            linear.PassiveAggressiveClassifier(**EPOCHS, random_state=0),
            _rows,
        ),
        "passive-aggressive-regressor": (
            sp.PassiveAggressiveRegressor(**EPOCHS, random_state=0),
            linear.PassiveAggressiveRegressor(**EPOCHS, random_state=0),
            lambda: targets(N_ROWS),
        ),
        "svc-10k": (sp.SVC(**jobs), svm.SVC(), _svm_rows),
        "svr-5k": (sp.SVR(**jobs), svm.SVR(), lambda: targets(5_000)),
    }


def _fit(name: str) -> Comparison:
    ours, theirs, data = _fits()[name]
    return fit_case(name, ours, theirs, data, repeats=5)


def _predict(name: str, method: str, n_fitted: int) -> Comparison:
    ours, theirs, data = _fits()[name]
    return predict_case(f"{name}-predict", ours, theirs, method, data, n_fitted, repeats=5)


CASES: dict[str, Callable[[], Comparison]] = {
    **{name: (lambda name=name: _fit(name)) for name in _fits()},
    "gaussian-nb-predict": lambda: _predict("gaussian-nb", "predict_proba", 5_000),
    "categorical-nb-predict": lambda: _predict("categorical-nb", "predict_proba", 5_000),
    "svc-10k-predict": lambda: _predict("svc-10k", "decision_function", 10_000),
    "svr-5k-predict": lambda: _predict("svr-5k", "predict", 5_000),
}

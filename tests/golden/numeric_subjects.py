"""Models of numeric learners whose files are kept for ever, beside those of `fuzz.subjects`."""

from typing import Any

import spinney as sp
from contracts.learners import mixed_data
from contracts.matrix_learners import MATRIX_LEARNERS, matrix_data
from fuzz.subjects import N_ROWS, Subject


def matrix_subjects() -> list[Subject]:
    """Return every learner of numeric matrices, and chains and pairs of classifiers, fitted to a matrix."""

    def subject(name: str, kind: str, make: Any) -> Subject:
        X, y, _ = matrix_data(kind, N_ROWS)
        return Subject(name, lambda: make().fit(X, y), lambda: X)

    X, y, _ = matrix_data("classifier", N_ROWS)
    labels = (y[:, None] == [1, 2]).astype(int)
    chain = Subject("ClassifierChain", lambda: sp.ClassifierChain(sp.GaussianNB()).fit(X, labels), lambda: X)
    wrapped = [
        subject(f"{make.__name__}-numeric", "classifier", lambda make=make: make(sp.LogisticRegression()))
        for make in (sp.OneVsRestClassifier, sp.OneVsOneClassifier)
    ]
    novelty = Subject("OneClassSVM", lambda: sp.OneClassSVM().fit(X), lambda: X)
    several = [
        Subject(make.__name__, lambda make=make: make(alpha=0.1).fit(X, X[:, :2] + labels), lambda: X)
        for make in (sp.MultiTaskLasso, sp.MultiTaskElasticNet)
    ]
    counts = Subject("CategoricalNB", lambda: sp.CategoricalNB(min_categories=30).fit(X, y), lambda: X)
    learners = [subject(learner.name, learner.kind, learner) for learner in MATRIX_LEARNERS]
    return [*learners, *wrapped, chain, novelty, counts, *several]


def linear_subjects() -> list[Subject]:
    """Return the linear models, fitted to a frame of numbers, text and missing values."""
    coded = {"categorical": "one-hot", "missing": "mean"}
    models = {
        "classifier": (sp.LogisticRegression, sp.LogisticRegressionCV, sp.LinearSVC),
        "regressor": (
            sp.LinearRegression, sp.Ridge, sp.RidgeCV, sp.Lasso, sp.LassoCV, sp.ElasticNet, sp.ElasticNetCV,
            sp.GeneralizedLinearRegressor, sp.LinearSVR,
        ),
    }  # fmt: skip

    def subject(make: Any, kind: str) -> Subject:
        X, y, _ = mixed_data(kind, N_ROWS)
        return Subject(make.__name__, lambda: make(**coded).fit(X, y), lambda: X)

    return [subject(make, kind) for kind, makes in models.items() for make in makes]

"""The cases for linear models: fits beside scikit-learn's fastest solvers, with the objective they reach."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import sklearn.linear_model as scikit
import sklearn.svm as scikit_svm
from scipy import sparse

import spinney as sp
from benchmarks.harness import Comparison, Contender, compare
from benchmarks.trees import N_JOBS

ROWS, COLUMNS = 100_000, 28
Problem = tuple[Any, np.ndarray]
Maker = Callable[[], Any]


@cache
def dense(target: str) -> Problem:
    """Return correlated columns, and a target that depends on some of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS)) @ (np.eye(COLUMNS) + 0.2 * rng.normal(size=(COLUMNS, COLUMNS)))
    coef = rng.normal(size=(COLUMNS, 5)) * (rng.random((COLUMNS, 1)) < 0.5) * 0.5
    score = X @ coef
    if target == "values":
        return X, score[:, 0] + rng.normal(size=ROWS)
    if target == "two classes":
        return X, (score[:, 0] + rng.logistic(size=ROWS) > 0).astype(int)
    return X, (score + rng.gumbel(size=score.shape)).argmax(axis=1)


@cache
def wide() -> Problem:
    """Return 500 rows of 5,000 columns, of which 50 matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5000))
    coef = np.zeros(5000)
    coef[:50] = 2.0 * rng.normal(size=50)
    return X, X @ coef + rng.normal(size=500)


@cache
def text_like() -> Problem:
    """Return tf-idf of 20,000 documents of 60 words out of 50,000, whose frequencies follow Zipf's law."""
    rng = np.random.default_rng(0)
    n_rows, n_words, length = 20_000, 50_000, 60
    share = 1.0 / np.arange(1, n_words + 1) ** 0.9
    words = rng.choice(n_words, size=(n_rows, length), p=share / share.sum())
    rows = np.repeat(np.arange(n_rows), length)
    counts = sparse.csr_array((np.ones(rows.size), (rows, words.ravel())), shape=(n_rows, n_words))
    counts.data = np.log1p(counts.data)
    seen = np.maximum(np.bincount(counts.indices, minlength=n_words), 1)
    tfidf = sparse.csr_array(counts @ sparse.diags_array(np.log(n_rows / seen)))
    lengths = np.sqrt(np.asarray(tfidf.multiply(tfidf).sum(axis=1)).ravel())
    X = sparse.csr_matrix(sparse.diags_array(1.0 / lengths) @ tfidf)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # scikit-learn takes no other
    y = (X @ (3.0 * rng.normal(size=n_words)) + 0.3 * rng.normal(size=n_rows) > 0).astype(int)
    return X, y


def contest(
    case: str, problem: Problem, makers: dict[str, Maker], score: Callable[[Any], float] | None, note: str
) -> Comparison:
    """Fit every contender in turn; the score is the objective that it reached, the smaller the better."""
    X, y = problem

    def run(make: Maker) -> Callable[[], Any]:
        def job() -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return make().fit(X, y)

        return job

    contenders = [Contender(name, run(make), score) for name, make in makers.items()]
    size = X.data.nbytes if sparse.issparse(X) else X.nbytes
    return compare(case, contenders, repeats=7, input_megabytes=size / 2**20, note=note)


OURS = f"Spinney, n_jobs={N_JOBS}"


def logistic_objective(problem: Problem, l1: float, l2: float) -> Callable[[Any], float]:
    """Return the mean penalized log loss of a fitted model."""
    X, y = problem

    def objective(model: Any) -> float:
        scores = X @ model.coef_.T + model.intercept_
        if scores.shape[1] == 1:
            loss = np.logaddexp(0, scores[:, 0]).sum() - y @ scores[:, 0]
        else:
            top = scores.max(axis=1)
            own = scores[np.arange(len(y)), y]
            loss = (np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top - own).sum()
        penalty = l1 * np.abs(model.coef_).sum() + 0.5 * l2 * (model.coef_**2).sum()
        return float((loss + penalty) / len(y))

    return objective


def squares(problem: Problem) -> Callable[[Any], float]:
    """Return the mean squared error of a fitted model on its rows."""
    X, y = problem
    return lambda model: float(np.mean((model.predict(X) - y) ** 2))


def least_squares() -> Comparison:
    """Ordinary least squares."""
    problem = dense("values")
    makers = {OURS: lambda: sp.LinearRegression(n_jobs=N_JOBS), "scikit-learn": scikit.LinearRegression}
    return contest("linear-least-squares", problem, makers, squares(problem), "100,000 × 28")


def ridge_cv() -> Comparison:
    """Ridge regression with leave-one-out over ten alphas."""
    problem, alphas = dense("values"), np.logspace(-3, 3, 10)
    makers = {
        OURS: lambda: sp.RidgeCV(alphas, n_jobs=N_JOBS),
        "scikit-learn": lambda: scikit.RidgeCV(alphas),
    }
    return contest(
        "linear-ridge-cv", problem, makers, squares(problem), "100,000 × 28, 10 alphas, leave-one-out"
    )


def lasso_cv() -> Comparison:
    """Lasso with five folds over a hundred alphas."""
    problem = dense("values")
    makers = {
        OURS: lambda: sp.LassoCV(n_jobs=N_JOBS),
        "scikit-learn, n_jobs=2": lambda: scikit.LassoCV(n_jobs=N_JOBS),
    }
    return contest("linear-lasso-cv", problem, makers, squares(problem), "100,000 × 28, 5 folds, 100 alphas")


class _ScikitPath:
    """scikit-learn's path as an estimator."""

    def fit(self, X: Any, y: Any) -> Any:
        alphas, coef, gaps = scikit.lasso_path(
            np.asfortranarray(X - X.mean(axis=0)), y - y.mean(), alphas=50, tol=1e-6
        )
        return alphas, coef, gaps


class _OurPath:
    """Our path as an estimator."""

    def fit(self, X: Any, y: Any) -> Any:
        from spinney.linear.design import Design
        from spinney.linear.penalized_squares import Settings, alpha_grid, problem_of

        problem, _, _ = problem_of(Design(X, N_JOBS), y[:, None], None, True)
        alphas = alpha_grid(problem.slope, 1.0, 1e-3, 50, False)
        path = problem.path(alphas, Settings(1.0, False, 1e-6, 10_000))
        return alphas, path.coef, path.gaps


class _CelerPath:
    """celer's path as an estimator."""

    def fit(self, X: Any, y: Any) -> Any:
        from celer import celer_path

        centered, target = np.asfortranarray(X - X.mean(axis=0)), y - y.mean()
        highest = np.abs(centered.T @ target).max() / len(y)
        alphas = highest * np.geomspace(1.0, 1e-3, 50)
        alphas, coef, gaps = celer_path(centered, target, pb="lasso", alphas=alphas, tol=1e-6)
        return alphas, coef, gaps


def wide_lasso() -> Comparison:
    """A path of the lasso with many more columns than rows; the score is the largest duality gap."""
    makers: dict[str, Maker] = {OURS: _OurPath, "scikit-learn": _ScikitPath, "celer": _CelerPath}
    note = "path of 50 alphas, 500 × 5,000, tol=1e-6; the score is the largest duality gap"
    return contest("linear-lasso-wide", wide(), makers, lambda found: float(found[2].max()), note)


def logistic_l2() -> Comparison:
    """Binary logistic regression with an L2 penalty."""
    problem = dense("two classes")
    makers = {
        OURS: lambda: sp.LogisticRegression(n_jobs=N_JOBS),
        "scikit-learn lbfgs": lambda: scikit.LogisticRegression(max_iter=1000),
        "scikit-learn newton-cholesky": lambda: scikit.LogisticRegression(solver="newton-cholesky"),
    }
    return contest(
        "linear-logistic-l2", problem, makers, logistic_objective(problem, 0.0, 1.0), "100,000 × 28"
    )


def logistic_l1() -> Comparison:
    """Binary logistic regression with an L1 penalty."""
    problem = dense("two classes")
    makers = {
        OURS: lambda: sp.LogisticRegression(l1_ratio=1.0, C=0.01, n_jobs=N_JOBS),
        "scikit-learn liblinear": lambda: scikit.LogisticRegression(l1_ratio=1.0, C=0.01, solver="liblinear"),
    }
    return contest(
        "linear-logistic-l1", problem, makers, logistic_objective(problem, 100.0, 0.0), "100,000 × 28"
    )


def multinomial() -> Comparison:
    """Multinomial logistic regression with five classes."""
    problem = dense("five classes")
    makers = {
        OURS: lambda: sp.LogisticRegression(n_jobs=N_JOBS),
        "scikit-learn lbfgs": lambda: scikit.LogisticRegression(max_iter=1000),
        "scikit-learn newton-cholesky": lambda: scikit.LogisticRegression(solver="newton-cholesky"),
    }
    objective = logistic_objective(problem, 0.0, 1.0)
    return contest("linear-multinomial", problem, makers, objective, "100,000 × 28, 5 classes")


def svc() -> Comparison:
    """A linear support vector machine with the squared hinge loss."""
    X, y = problem = dense("two classes")

    def objective(model: Any) -> float:
        lost = np.maximum(1 - (2 * y - 1) * model.decision_function(X), 0.0)
        length = (model.coef_**2).sum() + (model.intercept_**2).sum()
        return float((0.5 * length + (lost**2).sum()) / len(y))

    makers = {
        OURS: lambda: sp.LinearSVC(n_jobs=N_JOBS),
        "scikit-learn": scikit_svm.LinearSVC,
    }
    return contest("linear-svc", problem, makers, objective, "100,000 × 28, squared hinge")


def sparse_logistic() -> Comparison:
    """Binary logistic regression of text."""
    problem = text_like()
    makers = {
        OURS: lambda: sp.LogisticRegression(n_jobs=N_JOBS),
        "scikit-learn lbfgs": lambda: scikit.LogisticRegression(max_iter=1000),
        "scikit-learn newton-cg": lambda: scikit.LogisticRegression(solver="newton-cg"),
        # At its default tolerance it stops far from the objective that the others reach.
        "scikit-learn newton-cg, tol=1e-5": lambda: scikit.LogisticRegression(solver="newton-cg", tol=1e-5),
        "scikit-learn liblinear": lambda: scikit.LogisticRegression(solver="liblinear"),
    }
    objective = logistic_objective(problem, 0.0, 1.0)
    return contest("linear-logistic-sparse", problem, makers, objective, "20,000 × 50,000, 60 words per row")


CASES: dict[str, Callable[[], Comparison]] = {
    "linear-least-squares": least_squares,
    "linear-ridge-cv": ridge_cv,
    "linear-lasso-cv": lasso_cv,
    "linear-lasso-wide": wide_lasso,
    "linear-logistic-l2": logistic_l2,
    "linear-logistic-l1": logistic_l1,
    "linear-multinomial": multinomial,
    "linear-svc": svc,
    "linear-logistic-sparse": sparse_logistic,
}

"""The cases for SHAP values (processor time per row and tree) and partial dependence, on one thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks.data import Problem, normal_problem
from benchmarks.harness import Comparison, Contender, Timed, compare
from benchmarks.trees import spinney

N_FIT, N_TREES, N_LEAVES = 20_000, 100, 31
N_ROWS, N_PEER_ROWS, N_PEER_PAIR_ROWS, N_FOREST_ROWS = 2000, 100, 5, 200  # peers are slower
N_POINTS = 50


@cache
def problem() -> Problem:
    """Return the table that models are fitted to."""
    return normal_problem(N_FIT)


def per_row_and_tree(explain: Callable[[np.ndarray], Any], n_rows: int, n_trees: int) -> Callable[[], Timed]:
    """Return a run that explains rows and times itself."""
    rows = np.ascontiguousarray(problem().X[:n_rows])

    def run() -> Timed:
        start = time.process_time()
        explain(rows)
        return Timed((time.process_time() - start) / (n_rows * n_trees), None)

    return run


@cache
def boosted() -> Any:
    """Fit Spinney's booster."""
    settings = {"n_estimators": N_TREES, "max_leaf_nodes": N_LEAVES, "preset": "classic"}
    model = spinney("GradientBoostingClassifier", early_stopping=False, n_jobs=1, **settings)
    return model.fit(problem().X, problem().y)


@cache
def deep_forest() -> Any:
    """Fit a forest of deep trees."""
    model = spinney("RandomForestClassifier", n_estimators=10, random_state=0, n_jobs=1)
    return model.fit(problem().X[:5000], problem().y[:5000])


@cache
def peer_forest() -> Any:
    """Fit scikit-learn's forest, explained by the shap package."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(n_estimators=10, random_state=0, n_jobs=1)
    return model.fit(problem().X[:5000], problem().y[:5000])


def with_shap(model: Any) -> Callable[[np.ndarray], Any]:
    """Return the explanation of a model by the shap package."""

    def explain(rows: np.ndarray) -> Any:
        from shap import TreeExplainer

        return TreeExplainer(model).shap_values(rows, check_additivity=False)

    return explain


def with_lightgbm() -> Callable[[np.ndarray], Any]:
    """Return the explanation by LightGBM's own TreeSHAP."""

    @cache
    def fitted() -> Any:
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(n_estimators=N_TREES, num_leaves=N_LEAVES, n_jobs=1, verbose=-1)
        return model.fit(problem().X, problem().y)

    return lambda rows: fitted().predict(rows, pred_contrib=True)


def with_xgboost(interactions: bool) -> Callable[[np.ndarray], Any]:
    """Return the explanation by XGBoost's own TreeSHAP."""

    @cache
    def fitted() -> Any:
        from xgboost import XGBClassifier

        model = XGBClassifier(
            n_estimators=N_TREES, max_leaves=N_LEAVES, grow_policy="lossguide", max_depth=0, n_jobs=1
        )
        return model.fit(problem().X, problem().y).get_booster()

    def explain(rows: np.ndarray) -> Any:
        from xgboost import DMatrix

        data = DMatrix(rows, nthread=1)
        return fitted().predict(data, pred_contribs=not interactions, pred_interactions=interactions)

    return explain


def compare_boosted(case: str, interactions: bool) -> Comparison:
    """Explain a boosted model of 100 trees with 31 leaves."""
    own = boosted()
    contenders = {
        "Spinney": (lambda rows: own.shap_values(rows, interactions=interactions, n_jobs=1), N_ROWS),
        "XGBoost": (with_xgboost(interactions), N_PEER_PAIR_ROWS if interactions else N_PEER_ROWS),
    }
    if not interactions:
        contenders["LightGBM"] = (with_lightgbm(), N_PEER_ROWS)
    for explain, _ in contenders.values():
        try:
            explain(problem().X[:8])  # fitted before the clock runs
        except ImportError:
            continue
    note = f"{N_TREES} trees of {N_LEAVES} leaves, 28 features, one thread: per row and tree"
    runs = [
        Contender(name, per_row_and_tree(explain, n, N_TREES), memory=False)
        for name, (explain, n) in contenders.items()
    ]
    return compare(case, runs, note=note)


def compare_forest(case: str) -> Comparison:
    """Explain a forest of unpruned trees."""
    own, peer = deep_forest(), peer_forest()
    runs = [
        Contender(
            "Spinney",
            per_row_and_tree(lambda rows: own.shap_values(rows, n_jobs=1), N_FOREST_ROWS, 10),
            memory=False,
        ),
        Contender("shap, scikit-learn's forest", per_row_and_tree(with_shap(peer), 5, 10), memory=False),
    ]
    return compare(case, runs, note="10 unpruned trees of 5,000 rows, one thread: per row and tree")


def compare_dependence(case: str) -> Comparison:
    """Average the output over rows at the points of one feature; scikit-learn predicts all rows for each."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.inspection import partial_dependence as brute_force
    from threadpoolctl import threadpool_limits

    from spinney.inspect import partial_dependence

    own, rows = boosted(), problem().X[:N_ROWS]
    peer = HistGradientBoostingClassifier(max_iter=N_TREES, max_leaf_nodes=N_LEAVES, early_stopping=False)
    peer.fit(problem().X, problem().y)

    def timed(explain: Callable[[], Any]) -> Callable[[], Timed]:
        def run() -> Timed:
            with threadpool_limits(1):
                start = time.process_time()
                explain()
                return Timed(time.process_time() - start, None)

        return run

    runs = [
        Contender(
            "Spinney",
            timed(lambda: partial_dependence(own, rows, 0, max_points=N_POINTS, n_jobs=1)),
            memory=False,
        ),
        Contender(
            "scikit-learn, brute force",
            timed(lambda: brute_force(peer, rows, [0], method="brute", grid_resolution=N_POINTS)),
            memory=False,
        ),
    ]
    note = f"{N_TREES} trees of {N_LEAVES} leaves, {N_ROWS:,} rows, {N_POINTS} points, one thread"
    return compare(case, runs, note=note)


CASES: dict[str, Callable[[], Comparison]] = {
    "partial-dependence": lambda: compare_dependence("partial-dependence"),
    "shap-boosted": lambda: compare_boosted("shap-boosted", False),
    "shap-interactions": lambda: compare_boosted("shap-interactions", True),
    "shap-deep-forest": lambda: compare_forest("shap-deep-forest"),
}

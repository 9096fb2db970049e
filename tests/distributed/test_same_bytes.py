"""One model, byte for byte: in memory, from stores of any block size, on clusters of any shape.

`make agreement` runs all combinations; the other tests of clusters and stores have some of them.
"""

from functools import cache
from hashlib import sha256
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

import spinney as sp
from dask_tables import CUTS, cut, make_table, targets
from spinney.core.arrays import CHUNK_ROWS
from spinney.data import BinnedDataset
from spinney.io import dumps
from spinney.losses.losses import Loss

distributed = pytest.importorskip("distributed")

from spinney import distributed as on_dask  # noqa: E402

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

BLOCK_ROWS = [int(chunks * CHUNK_ROWS) for chunks in (0.25, 0.75, 1, 2, 4)]
CLUSTERS = list(product([1, 2, 3, 5], [1, 2]))
"""Numbers of workers, and of the threads of each."""


class LogCosh(Loss):
    """A loss that the core does not know."""

    def gradient(self, y, score):
        return np.tanh(score - y)

    def hessian(self, y, score):
        return 1 - np.tanh(score - y) ** 2


class Case(NamedTuple):
    """A learner, its parameters, and its target: values, positive ones, two or three classes."""

    learner: str
    params: dict[str, Any]
    kind: str
    weighted: bool = True


BOOSTING = {"n_estimators": 2, "n_members": 1, "max_leaf_nodes": 6, "random_state": 4}
ROUNDS = BOOSTING | {"early_stopping": False, "refit": False}
STOPPED = BOOSTING | {"n_estimators": 4, "early_stopping": True, "n_iter_no_change": 1, "refit": True}
TREES = {"max_leaf_nodes": 12, "random_state": 3}
GROWTH = "leaf-wise", "level-wise", "symmetric"
LOSSES = "squared_error", "absolute_error", "huber", "quantile"
POSITIVE_LOSSES = "poisson", "gamma", "tweedie"


def boosting_cases():
    regressor, classifier = "GradientBoostingRegressor", "GradientBoostingClassifier"
    for i, loss in enumerate(LOSSES + POSITIVE_LOSSES):
        kind = "positive" if loss in POSITIVE_LOSSES else "value"
        yield loss, Case(regressor, ROUNDS | {"loss": loss, "growth": GROWTH[i % 3]}, kind)
    yield "levels", Case(regressor, ROUNDS | {"loss": "quantile", "quantile": [0.2, 0.7]}, "value")
    yield "own-loss", Case(regressor, ROUNDS | {"loss": LogCosh()}, "value")
    yield "exponential", Case(classifier, ROUNDS | {"loss": "exponential"}, "binary")
    for growth, sampling in product(GROWTH, ("uniform", "mvs", "goss")):
        params = ROUNDS | {"growth": growth, "sampling": sampling, "subsample": 0.4}
        kind = "binary" if growth == "leaf-wise" else "classes"
        yield f"{growth}-{sampling}", Case(classifier, params, kind)
    for growth in GROWTH:
        yield f"{growth}-random", Case(regressor, ROUNDS | {"growth": growth, "splitter": "random"}, "value")
    yield "stopped-value", Case(regressor, STOPPED, "value", weighted=False)
    yield "stopped-classes", Case(classifier, STOPPED | {"sampling": "mvs", "subsample": 0.5}, "classes")


def ensemble_cases():
    criteria = {"gini": "classes", "entropy": "binary", "squared_error": "value", "poisson": "positive"}
    for (criterion, kind), family in product(criteria.items(), ("RandomForest", "ExtraTrees")):
        learner = family + ("Classifier" if kind in ("classes", "binary") else "Regressor")
        params = TREES | {"n_estimators": 3, "criterion": criterion}
        yield f"{family}-{criterion}", Case(learner, params, kind, criterion != "entropy")


def bagging_cases():
    for task, kind in (("Classifier", "classes"), ("Regressor", "value")):
        tree = getattr(sp, f"DecisionTree{task}")(max_depth=3)
        params = {"n_estimators": 2, "random_state": 1, "estimator": tree, "max_features": 0.7}
        yield f"Bagging{task}", Case(f"Bagging{task}", params, kind)


def tree_cases():
    for criterion, kind in (("gini", "classes"), ("entropy", "binary"), ("squared_error", "value")):
        task = "Regressor" if kind == "value" else "Classifier"
        params = TREES | {"max_bins": 255, "criterion": criterion}
        yield f"DecisionTree-{criterion}", Case(f"DecisionTree{task}", params, kind)
        if criterion != "entropy":
            rounds = {"max_iter": 2, "max_leaf_nodes": 6, "early_stopping": False, "random_state": 4}
            name = f"HistGradientBoosting{task}"
            yield name, Case(name, rounds, kind)


ON_BOTH = dict(boosting_cases()) | dict(ensemble_cases())
ON_STORES = ON_BOTH | dict(tree_cases())
ON_CLUSTERS = ON_BOTH | dict(bagging_cases())


def rows(case):
    """Return features, target and weights of a case."""
    X, y, weights = make_table()
    if case.kind == "positive":
        y = np.exp(0.3 * y)
    elif case.kind != "value":
        y = targets(y, case.kind)
    return X, y, weights if case.weighted else None


def hash_of(model):
    return sha256(dumps(model)).hexdigest()


@cache
def in_memory(name):
    """Return the hash of a fit in memory."""
    case = (ON_STORES | ON_CLUSTERS)[name]
    X, y, weights = rows(case)
    return hash_of(getattr(sp, case.learner)(**case.params).fit(X, y, weights))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return a function that builds a store, once for each of its arguments."""

    @cache
    def build(kind, weighted, block_rows):
        X, y, weights = rows(Case("", {}, kind, weighted))
        path = tmp_path_factory.mktemp("store") / "rows"
        return BinnedDataset.build(X, path, target=y, sample_weight=weights, block_rows=block_rows)

    return build


@pytest.mark.parametrize("name", ON_STORES)
def test_stores(store, name):
    case = ON_STORES[name]
    for block_rows, n_threads in product(BLOCK_ROWS, (1, 2)):
        dataset = store(case.kind, case.weighted, block_rows)
        dataset.max_memory = 0
        model = getattr(sp, case.learner)(**case.params)
        if "n_jobs" in model.get_params():
            model.set_params(n_jobs=n_threads)
        fitted = model.fit(dataset)
        if "n_jobs" in model.get_params():
            fitted.set_params(n_jobs=None)
        assert hash_of(fitted) == in_memory(name), (block_rows, n_threads)


@pytest.fixture(scope="module", params=CLUSTERS, ids=lambda one: f"{one[0]}x{one[1]}")
def processes(request):
    """Return a client of worker processes."""
    n_workers, n_threads = request.param
    settings = {"n_workers": n_workers, "threads_per_worker": n_threads, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize("name", ON_CLUSTERS)
def test_clusters(processes, name):
    case = ON_CLUSTERS[name]
    X, y, weights = rows(case)
    for sizes in CUTS:
        model = getattr(on_dask, f"Dask{case.learner}")(**case.params, client=processes)
        model.fit(cut(X, sizes), cut(y, [40_000]), None if weights is None else cut(weights, [10]))
        assert hash_of(model.to_local()) == in_memory(name), sizes

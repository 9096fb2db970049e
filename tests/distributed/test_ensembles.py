"""Forests and bagging on Dask collections give the bytes of fits in memory."""

import pytest

import spinney as sp
from dask_tables import CUTS, cut, targets
from dask_workers import at_task
from spinney.core.errors import InputError
from spinney.io import dumps

pytest.importorskip("distributed")

from spinney import distributed
from spinney.distributed import worker
from spinney.distributed.cluster import Cluster

FORESTS = ["RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"]
PARAMS = {"n_estimators": 5, "max_leaf_nodes": 30, "max_bins": 63, "random_state": 3}


def expect_same(client, table, name, params, sizes=CUTS[1], weighted=False, y=None):
    X, values, weights = table
    y = targets(values, "value" if name.endswith("Regressor") else "classes")
    weights = weights if weighted else None
    model = getattr(distributed, f"Dask{name}")(**params, client=client)
    model.fit(cut(X, sizes), y, weights)
    local = getattr(sp, name)(**params).fit(X, y, weights)
    assert dumps(model.to_local()) == dumps(local)
    few = X[:30]
    assert model.predict(cut(few, [7])).compute().tolist() == local.predict(few).tolist()


@pytest.mark.parametrize("name", FORESTS)
def test_forests(client, table, name):
    expect_same(client, table, name, PARAMS, weighted=name == "RandomForestClassifier")


@pytest.mark.parametrize("name", ["BaggingClassifier", "BaggingRegressor"])
def test_bagging(client, table, name):
    tree = sp.DecisionTreeClassifier if name.endswith("Classifier") else sp.DecisionTreeRegressor
    X, values, weights = table
    rows = X[:3000], values[:3000], weights[:3000]
    params = {"n_estimators": 3, "random_state": 1, "estimator": tree(max_depth=4), "max_features": 0.7}
    expect_same(client, rows, name, params, [1000, 0, 500], weighted=True)


def test_lost_blocks_of_a_forest(client, table):
    with at_task(Cluster, -1, lambda: None) as usual:
        expect_same(client, table, "ExtraTreesRegressor", PARAMS)
    # the blocks are coded, and those of the first worker are being read
    with at_task(Cluster, 5, worker._cache.clear) as count:
        expect_same(client, table, "ExtraTreesRegressor", PARAMS)
    assert count[0] > usual[0]


def test_bad_parameters(client, table):
    X, y, _ = table
    model = distributed.DaskRandomForestRegressor(max_bins=None, client=client)
    with pytest.raises(InputError, match="grown on bins"):
        model.fit(cut(X, []), y)
    with pytest.raises(InputError, match="not a Dask DataFrame"):
        distributed.DaskBaggingRegressor(client=client).fit(X, y)

"""Gradient boosting on Dask collections gives the bytes of boosting in memory."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import spinney as sp
from dask_tables import CUTS, N_ROWS, cut, join, targets
from spinney.core.errors import InputError
from spinney.gradient_boosting.callbacks import Checkpoint
from spinney.io import UnsavableValue, dumps

pytest.importorskip("distributed")

from spinney.distributed import (
    DaskGradientBoostingClassifier,
    DaskGradientBoostingRegressor,
)

SHORT = {"n_estimators": 2, "early_stopping": False, "refit": False, "n_members": 1, "random_state": 4}


def expect_same(client, table, params, kind="value", weighted=False, sizes=CUTS[1]):
    """Fit in memory and on a cluster; compare the files, and return the model of the cluster."""
    X, y, weights = table
    y, weights = targets(y, kind), weights if weighted else None
    regression = kind == "value"
    local = (sp.GradientBoostingRegressor if regression else sp.GradientBoostingClassifier)(**params)
    dask_class = DaskGradientBoostingRegressor if regression else DaskGradientBoostingClassifier
    model = dask_class(**params, client=client)
    model.fit(cut(X, sizes), cut(y, [40_000]), None if weights is None else cut(weights, [10]))
    assert model.traffic_.n_reads > 0
    assert dumps(model.to_local()) == dumps(local.fit(X, y, weights))
    return model


@pytest.mark.parametrize("sizes", [CUTS[0], CUTS[1]])
def test_partitions_do_not_matter(client, table, sizes):
    params = SHORT | {"n_estimators": 1, "growth": "leaf-wise", "max_leaf_nodes": 8}
    expect_same(client, table, params, sizes=sizes)


def test_classes_weights_early_stopping_sampling_and_a_second_fit(client, table):
    params = {
        "n_estimators": 2,
        "n_members": 1,
        "early_stopping": True,
        "n_iter_no_change": 1,
        "refit": True,
        "sampling": "mvs",
        "subsample": 0.5,
        "growth": "leaf-wise",
        "max_leaf_nodes": 3,
        "random_state": 2,
    }
    model = expect_same(client, table, params, "classes", weighted=True)
    X = table[0]
    assert model.traffic_.bytes_moved > 0
    for partitions in ([5], [1, 0, 3]):
        predicted = model.predict(cut(X[:20], partitions))
        assert predicted.compute().tolist() == model.predict(X[:20]).tolist()
    proba = model.predict_proba(cut(X[:20], [5]))
    assert type(proba).__module__.startswith("dask")
    assert np.array_equal(proba.compute(), model.to_local().predict_proba(X[:20]))


@pytest.mark.long
def test_defaults(client, table):
    expect_same(client, table, {"n_estimators": 4, "random_state": 0}, "classes")


def test_arrays_and_a_sample_of_the_rows(client):
    """Above 200,000 rows bins come from a sample, and few values are counted in all rows."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=210_000), rng.integers(0, 9, 210_000), rng.random(210_000) < 1e-5])
    y = 9 * X[:, 0] + X[:, 1] + X[:, 2]
    params = SHORT | {"n_estimators": 1, "growth": "leaf-wise"}
    local = sp.GradientBoostingRegressor(**params).fit(X, y)
    model = DaskGradientBoostingRegressor(**params, client=client)
    assert dumps(model.fit(cut(X, [50_000, 70_000]), cut(y, [])).to_local()) == dumps(local)
    assert np.array_equal(model.predict(cut(X[:50], [7])).compute(), local.predict(X[:50]))


def test_checkpoints_are_resumed_with_other_partitions(client, table, tmp_path):
    X, y, _ = table
    path = tmp_path / "run.spinney"
    params = SHORT | {"n_estimators": 3, "max_leaf_nodes": 3, "growth": "leaf-wise"}
    expected = dumps(sp.GradientBoostingRegressor(**params).fit(X, y))
    model = DaskGradientBoostingRegressor(**params, client=client)
    model.fit(cut(X, CUTS[1]), y, callbacks=[Checkpoint(path, every=1), lambda round: round.number == 2])
    resumed = DaskGradientBoostingRegressor.resume(path, cut(X, CUTS[3]), y, client=client)
    assert dumps(resumed.to_local()) == expected
    continued = model.set_params(warm_start=True).fit(cut(X, CUTS[0]), y)
    assert dumps(continued.set_params(warm_start=False).to_local()) == expected


def test_columns_of_many_categories_are_collected(client):
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"id": rng.integers(0, 400, 20_000).astype(str), "x": rng.normal(size=20_000)})
    y = X["x"].to_numpy() + X["id"].str.len().to_numpy()
    params = SHORT | {"growth": "leaf-wise"}
    model = DaskGradientBoostingRegressor(**params, client=client).fit(cut(X, [3_000]), y)
    assert dumps(model.to_local()) == dumps(sp.GradientBoostingRegressor(**params).fit(X, y))


def test_partitions_of_other_types(client, table):
    X, y, _ = table
    whole = X[["a"]].round().fillna(0)
    params = SHORT | {"n_estimators": 1, "growth": "leaf-wise"}
    parts = [whole[:30_000].astype("int16"), whole[30_000:].astype("float32")]
    model = DaskGradientBoostingRegressor(**params, client=client).fit(join(parts), y)
    assert dumps(model.to_local()) == dumps(sp.GradientBoostingRegressor(**params).fit(whole, y))
    parts[1] = whole[30_000:].astype(str)
    with pytest.raises(InputError, match="categories in partition 1, numbers in partition 0"):
        DaskGradientBoostingRegressor(**params, client=client).fit(join(parts), y)


def test_partitions_with_categories_of_their_own(client, table):
    """Each has other categories, also as the type of pandas, the first none at all."""
    X, y, _ = table
    X = X[["a", "color"]].sort_values("color", na_position="first", ignore_index=True)
    params = SHORT | {"n_estimators": 1, "growth": "leaf-wise"}
    parts = [X[:3_000], X[3_000:40_000], X[40_000:]]
    assert [part["color"].nunique() for part in parts] == [0, 3, 2]
    expected = dumps(sp.GradientBoostingRegressor(**params).fit(X, y))
    for kind in ("object", "category"):
        frame = join([part.astype({"color": kind}) for part in parts])
        model = DaskGradientBoostingRegressor(**params, client=client).fit(frame, y)
        assert dumps(model.to_local()) == expected
    new = X[:5].assign(color="violet")
    assert model.predict(cut(new, [2])).compute().tolist() == model.predict(new).tolist()


def test_bad_input(client, table):
    X, y, _ = table
    model = DaskGradientBoostingRegressor(client=client)
    with pytest.raises(InputError, match="not a Dask DataFrame"):
        model.fit(X, y)
    with pytest.raises(InputError, match="y has 10 rows"):
        model.fit(cut(X, [9]), y[:10])
    with pytest.raises(InputError, match="all partitions are empty"):
        model.fit(cut(X[:0], []), y[:0])
    broken = X.assign(a=np.where(np.arange(N_ROWS) == 20_105, np.inf, X["a"]))
    with pytest.raises(InputError, match=r"partition 4: .*column 'a', row 4"):
        model.fit(cut(broken, CUTS[1]), y)


def test_the_estimator_is_cloned_and_not_saved(client):
    model = DaskGradientBoostingRegressor(**SHORT, max_leaf_nodes=3)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(UnsavableValue, match="to_local"):
        dumps(model)
    assert model.client_ is client

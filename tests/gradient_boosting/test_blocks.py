"""Boosting on rows that are read block by block gives the bytes of boosting in memory."""

import numpy as np
import pandas as pd
import pytest

import spinney as sp
from spinney.core.arrays import CHUNK_ROWS
from spinney.data import BinnedDataset
from spinney.gradient_boosting.callbacks import Checkpoint
from spinney.io import dumps
from spinney.losses.losses import Loss

N_ROWS = 2 * CHUNK_ROWS + 1500


@pytest.fixture(scope="module")
def table():
    """Numbers with missing values, categories, targets and weights, over three chunks."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(N_ROWS, 4)), columns=list("abcd"))
    X.loc[rng.random(N_ROWS) < 0.1, "b"] = np.nan
    X["color"] = rng.choice(["red", "green", "blue", "grey"], N_ROWS)
    X.loc[rng.random(N_ROWS) < 0.05, "color"] = None
    y = X["a"] * X["c"] + (X["color"] == "red") + rng.normal(size=N_ROWS)
    weights = rng.random(N_ROWS) * (rng.random(N_ROWS) > 0.05)
    return X, y.to_numpy(), weights


@pytest.fixture(scope="module")
def stores(table, tmp_path_factory):
    """Build a store, once for each of its arguments."""
    X, y, weights = table
    built = {}

    def build(kind, weighted=False, block_rows=CHUNK_ROWS):
        key = kind, weighted, block_rows
        if key not in built:
            path = tmp_path_factory.mktemp("store") / "rows"
            weight = weights if weighted else None
            built[key] = BinnedDataset.build(
                X, path, target=targets(y, kind), sample_weight=weight, block_rows=block_rows, max_bins=63
            )
        dataset = BinnedDataset.open(built[key].path)
        dataset.max_memory = 0
        return dataset

    return build


def targets(y, kind):
    if kind == "value":
        return y
    return np.digitize(y, [0.5] if kind == "binary" else [-0.3, 0.8])


def expect_same(model, dataset, table, weighted=False, kind="value"):
    """Fit a model in memory and on a dataset; compare their files."""
    X, y, weights = table
    model.set_params(max_bins=63, random_state=4, n_jobs=2)
    streamed = dumps(model.fit(dataset))
    assert model.traffic_.n_reads > 0
    in_memory = model.fit(X, targets(y, kind), weights if weighted else None)
    assert not hasattr(in_memory, "traffic_")
    assert streamed == dumps(in_memory)


SHORT = {"n_estimators": 3, "early_stopping": False, "refit": False, "n_members": 1}


@pytest.mark.parametrize("block_chunks", [0.25, 0.75, 1, 2, 4])
def test_the_size_of_blocks_does_not_matter(stores, table, block_chunks):
    dataset = stores("value", block_rows=int(block_chunks * CHUNK_ROWS))
    expect_same(sp.GradientBoostingRegressor(**SHORT, growth="leaf-wise"), dataset, table)


@pytest.mark.parametrize("growth", ["leaf-wise", "level-wise", "symmetric"])
@pytest.mark.parametrize("sampling", ["uniform", "mvs", "goss"])
def test_growth_sampling_and_weights(stores, table, growth, sampling):
    model = sp.GradientBoostingClassifier(**SHORT, growth=growth, sampling=sampling, subsample=0.4)
    expect_same(model, stores("binary", weighted=True), table, True, "binary")


@pytest.mark.parametrize("growth", ["leaf-wise", "symmetric"])
def test_random_thresholds(stores, table, growth):
    model = sp.GradientBoostingClassifier(**SHORT, growth=growth, splitter="random", min_samples_leaf=40)
    expect_same(model, stores("binary", weighted=True), table, True, "binary")


@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "huber", "squared_error"])
def test_losses(stores, table, loss):
    expect_same(sp.GradientBoostingRegressor(**SHORT, loss=loss), stores("value", weighted=True), table, True)


def test_classes_early_stopping_and_the_ledger(stores, table):
    model = sp.GradientBoostingClassifier(
        n_estimators=6, early_stopping=True, n_iter_no_change=2, refit=True, ledger="full", growth="leaf-wise"
    )
    expect_same(model, stores("classes"), table, kind="classes")


class LogCosh(Loss):
    """A loss that the core does not know."""

    def gradient(self, y, score):
        return np.tanh(score - y)

    def hessian(self, y, score):
        return 1 - np.tanh(score - y) ** 2


class BoundedLogCosh(LogCosh):
    """The same loss with bounded steps: the weight of rows is part of the packed sums."""

    bounds_steps = True


@pytest.mark.parametrize(
    "more",
    [{"loss": LogCosh()}, {"loss": BoundedLogCosh()}, {"monotonic_cst": {"a": 1}, "max_features": 0.5}],
)
def test_a_loss_of_ones_own_and_constraints(stores, table, more):
    expect_same(sp.GradientBoostingRegressor(**SHORT, **more, growth="leaf-wise"), stores("value"), table)


def test_rounds_are_resumed(stores, tmp_path):
    dataset, path = stores("value", weighted=True), tmp_path / "run.spinney"
    params = SHORT | {"n_estimators": 5, "max_bins": 63, "random_state": 4}
    expected = dumps(sp.GradientBoostingRegressor(**params).fit(dataset))
    callbacks = [Checkpoint(path, every=2), lambda round: round.number == 3]
    sp.GradientBoostingRegressor(**params).fit(dataset, callbacks=callbacks)
    assert dumps(sp.GradientBoostingRegressor.resume(path, dataset)) == expected


def test_small_datasets_are_copied_to_memory(stores, table):
    dataset = stores("value")
    dataset.max_memory = None
    model = sp.GradientBoostingRegressor(**SHORT, max_bins=63).fit(dataset)
    assert not hasattr(model, "traffic_")


def test_passes_over_the_codes_are_few(stores):
    model = sp.GradientBoostingRegressor(**SHORT, max_bins=63, growth="leaf-wise", max_leaf_nodes=31)
    traffic = model.fit(stores("value")).traffic_
    assert traffic.n_trees == 3
    assert traffic.reads_per_tree <= 20  # growth in memory builds 31 histograms
    assert traffic.bytes_read == traffic.n_reads * N_ROWS * 5

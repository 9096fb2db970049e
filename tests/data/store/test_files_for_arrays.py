"""Trees and forests on datasets larger than memory: arrays in files, subtrees in memory, the same bytes."""

import numpy as np
import pytest

from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from spinney.data import BinnedDataset
from spinney.data.spill import arrays_in_files
from spinney.io import dumps
from spinney.native import core

N_ROWS = 40_000
FEW = {"n_estimators": 2, "random_state": 0, "min_samples_leaf": 3}
MODELS = [
    DecisionTreeClassifier(max_bins=255, min_samples_leaf=2),
    DecisionTreeClassifier(max_bins=255, max_leaf_nodes=40),
    DecisionTreeRegressor(max_bins=255, min_samples_leaf=9),
    RandomForestClassifier(**FEW, class_weight="balanced_subsample"),
    RandomForestRegressor(**FEW, max_features=0.5),
    ExtraTreesClassifier(**FEW),
    ExtraTreesRegressor(**FEW, bootstrap=True),
]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N_ROWS, 6))
    X[:, 1] = rng.integers(0, 9, N_ROWS)
    X[rng.random(N_ROWS) < 0.1, 2] = np.nan
    y = np.nan_to_num(X[:, 2]) * X[:, 0] + (X[:, 1] % 3) + rng.normal(size=N_ROWS)
    return X, y


@pytest.fixture(scope="module")
def stores(table, tmp_path_factory):
    X, y = table
    directory = tmp_path_factory.mktemp("stores")

    def build(target, name):
        return BinnedDataset.build(
            X, directory / name, target=target, categorical_features=[1], block_rows=4096
        )

    return {"value": build(y, "value"), "class": build(np.digitize(y, [0.0, 1.5]), "class")}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model).split("(")[0])
def test_same_bytes(model, stores):
    """Subtrees that fit in memory have fewer rows than one thread grows alone, or more."""
    dataset = stores["value" if "Regressor" in str(model) else "class"]
    dataset.max_memory = None
    expected = dumps(model.fit(dataset))
    with arrays_in_files(1 << 17):
        assert dumps(model.fit(dataset)) == expected
    dataset.max_memory = 0
    assert dumps(model.fit(dataset)) == expected


def test_arrays_are_in_files_during_the_fit_only(stores, monkeypatch):
    seen = []
    matrix = BinnedDataset.matrix

    def spy(self, *args, **kwargs):
        seen.append(core.is_spilled(np.empty(1 << 20)))
        return matrix(self, *args, **kwargs)

    monkeypatch.setattr(BinnedDataset, "matrix", spy)
    for limit in (0, None):
        stores["class"].max_memory = limit
        DecisionTreeClassifier(max_bins=255, max_depth=2).fit(stores["class"])
    assert seen == [True, False]
    assert not core.is_spilled(np.empty(1 << 20))


def test_arrays_in_files_behave_as_others():
    with arrays_in_files(1 << 16):
        values = np.arange(1 << 16, dtype=np.float64)
        zeros = np.zeros(1 << 16)
        grown = np.arange(100.0)
        grown.resize(1 << 16, refcheck=False)  # from memory to memory
        values.resize(1 << 17, refcheck=False)  # from a file to a larger one
    assert core.is_spilled(values)
    assert core.is_spilled(zeros)
    assert not zeros.any()
    assert (values[: 1 << 16] == np.arange(1 << 16)).all()
    assert grown[99] == 99
    values.resize(10, refcheck=False)  # from a file to memory
    assert values.tolist() == list(range(10))


def test_a_full_disk_is_a_memory_error(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    with arrays_in_files(1 << 16), pytest.raises(MemoryError):
        np.zeros(1 << 16)

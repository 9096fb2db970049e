import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from spinney.data import read_table, training_set
from spinney.data.training_set import Target, code_table
from spinney.io import dumps
from spinney.native import core
from spinney.tree.grower import Grower
from spinney.tree.plan import GrowPlan


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("chunk_bytes", [1, 8 * 50 * 3, 1 << 25])
def test_sparse_columns_are_coded_in_chunks_as_all_at_once(monkeypatch, chunk_bytes, max_bins):
    monkeypatch.setattr(training_set, "_CHUNK_BYTES", chunk_bytes)
    X = sparse.random_array((50, 7), density=0.3, rng=np.random.default_rng(0), format="csr")
    weights = np.linspace(0.5, 2.0, 50)
    ours = code_table(read_table(X, [2]), weights, max_bins, 1)
    dense = code_table(read_table(X.toarray(), [2]), weights, max_bins, 1)
    assert ours.n_columns == dense.n_columns == 7 and ours.n_rows == 50
    for j in range(7):
        assert np.array_equal(ours.codes(j), dense.codes(j))
        assert np.array_equal(ours.lo(j), dense.lo(j)) and np.array_equal(ours.hi(j), dense.hi(j))


_PROGRAM = """
import resource
import numpy as np
from scipy import sparse
import spinney

rng = np.random.default_rng(0)
X = sparse.random_array((20_000, 3_000), density=0.001, rng=rng, format="csc")
y = rng.integers(0, 2, 20_000)
model = spinney.DecisionTreeClassifier(max_depth=3)
model.fit(X[:1000], y[:1000]).predict(X[:1000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.fit(X, y).predict(X)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB there")
def test_a_wide_sparse_matrix_is_never_dense():
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True, timeout=200
    )
    dense = 20_000 * 3_000 * 8 / 1024
    assert int(run.stdout) < 0.4 * dense  # the codes alone are an eighth of it


def grow_forest(n_trees, n_threads, n_cities=0, **options):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 5)), rng.integers(0, 2, (3000, 1)).astype(np.int32)
    if n_cities:
        X = pd.DataFrame(X, columns=list("abcde")).assign(
            city=pd.Categorical(rng.integers(0, n_cities, 3000))
        )
    grower = Grower(code_table(read_table(X), None, 255, 1))
    seeds = np.arange(n_trees, dtype=np.uint64)
    bag = core.BootstrapSampler(3000, 3000, True, None, None, None)
    target = Target(classes=y, n_classes=(2,))
    return grower.grow_forest(
        target, GrowPlan(criterion="gini", max_features=2), bag, (seeds, seeds), n_threads, **options
    )


def test_trees_of_a_forest_are_in_their_order_whatever_the_threads():
    one, four = (grow_forest(25, n_threads) for n_threads in (1, 4))
    assert one.n_trees == 25
    assert dumps(one) == dumps(four)
    assert len({tree.threshold.tobytes() for tree in one.trees()}) == 25  # so the order matters


@pytest.mark.parametrize("n_cities", [0, 9])
def test_the_core_joins_trees_as_they_are_joined_one_by_one(n_cities):
    counts = []
    joined = grow_forest(9, 1, n_cities, progress=counts.append)
    assert counts == list(range(1, 10))
    one_by_one = grow_forest(9, 1, n_cities, prune=lambda tree: tree)
    assert (len(joined.set_bits) > 0) == (n_cities > 0)
    assert dumps(joined) == dumps(one_by_one)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_what_goes_wrong_when_a_tree_is_pruned_stops_the_forest(n_threads):
    kept = []

    def prune(tree):
        if len(kept) == 3:
            raise RuntimeError("no room")
        kept.append(tree)
        return tree

    with pytest.raises(RuntimeError, match="no room"):
        grow_forest(200, n_threads, prune=prune)
    assert len(kept) == 3

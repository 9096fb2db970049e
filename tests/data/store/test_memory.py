"""The memory of a build is bounded by blocks and the sample, not by the table."""

import subprocess
import sys
import textwrap

import pytest

SCRIPT = textwrap.dedent("""
    import resource, sys
    import numpy as np
    from spinney.data import BinnedDataset
    from spinney.data.store import build, dataset, survey, table_files, writer  # before the limit
    n_parts, n_columns = 80, 40

    def frames():
        for part in range(n_parts):
            rng = np.random.default_rng(part)
            X = rng.normal(size=(50_000, n_columns))
            X[:, 1] = rng.integers(0, 9, len(X))
            yield X, X[:, 0] > 0

    first = next(frames())
    BinnedDataset.build([first], sys.argv[1] + "-warm", n_jobs=1)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    allowed = 600 << 20
    resource.setrlimit(resource.RLIMIT_AS, (used + allowed, used + allowed))
    table_bytes = n_parts * 50_000 * n_columns * 8
    assert table_bytes > 2 * allowed
    store = BinnedDataset.build(frames, sys.argv[1], n_jobs=1)
    print(store.n_rows, store.n_blocks, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
""")


@pytest.mark.long
def test_a_table_larger_than_memory_is_built(tmp_path):
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "store")]
    out = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert out.returncode == 0, out.stderr[-2000:]
    n_rows, n_blocks, _ = map(int, out.stdout.split())
    assert (n_rows, n_blocks) == (4_000_000, 62)


FIT = textwrap.dedent("""
    import resource, sys
    import numpy as np
    from spinney import GradientBoostingClassifier
    from spinney.data import BinnedDataset
    n_rows, n_columns = 300_000, 512

    def frames():
        rng = np.random.default_rng(0)
        for begin in range(0, n_rows, 50_000):
            X = rng.random((50_000, n_columns), dtype=np.float32)
            yield X, X[:, 0] + X[:, 1] > 1

    def data_bytes():
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmData"))

    model = GradientBoostingClassifier(n_estimators=2, early_stopping=False, n_members=1, max_leaf_nodes=8,
                                       growth="leaf-wise", n_jobs=1, random_state=0)
    if sys.argv[2] == "build":
        BinnedDataset.build(frames, sys.argv[1], n_jobs=1)
        sys.exit()
    small = BinnedDataset.build(np.random.rand(500, 3), sys.argv[1] + "-warm", target=np.arange(500) % 2)
    small.max_memory = 0
    model.fit(small)
    store = BinnedDataset.open(sys.argv[1])
    allowed = store.n_rows * store.n_features // 4
    limit = data_bytes() + allowed
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    model.fit(store)
    print(model.traffic_.n_trees)
    store.max_memory = 1 << 40
    try:
        model.fit(store)
    except MemoryError:
        print("not in memory")
""")


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_DATA counts private memory on Linux")
def test_a_store_four_times_the_memory_that_a_fit_may_take(tmp_path):
    """Codes are files that are mapped, so only private memory counts; a fit in memory runs out of it."""
    outputs = []
    for step in ("build", "fit"):
        command = [sys.executable, "-c", FIT, str(tmp_path / "store"), step]
        out = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
        assert out.returncode == 0, out.stderr[-2000:]
        outputs.append(out.stdout)
    assert outputs[1].split("\n")[:2] == ["2", "not in memory"]


NARROW = textwrap.dedent("""
    import resource, sys
    import numpy as np
    from spinney import *
    from spinney.data import BinnedDataset
    n_rows, n_columns = 6_000_000, 28

    def frames():
        rng = np.random.default_rng(0)
        for begin in range(0, n_rows, 200_000):
            X = rng.random((200_000, n_columns), dtype=np.float32)
            yield X, (X[:, 0] + X[:, 1] > 1).astype(np.int8)

    def data_bytes():
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmData"))

    small = BinnedDataset.build(np.random.rand(500, 3), sys.argv[1] + "-warm", target=np.arange(500) % 2)
    small.max_memory = 0
    BinnedDataset.build(frames, sys.argv[1], n_jobs=1)
    store = BinnedDataset.open(sys.argv[1])
    allowed = store.n_rows * store.n_features // 4
    store.max_memory = allowed // 4
    models = [
        GradientBoostingClassifier(n_estimators=2, early_stopping=False, preset="classic", n_jobs=1),
        DecisionTreeClassifier(max_bins=255, max_depth=10, n_jobs=1),
        RandomForestClassifier(2, max_depth=10, n_jobs=1),
        ExtraTreesClassifier(2, max_depth=10, n_jobs=1),
    ]
    for model in models:
        model.fit(small)
    limit = data_bytes() + allowed
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    for model in models:
        model.fit(store)
        print(type(model).__name__, flush=True)
    store.max_memory = 1 << 40
    try:
        models[1].fit(store)
    except MemoryError:
        print("limited")
""")


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_DATA counts private memory on Linux")
def test_a_narrow_table_four_times_the_memory(tmp_path):
    """Targets, samples and scores of 28 columns' rows take more than their codes: they are in files, too."""
    command = [sys.executable, "-c", NARROW, str(tmp_path / "store")]
    out = subprocess.run(command, capture_output=True, text=True, check=False, timeout=800)
    assert out.returncode == 0, out.stderr[-2000:]
    assert len(out.stdout.split()) == 5, out.stdout

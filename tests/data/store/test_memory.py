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

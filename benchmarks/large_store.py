"""Gradient boosting on a store that is generated on disk and read block by block.

    python -m benchmarks.large_store [--rows 100000000] [--trees 20] [--folder /tmp] [--library xgboost]

Seconds, processor time and peak memory of building the store and of the fit, or of XGBoost's external memory
with trees of 32 leaves by levels, as its documentation advises. The store, one byte per value, and the
temporary files of the fit, about 40 bytes per row, are deleted at the end.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

N_COLUMNS = 28
BATCH = 1_000_000


def frames(n_rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield features and classes; batch k is drawn from seed k."""
    for k, begin in enumerate(range(0, n_rows, BATCH)):
        rng = np.random.default_rng(k)
        n = min(BATCH, n_rows - begin)
        X = rng.random((n, N_COLUMNS), dtype=np.float32)
        score = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.random(n, dtype=np.float32)
        yield X, (score > 1.0).astype(np.int8)


class Stopwatch:
    """Seconds by the clock and of the processor since it was made, and the peak of memory."""

    def __init__(self) -> None:
        self._began, self._cpu = time.perf_counter(), time.process_time()

    def __str__(self) -> str:
        wall, cpu = time.perf_counter() - self._began, time.process_time() - self._cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        return f"{wall:.0f} s, processor {cpu:.0f} s, peak of resident memory {peak} MB"


def run_spinney(n_rows: int, n_trees: int, n_threads: int, folder: Path) -> None:
    from spinney import GradientBoostingClassifier
    from spinney.data import BinnedDataset

    watch = Stopwatch()
    dataset = BinnedDataset.build(lambda: frames(n_rows), folder / "store", n_jobs=n_threads)
    print(f"build: {watch}", flush=True)
    dataset.max_memory = n_rows * N_COLUMNS // 4
    watch = Stopwatch()
    model = GradientBoostingClassifier(
        n_estimators=n_trees, preset="classic", early_stopping=False, random_state=0, n_jobs=n_threads
    )
    model.fit(dataset, callbacks=lambda _: print(f"round: {watch}", flush=True))
    print(f"fit: {watch}; {model.traffic_}")


def run_xgboost(n_rows: int, n_trees: int, n_threads: int, folder: Path) -> None:
    import xgboost

    class Batches(xgboost.DataIter):
        def __init__(self) -> None:
            super().__init__(cache_prefix=str(folder / "cache"), on_host=False)
            self.left = frames(n_rows)

        def next(self, input_data: Callable[..., None]) -> bool:
            for X, y in self.left:
                input_data(data=X, label=y)
                return True
            return False

        def reset(self) -> None:
            self.left = frames(n_rows)

    watch = Stopwatch()
    matrix = xgboost.ExtMemQuantileDMatrix(Batches(), max_bin=255, nthread=n_threads)
    print(f"build: {watch}", flush=True)
    watch = Stopwatch()
    params = {"tree_method": "hist", "max_depth": 5, "objective": "binary:logistic", "max_bin": 255}
    xgboost.train(params | {"nthread": n_threads}, matrix, n_trees)
    print(f"fit: {watch}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--library", choices=("spinney", "xgboost"), default="spinney")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=args.folder))
    run = run_spinney if args.library == "spinney" else run_xgboost
    try:
        run(args.rows, args.trees, args.threads, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

import multiprocessing
import subprocess
import sys
import threading

import numpy as np
import pytest

from spinney.native import core


def build(columns, n_categories=(), weights=None, max_bins=255, n_threads=1):
    return core.build_codes(columns, list(n_categories), weights, max_bins, n_threads)


def test_a_block_and_its_columns_give_the_same_codes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    X[::5, 1] = np.nan
    X.flags.writeable = False
    apart, together = build(list(X.T)), build(X, n_threads=2)
    assert (together.n_rows, together.n_columns) == (700, 3)
    for j in range(3):
        np.testing.assert_array_equal(apart.codes(j), together.codes(j))
        np.testing.assert_array_equal(apart.lo(j), together.lo(j))
        assert together.n_bins(j) == 255
        assert together.has_missing(j) == (j == 1)
    assert (together.codes(1)[::5] == 255).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_codes_are_ranks(dtype):
    x = np.array([3, 1, 2, 1, np.nan, -0.0, 0.0], dtype)
    matrix = build([x], max_bins=0)
    assert matrix.codes(0).tolist() == [3, 1, 2, 1, 4, 0, 0]
    assert matrix.lo(0).tolist() == matrix.hi(0).tolist() == [0, 1, 2, 3]


def test_categories_have_their_own_codes():
    matrix = build([np.array([1, -1, 0], np.int32), np.zeros(3)], [2, 0])
    assert matrix.codes(0).tolist() == [1, 2, 0]
    assert matrix.bin_of_category(0).tolist() == [0, 1]


def test_extend_joins_matrices():
    matrix = build([np.arange(3.0)])
    matrix.extend(build([np.array([5.0, 4.0, 5.0])]))
    assert matrix.n_columns == 2
    assert matrix.codes(1).tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="number of rows"):
        matrix.extend(build([np.arange(4.0)]))


@pytest.mark.parametrize(
    ("columns", "options", "error", "message"),
    [
        ([np.zeros(2), np.zeros(3)], {}, ValueError, "column 1 has 3 rows"),
        ([np.zeros(2, np.int64)], {}, TypeError, "column 0 has the element format 'l'"),
        ([np.zeros((2, 2))], {}, ValueError, "column 0 must be 1-D"),
        (np.zeros(2), {}, ValueError, "2-D"),
        ([np.zeros(2)], {"max_bins": 1}, ValueError, "max_bins"),
        ([np.zeros(2)], {"max_bins": 256}, ValueError, "max_bins"),
        ([np.zeros(2)], {"n_categories": [3]}, ValueError, "column 0 has categories"),
        ([np.zeros(2)], {"n_categories": [0, 0]}, ValueError, "n_categories"),
        ([np.zeros(2)], {"weights": np.zeros(3)}, ValueError, "weights"),
        ([None], {}, TypeError, "bytes-like|buffer"),
        (7, {}, TypeError, "len"),
    ],
)
def test_wrong_inputs_are_named(columns, options, error, message):
    with pytest.raises(error, match=message):
        build(columns, **options)
    with pytest.raises(IndexError):
        build([np.zeros(1)]).codes(1)


def polls_of(work):
    core.interrupt_at_poll(2**40)
    try:
        work()
        return 2**40 - core.polls_until_interrupt()
    finally:
        core.interrupt_at_poll(0)


def test_a_signal_stops_the_work_at_any_poll():
    columns = list(np.random.default_rng(0).normal(size=(20, 3000)))
    n_polls = polls_of(lambda: build(columns, max_bins=0))
    assert n_polls >= 20
    for n_threads, moments in ((1, range(1, n_polls + 1)), (2, [1])):
        for n in moments:
            core.interrupt_at_poll(n)
            with pytest.raises(KeyboardInterrupt):
                build(columns, max_bins=0, n_threads=n_threads)
            assert core.polls_until_interrupt() == 0


def test_polls_bound_the_rows_between_them():
    x = np.random.default_rng(0).normal(size=400_000)
    few, many = (polls_of(lambda rows=rows: build([x[:rows]], max_bins=0)) for rows in (40_000, 400_000))
    assert many > 5 * few


def test_the_lock_is_released_during_the_work():
    """The interpreter never takes the lock away here: another thread gets it from the core or not at all."""
    columns = list(np.random.default_rng(0).normal(size=(20, 3000)))
    begin, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: (begin.wait(), done.set()))
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e6)
    try:
        begin.set()
        assert any(build(columns, max_bins=0) and done.is_set() for _ in range(2000))
    finally:
        sys.setswitchinterval(interval)
        thread.join()


def _codes_on_threads(x):
    return build(x, n_threads=3).codes(0)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_threads_work_before_and_after_a_fork():
    x = np.random.default_rng(0).normal(size=(20_000, 4))
    expected = _codes_on_threads(x)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        answers = pool.map_async(_codes_on_threads, [x] * 4).get(timeout=60)
    for answer in answers:
        np.testing.assert_array_equal(answer, expected)
    np.testing.assert_array_equal(_codes_on_threads(x), expected)


def test_a_process_with_sleeping_threads_ends():
    # The core alone: importing the package takes longer than the threads do.
    code = (
        "import sys; import importlib.util as u; import numpy as np;"
        "spec = u.spec_from_file_location(*sys.argv[1:]);"
        "core = u.module_from_spec(spec); spec.loader.exec_module(core);"
        "core.build_codes(np.zeros((9000, 3)), [], None, 255, 4)"
    )
    for _ in range(3):
        command = [sys.executable, "-c", code, core.__name__, core.__file__]
        subprocess.run(command, check=True, timeout=60)

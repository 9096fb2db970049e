"""The cores that a container allows are those that joblib counts, without importing joblib."""

import subprocess
import sys

import joblib
import pytest

from spinney.core import cores
from spinney.core.cores import core_limit


def run(code: str, **environment: str) -> str:
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment or None
    )
    return found.stdout.strip()


def test_the_limit_is_that_of_joblib(monkeypatch: pytest.MonkeyPatch) -> None:
    assert min(core_limit(), joblib.cpu_count()) == joblib.cpu_count()
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert core_limit() == joblib.cpu_count() == 1
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "many")
    assert core_limit() >= 1


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.max": "damaged"}, None),
        ({"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_quotas_of_both_versions_of_cgroups(files, expected, tmp_path, monkeypatch) -> None:
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(cores, "_CGROUP", tmp_path)
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT", raising=False)
    assert core_limit() == (cores._UNLIMITED if expected is None else expected)


def test_threads_are_counted_without_joblib_and_threadpoolctl() -> None:
    count = "from spinney.core.parameters import thread_count; n = thread_count(None)"
    told = "import sys; print(n, 'joblib' in sys.modules, 'threadpoolctl' in sys.modules)"
    same = run(f"import joblib, sklearn; {count}; print(n)")
    assert run(f"{count}; {told}") == f"{same} False False"
    assert run(f"{count}; {told}", OMP_NUM_THREADS="1") == "1 False False"

"""Time contenders side by side: alternating, medians, the score of each, and the memory it needs."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

MINIMUM_REPEATS = 5


class NotMeasuredError(Exception):
    """Raised when a contender cannot run here (not installed, too slow); the report shows its message."""


@dataclass
class Contender:
    """Name a library and how it does the job; `run` returns a model (or anything that `score` takes).

    A job that times itself, because its start-up is not what is measured, returns `Timed`.
    """

    name: str
    run: Callable[[], Any]
    score: Callable[[Any], float] | None = None
    memory: bool = True  # measure the peak of a process that does the job; off for other programs' processes


@dataclass
class Timed:
    """Carry a result with the seconds that its own clock measured."""

    seconds: float
    result: Any


@dataclass
class Measurement:
    """The measurements of one contender."""

    name: str
    seconds: list[float] = field(default_factory=list)
    score: float | None = None
    peak_megabytes: float | None = None  # above what the process held before the job
    reason: str = ""  # why it was not measured

    @property
    def median(self) -> float | None:
        """Return the median time, None where there was no run."""
        return statistics.median(self.seconds) if self.seconds else None


@dataclass
class Comparison:
    """One case: Spinney first, then its peers."""

    case: str
    measurements: list[Measurement]
    input_megabytes: float | None = None
    note: str = ""

    def ratio(self, peer: Measurement) -> float | None:
        """Return how many times as long as Spinney a peer takes, None where either is not measured."""
        own, other = self.measurements[0].median, peer.median
        return other / own if own and other is not None else None


def compare(
    case: str,
    contenders: Sequence[Contender],
    *,
    repeats: int = MINIMUM_REPEATS,
    input_megabytes: float | None = None,
    note: str = "",
) -> Comparison:
    """Measure the contenders in turn, `repeats` rounds over, so that a noisy minute hits all of them.

    Memory is measured first, each in a forked process of its own, before any run has grown this one.
    """
    found = [Measurement(contender.name) for contender in contenders]
    for contender, measurement in zip(contenders, found, strict=True):
        if contender.memory:
            measurement.peak_megabytes = peak_megabytes(contender.run)
    for _ in range(repeats):
        for contender, measurement in zip(contenders, found, strict=True):
            if not measurement.reason:
                _run_once(contender, measurement)
    return Comparison(case, found, input_megabytes, note)


def _run_once(contender: Contender, measurement: Measurement) -> None:
    """Run once and add the time; the first run also gives the score."""
    gc.collect()
    start = time.perf_counter()
    try:
        result = contender.run()
    except NotMeasuredError as error:
        measurement.reason = str(error)
        return
    except ImportError as error:
        measurement.reason = f"not measured: {error}"
        return
    seconds = time.perf_counter() - start
    if isinstance(result, Timed):
        seconds, result = result.seconds, result.result
    if not measurement.seconds and contender.score is not None:
        measurement.score = contender.score(result)
    measurement.seconds.append(seconds)


def peak_megabytes(job: Callable[[], Any]) -> float | None:
    """Return by how much a job raises the memory of a forked process, None where it cannot be measured.

    >>> peak_megabytes(lambda: bytes(2**26))  # doctest: +SKIP
    64.1
    """
    if not Path("/proc/self/status").exists():
        return None
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=_report_peak, args=(job, send))
    child.start()
    send.close()
    try:
        peak: float | None = receive.recv()
    except EOFError:  # the job failed; running it for its time tells why
        peak = None
    child.join()
    return peak


def _report_peak(job: Callable[[], Any], send: Connection) -> None:
    """Run the job in the child; a forked process starts with a high-water mark of its present size."""
    gc.collect()
    _give_back_free_memory()
    before = status_megabytes("VmRSS")
    try:
        kept = job()
    except Exception:
        return
    send.send(status_megabytes("VmHWM") - before)
    del kept


def _give_back_free_memory() -> None:
    """Return free memory to the system, so that a job that reuses it is measured too."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of the C library of GNU systems
    if trim is not None:
        trim(0)


def status_megabytes(key: str) -> float:
    """Read one figure of this process, such as VmRSS (now) or VmHWM (the highest so far)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1024
    raise NotMeasuredError(f"this system does not report {key}")

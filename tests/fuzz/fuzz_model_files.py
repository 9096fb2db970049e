"""Damage saved models at random and load them: a ModelFileError may come of it, or a model that predicts.

    python tests/fuzz/fuzz_model_files.py --n 100000 --processes 2

Case i is a function of (seed, i) alone; `--only i` runs that case by itself. Models are fitted once; then
processes are forked, which share the cases.
"""

import argparse
import faulthandler
import multiprocessing
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.subjects import Subject, learners, predictors, toys
from spinney import DecisionTreeClassifier
from spinney.io import ModelFileError, UnsavableValue, dumps, loads
from spinney.io.container import decode, encode
from spinney.io.document import Tagged
from spinney.native import core

SECONDS = 1.0
FORBIDDEN = {"import", "exec", "compile", "pickle.find_class", "os.system", "subprocess.Popen"}
INTEGERS = (0, 1, -1, 2, 127, 255, 256, 2**31 - 1, -(2**31), 2**31, 2**32, 2**53, 2**63 - 1, -(2**63), 2**64)
FLOATS = (0.0, -0.0, 1.0, -1.0, 5e-324, 1e308, -1e308, float("inf"), float("-inf"), float("nan"))
STRINGS = ("", "gini", "\x00", "x" * 300, "汉", "os:system", "__class__", "self")


class Watch:
    """Notes what the interpreter is asked to do while a file is loaded."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self.note)

    def note(self, event: str, _arguments: Any) -> None:
        if self.on and event in FORBIDDEN:
            self.seen.append(event)


@dataclass
class Saved:
    """A subject's file, its document, and rows for the model."""

    name: str
    data: bytes
    rows: Any


def repaired(data: bytes) -> bytes:
    if len(data) < 40:
        return data
    return data[:24] + blake2b(data[:24] + data[40:], digest_size=16).digest() + data[40:]


# --- Damage to the bytes -----------------------------------------------------------------------------------


def flip_bits(data: bytes, rng: random.Random, _other: bytes) -> bytes:
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def truncate(data: bytes, rng: random.Random, _other: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def splice(data: bytes, rng: random.Random, other: bytes) -> bytes:
    """Put a piece of a file, often moved by whole words, over or into another."""
    begin = rng.randrange(len(other)) & ~rng.choice((0, 7))
    piece = other[begin : begin + rng.choice((1, 4, 8, 16, 64, 256))]
    at = rng.randrange(len(data)) & ~rng.choice((0, 7))
    return data[:at] + piece + data[at + rng.choice((0, len(piece))) :]


def write_number(data: bytes, rng: random.Random, _other: bytes) -> bytes:
    """Overwrite a field with an extreme number, as a wrong count or length would be."""
    size = rng.choice((1, 2, 4, 8))
    at = rng.randrange(max(len(data) - size, 1))
    number = rng.choice(INTEGERS) % 256**size
    return data[:at] + number.to_bytes(size, "little") + data[at + size :]


BYTE_DAMAGE: tuple[Callable[[bytes, random.Random, bytes], bytes], ...] = (
    flip_bits,
    truncate,
    splice,
    write_number,
)


# --- Damage to the document --------------------------------------------------------------------------------


def places(document: Any) -> list[tuple[Any, Any]]:
    """List every (container, key) under which a value stands."""
    found: list[tuple[Any, Any]] = []
    stack = [document]
    while stack:
        here = stack.pop()
        if isinstance(here, dict | list):
            # The first item of a list is the mark of its kind.
            for key in here if isinstance(here, dict) else range(1, len(here)):
                found.append((here, key))
                stack.append(here[key])
    return found


def thawed(value: Any) -> Any:
    """Copy a document so that it can be changed: tuples and tags become lists marked with their kind."""
    if isinstance(value, Tagged):
        return ["\0tag", value.name, thawed(value.value)]
    if isinstance(value, tuple):
        return ["\0tuple", *map(thawed, value)]
    if isinstance(value, list):
        return ["\0list", *map(thawed, value)]
    if isinstance(value, dict):
        return {key: thawed(item) for key, item in value.items()}
    return value


def frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    kind, *items = value
    if kind == "\0tag" and len(items) == 2 and isinstance(items[0], str):
        return Tagged(items[0], frozen(items[1]))
    items = [frozen(item) for item in items]
    return tuple(items) if kind == "\0tuple" else items


def changed_array(array: np.ndarray, rng: random.Random) -> Any:
    how = rng.randrange(8)
    if how == 0:
        return array.astype(rng.choice(("i1", "i4", "i8", "u1", "u8", "f4", "f8", "?")), copy=True)
    if how == 1:
        return array[: rng.randrange(len(array) + 1)] if array.ndim else array.reshape(1)
    if how == 2:
        return (
            array.reshape(rng.choice(((-1,), (1, -1), (-1, 1)))) if array.size else np.zeros(3, array.dtype)
        )
    if how == 3 and array.ndim:
        return np.concatenate([array, array])
    array = array.copy()
    flat = array.reshape(-1)
    for _ in range(rng.choice((1, 1, 2, 5)) if flat.size else 0):
        at = rng.randrange(flat.size)
        if array.dtype.kind == "f":
            flat[at] = rng.choice((*FLOATS, float(flat[at]) * 2))
        elif array.dtype.kind == "b":
            flat[at] = not flat[at]
        else:
            bounds = np.iinfo(array.dtype)
            near = int(flat[at]) + rng.choice((-2, -1, 1, 2))
            flat[at] = min(max(rng.choice((*INTEGERS, near, near, near)), bounds.min), bounds.max)
    return array


def changed_value(value: Any, rng: random.Random) -> Any:
    if isinstance(value, np.ndarray) and rng.random() < 0.9:
        with np.errstate(all="ignore"):
            return changed_array(value, rng)
    if isinstance(value, list) and len(value) > 1 and rng.random() < 0.7:
        items = value[:]
        at = rng.randrange(1, len(items))
        items[at : at + 1] = rng.choice(([], [items[at]] * 2, [items[-1]]))
        return items
    if type(value) is int and rng.random() < 0.7:
        return value + rng.choice((-1, 1, 1000, 2**31))
    extreme = (None, True, rng.choice(INTEGERS), rng.choice(FLOATS), rng.choice(STRINGS), b"", ["\0list"], {})
    return rng.choice((*extreme, np.zeros(0), np.zeros((1, 1, 1)), np.array([2**31 - 1], np.int32)))


def edit_document(data: bytes, rng: random.Random, other: bytes) -> bytes:
    """Change values of the document, or move a part of another in, and write a right file around it."""
    document = thawed(decode(data))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        spots = places(document)
        container, key = rng.choice(spots)
        how = rng.random()
        if how < 0.75:
            container[key] = changed_value(container[key], rng)
        elif how < 0.85:
            if isinstance(container, dict):
                del container[key]
        elif how < 0.92:
            if isinstance(container, dict):
                container[rng.choice((*STRINGS, "trees_", "tree_"))] = container.pop(key)
        else:
            source, name = rng.choice(places(thawed(decode(other))) if rng.random() < 0.5 else spots)
            if not isinstance(source[name], dict | list):  # a part may not come to contain itself
                container[key] = source[name]
            else:
                container[key] = thawed(frozen(source[name]))
    return encode(frozen(document))


# --- The loop --------------------------------------------------------------------------------------------


def mutant(saved: list[Saved], seed: int, case: int) -> tuple[Saved, str, bytes]:
    rng = random.Random(f"{seed}:{case}")
    victim, other = rng.choice(saved), rng.choice(saved)
    if rng.random() < 0.6:
        try:
            return victim, "edit_document", edit_document(victim.data, rng, other.data)
        except UnsavableValue:
            return victim, "unchanged", victim.data
    damage = rng.choice(BYTE_DAMAGE)
    data = damage(victim.data, rng, other.data)
    if rng.random() < 0.8:  # else nothing behind the checksum would be reached
        return victim, f"{damage.__name__}, mended", repaired(data)
    return victim, damage.__name__, data


def outcome(victim: Saved, data: bytes, watch: Watch) -> str:
    """Load and predict; return what came of it, and let every other exception out."""
    watch.on = True
    try:
        model = loads(data)
    except ModelFileError as error:
        return type(error).__name__
    finally:
        watch.on = False
    if victim.rows is None or not hasattr(model, "predict"):
        return "loaded"
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as that the model was fitted without names
            model.predict(victim.rows)
    except ValueError:
        # A file may hold a sound model for other data, or one not fitted; it says so as any model does.
        return "loaded, refused the rows"
    return "loaded and predicted"


def save_subjects(subjects: list[Subject], watch: Watch) -> list[Saved]:
    """Fit the subjects, save them, and load each undamaged; raise if that imports something."""
    saved = [Saved(subject.name, dumps(subject.fit()), subject.rows()) for subject in subjects]
    repr(DecisionTreeClassifier())  # imports what scikit-learn needs to write a model, as messages do
    for one in saved:  # once undamaged, so that what is imported on first use is there
        outcome(one, one.data, watch)
        if watch.seen:
            raise AssertionError(f"Loading {one.name} raised the audit events {watch.seen}.")
    return saved


def fuzz(saved: list[Saved], cases: range, seed: int, watch: Watch) -> Counter[str]:
    """Run the cases; raise at the first that breaks a promise."""
    results: Counter[str] = Counter()
    for case in cases:
        victim, how, data = mutant(saved, seed, case)
        faulthandler.dump_traceback_later(60, exit=True)  # the kernels cannot be interrupted otherwise
        begin, worked = time.perf_counter(), time.process_time()
        try:
            result = outcome(victim, data, watch)
        except BaseException as error:
            error.add_note(
                f"Case {case} of seed {seed}: {victim.name}, {how}. Run it alone with --only {case}."
            )
            raise
        finally:  # or the clock would end the process later, without a word
            faulthandler.cancel_dump_traceback_later()
        # The lesser of the two: a busy machine makes the wall clock late, many threads the processor's.
        seconds = min(time.perf_counter() - begin, time.process_time() - worked)
        if seconds > SECONDS or watch.seen:
            raise AssertionError(f"Case {case} ({victim.name}, {how}): {seconds:.2f} s, audit {watch.seen}.")
        results[result] += 1
    return results


def fuzz_in_processes(
    saved: list[Saved], cases: range, seed: int, watch: Watch, n_processes: int
) -> Counter[str]:
    """Run the cases in forked processes; raise if one of them fails or dies, which then has said why."""
    context = multiprocessing.get_context("fork")
    results: Any = context.SimpleQueue()

    def run(share: range) -> None:
        results.put(fuzz(saved, share, seed, watch))

    # An even number of processes must not give one of them all even cases, so shares are blocks.
    size = -(-len(cases) // n_processes)
    shares = [cases[begin : begin + size] for begin in range(0, len(cases), size)]
    processes = [context.Process(target=run, args=(share,)) for share in shares]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    broken = [share for share, process in zip(shares, processes, strict=True) if process.exitcode != 0]
    if broken:
        raise SystemExit(f"A process failed or died among the cases {broken} of seed {seed}.")
    return sum((results.get() for _ in processes), Counter[str]())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=20250101)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", type=int, help="run this case alone")
    parser.add_argument("--core-in", type=Path, help="refuse to run if the compiled core lies elsewhere")
    options = parser.parse_args()
    loaded = Path(str(core.__file__)).resolve()
    if options.core_in is not None and not loaded.is_relative_to(options.core_in.resolve()):
        parser.error(f"the core is {loaded}, which is not in {options.core_in}")
    print(f"Core: {loaded}")
    cases = range(options.n) if options.only is None else range(options.only, options.only + 1)
    subjects = [*toys(), *learners(), *predictors()]
    begin = time.perf_counter()
    watch = Watch()
    saved = save_subjects(subjects, watch)
    results = fuzz_in_processes(saved, cases, options.seed, watch, options.processes)
    seconds = time.perf_counter() - begin
    counts = ", ".join(f"{count} {result}" for result, count in results.most_common())
    print(f"{len(cases)} damaged files of {len(subjects)} models in {seconds:.0f} s, no crash: {counts}")


if __name__ == "__main__":
    main()

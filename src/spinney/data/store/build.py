"""Building a store: the two passes over a source, resumed where an earlier build was stopped."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from spinney.core.arrays import Floats
from spinney.core.errors import InputError, InputTypeError, show_value
from spinney.core.progress import ProgressBar
from spinney.data.store.errors import SourceChangedError, StoreError
from spinney.data.store.files import CATEGORIES, CODES, GROUP, TARGET, WEIGHTS, BlockFiles
from spinney.data.store.manifest import MANIFEST, ROWS_STEP, Manifest, read_manifest, write_manifest
from spinney.data.store.roles import Roles, RowBatch, where_changed
from spinney.data.store.sources import BatchSource, TableSource, frame_columns, open_batches
from spinney.data.store.survey import Survey, Surveyor, WeightFacts, count_values
from spinney.data.store.table_files import same_files
from spinney.data.store.writer import BlockWriter

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_LOCK = "lock"
_FILES = frozenset({MANIFEST, _LOCK, CODES, CATEGORIES, TARGET, WEIGHTS, GROUP})
_SAMPLE_BYTES = 1 << 28
"""Size up to which samples of columns are in memory; those of further columns are on disk."""


@dataclass(frozen=True)
class BuildOptions:
    """Arguments of a build; see `BinnedDataset.build`."""

    target: Any = None
    sample_weight: Any = None
    group: Any = None
    features: Sequence[str] | None = None
    categorical_features: Any = None
    max_bins: int = 255
    block_rows: int = 65536
    n_threads: int = 1
    verbose: bool = False

    def __post_init__(self) -> None:
        if type(self.max_bins) is not int or not 2 <= self.max_bins <= 255:
            raise InputError(f"max_bins is {show_value(self.max_bins)}; it takes an integer from 2 to 255.")
        rows = self.block_rows
        if type(rows) is not int or rows < ROWS_STEP or rows % ROWS_STEP or rows > 1 << 28:
            raise InputError(f"block_rows is {show_value(rows)}; it takes a multiple of {ROWS_STEP}.")

    def plain(self) -> dict[str, Any]:
        """Return the arguments that a store depends on, as plain data; arrays are left out."""
        named = {name: getattr(self, name) for name in ("target", "sample_weight", "group")}
        plain: dict[str, Any] = {
            name: value if isinstance(value, str) else list(value) if _is_names(value) else None
            for name, value in named.items()
        }
        plain["features"] = None if self.features is None else list(self.features)
        chosen = self.categorical_features
        plain["categorical_features"] = None if chosen is None else np.asarray(chosen).tolist()
        return plain | {"max_bins": self.max_bins, "block_rows": self.block_rows}


def _is_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def build_store(source: Any, path: Path, options: BuildOptions, *, overwrite: bool) -> None:
    """Build a store, finish one that is half-written, or do nothing if it is there.

    Parameters
    ----------
    source : object
        See `BinnedDataset.build`.
    path : Path
        Directory of the store.
    options : BuildOptions
        The arguments.
    overwrite : bool
        Whether to replace another store.
    """
    batches, roles = _open(source, path, options)
    _check_directory(path)
    fingerprint = batches.fingerprint()
    earlier = None if overwrite else _earlier(path, fingerprint, options)
    if earlier is not None and earlier.is_complete:
        return
    path.mkdir(parents=True, exist_ok=True)
    with _locked(path), batches.opened():
        try:
            roles, has_weights = _resolved(batches, roles)
            if earlier is None:
                _clear(path)
                facts = _measure(batches, roles, has_weights)
                survey = _survey(batches, roles, facts, path, options)
                earlier = _describe(survey, options, fingerprint)
                write_manifest(earlier, path)
            _write(batches, roles, path, earlier, options)
        except BaseException:
            _forget_unless_resumable(path, fingerprint)
            raise


def _open(source: Any, path: Path, options: BuildOptions) -> tuple[BatchSource, Roles]:
    """Open a source, and find out which of its columns are what."""
    opened = open_batches(source, path)
    names = (frame_columns(source) or []) if opened is None else None
    roles, arrays = Roles.read(options.target, options.sample_weight, options.group, options.features, names)
    if opened is None:
        return TableSource(source, arrays), roles
    if not arrays.is_empty:
        raise InputTypeError(
            "target, sample_weight or group is an array, but the source is not a table in memory",
            fix="Name a column of the source instead.",
        )
    return opened, roles


def open_source_batches(source: Any) -> BatchSource:
    """Open the rows of any source; a stream that can be read only once is kept in the temporary directory.

    Parameters
    ----------
    source : object
        See `BinnedDataset.build`.

    Returns
    -------
    BatchSource
        The rows.
    """
    return _open(source, Path(tempfile.gettempdir()), BuildOptions())[0]


def _check_directory(path: Path) -> None:
    """Refuse a directory that holds anything but a store."""
    if path.exists() and not path.is_dir():
        raise StoreError(f"{str(path)!r} is a file; a binned store is a directory.")
    if path.is_dir():
        foreign = sorted({entry.name for entry in path.iterdir() if not entry.name.startswith(".")} - _FILES)
        if foreign:
            raise StoreError(
                f"The directory {str(path)!r} holds other files, such as {foreign[0]!r}",
                fix="Choose a directory of its own for the store.",
            )


def _earlier(path: Path, fingerprint: list[Any] | None, options: BuildOptions) -> Manifest | None:
    """Return the manifest of a store of the same source, None if there is none; raise for another one."""
    if not (path / MANIFEST).exists():
        return None
    manifest = read_manifest(path)
    what = None
    if fingerprint is None or manifest.fingerprint is None:
        what = "its source cannot be compared with this one"
    elif (name := same_files(manifest.fingerprint, fingerprint)) is not None:
        what = f"the file {name!r} is not the one it was built from"
    elif manifest.options != options.plain():
        changed = next(name for name, value in options.plain().items() if manifest.options.get(name) != value)
        what = f"it was built with {changed}={show_value(manifest.options.get(changed))}"
    if what is None:
        return manifest
    raise SourceChangedError(
        f"{str(path)!r} has a binned store already, and {what}",
        fix="Pass overwrite=True to replace it, or open it with BinnedDataset.open.",
    )


def check_same_source(manifest: Manifest, source: Any, path: Path) -> None:
    """Raise SourceChangedError unless a store was built from files that are as they were.

    Parameters
    ----------
    manifest : Manifest
        The store.
    source : object
        Its source.
    path : Path
        Directory of the store.
    """
    fingerprint = _open(source, path, BuildOptions())[0].fingerprint()
    if fingerprint is None or manifest.fingerprint is None:
        raise SourceChangedError(f"The source of the store {str(path)!r} is not files to be compared.")
    name = same_files(manifest.fingerprint, fingerprint)
    if name is not None:
        raise SourceChangedError(
            f"The file {name!r} is not the one that the store {str(path)!r} was built from",
            fix="Build the store again with overwrite=True.",
        )


def _clear(path: Path) -> None:
    """Remove the files of an earlier store, its manifest first."""
    for name in (MANIFEST, *sorted(_FILES - {MANIFEST, _LOCK})):
        (path / name).unlink(missing_ok=True)


def _forget_unless_resumable(path: Path, fingerprint: list[Any] | None) -> None:
    """Remove what a failed build left, unless the next one can go on from there."""
    if fingerprint is None or not (path / MANIFEST).exists():
        _clear(path)
        (path / _LOCK).unlink(missing_ok=True)
        if not any(path.iterdir()):
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes from building the same store; the system releases the lock of a killed process."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"Another process is building the store {str(path)!r}.") from None
        yield
    finally:
        os.close(descriptor)
        (path / _LOCK).unlink(missing_ok=True)


# ---- the passes ----


def _resolved(source: BatchSource, roles: Roles) -> tuple[Roles, bool]:
    """Return the roles with the names of the features, and whether there are weights."""
    first = next(iter(source.batches()), None)
    if first is None:
        raise InputError("Found array with 0 sample(s): the source has no rows.")
    return roles.resolve(first), roles.weights is not None or first.weights is not None


def _survey(
    source: BatchSource, roles: Roles, facts: WeightFacts, path: Path, options: BuildOptions
) -> Survey:
    """Read the source for the first time."""
    surveyor = Surveyor(
        facts, options.max_bins, options.categorical_features, options.n_threads, _allocator(path)
    )
    with ProgressBar("BinnedDataset: reading", facts.n_rows, shown=options.verbose) as bar:
        done = 0
        for batch in source.batches(roles.columns):
            rows = roles.split(batch)
            surveyor.add(rows)
            done += rows.n_rows
            bar.update(done)
    return surveyor.finish(
        lambda columns: count_values(
            map(roles.split, source.batches(roles.columns)), columns, facts, options.n_threads
        )
    )


def _measure(source: BatchSource, roles: Roles, has_weights: bool) -> WeightFacts:
    """Count the rows and look at the weights; read only what is needed for that."""
    n_rows = source.n_rows
    if n_rows is not None and not has_weights:
        return WeightFacts(n_rows, n_rows)
    if roles.weights is None or roles.features is None:
        batches = map(roles.split, source.batches(roles.columns))
    else:
        only = Roles(weights=roles.weights, features=(roles.weights,))
        batches = map(only.split, source.batches([roles.weights]))
    return WeightFacts.measure((batch.n_rows, batch.weights) for batch in batches)


def _allocator(path: Path) -> Callable[[int], Floats]:
    """Return a function that makes arrays in memory, and beyond a limit on disk."""
    used = 0

    def allocate(n: int) -> Floats:
        nonlocal used
        used += 8 * n
        if used <= _SAMPLE_BYTES:
            return np.empty(n)
        with tempfile.TemporaryFile(dir=path) as file:
            return np.memmap(file, np.float64, "w+", shape=(n,))

    return allocate


def _describe(survey: Survey, options: BuildOptions, fingerprint: list[Any] | None) -> Manifest:
    return Manifest(
        n_rows=survey.facts.n_rows,
        block_rows=options.block_rows,
        max_bins=options.max_bins,
        schema=survey.schema.to_state(),
        bins=survey.bins,
        extents=survey.bins,
        category_bins=survey.category_bins,
        sampled=survey.sampled,
        varied_weights=survey.facts.varied,
        n_positive=survey.facts.n_positive,
        target=survey.target,
        has_weights=survey.has_weights,
        has_group=survey.has_group,
        options=options.plain(),
        fingerprint=fingerprint,
    )


def _write(source: BatchSource, roles: Roles, path: Path, manifest: Manifest, options: BuildOptions) -> None:
    """Read the source for the second time, and write the blocks that are not there yet."""
    files = BlockFiles(path, manifest)
    try:
        done = files.complete_blocks(manifest)
        if done < manifest.blocks_done:
            manifest = replace(manifest, blocks_done=0, extents=manifest.bins)
        writer = BlockWriter(path, files, manifest, options.n_threads)
        with ProgressBar("BinnedDataset: writing", manifest.n_rows, shown=options.verbose) as bar:
            for batch in source.batches(roles.columns):
                rows: RowBatch = roles.split(batch)
                writer.add(rows)
                bar.update(writer.n_rows)
        if source.fingerprint() != manifest.fingerprint:
            raise where_changed("", "a file is not as it was when the build began")
        writer.finish()
    finally:
        files.close()

"""Saving a model to a file, all or nothing, and loading it again."""

import os
import secrets
from pathlib import Path
from typing import Any, BinaryIO

from spinney.io.container import HEADER, BytesLike, decode, encode, read_header
from spinney.io.values import pack_model, unpack_model


def dumps(model: object) -> bytes:
    """Write a model as the bytes of a model file; the same model gives the same bytes.

    >>> dumps(model) == dumps(loads(dumps(model)))  # doctest: +SKIP
    True
    """
    return encode(pack_model(model)[0])


def loads(data: BytesLike) -> Any:
    """Build a model from the bytes of a model file.

    Safe for bytes from anywhere: nothing is imported or executed, and what is wrong is a `ModelFileError`.

    >>> loads(b"no model")
    Traceback (most recent call last):
    ...
    spinney.io.errors.NotAModelFile: This is not a Spinney model file: ...
    """
    return unpack_model(decode(data), read_header(data).version)


def save(model: object, path: str | os.PathLike[str] | BinaryIO) -> None:
    """Save a model to a path, or write it to a file opened in binary mode.

    The file appears whole or not at all: it is written under another name, forced to the disk, and renamed.
    What stood at the path before is there until then.

    >>> save(DecisionTreeClassifier().fit(X, y), "melons.spinney")  # doctest: +SKIP
    """
    data = dumps(model)
    if isinstance(path, str | os.PathLike):
        _replace(Path(path).resolve(), data)
    elif hasattr(path, "write"):
        path.write(data)
    else:
        raise TypeError(f"save() takes a path or a file opened in binary mode, not {type(path).__name__}.")


def load(source: str | os.PathLike[str] | BytesLike | BinaryIO) -> Any:
    """Load a model from a path, from bytes, or from a file opened in binary mode, which is read to its end.

    Safe for files from anywhere: nothing is imported or executed, and what is wrong is a `ModelFileError`.

    >>> load("melons.spinney").predict(X)  # doctest: +SKIP
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return loads(source)
    if isinstance(source, str | os.PathLike):
        with Path(source).open("rb") as stream:
            return loads(_read(stream))
    if hasattr(source, "read"):
        return loads(_read(source))
    raise TypeError(
        f"load() takes a path, bytes or a file opened in binary mode, not {type(source).__name__}."
    )


def _read(stream: BinaryIO) -> bytes:
    start = stream.read(HEADER.size)
    if not isinstance(start, bytes):
        raise TypeError("The file was opened in text mode; open it with mode 'rb'.")
    read_header(start)  # so that a large foreign file is refused unread
    return start + stream.read()


def _replace(path: Path, data: bytes) -> None:
    """Write a file under another name in the same directory and rename it."""
    directory = path.parent
    if not directory.is_dir():
        raise FileNotFoundError(f"Cannot save to {path}: there is no directory {directory}. Create it first.")
    if path.is_dir():
        raise IsADirectoryError(f"Cannot save to {path}: it is a directory. Add a file name to it.")
    temporary = directory / f".spinney-{secrets.token_hex(8)}.tmp"
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            if mode is not None:
                temporary.chmod(mode)
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(directory)


def _sync_directory(directory: Path) -> None:
    """Force the new name to the disk, where directories can be opened (not on Windows)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

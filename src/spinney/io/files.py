"""Saving a model to a file, all or nothing, and loading it."""

import os
import secrets
from pathlib import Path
from typing import Any, BinaryIO

from spinney.io.container import HEADER, BytesLike, decode, encode, read_header
from spinney.io.values import pack_model, unpack_model


def dumps(model: object) -> bytes:
    """Return a model as the bytes of a model file. The same model gives the same bytes.

    Parameters
    ----------
    model : object
        A fitted or unfitted model of Spinney, or an object of a subclass of `Persistent`.

    Returns
    -------
    bytes
        The content of the file.

    Raises
    ------
    UnsavableValue
        If a parameter or attribute cannot be stored, such as a function. The message names it.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> data = dumps(DecisionTreeClassifier(max_depth=3))
    >>> dumps(loads(data)) == data
    True
    """
    return encode(pack_model(model)[0])


def loads(data: BytesLike) -> Any:
    """Build a model from the bytes of a model file.

    Safe for bytes from any source: nothing is imported or executed.

    Parameters
    ----------
    data : bytes, bytearray or memoryview
        The content of a model file.

    Returns
    -------
    object
        The model. Its arrays are read-only views of `data`.

    Raises
    ------
    ModelFileError
        If the bytes are not a valid model file.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> loads(dumps(DecisionTreeClassifier(max_depth=3))).max_depth
    3
    >>> loads(b"no model")
    Traceback (most recent call last):
    ...
    spinney.io.errors.NotAModelFile: This is not a Spinney model file: ...
    """
    return unpack_model(decode(data), read_header(data).version)


def save(model: object, path: str | os.PathLike[str] | BinaryIO) -> None:
    """Save a model to a file.

    The file is complete or not there: it is written under a temporary name in the same directory, flushed to
    disk and renamed. A file that was at the path before stays until then.

    Parameters
    ----------
    model : object
        A fitted or unfitted model of Spinney, or an object of a subclass of `Persistent`.
    path : str, path or binary file
        Where to save it: a path, or a file opened with mode ``"wb"``.

    Raises
    ------
    UnsavableValue
        If a parameter or attribute cannot be stored, such as a function. Nothing is written then.

    Examples
    --------
    >>> from io import BytesIO
    >>> from spinney import DecisionTreeClassifier
    >>> file = BytesIO()
    >>> save(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]), file)
    >>> load(file.getvalue()).predict([[0.2]])
    array([0])
    """
    data = dumps(model)
    if isinstance(path, str | os.PathLike):
        _replace(Path(path).resolve(), data)
    elif hasattr(path, "write"):
        path.write(data)
    else:
        raise TypeError(f"save() takes a path or a file opened in binary mode, not {type(path).__name__}.")


def load(source: str | os.PathLike[str] | BytesLike | BinaryIO) -> Any:
    """Load a model from a file.

    Safe for files from any source: nothing is imported or executed.

    Parameters
    ----------
    source : str, path, bytes or binary file
        A path, the bytes of a model file, or a file opened with mode ``"rb"``, which is read to its end.

    Returns
    -------
    object
        The model.

    Raises
    ------
    ModelFileError
        If the file is not a valid model file.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> load(dumps(DecisionTreeClassifier(max_depth=3))).max_depth
    3
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
    read_header(start)  # a large file of another kind is refused before it is read
    return start + stream.read()


def _replace(path: Path, data: bytes) -> None:
    """Write a file under a temporary name in the same directory and rename it."""
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
    """Flush the new name to disk, on systems where directories can be opened (not Windows)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

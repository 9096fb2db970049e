"""Saving a model to a file, all or nothing, and loading it."""

import io
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from spinney.io.container import HEADER, BytesLike, decode, encode, read_header
from spinney.io.json_text import document_from_json, document_to_json
from spinney.io.values import pack_model, unpack_model

_CHUNK = 1 << 24
"""Bytes read at a time: the length in a header is not to be trusted with one allocation."""


def dumps(model: object, *, metadata: Mapping[str, Any] | None = None, compress: bool = False) -> bytes:
    """Return a model as the bytes of a model file. The same model gives the same bytes.

    Parameters
    ----------
    model : object
        A fitted or unfitted model of Spinney, or an object of a subclass of `Persistent`.
    metadata : dict or None, default=None
        Plain values to store beside the model, which `inspect_file` returns.
    compress : bool, default=False
        Whether to compress the bytes by zlib.

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
    return encode(pack_model(model, metadata)[0], compress=compress)


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


def save(
    model: object,
    path: str | os.PathLike[str] | BinaryIO,
    *,
    metadata: Mapping[str, Any] | None = None,
    compress: bool = False,
) -> None:
    """Save a model to a file.

    The file is complete or not there: it is written under a temporary name in the same directory, flushed to
    disk and renamed. A file that was at the path before stays until then. What a killed process left behind
    is removed at the next save to the same path.

    Parameters
    ----------
    model : object
        A fitted or unfitted model of Spinney, or an object of a subclass of `Persistent`.
    path : str, path or binary file
        Where to save it: a path, or a file opened with mode ``"wb"``, buffered or not.
    metadata : dict or None, default=None
        Plain values to store beside the model, such as its owner or the date of the training rows:
        numbers, strings, booleans, None, and lists and dicts of them. `inspect_file` returns them.
    compress : bool, default=False
        Whether to compress the file by zlib. Files of trees become about a third as large; loading takes
        longer, and needs memory for the file in both forms.

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
    data = dumps(model, metadata=metadata, compress=compress)
    if isinstance(path, str | os.PathLike):
        replace_file(path, data)
    elif hasattr(path, "write"):
        _write(path, data)
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
    return loads(read_source(source, "load"))


def read_source(source: str | os.PathLike[str] | BytesLike | BinaryIO, caller: str) -> BytesLike:
    """Return the bytes of a model file from a path, a file opened in binary mode, or the bytes themselves.

    Parameters
    ----------
    source : str, path, bytes or binary file
        The file.
    caller : str
        Name of the function to use in a message.

    Returns
    -------
    bytes, bytearray or memoryview
        The content of the file.
    """
    if isinstance(source, memoryview) and (source.format, source.ndim) != ("B", 1) and source.c_contiguous:
        return source.cast("B")
    if isinstance(source, bytes | bytearray | memoryview):
        return source
    if isinstance(source, str | os.PathLike):
        with Path(source).open("rb") as stream:
            return _read(stream)
    if hasattr(source, "read"):
        return _read(source)
    raise TypeError(
        f"{caller}() takes a path, bytes or a file opened in binary mode, not {type(source).__name__}."
    )


def to_json(model: object, *, metadata: Mapping[str, Any] | None = None, indent: int | None = 1) -> str:
    """Return a model as JSON text, which says the same as the bytes of a model file.

    The form of the text is described in docs/model-file.md.

    Parameters
    ----------
    model : object
        A fitted or unfitted model of Spinney, or an object of a subclass of `Persistent`.
    metadata : dict or None, default=None
        Plain values to store beside the model.
    indent : int or None, default=1
        Spaces per level; None writes everything on one line.

    Returns
    -------
    str
        The text.

    Raises
    ------
    UnsavableValue
        If a parameter or attribute cannot be stored, such as a function. The message names it.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([["red"], ["blue"]], ["no", "yes"])
    >>> dumps(from_json(to_json(model))) == dumps(model)
    True
    """
    return document_to_json(pack_model(model, metadata)[0], indent=indent)


def from_json(text: str | bytes) -> Any:
    """Build a model from the text that `to_json` returned.

    Safe for text from any source: nothing is imported or executed.

    Parameters
    ----------
    text : str or bytes
        JSON text.

    Returns
    -------
    object
        The model.

    Raises
    ------
    ModelFileError
        If the text does not describe a valid model.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> from_json(to_json(DecisionTreeClassifier(max_depth=3))).max_depth
    3
    """
    return unpack_model(*document_from_json(text))


def _write(stream: BinaryIO, data: bytes) -> None:
    """Write all bytes; an unbuffered file, such as a pipe or socket, may take a part of them at each call."""
    if isinstance(stream, io.TextIOBase):
        raise TypeError("The file was opened in text mode; open it with mode 'wb'.")
    left = memoryview(data)
    while left:
        n: int | None = stream.write(left)
        if n is None:
            if isinstance(stream, io.RawIOBase):
                raise BlockingIOError("The file takes no more bytes now: open it in blocking mode.")
            return  # writers that do not count what they write write all of it
        if not 0 < n <= len(left):
            raise OSError(f"The file took {n} of {len(left)} bytes: the model is not saved completely.")
        left = left[n:]


def _read(stream: BinaryIO) -> bytes:
    """Read a model file to its end, and one byte beyond it, which a valid file does not have."""
    if isinstance(stream, io.TextIOBase):
        raise TypeError("The file was opened in text mode; open it with mode 'rb'.")
    start = _read_up_to(stream, HEADER.size)
    header = read_header(start)  # a large file of another kind is refused before it is read
    return start + _read_up_to(stream, max(header.length - len(start), 0) + 1)


def _read_up_to(stream: BinaryIO, n: int) -> bytes:
    """Read n bytes, or fewer if the stream ends; a call may return fewer without being at the end."""
    parts, left = [], n
    while left:
        part = stream.read(min(left, _CHUNK))
        if part is None:
            raise BlockingIOError("The file has no bytes now: open it in blocking mode.")
        if not isinstance(part, bytes | bytearray | memoryview):
            raise TypeError("The file was opened in text mode; open it with mode 'rb'.")
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file that is complete or not there: under a temporary name in the same directory, then renamed.

    A file that was at the path before stays until then. A device or a pipe is written to.

    Parameters
    ----------
    path : str or path
        Where to write.
    data : bytes
        The content.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     replace_file(f"{folder}/a.txt", b"content")
    ...     Path(f"{folder}/a.txt").read_bytes()
    b'content'
    """
    path = Path(path).resolve()
    directory = path.parent
    if not directory.is_dir():
        raise FileNotFoundError(f"Cannot save to {path}: there is no directory {directory}. Create it first.")
    if path.is_dir():
        raise IsADirectoryError(f"Cannot save to {path}: it is a directory. Add a file name to it.")
    if path.exists() and not path.is_file():
        with path.open("wb", buffering=0) as stream:
            _write(stream, data)
        return
    prefix = f".spinney-{blake2b(os.fsencode(path.name), digest_size=8).hexdigest()}-"
    _remove_stale(directory, prefix)
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    temporary = directory / f"{prefix}{secrets.token_hex(8)}.tmp"
    try:
        with _locked(temporary):
            with temporary.open("r+b") as stream:
                _write(stream, data)
                stream.flush()
                if mode is not None:
                    temporary.chmod(mode)
                os.fsync(stream.fileno())
            temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(directory)


@contextmanager
def _locked(temporary: Path) -> Iterator[None]:
    """Create a file and hold a lock on it, which the system releases when the process ends, however it does.

    Without `fcntl` there is no lock, and nobody removes stale files either.
    """
    if fcntl is None:
        temporary.open("xb").close()
        yield
        return
    while True:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            _lock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:
                yield
                return
        finally:
            os.close(descriptor)
        # Another process took the file for a stale one before it was locked: create it again.


def _lock(descriptor: int, operation: int) -> bool:
    """Lock a file; False if another process has locked it, or where the file system has no locks."""
    try:
        fcntl.flock(descriptor, operation)
    except OSError:
        return False
    return True


def _remove_stale(directory: Path, prefix: str) -> None:
    """Remove temporary files whose process was killed: those that no process has locked."""
    if fcntl is None:
        return
    with os.scandir(directory) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(prefix)]
    for name in names:
        try:
            descriptor = os.open(directory / name, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:  # finished meanwhile, or of another user
            continue
        try:
            if _lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB) and os.fstat(descriptor).st_nlink:
                (directory / name).unlink(missing_ok=True)
        except OSError:  # the next save tries again
            pass
        finally:
            os.close(descriptor)


def _sync_directory(directory: Path) -> None:
    """Flush the new name to disk, on systems where directories can be opened (not Windows)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

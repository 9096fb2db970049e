"""A file appears whole or not at all, and loading one runs no code but Spinney's own."""

import io
import multiprocessing
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from persistence.toys import Free, fitted_toy, toy_data
from spinney.io import CorruptModelFile, NotAModelFile, dumps, load, save
from spinney.io.files import read_source


def test_a_model_comes_back_from_a_path_a_stream_and_bytes(tmp_path: Path) -> None:
    model, (X, _) = fitted_toy(), toy_data()
    save(model, tmp_path / "toy.spinney")
    save(model, str(tmp_path / "again.spinney"))
    stream = io.BytesIO()
    save(model, stream)
    data = stream.getvalue()
    assert (
        data
        == dumps(model)
        == (tmp_path / "toy.spinney").read_bytes()
        == (tmp_path / "again.spinney").read_bytes()
    )
    stream.seek(0)
    for source in (
        tmp_path / "toy.spinney",
        str(tmp_path / "toy.spinney"),
        stream,
        data,
        bytearray(data),
        memoryview(data),
    ):
        assert np.array_equal(load(source).predict(X), model.predict(X))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.spinney", "toy.spinney"]


def test_a_model_that_cannot_be_saved_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "model.spinney"
    save(Free(value=1), path)
    with pytest.raises(TypeError, match="'value'"):
        save(Free(value=max), path)
    assert load(path).value == 1
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_on_the_way_leaves_the_old_file_and_no_other(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.spinney"
    save(Free(value=1), path)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(*((os, "fsync") if step == "fsync" else (Path, "replace")), fail)
    with pytest.raises(OSError, match="disk full"):
        save(Free(value=2), path)
    assert load(path).value == 1
    assert len(list(tmp_path.iterdir())) == 1


def _save_and_die(path: Path) -> None:
    os.fsync = lambda _descriptor: os._exit(9)  # type: ignore[assignment]
    save(Free(value=2), path)


def die_while_saving(path: Path) -> None:
    """Save in a forked process that ends before the file is complete."""
    child = multiprocessing.get_context("fork").Process(target=_save_and_die, args=(path,), daemon=True)
    child.start()
    child.join(timeout=60)
    assert child.exitcode == 9


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_killed_while_saving_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "model.spinney"
    save(Free(value=1), path)
    die_while_saving(path)
    assert load(path).value == 1


def test_the_rights_and_the_link_of_a_file_are_kept(tmp_path: Path) -> None:
    path, link = tmp_path / "model.spinney", tmp_path / "link.spinney"
    save(Free(value=1), path)
    path.chmod(0o640)
    link.symlink_to(path)
    save(Free(value=2), link)
    assert link.is_symlink() and load(path).value == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_usual_rights(tmp_path: Path) -> None:
    save(Free(), tmp_path / "model.spinney")
    (tmp_path / "other").touch()
    assert (tmp_path / "model.spinney").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_wrong_places_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no directory .*missing"):
        save(Free(), tmp_path / "missing" / "model.spinney")
    with pytest.raises(IsADirectoryError, match="Add a file name"):
        save(Free(), tmp_path)
    with pytest.raises(TypeError, match="path or a file"):
        save(Free(), 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="path, bytes or a file"):
        load(3)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.spinney")
    (tmp_path / "text").write_text("text")
    with pytest.raises(TypeError, match="text mode"), (tmp_path / "text").open() as stream:
        load(stream)  # type: ignore[arg-type]
    with pytest.raises(NotAModelFile):
        load(tmp_path / "text")


def test_a_foreign_file_is_refused_before_it_is_read() -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("this system has no endless file")
    with pytest.raises(NotAModelFile):
        load("/dev/zero")


def test_a_stream_is_read_to_its_end() -> None:
    with pytest.raises(CorruptModelFile, match="added to"):
        load(io.BytesIO(dumps(Free()) + b"more"))


AUDIT = """
    import sys
    sys.path.insert(0, sys.argv[1])
    import numpy as np
    from persistence.toys import Free, fitted_toy
    from spinney.io import ModelFileError, dumps, load, loads, save

    values = [np.array(["a"]), np.array(["a", None], dtype=object), {1: 2}, np.float32(1), 2**80,
              np.random.RandomState(1), np.random.default_rng(1), (1, [2.0, b"3"])]
    files = [dumps(fitted_toy()), dumps(Free(value=values, base=fitted_toy()))]
    save(fitted_toy(), sys.argv[2])
    seen = []
    watched = {"import", "exec", "compile", "pickle.find_class", "os.system", "subprocess.Popen"}
    watching = True
    sys.addaudithook(lambda event, args: seen.append(event) if watching and event in watched else None)
    load(sys.argv[2])
    for data in files:
        loads(data)
        for position in range(0, len(data), 7):
            try:
                loads(data[:position] + b"!" + data[position + 1:])
            except ModelFileError:
                pass
    watching = False
    assert not seen, seen
    print("loaded")
"""


def test_loading_imports_and_executes_nothing(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        textwrap.dedent(AUDIT),
        str(Path(__file__).parents[1]),
        str(tmp_path / "m"),
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout.strip()) == (0, "loaded"), result.stderr


class Trickle(io.RawIOBase):
    """A raw file that takes and gives few bytes at each call, as pipes and sockets do."""

    def __init__(self, data: bytes = b"") -> None:
        self.data, self.position = bytearray(data), 0

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def write(self, part) -> int:  # type: ignore[no-untyped-def, override]
        self.data += bytes(part[:7])
        return min(len(part), 7)

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def, override]
        part = self.data[self.position : self.position + min(len(buffer), 5)]
        buffer[: len(part)] = part
        self.position += len(part)
        return len(part)


def test_short_writes_and_reads_go_on_until_all_is_done() -> None:
    model = fitted_toy()
    raw = Trickle()
    save(model, raw)  # type: ignore[arg-type]
    assert bytes(raw.data) == dumps(model)
    assert dumps(load(Trickle(dumps(model)))) == dumps(model)  # type: ignore[arg-type]
    with pytest.raises(CorruptModelFile, match="added to"):
        load(Trickle(dumps(model) + b"more"))  # type: ignore[arg-type]
    with pytest.raises(CorruptModelFile, match="incomplete"):
        load(Trickle(dumps(model)[:-1]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("taken", "error"), [(0, OSError), (-1, OSError), (10**9, OSError), (None, BlockingIOError)]
)
def test_a_file_that_takes_nothing_is_an_error(taken: int | None, error: type[Exception]) -> None:
    class Full(io.RawIOBase):
        def write(self, _part) -> int | None:  # type: ignore[no-untyped-def, override]
            return taken

    with pytest.raises(error):
        save(Free(), Full())  # type: ignore[arg-type]


def test_text_files_are_refused_by_save(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="text mode"), (tmp_path / "text").open("w") as stream:
        save(Free(), stream)  # type: ignore[arg-type]


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_what_a_killed_process_left_is_removed_at_the_next_save(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    path, other = tmp_path / "model.spinney", tmp_path / "other.spinney"
    die_while_saving(path)
    die_while_saving(other)
    assert len(list(tmp_path.glob(".spinney-*.tmp"))) == 2
    save(Free(value=1), path)
    assert len(list(tmp_path.glob(".spinney-*.tmp"))) == 1  # that of the other file
    save(Free(value=1), other)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.spinney", "other.spinney"]


def test_a_save_under_way_is_not_disturbed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, fsync = tmp_path / "model.spinney", os.fsync

    def save_within(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", fsync)
        save(Free(value="inner"), path)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", save_within)
    save(Free(value="outer"), path)
    assert load(path).value == "outer"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    model, pipe = fitted_toy(), tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(
        [sys.executable, "-c", "import sys; print(len(open(sys.argv[1], 'rb').read()))", pipe],
        stdout=subprocess.PIPE,
    )
    save(model, pipe)
    assert int(reader.communicate(timeout=60)[0]) == len(dumps(model))
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_bytes_in_any_form_are_read(tmp_path: Path) -> None:
    data = dumps(fitted_toy())
    words = memoryview(np.frombuffer(data[: len(data) // 8 * 8], np.uint64))
    assert len(read_source(words, "load")) == len(data) // 8 * 8
    assert dumps(load(memoryview(np.frombuffer(data, np.uint8).reshape(1, -1)))) == data

    class Buffers(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytearray:  # type: ignore[override]
            return bytearray(super().read(size))

    assert dumps(load(Buffers(data))) == data
    (tmp_path / "model").write_bytes(data)
    with pytest.raises(TypeError, match="text mode"), (tmp_path / "model").open() as stream:
        load(stream)  # type: ignore[arg-type]

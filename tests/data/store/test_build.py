"""Damaged, half-written, foreign and stale stores are noticed; a build goes on where it was stopped."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest

from spinney.core.errors import InputError
from spinney.data import BinnedDataset
from spinney.data.store import SourceChangedError, StoreError, build, writer
from spinney.data.store.manifest import read_manifest

COLUMNS = ["a", "color", "zip", "e", "w", "y"]
OPTIONS = {"target": "y", "sample_weight": "w", "block_rows": 4096}


@pytest.fixture
def files(frame, tmp_path):
    """Two Parquet files."""
    directory = tmp_path / "files"
    directory.mkdir()
    frame[COLUMNS][:5000].to_parquet(directory / "1.parquet")
    frame[COLUMNS][5000:].to_parquet(directory / "2.parquet")
    return directory


@pytest.fixture
def store(files, tmp_path):
    path = tmp_path / "store"
    BinnedDataset.build(files, path, **OPTIONS)
    return path


def content(path):
    return {entry.name: entry.read_bytes() for entry in path.iterdir()}


def test_a_store_is_opened_without_reading_the_source(files, store, monkeypatch):
    before = content(store)
    monkeypatch.setattr(build, "_survey", None)
    monkeypatch.setattr(build, "_write", None)
    dataset = BinnedDataset.build(files, store, **OPTIONS)
    assert BinnedDataset.open(store, files).content_hash == dataset.content_hash
    assert content(store) == before
    shutil.rmtree(files)
    assert BinnedDataset.open(store).n_rows == 9000


def test_copied_files_are_the_same_source(files, store, tmp_path):
    for path in files.iterdir():
        os.utime(path, ns=(0, 0))
    BinnedDataset.build(files, store, **OPTIONS)


def test_a_changed_source_is_noticed(frame, files, store):
    changed = frame[COLUMNS][5000:].copy()
    changed.iloc[7, 0] = 0.5
    changed.to_parquet(files / "2.parquet")
    with pytest.raises(SourceChangedError, match=r"'2.parquet' is not the one.*overwrite=True"):
        BinnedDataset.build(files, store, **OPTIONS)
    with pytest.raises(SourceChangedError, match=r"'2.parquet' is not the one"):
        BinnedDataset.open(store, files)
    old = BinnedDataset.open(store).content_hash
    assert BinnedDataset.build(files, store, **OPTIONS, overwrite=True).content_hash != old
    (files / "2.parquet").unlink()
    with pytest.raises(SourceChangedError, match=r"'2.parquet'"):
        BinnedDataset.open(store, files)


def test_other_arguments_are_noticed(frame, files, store):
    with pytest.raises(SourceChangedError, match="built with max_bins=255"):
        BinnedDataset.build(files, store, **OPTIONS, max_bins=32)
    with pytest.raises(SourceChangedError, match="cannot be compared"):
        BinnedDataset.build(frame[COLUMNS], store, **OPTIONS)


@pytest.mark.parametrize("name", ["codes.bin", "categories.bin", "target.bin", "weights.bin"])
def test_a_flipped_bit_is_noticed(name, store):
    data = bytearray((store / name).read_bytes())
    data[-3] ^= 4
    (store / name).write_bytes(data)
    dataset = BinnedDataset.open(store)  # nothing but sizes is looked at yet
    with pytest.raises(StoreError, match=f"Block 2 of .*{name}.* is damaged"):
        dataset.verify()
    dataset.block(0).codes  # noqa: B018  the other blocks are sound
    with pytest.raises(StoreError, match="is damaged"):
        _ = dataset.matrix(), dataset.target, dataset.weights, dataset.column(2)


@pytest.mark.parametrize("name", ["codes.bin", "weights.bin", "manifest.spinney"])
def test_truncated_and_missing_files_are_noticed(name, store):
    data = (store / name).read_bytes()
    (store / name).write_bytes(data[:-1])
    with pytest.raises(StoreError, match=r"bytes where|is damaged"):
        BinnedDataset.open(store)
    (store / name).unlink()
    with pytest.raises(StoreError, match=r"is missing|has no manifest"):
        BinnedDataset.open(store)


def test_any_flipped_byte_of_the_manifest_is_noticed(store):
    path = store / "manifest.spinney"
    data = path.read_bytes()
    for at in range(0, len(data), max(1, len(data) // 60)):
        damaged = bytearray(data)
        damaged[at] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(StoreError, match="manifest"):
            BinnedDataset.open(store)


def test_foreign_directories_are_refused(frame, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("three years of work")
    for overwrite in (False, True):
        with pytest.raises(StoreError, match=r"other files, such as 'thesis.txt'"):
            BinnedDataset.build(frame[["a"]], tmp_path / "mine", overwrite=overwrite)
    with pytest.raises(StoreError, match="does not exist"):
        BinnedDataset.open(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="is a file"):
        BinnedDataset.build(frame[["a"]], tmp_path / "mine" / "thesis.txt")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "three years of work"


class StoppedError(Exception):
    pass


def stop_at_block(monkeypatch, n):
    """Stop builds before they write block n; what was written before is recorded."""
    flush = writer.BlockWriter._flush

    def stopping(self, rows):
        if self._next == n:
            raise StoppedError
        flush(self, rows)

    monkeypatch.setattr(writer.BlockWriter, "_flush", stopping)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_stopped_build_is_finished_by_the_next(n, files, store, tmp_path, monkeypatch):
    expected, half = content(store), tmp_path / "half"
    monkeypatch.setattr(writer, "_CHECKPOINT_BYTES", 1)
    with monkeypatch.context() as context:
        stop_at_block(context, n)
        with pytest.raises(StoppedError):
            BinnedDataset.build(files, half, **OPTIONS)
    with pytest.raises(StoreError, match=f"half-written: {n} of 3 blocks"):
        BinnedDataset.open(half)
    with monkeypatch.context() as context:
        context.setattr(build, "_survey", None)  # the first pass is not made again
        BinnedDataset.build(files, half, **OPTIONS)
    assert content(half) == expected


def test_damaged_blocks_of_a_stopped_build_are_written_again(files, store, tmp_path, monkeypatch):
    expected, half = content(store), tmp_path / "half"
    monkeypatch.setattr(writer, "_CHECKPOINT_BYTES", 1)
    with monkeypatch.context() as context:
        stop_at_block(context, 2)
        with pytest.raises(StoppedError):
            BinnedDataset.build(files, half, **OPTIONS)
    with (half / "codes.bin").open("r+b") as file:
        file.write(b"\x07")
    BinnedDataset.build(files, half, **OPTIONS)
    assert content(half) == expected


def test_a_stopped_build_of_another_source_is_not_finished(frame, files, tmp_path, monkeypatch):
    with monkeypatch.context() as context:
        stop_at_block(context, 1)
        with pytest.raises(StoppedError):
            BinnedDataset.build(files, tmp_path / "half", **OPTIONS)
        with pytest.raises(StoppedError):
            BinnedDataset.build(frame[COLUMNS], tmp_path / "memory", **OPTIONS)
    assert not (tmp_path / "memory").exists()  # nobody could tell whether it is the same table again
    frame[COLUMNS][4000:].to_parquet(files / "2.parquet")
    with pytest.raises(SourceChangedError, match=r"2.parquet"):
        BinnedDataset.build(files, tmp_path / "half", **OPTIONS)


def test_a_killed_build_is_finished_by_the_next(files, store, tmp_path):
    script = textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        from spinney.data import BinnedDataset
        from spinney.data.store import writer
        writer._CHECKPOINT_BYTES = 1
        flush = writer.BlockWriter._flush
        def slow(self, rows):
            flush(self, rows)
            print("block", flush=True)
            time.sleep(60)
        writer.BlockWriter._flush = slow
        BinnedDataset.build({str(files)!r}, sys.argv[1], **{OPTIONS!r})
    """)
    half = tmp_path / "half"
    process = subprocess.Popen([sys.executable, "-c", script, str(half)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"block\n"
    with pytest.raises(StoreError, match="Another process is building"):
        BinnedDataset.build(files, half, **OPTIONS)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert read_manifest(half).blocks_done == 1
    BinnedDataset.build(files, half, **OPTIONS)
    assert content(half) == content(store)


def test_a_source_that_changes_while_it_is_read_is_noticed(frame, tmp_path):
    part = frame[["color", "y"]]
    other = part.assign(color="violet")
    for n, match in ((2, "18000 rows, and had 9000 when they were counted"), (3, "more rows than before")):
        passes = iter([[part]] * n)  # they are read for the names, to be counted, and for each pass
        with pytest.raises(SourceChangedError, match=rf"{match}.*changed while it was read"):
            BinnedDataset.build(lambda: next(passes, [part, other]), tmp_path / "rows", target="y")  # noqa: B023
    for changed, match in ((other, "new category 'violet'"), (part.assign(y="maybe"), "new label 'maybe'")):
        calls = []

        def frames(changed=changed, calls=calls):
            calls.append(0)
            return [part if len(calls) < 4 else changed]

        with pytest.raises(SourceChangedError, match=rf"{match}.*changed while it was read"):
            BinnedDataset.build(frames, tmp_path / "values", target="y")
    assert not (tmp_path / "rows").exists() and not (tmp_path / "values").exists()


def test_a_file_that_is_written_while_it_is_read_is_noticed(frame, files, tmp_path, monkeypatch):
    add = writer.BlockWriter.add

    def meanwhile(self, batch):
        add(self, batch)
        frame[COLUMNS][:4999].to_parquet(files / "2.parquet")  # it has been read

    monkeypatch.setattr(writer.BlockWriter, "add", meanwhile)
    with pytest.raises(SourceChangedError, match="changed while it was read"):
        BinnedDataset.build([files / "2.parquet", files / "1.parquet"], tmp_path / "store", **OPTIONS)
    with pytest.raises(StoreError, match="half-written"):
        BinnedDataset.open(tmp_path / "store")


def test_bad_arguments_are_refused(frame, tmp_path):
    with pytest.raises(InputError, match="block_rows is 1000; it takes a multiple of 4096"):
        BinnedDataset.build(frame, tmp_path / "store", block_rows=1000)
    with pytest.raises(InputError, match="max_bins is 256"):
        BinnedDataset.build(frame, tmp_path / "store", max_bins=256)
    with pytest.raises(InputError, match="a feature and has another role"):
        BinnedDataset.build(frame, tmp_path / "store", target="y", features=["a", "y"])
    with pytest.raises(InputError, match="Name a column of the source"):
        BinnedDataset.build([frame], tmp_path / "store", target=frame["y"].to_numpy())
    with pytest.raises(InputError, match="target has 3 entries, the source has 9000 rows"):
        BinnedDataset.build(frame[["a"]], tmp_path / "store", target=[1, 2, 3])


def test_progress_is_shown(frame, tmp_path, capsys):
    BinnedDataset.build(frame[["a", "y"]], tmp_path / "store", target="y", verbose=1)
    assert "BinnedDataset: writing" in capsys.readouterr().err


def test_groups_are_numbered_as_they_first_occur(tmp_path):
    ids = ["b", "b", "a", "b", "c"]
    frame = pd.DataFrame({"x": range(5), "q": ids})
    dataset = BinnedDataset.build([frame[:3], frame[3:]], tmp_path / "store", group="q")
    assert dataset.group.tolist() == dataset.block(0).group.tolist() == [0, 0, 1, 0, 2]
    assert dataset.target is None and dataset.classes is None and dataset.block(0).target is None


def test_class_codes_of_a_block(frame, tmp_path):
    dataset = BinnedDataset.build(frame[["a", "b"]], tmp_path / "numbers", target="b")
    np.testing.assert_array_equal(dataset.block(0).class_codes[:, 0], frame["b"][:65536])
    text = BinnedDataset.build(frame[["a", "y"]], tmp_path / "text", target="y")
    assert (text.block(0).class_codes[:, 0] == (frame["y"] == "yes")).all()
    floats = BinnedDataset.build(frame[["a", "value"]], tmp_path / "floats", target="value")
    assert floats.classes is None
    with pytest.raises(InputError, match="no target that is made of classes"):
        floats.block(0).class_codes  # noqa: B018

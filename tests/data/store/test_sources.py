"""Every source of the same rows gives the same store."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest
from scipy import sparse

from spinney.core.errors import InputError, InputTypeError
from spinney.data import BinnedDataset

FEATURES = ["a", "b", "color", "zip", "e", "flag"]


def build(source, path, **options):
    return BinnedDataset.build(source, path, **{"target": "y", "block_rows": 4096} | options)


@pytest.fixture(scope="module")
def rows(frame):
    return frame[[*FEATURES, "y"]]


@pytest.fixture(scope="module")
def expected(rows, tmp_path_factory):
    return build(rows, tmp_path_factory.mktemp("store") / "memory").content_hash


def cut(rows):
    """The rows in three parts, the second of them empty."""
    return [rows.iloc[:5000], rows.iloc[:0], rows.iloc[5000:]]


def parquet_files(rows, path):
    for i, part in enumerate(cut(rows)):
        part.to_parquet(path / f"part-{i}.parquet", row_group_size=700)
    return str(path / "part-*.parquet")


def arrow_files(rows, path):
    schema = pa.Schema.from_pandas(rows, preserve_index=False)
    for i, part in enumerate(cut(rows)):
        table = pa.Table.from_pandas(part, schema, preserve_index=False)
        pa.feather.write_feather(table, path / f"part-{i}.feather", chunksize=900)
    return path


def csv_files(rows, path):
    (path / "empty.csv").touch()
    names = []
    for i, part in enumerate(cut(rows)):
        names.append(path / f"part-{i}.csv{'.gz' if i == 2 else ''}")
        part.astype({"e": np.float64}).to_csv(names[-1], index=False)
    return [names[0], path / "empty.csv", *names[1:]]


def one_stream(rows, path):
    table = pa.Table.from_pandas(rows, preserve_index=False)
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=777))


class Stream:
    """Something that hands out Arrow streams, and is of no known library."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


SOURCES = {
    "glob of Parquet": parquet_files,
    "directory of Feather": arrow_files,
    "list of CSV": csv_files,
    "pyarrow.dataset": lambda rows, path: pa.dataset.dataset(pq_list(rows, path)),
    "polars": lambda rows, path: pl.from_pandas(rows),
    "LazyFrame": lambda rows, path: pl.from_pandas(rows).lazy(),
    "scanned files": lambda rows, path: pl.scan_parquet(pq_list(rows, path)),
    "Arrow table": lambda rows, path: pa.Table.from_pandas(rows, preserve_index=False),
    "stream": lambda rows, path: Stream(pa.Table.from_pandas(rows, preserve_index=False)),
    "stream read once": one_stream,
    "list of frames": lambda rows, path: cut(rows),
    "function": lambda rows, path: lambda: iter([pl.from_pandas(part) for part in cut(rows)]),
    "categories of their own": lambda rows, path: [part.astype({"zip": "category"}) for part in cut(rows)],
    "dict": lambda rows, path: {name: rows[name] for name in rows.columns},
}


def pq_list(rows, path):
    parquet_files(rows, path)
    return sorted(map(str, path.glob("*.parquet")))


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_same_store(name, rows, expected, tmp_path):
    (tmp_path / "files").mkdir()
    source = SOURCES[name](rows, tmp_path / "files")
    dataset = build(source, tmp_path / "store")
    dataset.verify()
    assert dataset.content_hash == expected
    assert not list((tmp_path / "store").glob(".*"))  # nothing temporary is left


def test_the_target_may_be_an_array(rows, expected, tmp_path):
    X, y = rows[FEATURES], rows["y"]
    assert build(X, tmp_path / "series", target=y).content_hash == expected
    assert build(X, tmp_path / "array", target=y.to_numpy()).content_hash == expected
    assert build([(X, y)], tmp_path / "tuples", target=None).content_hash == expected
    assert build(rows, tmp_path / "order", features=FEATURES).content_hash == expected
    other = build(rows, tmp_path / "fewer", features=["e", "a"])
    assert other.schema.names == ("e", "a")


def test_arrays_and_sparse_matrices_are_sources(tmp_path):
    X = np.random.default_rng(0).integers(0, 4, (5000, 6)).astype(float)
    y = X[:, 0] > 1
    dense = build(X, tmp_path / "dense", target=y)
    assert dense.content_hash == build(sparse.csr_array(X), tmp_path / "sparse", target=y).content_hash
    assert dense.content_hash == build(X.astype(np.float32), tmp_path / "float32", target=y).content_hash
    halves = [(X[:99], y[:99]), (X[99:], y[99:])]
    assert dense.content_hash == build(halves, tmp_path / "halves", target=None).content_hash
    assert not dense.schema.has_names
    lists = build(X[:50].tolist(), tmp_path / "lists", target=["a", "b"] * 25)
    assert lists.classes[0].tolist() == ["a", "b"]


def test_an_iterator_that_ends_is_refused(rows, tmp_path):
    with pytest.raises(InputTypeError, match=r"can be read only once.*pass a function"):
        build(iter([rows]), tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_numbers_of_a_csv_column_may_become_fractions_or_text(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{i % 7},{i % 5},{i % 2}" for i in range(400_000)]
    lines[399_000], lines[399_500] = "2.5,3,1", "1,many,0"  # far behind what Arrow looks at first
    path.write_text("a,b,y\n" + "\n".join(lines) + "\n")
    dataset = build(path, tmp_path / "store")
    assert dataset.schema.categorical.tolist() == [False, True]
    assert 2.5 in dataset.bins(0)[0] and "many" in dataset.schema.features[1].categories
    assert dataset.target.dtype == np.int64


def test_a_type_that_differs_between_files_is_named(frame, tmp_path):
    frame[["a", "y"]].to_parquet(tmp_path / "1.parquet")
    frame[["a", "y"]].astype({"a": str}).to_parquet(tmp_path / "2.parquet")
    match = r"In file '.*2.parquet': The type of .* differs: .* in file '.*1.parquet' in column 'a'"
    with pytest.raises(InputError, match=match):
        build(tmp_path / "*.parquet", tmp_path / "store")
    frame[["b", "y"]].to_parquet(tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"2.parquet.*no column 'a'"):
        build(tmp_path / "*.parquet", tmp_path / "store")


def test_bad_values_are_named_by_file_column_and_row(frame, tmp_path):
    good, bad = frame[["e", "y"]].iloc[:50].copy(), frame[["e", "y"]].iloc[:50].copy()
    bad.loc[7, "e"] = np.inf
    with pytest.raises(InputError, match=r"In frame 1: .*infinity.* in column 'e', row 7"):
        build([good, bad], tmp_path / "store")
    bad = good.copy()
    bad.loc[9, "y"] = None
    with pytest.raises(InputError, match=r"In frame 1: The target is missing.* in column 'y', row 9"):
        build([good, bad], tmp_path / "store")
    with pytest.raises(InputError, match=r"no column 'Y', which is the target. Columns: 'e', 'y'"):
        build(good, tmp_path / "store", target="Y")
    weights = np.ones(50)
    weights[3] = -1
    with pytest.raises(InputError, match=r"sample_weight contains -1.0 in row 3"):
        build(good, tmp_path / "store", sample_weight=weights)
    with pytest.raises(InputError, match="at least one non-zero"):
        build(good, tmp_path / "store", sample_weight=np.zeros(50))
    with pytest.raises(InputError, match="no file"):
        build(str(tmp_path / "nothing-*.parquet"), tmp_path / "store")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(InputError, match=r"In file '.*broken.parquet': the file cannot be read"):
        build(tmp_path / "broken.parquet", tmp_path / "store")
    with pytest.raises(InputError, match="no rows"):
        build([good.iloc[:0]], tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_text_targets_of_arrow_are_labels(frame, tmp_path):
    table = pa.table({"e": frame["e"], "y": pa.array(frame["y"]).dictionary_encode()})
    dataset = build(table, tmp_path / "store")
    assert dataset.classes[0].tolist() == ["no", "yes"]
    assert dataset.target.tolist() == frame["y"].tolist()


def test_pandas_is_read_in_slices(frame, tmp_path, monkeypatch):
    monkeypatch.setattr("spinney.data.store.sources.BATCH_ROWS", 1000)
    assert build(frame[["e", "y"]], tmp_path / "small").content_hash
    shuffled = frame[["e", "y"]].set_index(pd.Index(range(len(frame), 0, -1)))
    assert build(shuffled, tmp_path / "index").content_hash == BinnedDataset(tmp_path / "small").content_hash


def test_a_dask_frame_gives_the_same_store(rows, expected, tmp_path):
    dask = pytest.importorskip("dask.dataframe")
    assert build(dask.from_pandas(rows, npartitions=3), tmp_path / "store").content_hash == expected

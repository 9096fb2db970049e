import bz2
import gzip
import lzma

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from spinney.cli import csv_files
from spinney.cli.csv_files import CsvOptions
from spinney.cli.data_files import ReadOptions, read_data_file
from spinney.cli.failures import DataError, FileError, OptionError

TEXT = "size,color,day\n1,red,2024-01-01\n2.5,blue,2024-02-01\n,?,2024-03-01\n"


def write(tmp_path, content, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def read(tmp_path, content, **options):
    csv_options = {key: options.pop(key) for key in list(options) if key in CsvOptions.__dataclass_fields__}
    return read_data_file(write(tmp_path, content), ReadOptions(CsvOptions(**csv_options), **options))


@pytest.fixture(params=["pyarrow", "python"])
def reader(request, monkeypatch):
    """Both readers of CSV: pyarrow's, and Python's own where pyarrow is not installed."""
    if request.param == "python":
        monkeypatch.setattr(csv_files, "find_spec", lambda name: None)
    return request.param


def test_kinds_are_recognised(tmp_path, reader):
    found = read(tmp_path, TEXT)
    assert {name: column.kind for name, column in found.columns.items()} == {
        "size": "numeric", "color": "categorical", "day": "date",
    }  # fmt: skip
    assert found.columns["size"].values.tolist()[:2] == [1.0, 2.5] and np.isnan(
        found.columns["size"].values[2]
    )
    assert found.columns["color"].values.tolist() == ["red", "blue", None]
    assert found.n_rows == 3 and found.format == "CSV"


def test_both_readers_agree_on_hard_cases(tmp_path, monkeypatch):
    text = 'a;b;"c d"\n 1;"x; y";"two\nlines"\n2 ;NA;""\n3;z;w\n'
    found = []
    for library in ("pyarrow", None):
        monkeypatch.setattr(csv_files, "find_spec", lambda name, library=library: library)
        columns = read(tmp_path, text).columns
        found.append({name: column.values.tolist() for name, column in columns.items()})
    assert found[0] == found[1]
    assert found[0] == {"a": [1, 2, 3], "b": ["x; y", None, "z"], "c d": ["two\nlines", None, "w"]}


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_text_is_recognised_by_its_content(tmp_path, compress):
    found = read(tmp_path, compress(TEXT.encode()))
    assert found.n_rows == 3 and found.format.startswith("CSV (")


def test_typed_files(tmp_path):
    table = pa.table(
        {
            "n": pa.array([1, None, 3]),
            "f": pa.array([0.5, 1.5, None], pa.float32()),
            "t": pa.array(["a", None, "b"]),
            "d": pa.array(["x", "y", "x"]).dictionary_encode(),
            "b": pa.array([True, None, False]),
            "when": pa.array([0, 86_400, None], pa.timestamp("s")),
        }
    )
    parquet.write_table(table, tmp_path / "p")
    feather.write_feather(table, tmp_path / "f", compression="uncompressed")
    with pa.ipc.new_stream(tmp_path / "s", table.schema) as writer:
        writer.write_table(table)
    for name, kind in (("p", "Parquet"), ("f", "Arrow"), ("s", "Arrow stream")):
        found = read_data_file(str(tmp_path / name))
        assert found.format == kind
        assert [column.kind for column in found.columns.values()] == [
            "numeric", "numeric", "categorical", "categorical", "categorical", "date",
        ]  # fmt: skip
        assert found.columns["b"].values.tolist() == ["True", None, "False"]


def test_text_of_files_with_types_stays_text(tmp_path):
    parquet.write_table(
        pa.table({"zip": ["501", "544"], "day": ["2024-01-01", "2024-01-02"]}), tmp_path / "p"
    )
    found = read_data_file(str(tmp_path / "p")).columns
    assert [column.kind for column in found.values()] == ["categorical", "categorical"]
    options = ReadOptions(kinds={"zip": "numeric", "day": "date"})
    assert read_data_file(str(tmp_path / "p"), options).columns["zip"].values.tolist() == [501, 544]


def test_zstd(tmp_path):
    with pa.CompressedOutputStream(str(tmp_path / "data.csv.zst"), "zstd") as stream:
        stream.write(TEXT.encode())
    assert read_data_file(str(tmp_path / "data.csv.zst")).n_rows == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n3\n4,5\n", r"Line 3 .*has 1 field, the header has 2.*--skip-ragged"),
        ("a,b\n1,2,3\n", r"Line 2 .*has 3 fields"),
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n", "no rows"),
        ("a,a\n1,2\n", "several columns named 'a'"),
        ("1,2\n3,4\n", "--no-header"),
        ("a,b\n1,caf\xe9\n".encode("latin-1"), r"line 2 has the byte 0xe9.*latin-1"),
        (b"a,b\n1,\0\n", "zero byte"),
    ],
)
def test_broken_text_is_named_with_its_line_and_a_fix(tmp_path, reader, content, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, content)


def test_numbers_with_a_few_words_are_refused_with_two_fixes(tmp_path, reader):
    text = "age\n" + "".join(f"{i}\n" for i in range(60)) + "unknown\n"
    with pytest.raises(
        DataError, match=r"'unknown' in column 'age', row 60.*--missing 'unknown'.*categorical"
    ):
        read(tmp_path, text)
    assert read(tmp_path, text, missing=("unknown",)).columns["age"].kind == "numeric"
    assert read(tmp_path, text, kinds={"age": "categorical"}).columns["age"].values[60] == "unknown"
    with pytest.raises(DataError, match=r"'unknown' is not a number in column 'age', row 60"):
        read(tmp_path, text, kinds={"age": "numeric"})


def test_codes_keep_their_zeros_as_categories(tmp_path, reader):
    assert (
        read(tmp_path, "zip\n00501\n00544\n", kinds={"zip": "categorical"}).columns["zip"].values[0]
        == "00501"
    )


def test_identifiers_are_recognised(tmp_path):
    text = "id,x\n" + "".join(f"k{i},{i}\n" for i in range(80))
    assert read(tmp_path, text).columns["id"].kind == "identifier"


def test_other_files_are_refused(tmp_path):
    for content, message in ((b"PK\x03\x04xx", "zip archive"), (b"\x89PNG\r\n", "picture")):
        with pytest.raises(FileError, match=message):
            read(tmp_path, content)
    with pytest.raises(FileError, match=r"no file.*Did you mean 'data.csv'"):
        read_data_file(str(tmp_path / "dat.csv"))
    with pytest.raises(FileError, match=r"directory"):
        read_data_file(str(tmp_path))
    with pytest.raises(FileError, match=r"damaged Parquet"):
        read(tmp_path, b"PAR1" + b"x" * 50)
    with pytest.raises(FileError, match=r"cannot be decompressed"):
        read(tmp_path, gzip.compress(TEXT.encode() * 100)[:40])
    with pytest.raises(OptionError, match=r"Did you mean numeric"):
        read(tmp_path, TEXT, kinds={"size": "numerc"})
    with pytest.raises(DataError, match=r"no column 'colour'.*Did you mean 'color'"):
        read(tmp_path, TEXT, drop=("colour",))


def test_a_sparse_file_of_5_gb_is_refused_at_once(tmp_path):
    path = tmp_path / "large.csv"
    with path.open("wb") as stream:
        stream.write(TEXT.encode())
        stream.truncate(5_000_000_000)
    with pytest.raises(FileError, match=r"5.0 GB; reading it takes about 20.0 GB.*--rows"):
        read_data_file(str(path), ReadOptions(max_memory=4_000_000_000))
    with pytest.raises(DataError, match=r"zero byte"):
        read_data_file(str(path), ReadOptions(max_memory=10**12))


def test_what_grows_when_it_is_decompressed_is_refused(tmp_path):
    path = write(tmp_path, gzip.compress(b"a\n" + b"1\n" * 2_000_000))
    with pytest.raises(FileError, match=r"decompressed.*may be used"):
        read_data_file(path, ReadOptions(max_memory=4_000_000))
    assert read_data_file(path, ReadOptions(n_rows=10, max_memory=4_000_000)).n_rows == 10


def test_encodings_and_options(tmp_path):
    assert (
        read(tmp_path, "a\ncafé\nthé\n".encode("latin-1"), encoding="latin-1").columns["a"].values[0]
        == "café"
    )
    assert read(tmp_path, "a,b\n1,2\n".encode("utf-16"), encoding="utf-16").columns["b"].values[0] == 2
    assert read(tmp_path, "\ufeffa,b\n1,2\n").columns["a"].values[0] == 1
    assert list(read(tmp_path, "1,2\n3,4\n", header=False).columns) == ["x0", "x1"]
    assert read(tmp_path, "1,2\n3,4\n", header=False).n_rows == 2
    assert read(tmp_path, "a,b\n1,2\n3\n4,5\n", skip_ragged=True).n_rows == 2
    assert read(tmp_path, "a\tb\n1\t2\n").columns["b"].values[0] == 2
    with pytest.raises(OptionError, match=r"no encoding"):
        read(tmp_path, TEXT, encoding="utf-9")

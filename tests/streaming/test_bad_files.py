"""Bad files and rows: the error names the file and the line or row group."""

import numpy as np
import pytest

from helpers.streams import X, Y, open_stream, write, write_text
from widemargin.streaming import stream
from widemargin.streaming import text as text_files
from widemargin.tables import DataFileError

pd = pytest.importorskip("pandas")
pq = pytest.importorskip("pyarrow.parquet")


def broken(tmp_path, text, match, name="rows.csv", good=None, **options):
    """Reading fails with this message, after `good` rows."""
    path = text if hasattr(text, "exists") else write_text(tmp_path, text, name)
    options = {"chunk_rows": 2, **({} if ".svm" in path.name else {"target": "y"}), **options}
    seen = 0
    with pytest.raises(DataFileError, match=match) as caught:  # noqa: PT012
        for chunk in stream(path, **options):
            seen += len(chunk.y)
    assert str(path) in str(caught.value)
    assert good is None or seen == good


HEAD = "a,b,y\n1,2,u\n3,4,v\n\n5,6,u\n"


@pytest.mark.parametrize(
    ("rest", "match"),
    [
        ("7,8,u\n9,ten,u\n", "line 7: column 'b' holds 'ten' where earlier rows have numbers"),
        ("7,8\n", "line 6 has 2 values where the first has 3"),
        ("7,8,9,u\n", "line 6 has 4 values"),
        ("7,8,u\n9,,u\n", "line 7: column 'b' is missing"),
        ("7,8,u\n9,inf,u\n", "line 7: column 'b' is infinite"),
        ("7,1e300,u\n", "line 6: column 'b' is infinite as float32"),
        ("7,8,\n", "line 6: the target 'y' is missing"),
        ("7,8,w\n", r"line 6: the target is 'w', not among the classes \['u', 'v'\]"),
    ],
)
def test_bad_rows_of_csv_files(rest, match, tmp_path):
    broken(tmp_path, HEAD + rest, match, good=3, classes=["u", "v"])


@pytest.mark.parametrize(
    ("rest", "match"),
    [
        ("1 1:x\n", "line 4: .*a line must be 'label index:value ...'"),
        ("1 2:1 1:1\n", "line 4: "),
        ("one 2:1\n", "line 4: "),
        ("1 9:1\n", "line 4: has a column 9, but the last of 3 columns is 3"),
        ("1 0:1\n", "line 4: has a column 0, but index_base=1"),
        ("1 1:nan\n", "line 4: the value of column 1 is not finite"),
        ("nan 1:1\n", "line 4: the label is not finite"),
        ("5 1:1\n", "line 4: the target is 5.0, not among"),
    ],
)
def test_bad_rows_of_svmlight_files(rest, match, tmp_path):
    options = {"n_features": 3, "index_base": 1, "classes": [1, 2], "name": "a.svm"}
    broken(tmp_path, "1 1:1\n2 2:2\n# not a row\n" + rest, match, good=2, **options)


@pytest.mark.parametrize("suffix", ["csv.gz", "csv.xz", "svm.gz"])
def test_truncated_compressed_files(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "TEXT_CHUNK_BYTES", 2000)
    path = write(tmp_path, suffix)
    path.write_bytes(path.read_bytes()[:-800])
    with pytest.raises(DataFileError, match=r"line \d+ and all after it cannot be read") as caught:
        list(open_stream(path, **({"n_features": 4, "index_base": 1} if "svm" in suffix else {})))
    assert str(path) in str(caught.value)


def test_damaged_parquet_files(tmp_path):
    path = write(tmp_path, "parquet")
    table = pq.read_table(path)
    pq.write_table(table, path, row_group_size=50, compression="gzip", use_dictionary=False)
    whole = path.read_bytes()
    column = pq.ParquetFile(path).metadata.row_group(3).column(1)
    at = column.data_page_offset + 40
    path.write_bytes(whole[:at] + bytes(60) + whole[at + 60 :])
    broken(tmp_path, path, r"row group 3 cannot be read", good=150, chunk_rows=50)
    path.write_bytes(whole[:-100])
    broken(tmp_path, path, "not a complete Parquet file", good=0)
    path.write_bytes(b"")
    broken(tmp_path, path, "not a complete Parquet file", good=0)


def test_bad_rows_of_parquet_files(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=Y)
    frame.loc[120, "c"] = np.nan
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=50)
    broken(tmp_path, tmp_path / "a.parquet", "row group 2, row 20: column 'c' is missing", good=120)
    frame.loc[120, "c"] = 0.0
    frame.loc[77, "y"] = None
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=50)
    broken(tmp_path, tmp_path / "a.parquet", "row group 1, row 27: the target 'y' is missing")


def test_files_with_different_columns_or_formats(tmp_path):
    write(tmp_path, "csv", name="a")
    write_text(tmp_path, "a,b,y\n1,2,yes\n", "b.csv")
    with pytest.raises(DataFileError, match=r"b.csv: lacks the column 'c' of the first file"):
        list(stream(tmp_path, target="y"))
    with pytest.raises(DataFileError, match="a stream has one format"):
        stream([tmp_path / "a.csv", write(tmp_path, "parquet")], target="y")


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"target": None}, ValueError, "target column is not known; name it with target="),
        ({"target": "z"}, DataFileError, "no column 'z'"),
        ({"chunk_rows": 0}, ValueError, "chunk_rows=0"),
        ({"columns": ["q"]}, DataFileError, "no column 'q'"),
        ({"columns": ["y"]}, DataFileError, "at least one other column"),
        ({"format": "xml"}, ValueError, "format='xml'"),
        ({"dtype": int}, ValueError, "dtype="),
        ({"encoder": 3}, ValueError, "encoder=3"),
        ({"index_base": 2}, ValueError, "index_base=2"),
        ({"classes": [1, 2]}, DataFileError, "line 2: the target is .*, where others are numbers"),
    ],
)
def test_wrong_options(options, error, match, tmp_path):
    with pytest.raises(error, match=match):
        list(stream(write(tmp_path, "csv"), **{"target": "y", **options}))


def test_missing_paths(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        stream(tmp_path / "*.csv", target="y")
    with pytest.raises(DataFileError, match="no data files"):
        stream(tmp_path, target="y")
    with pytest.raises(ValueError, match="paths is empty"):
        stream([], target="y")
    (tmp_path / "a.npz").touch()
    with pytest.raises(DataFileError, match="npz files cannot be streamed"):
        stream(tmp_path / "a.npz", target="y")


def test_a_file_that_changed_before_the_boundary(tmp_path):
    path = write(tmp_path, "csv")
    boundary = next(iter(open_stream(path, chunk_rows=10))).stop
    path.write_text(path.read_text().replace("a,b,c,d,y", "a,b,c,d,  y"))
    with pytest.raises(DataFileError, match="the file has changed"):
        list(open_stream(path, chunk_rows=10).chunks(start=boundary))

"""Streams: every format gives the rows of its files, in chunks that can be started anywhere."""

import gzip
import lzma
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.datasets import dump_svmlight_file

from widemargin.streaming import stream
from widemargin.streaming import text as _text
from widemargin.tables import DataFileError, read_table, table_encoder

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

rng = np.random.default_rng(0)
X = rng.normal(size=(230, 4)).astype(np.float32)
Y = np.where(X @ [1.0, -2.0, 0.5, 0.0] > 0, "yes", "no")
LABELS = np.where(Y == "yes", 1.0, -1.0)
FORMATS = ("csv", "csv.gz", "csv.xz", "tsv", "parquet", "svm", "svm.gz")
every_format = pytest.mark.parametrize("suffix", FORMATS)


def write(folder, suffix, rows=slice(None), name="data"):
    """A file with some of the rows."""
    path = folder / f"{name}.{suffix}"
    frame = pd.DataFrame(X[rows], columns=list("abcd")).assign(y=Y[rows])
    if suffix == "parquet":
        frame.to_parquet(path, row_group_size=37)
    elif suffix.startswith("svm"):
        plain = folder / f"{name}.plain"
        dump_svmlight_file(X[rows], LABELS[rows], str(plain), zero_based=False)
        path.write_bytes(compressed(plain.read_bytes(), suffix))
    else:
        text = frame.to_csv(index=False, sep="\t" if suffix == "tsv" else ",")
        path.write_bytes(compressed(text.encode(), suffix))
    return path


def compressed(data, suffix):
    if suffix.endswith("gz"):
        return gzip.compress(data)
    return lzma.compress(data) if suffix.endswith("xz") else data


def open_stream(path, **options):
    svmlight = ".svm" in str(path)
    return stream(path, **({} if svmlight else {"target": "y"}), **options)


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def content(chunks):
    chunks = list(chunks)
    return np.vstack([dense(c.X) for c in chunks]), np.concatenate([c.y for c in chunks])


def csv(tmp_path, text, name="rows.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# ---------------------------------------------------------------- what a stream yields


@every_format
@pytest.mark.parametrize("chunk_rows", [1, 7, 37, 100, 1000, None])
def test_chunks_hold_the_rows_of_the_file(suffix, chunk_rows, tmp_path):
    path = write(tmp_path, suffix)
    data = open_stream(path, chunk_rows=chunk_rows)
    found, y = content(data)
    assert found.dtype == np.float32
    assert_array_equal(found, X)
    assert_array_equal(y, LABELS if "svm" in suffix else Y)
    assert data.bytes_read == data.total_bytes == path.stat().st_size


@every_format
def test_a_stream_starts_again_at_any_border(suffix, tmp_path):
    files = [write(tmp_path, suffix, slice(0, 100), "a"), write(tmp_path, suffix, slice(100, 230))]
    data = open_stream(files, chunk_rows=17)
    chunks = list(data.chunks(epochs=2))
    assert [c.stop for c in chunks] == sorted({c.stop for c in chunks})
    for i in range(0, len(chunks), 3):
        again = list(data.chunks(start=chunks[i].stop, epochs=2))
        assert [c.stop for c in again] == [c.stop for c in chunks[i + 1 :]]
        if again:
            assert_array_equal(content(again)[0], content(chunks[i + 1 :])[0])


def test_blocks_of_text_end_where_they_end_after_a_restart(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "BLOCK_BYTES", 300)
    data = open_stream(write(tmp_path, "csv"))
    chunks = list(data)
    assert len(chunks) > 20
    for i in range(0, len(chunks) - 1, 5):
        again = list(data.chunks(start=chunks[i].stop))
        assert [c.stop for c in again] == [c.stop for c in chunks[i + 1 :]]


def test_files_folders_and_patterns(tmp_path):
    for i, first in enumerate(range(0, 230, 60)):
        write(tmp_path, "parquet", slice(first, first + 60), f"part-{i}")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "readme.md").touch()
    for paths in (tmp_path, str(tmp_path / "part-*.parquet"), sorted(tmp_path.glob("p*"))):
        data = stream(paths, target="y")
        assert len(data.files) == 4
        assert_array_equal(content(data)[0], X)


def test_columns_may_be_chosen_and_stand_in_another_order(tmp_path):
    write(tmp_path, "csv", slice(0, 50), "a")
    frame = pd.DataFrame(X[50:], columns=list("abcd")).assign(y=Y[50:], more=0)
    frame[["y", "d", "more", "c", "b", "a"]].to_csv(tmp_path / "b.csv", index=False)
    data = stream(tmp_path, target="y", columns=["c", "a"])
    assert_array_equal(content(data)[0], X[:, [2, 0]])
    assert data.feature_names == ("c", "a")
    data = stream(write(tmp_path, "parquet"), target=-1, columns=["d", 0], dtype=np.float64)
    found, y = content(data)
    assert found.dtype == np.float64
    assert_array_equal(found, X[:, [3, 0]])
    assert_array_equal(y, Y)


def test_svmlight_columns_are_found_in_a_first_pass_or_given(tmp_path):
    path = csv(tmp_path, "1 1:2 3:1\n-1 2:1\n", "a.svm")
    assert content(stream(path))[0].tolist() == [[2, 0, 1], [0, 1, 0]]
    assert content(stream(path, n_features=5, index_base=0))[0].shape == (2, 5)
    zero = csv(tmp_path, "1 0:7\n", "b.svm")
    assert content(stream([path, zero]))[0].tolist() == [[0, 2, 0, 1], [0, 0, 1, 0], [7, 0, 0, 0]]


# ---------------------------------------------------------------- borders


@pytest.mark.parametrize(
    "text",
    [
        "a,b,y\n1,2,u\n3,4,v",  # no last line end
        "a,b,y\r\n1,2,u\r\n3,4,v\r\n",
        "\ufeffa,b,y\n1,2,u\n3,4,v\n",
        "\n\na,b,y\n\n1,2,u\n\n\n3,4,v\n\n",
        'a,b,y\n1,2,"u"\n 3 ,"4",v\n',
        "a;b;y\n1;2;u\n3;4;v\n",
    ],
)
@pytest.mark.parametrize("chunk_rows", [1, 2, None])
def test_shapes_of_csv_text(text, chunk_rows, tmp_path):
    found, y = content(stream(csv(tmp_path, text), target="y", chunk_rows=chunk_rows))
    assert found.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == ["u", "v"]


@pytest.mark.parametrize("chunk_rows", [1, 2, None])
def test_shapes_of_svmlight_text(chunk_rows, tmp_path):
    text = "\ufeff# comment\n1 1:1 # one\n\n\n# more\n2 2:2\n#\n\n3 1:3"
    found, y = content(stream(csv(tmp_path, text, "a.svm"), chunk_rows=chunk_rows))
    assert found.tolist() == [[1, 0], [0, 2], [3, 0]]
    assert y.tolist() == [1, 2, 3]


@pytest.mark.parametrize("chunk_rows", [1, 2, None])
def test_line_ends_within_quoted_values(chunk_rows, tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "BLOCK_BYTES", 40)
    words = ["a\nb", 'say ""hi""\n!', "x,y", "p\n\nq", "plain"] * 4
    rows = "".join(f'{i},"{word}"\n' for i, word in enumerate(words))
    y = content(stream(csv(tmp_path, "a,y\n" + rows), target="y", chunk_rows=chunk_rows))[1]
    assert y.tolist() == [word.replace('""', '"') for word in words]


def test_a_quotation_mark_that_is_none(tmp_path):
    rows = '1,u\n2,5" pipe\n3,u\n' * 5
    data = stream(csv(tmp_path, "a,y\n" + rows), target="y", chunk_rows=2)
    assert content(data)[0].ravel().tolist() == [1, 2, 3] * 5


def test_files_without_rows_are_passed_over(tmp_path):
    empty, head = csv(tmp_path, "", "a.csv"), csv(tmp_path, "a,b,c,d,y\n", "b.csv")
    assert_array_equal(content(open_stream([empty, head, write(tmp_path, "csv"), empty]))[0], X)
    none = pd.DataFrame(X[:0], columns=list("abcd")).assign(y=Y[:0])
    none.to_parquet(tmp_path / "none.parquet")
    files = [tmp_path / "none.parquet", write(tmp_path, "parquet")]
    assert_array_equal(content(open_stream(files))[0], X)
    for files in (empty, [empty, head], tmp_path / "none.parquet", csv(tmp_path, "#\n", "a.svm")):
        with pytest.raises(DataFileError, match="no rows"):
            list(open_stream(files))


# ---------------------------------------------------------------- mixed tables


def mixed(tmp_path, rows=60):
    towns = ["Bern", "Sion", None]
    frame = pd.DataFrame(
        {
            "rooms": [float(i % 7) if i % 11 else None for i in range(rows)],
            "town": [towns[i % 3] for i in range(rows)],
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(rows), "D"),
            "y": [i % 5 for i in range(rows)],
        }
    )
    frame.to_csv(tmp_path / "mixed.csv", index=False)
    frame.to_parquet(tmp_path / "mixed.parquet", row_group_size=25)
    return tmp_path / "mixed.csv", tmp_path / "mixed.parquet"


def test_text_and_missing_values_are_encoded_as_in_memory(tmp_path):
    for path in mixed(tmp_path):
        table = read_table(path, target="y")
        whole = table_encoder(table.X, sparse=False).fit(table.X)
        data = stream(path, target="y", chunk_rows=13, encoder=whole)
        found, y = content(data)
        assert_array_equal(found, whole.transform(table.X).astype(np.float32))
        assert_array_equal(y, table.y)
        assert y.dtype.kind == "i"
        # By itself it sees the first chunk only, but the columns are the same here.
        own = content(stream(path, target="y", chunk_rows=13))[0]
        assert_array_equal(own[:, 1:], found[:, 1:])


def test_without_an_encoder_text_is_an_error(tmp_path):
    with pytest.raises(DataFileError, match="'town' holds text; use encoder='auto'"):
        list(stream(mixed(tmp_path)[0], target="y", columns=["town"], encoder=None))


# ---------------------------------------------------------------- errors name the place


def broken(tmp_path, text, match, name="rows.csv", good=None, **options):
    """Reading fails with this message, after the chunks before it."""
    path = text if hasattr(text, "exists") else csv(tmp_path, text, name)
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
        ("7,8,u\n9,ten,u\n", "line 7: column 'b' holds 'ten' where the rows before have numbers"),
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
        ("1 1:x\n", "line 4: .*lines are 'label index:value ...'"),
        ("1 2:1 1:1\n", "line 4: "),
        ("one 2:1\n", "line 4: "),
        ("1 9:1\n", "line 4: has a column 9, the last of n_features=3 is 3"),
        ("1 0:1\n", "line 4: has a column 0 where index_base=1"),
        ("1 1:nan\n", "line 4: the value of column 1 is not finite"),
        ("nan 1:1\n", "line 4: the label is not finite"),
        ("5 1:1\n", "line 4: the target is 5.0, not among"),
    ],
)
def test_bad_rows_of_svmlight_files(rest, match, tmp_path):
    options = {"n_features": 3, "index_base": 1, "classes": [1, 2], "name": "a.svm"}
    broken(tmp_path, "1 1:1\n2 2:2\n# no row\n" + rest, match, good=2, **options)


@pytest.mark.parametrize("suffix", ["csv.gz", "csv.xz", "svm.gz"])
def test_compressed_files_that_are_cut_off(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "BLOCK_BYTES", 2000)
    path = write(tmp_path, suffix)
    path.write_bytes(path.read_bytes()[:-800])
    with pytest.raises(DataFileError, match=r"line \d+ and what follows cannot be read") as caught:
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
    broken(tmp_path, path, "is no complete Parquet file", good=0)
    path.write_bytes(b"")
    broken(tmp_path, path, "is no complete Parquet file", good=0)


def test_bad_rows_of_parquet_files(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=Y)
    frame.loc[120, "c"] = np.nan
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=50)
    broken(tmp_path, tmp_path / "a.parquet", "row group 2, row 20: column 'c' is missing", good=120)
    frame.loc[120, "c"] = 0.0
    frame.loc[77, "y"] = None
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=50)
    broken(tmp_path, tmp_path / "a.parquet", "row group 1, row 27: the target 'y' is missing")


def test_files_that_do_not_fit_together(tmp_path):
    write(tmp_path, "csv", name="a")
    csv(tmp_path, "a,b,y\n1,2,yes\n", "b.csv")
    with pytest.raises(DataFileError, match=r"b.csv: lacks the column 'c' of the first file"):
        list(stream(tmp_path, target="y"))
    with pytest.raises(DataFileError, match="one stream has one format"):
        stream([tmp_path / "a.csv", write(tmp_path, "parquet")], target="y")


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"target": None}, ValueError, "target=None"),
        ({"target": "z"}, DataFileError, "no column 'z'"),
        ({"chunk_rows": 0}, ValueError, "chunk_rows=0"),
        ({"columns": ["q"]}, DataFileError, "no column 'q'"),
        ({"columns": ["y"]}, DataFileError, "at least one other column"),
        ({"format": "xml"}, ValueError, "format='xml'"),
        ({"dtype": int}, ValueError, "dtype="),
        ({"encoder": 3}, ValueError, "encoder=3"),
        ({"index_base": 2}, ValueError, "index_base=2"),
        ({"classes": [1, 2]}, DataFileError, "line 2: the target is .*, not a number"),
    ],
)
def test_wrong_options(options, error, match, tmp_path):
    with pytest.raises(error, match=match):
        list(stream(write(tmp_path, "csv"), **{"target": "y", **options}))


def test_paths_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        stream(tmp_path / "*.csv", target="y")
    with pytest.raises(DataFileError, match="no data files"):
        stream(tmp_path, target="y")
    with pytest.raises(ValueError, match="paths is empty"):
        stream([], target="y")
    (tmp_path / "a.npz").touch()
    with pytest.raises(DataFileError, match="npz files are read at once"):
        stream(tmp_path / "a.npz", target="y")


def test_a_file_that_has_changed_before_the_border(tmp_path):
    path = write(tmp_path, "csv")
    border = next(iter(open_stream(path, chunk_rows=10))).stop
    path.write_text(path.read_text().replace("a,b,c,d,y", "a,b,c,d,  y"))
    with pytest.raises(DataFileError, match="the file has changed"):
        list(open_stream(path, chunk_rows=10).chunks(start=border))


def test_a_stream_that_is_left_early_ends_its_thread(tmp_path):
    before = threading.active_count()
    for chunk in open_stream(write(tmp_path, "csv"), chunk_rows=5):
        assert chunk.start.line == 1
        break
    del chunk
    assert threading.active_count() == before

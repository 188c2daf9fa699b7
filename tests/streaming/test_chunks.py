"""Streams: every format yields the rows of its files, in chunks that can start anywhere."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from helpers.streams import LABELS, X, Y, content, every_format, open_stream, write, write_text
from widemargin.streaming import stream
from widemargin.streaming import text as text_files
from widemargin.tables import DataFileError, TableEncoder, read_table

pd = pytest.importorskip("pandas")


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
def test_a_stream_can_be_restarted_at_any_boundary(suffix, tmp_path):
    files = [write(tmp_path, suffix, slice(0, 100), "a"), write(tmp_path, suffix, slice(100, 230))]
    data = open_stream(files, chunk_rows=17)
    chunks = list(data.chunks(epochs=2))
    assert [c.stop for c in chunks] == sorted({c.stop for c in chunks})
    for i in range(0, len(chunks), 3):
        again = list(data.chunks(start=chunks[i].stop, epochs=2))
        assert [c.stop for c in again] == [c.stop for c in chunks[i + 1 :]]
        if again:
            assert_array_equal(content(again)[0], content(chunks[i + 1 :])[0])


def test_chunks_of_text_are_the_same_after_a_restart(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "TEXT_CHUNK_BYTES", 300)
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


def test_columns_can_be_selected_and_reordered(tmp_path):
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


def test_a_first_pass_finds_svmlight_columns_that_are_not_given(tmp_path):
    path = write_text(tmp_path, "1 1:2 3:1\n-1 2:1\n", "a.svm")
    assert content(stream(path))[0].tolist() == [[2, 0, 1], [0, 1, 0]]
    assert content(stream(path, n_features=5, index_base=0))[0].shape == (2, 5)
    zero = write_text(tmp_path, "1 0:7\n", "b.svm")
    assert content(stream([path, zero]))[0].tolist() == [[0, 2, 0, 1], [0, 0, 1, 0], [7, 0, 0, 0]]


# ---------------------------------------------------------------- layouts of text


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
def test_layouts_of_csv_text(text, chunk_rows, tmp_path):
    found, y = content(stream(write_text(tmp_path, text), target="y", chunk_rows=chunk_rows))
    assert found.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == ["u", "v"]


@pytest.mark.parametrize("chunk_rows", [1, 2, None])
def test_layouts_of_svmlight_text(chunk_rows, tmp_path):
    text = "\ufeff# comment\n1 1:1 # one\n\n\n# more\n2 2:2\n#\n\n3 1:3"
    found, y = content(stream(write_text(tmp_path, text, "a.svm"), chunk_rows=chunk_rows))
    assert found.tolist() == [[1, 0], [0, 2], [3, 0]]
    assert y.tolist() == [1, 2, 3]


@pytest.mark.parametrize("chunk_rows", [1, 2, None])
def test_line_ends_inside_quoted_values(chunk_rows, tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "TEXT_CHUNK_BYTES", 40)
    words = ["a\nb", 'say ""hi""\n!', "x,y", "p\n\nq", "plain"] * 4
    rows = "".join(f'{i},"{word}"\n' for i, word in enumerate(words))
    y = content(stream(write_text(tmp_path, "a,y\n" + rows), target="y", chunk_rows=chunk_rows))[1]
    assert y.tolist() == [word.replace('""', '"') for word in words]


def test_a_quotation_mark_inside_a_value(tmp_path):
    rows = '1,u\n2,5" pipe\n3,u\n' * 5
    data = stream(write_text(tmp_path, "a,y\n" + rows), target="y", chunk_rows=2)
    assert content(data)[0].ravel().tolist() == [1, 2, 3] * 5


def test_files_without_rows_are_skipped(tmp_path):
    empty, head = write_text(tmp_path, "", "a.csv"), write_text(tmp_path, "a,b,c,d,y\n", "b.csv")
    assert_array_equal(content(open_stream([empty, head, write(tmp_path, "csv"), empty]))[0], X)
    none = pd.DataFrame(X[:0], columns=list("abcd")).assign(y=Y[:0])
    none.to_parquet(tmp_path / "none.parquet")
    files = [tmp_path / "none.parquet", write(tmp_path, "parquet")]
    assert_array_equal(content(open_stream(files))[0], X)
    for files in (
        empty,
        [empty, head],
        tmp_path / "none.parquet",
        write_text(tmp_path, "#\n", "a.svm"),
    ):
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
        whole = TableEncoder(sparse=False).fit(table.X)
        data = stream(path, target="y", chunk_rows=13, encoder=whole)
        found, y = content(data)
        assert_array_equal(found, whole.transform(table.X).astype(np.float32))
        assert_array_equal(y, table.y)
        assert y.dtype.kind == "i"
        # The automatic encoder sees only the first chunk, but here the columns are the same.
        own = content(stream(path, target="y", chunk_rows=13))[0]
        assert_array_equal(own[:, 1:], found[:, 1:])


def test_without_an_encoder_text_is_an_error(tmp_path):
    with pytest.raises(DataFileError, match="'town' holds text; use encoder='auto'"):
        list(stream(mixed(tmp_path)[0], target="y", columns=["town"], encoder=None))


# ---------------------------------------------------------------- threads


def test_a_stream_that_is_abandoned_ends_its_thread(tmp_path):
    before = threading.active_count()
    for chunk in open_stream(write(tmp_path, "csv"), chunk_rows=5):
        assert chunk.start.line == 1
        break
    del chunk
    assert threading.active_count() == before

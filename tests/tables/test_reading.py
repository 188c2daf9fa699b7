"""Every format gives the same table, with the right types of columns."""

import gzip
import lzma

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from helpers.data_files import X, Y, csv_text, write
from widemargin.tables import DataFileError, read_table

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def test_every_format_gives_the_same_table(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y)
    frame.to_parquet(tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", X=X, y=Y)
    matrix = sparse.csr_array(X)
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    np.savez(tmp_path / "csr.npz", **parts, shape=X.shape, y=Y)
    sparse.save_npz(tmp_path / "csc.npz", sparse.csc_matrix(X))
    dump_svmlight_file(X, Y, str(tmp_path / "t.svm"), zero_based=False)
    files = {
        "t.csv": csv_text(),
        "t.txt": csv_text(";"),
        "t.tsv": csv_text("\t"),
        "bom.csv": "\ufeff" + csv_text(),
        "crlf.csv": csv_text().replace("\n", "\r\n"),
        "spaces.CSV": "\n" + csv_text(" , "),
        "t.csv.gz": gzip.compress(csv_text().encode()),
        "t.csv.xz": lzma.compress(csv_text().encode()),
        "t.svm.gz": gzip.compress((tmp_path / "t.svm").read_bytes()),
    }
    for name, content in files.items():
        write(tmp_path, name, content)
    for path in sorted(tmp_path.iterdir()):
        has_names = not any(part in path.name for part in ("npz", "svm"))
        table = read_table(path, target="y" if has_names else None)
        dense = table.X.toarray() if sparse.issparse(table.X) else table.X
        assert dense.dtype == np.float64
        np.testing.assert_array_equal(dense, X, err_msg=path.name)
        assert table.feature_names == (("a", "b", "c") if has_names else ())
        if path.name != "csc.npz":
            np.testing.assert_array_equal(table.y, Y, err_msg=path.name)


def test_target_by_name_and_position(tmp_path):
    path = write(tmp_path, "t.csv", csv_text())
    assert read_table(path).y is None
    assert read_table(path).X.shape == (3, 4)
    for target in ("y", "-1", -1, "3"):
        table = read_table(path, target=target)
        assert table.target_name == "y"
        np.testing.assert_array_equal(table.y, Y)
    bare = write(tmp_path, "bare.csv", csv_text().split("\n", 1)[1])
    table = read_table(bare, target="-1", header=False)
    assert (table.feature_names, table.target_name) == (("c0", "c1", "c2"), "c3")
    np.testing.assert_array_equal(table.X, X)


def test_float32_columns_stay_float32(tmp_path):
    frame = pd.DataFrame(X.astype(np.float32), columns=["a", "b", "c"])
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").X.dtype == np.float32
    frame.assign(d=1).to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").X.dtype == np.float64
    np.savez(tmp_path / "t.npz", X=X.astype(np.float32))
    assert read_table(tmp_path / "t.npz").X.dtype == np.float32


def test_spaces_and_missing_values(tmp_path):
    path = write(tmp_path, "t.csv", "age, town ,pay\n 39, Bern, >50K\n ?, ?, <=50K\n,NA,>50K\n")
    table = read_table(path, target="pay")
    assert table.feature_names == ("age", "town")
    assert table.y.tolist() == [">50K", "<=50K", ">50K"]
    assert table.X["age"].dtype == np.float64
    np.testing.assert_array_equal(table.X["age"], [39, np.nan, np.nan])
    assert table.X["town"].isna().tolist() == [False, True, True]
    assert table.X["town"][0] == "Bern"


def test_numbers_with_missing_values_make_a_frame(tmp_path):
    table = read_table(write(tmp_path, "t.csv", "a,b\n1,2\nnan,3\n"))
    assert isinstance(table.X, pd.DataFrame)
    not_null = pa.array(np.array([1.0, np.nan]), from_pandas=False)
    pq.write_table(pa.table({"a": not_null}), tmp_path / "p.parquet")
    assert isinstance(read_table(tmp_path / "p.parquet").X, pd.DataFrame)


def test_types_are_inferred_from_the_whole_file(tmp_path):
    rows = "1,2,3\n" * 400_000  # longer than what pyarrow parses at a time by default
    table = read_table(write(tmp_path, "t.csv", "a,b,y\n" + rows + "1.5,x,4\n"), target="y")
    assert table.X["a"].iloc[-1] == 1.5
    assert table.X["b"].iloc[0] == "2"
    assert table.y.dtype == np.int64


@pytest.mark.slow
def test_wide_rows(tmp_path):
    rows = "\n".join(",".join(["0." + "12345" * 20] * 15_000) for _ in range(2))
    assert read_table(write(tmp_path, "t.csv", rows), header=False).X.shape == (2, 15_000)


def test_quoted_separators_and_line_ends(tmp_path):
    path = write(tmp_path, "t.csv", 'a,b\n1,"x, y"\n2,"two\nlines"\n')
    assert read_table(path).X["b"].tolist() == ["x, y", "two\nlines"]


def test_dates_become_days(tmp_path):
    text = "d,t,n\n1970-01-03,1970-01-02 12:00:00,06:00:00\n1969-12-31,1970-01-01 00:00:00,00:00:00"
    np.testing.assert_array_equal(
        read_table(write(tmp_path, "t.csv", text)).X, [[2, 1.5, 0.25], [-1, 0, 0]]
    )


def test_parquet_types(tmp_path):
    table = pa.table(
        {
            "dict": pa.array(["u", "v", None]).dictionary_encode(),
            "codes": pa.array([3, 4, 3]).dictionary_encode(),
            "flag": pa.array([True, None, False]),
            "decimal": pa.array([1, 2, None], pa.decimal128(5, 2)),
            "none": pa.nulls(3),
            "days": pa.array([0, 1, None], pa.date32()),
            "long": pa.array([1, 2, 86_400_000], pa.duration("ms")),
            "wide": pa.array([2**60, 1, None], pa.int64()),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    X = read_table(tmp_path / "t.parquet").X
    assert X["dict"].tolist()[:2] == ["u", "v"]
    assert X["codes"].tolist() == [3, 4, 3]
    assert X["flag"].tolist()[::2] == [True, False]
    assert X["decimal"].tolist()[:2] == [1.0, 2.0]
    assert X["none"].isna().all()
    assert X["days"].tolist()[:2] == [0.0, 1.0]
    assert X["long"].iloc[2] == 1.0
    assert X["wide"].iloc[0] == 2.0**60
    pq.write_table(pa.table({"a": [1.0], "l": [[1, 2]]}), tmp_path / "l.parquet")
    with pytest.raises(DataFileError, match="column 'l' holds values of type list"):
        read_table(tmp_path / "l.parquet")


def test_svmlight_with_a_known_number_of_features(tmp_path):
    path = write(tmp_path, "t.svm", "1 1:2 # comment\n\n-1 2:3\n")
    assert read_table(path).X.shape == (2, 2)
    assert read_table(path, n_features=5, target="label").X.shape == (2, 5)
    with pytest.raises(DataFileError, match="has a column 2, but the last of 1 columns is 1"):
        read_table(path, n_features=1)


@pytest.mark.parametrize(
    ("text", "index_base", "found", "X"),
    [
        ("1 1:5 2:6\n", None, 1, [[5, 6, 0]]),
        ("1 1:5 2:6\n", 1, 1, [[5, 6, 0]]),
        ("1 1:5 2:6\n", 0, 0, [[0, 5, 6]]),
        ("1 0:4 2:6\n", None, 0, [[4, 0, 6]]),
        ("1 0:4 2:6\n", 0, 0, [[4, 0, 6]]),
        ("1\n", None, 1, [[0, 0, 0]]),
    ],
)
def test_svmlight_columns_start_at_index_base(text, index_base, found, X, tmp_path):
    path = write(tmp_path, "t.svm", text)
    table = read_table(path, n_features=3, index_base=index_base)
    np.testing.assert_array_equal(table.X.toarray(), X)
    assert table.index_base == found


def test_svmlight_columns_outside_the_table(tmp_path):
    path = write(tmp_path, "t.svm", "1 0:4 3:6\n")
    with pytest.raises(DataFileError, match="has a column 0, but index_base=1"):
        read_table(path, index_base=1)
    with pytest.raises(DataFileError, match="has a column 3, but the last of 3 columns is 2"):
        read_table(path, n_features=3)
    with pytest.raises(ValueError, match="index_base=2; use 0, 1 or None"):
        read_table(path, index_base=2)
    assert read_table(write(tmp_path, "t.csv", csv_text())).index_base is None


def test_format_overrides_the_suffix(tmp_path):
    path = write(tmp_path, "adult.data", csv_text())
    assert read_table(path, format="csv").X.shape == (3, 4)
    with pytest.raises(ValueError, match="format='xls'"):
        read_table(path, format="xls")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.bz2", "t.csv.xz"])
def test_pyarrow_holds_no_python_object(name, tmp_path):
    """Its threads may outlive a read; one that frees a Python object at exit ends in an abort."""
    pa = pytest.importorskip("pyarrow")
    from widemargin.tables.formats import COMPRESSED, arrow_bytes, open_arrow

    path = tmp_path / name
    with COMPRESSED.get(path.suffix, open)(path, "wb") as stream:
        stream.write(b"a,b\n1,2\n")
    for source in (open_arrow(path), arrow_bytes(b"a,b\n1,2\n")):
        assert isinstance(source, pa.NativeFile)
        assert not isinstance(source, pa.PythonFile)
        buffer = source.read_buffer()
        while buffer.parent is not None:
            buffer = buffer.parent
            assert isinstance(buffer, pa.Buffer)
        assert buffer.to_pybytes().endswith(b"a,b\n1,2\n")

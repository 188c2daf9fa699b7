"""Data files: every format gives the same table, and every bad file says what is wrong."""

import gzip
import lzma
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import persistence
from widemargin.tables import (
    DataFileError,
    TextColumns,
    read_table,
    table_encoder,
    text_columns,
    write_predictions,
)

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

X = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, -3.25], [0.0, 0.0, 7.0]])
Y = np.array([1, -1, 1])


def write(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def csv_text(separator=","):
    lines = [["a", "b", "c", "y"], *([*map(str, row), str(y)] for row, y in zip(X, Y, strict=True))]
    return "".join(separator.join(line) + "\n" for line in lines)


# ---------------------------------------------------------------- good files


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


def test_types_are_found_over_the_whole_file(tmp_path):
    rows = "1,2,3\n" * 400_000  # several of the reader's default blocks
    table = read_table(write(tmp_path, "t.csv", "a,b,y\n" + rows + "1.5,x,4\n"), target="y")
    assert table.X["a"].iloc[-1] == 1.5
    assert table.X["b"].iloc[0] == "2"
    assert table.y.dtype == np.int64


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
    with pytest.raises(DataFileError, match="n_features"):
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
def test_svmlight_columns_start_where_they_are_said_to(text, index_base, found, X, tmp_path):
    path = write(tmp_path, "t.svm", text)
    table = read_table(path, n_features=3, index_base=index_base)
    np.testing.assert_array_equal(table.X.toarray(), X)
    assert table.index_base == found


def test_svmlight_columns_outside_the_table(tmp_path):
    path = write(tmp_path, "t.svm", "1 0:4 3:6\n")
    with pytest.raises(DataFileError, match="has a column 0 where index_base=1"):
        read_table(path, index_base=1)
    with pytest.raises(DataFileError, match="has a column 3, the last of n_features=3 is 2"):
        read_table(path, n_features=3)
    with pytest.raises(ValueError, match="index_base=2; use 0, 1 or None"):
        read_table(path, index_base=2)
    assert read_table(write(tmp_path, "t.csv", csv_text())).index_base is None


def test_format_overrides_the_suffix(tmp_path):
    path = write(tmp_path, "adult.data", csv_text())
    assert read_table(path, format="csv").X.shape == (3, 4)
    with pytest.raises(ValueError, match="format='xls'"):
        read_table(path, format="xls")


# ---------------------------------------------------------------- bad files

BAD = [
    ("t.xls", "", "unknown suffix '.xls'; known are .csv"),
    ("t.parquet.gz", "", "unknown suffix"),
    ("t.csv", "", "empty"),
    ("t.csv", "\n\n", "empty"),
    ("t.csv", "a,y\n", "no rows"),
    ("t.csv", "a,y\n1,2\n\n3\n", "line 4 has 1 values where the first has 2"),
    ("t.csv", 'a,y\n1,"x\ny"\n3,4,5\n', "line 4 has 3 values"),
    ("t.csv", 'a,y\n1,2\n"3,4\n5,6\n', "line 3 has 1 values"),
    ("t.csv", "a,a,y\n1,2,3\n", "more than one column is called 'a'.*header=False"),
    ("t.csv", ",a,y\n0,2,3\n", "column 1 has no name.*index=False"),
    ("t.csv", "a,Yy\n1,2\n", "no column 'y'.*'Yy'"),
    ("t.csv", "y\n1\n", "no column besides the target"),
    ("t.csv", "a,y\n1,2\n3,\n4,?\n", "column 'y' is missing in 2 of 3 rows, first in data row 2"),
    ("t.csv", b"a,y\n\xff\xfe,2\n", "column 'a' holds text that is not UTF-8"),
    ("t.csv", b"\xff,y\n1,2\n", "UTF-8"),
    ("t.csv.gz", b"a,y\n1,2\n", "cannot be read"),
    ("t.csv.gz", gzip.compress(b"a,y\n1,2\n" * 99)[:-20], "cannot be read"),
    ("t.csv.xz", b"a,y\n1,2\n", "cannot be read"),
    ("t.parquet", b"", "Parquet"),
    ("t.parquet", b"PAR1 and not more PAR1", "Parquet"),
    ("t.svm", "", "0 rows"),
    ("t.svm", "1 1:2\n\n1 1:x\n", "line 3:"),
    ("t.svm", "1 1:2\nabc 1:2\n", "line 2:"),
    ("t.svm", "1 2:2 1:1\n", "line 1:.*growing"),
    ("t.svm", "1 1:2\n1 -4:1\n", "line 2:"),
    ("t.svm", "1 1:2\n1 3\n", "line 2:"),
    ("t.svm", "1 99999999999999:1\n", "line 1:"),
    ("t.svm", "1 1:1\nnan 1:2\n", "label is missing in 1 of 2 rows, first in data row 2"),
    ("t.npz", b"", "cannot be read|savez"),
    ("t.npz", b"PK\x03\x04 broken", "savez"),
    ("t.npz", b"words", "savez"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD)
def test_bad_files_say_what_is_wrong(name, content, message, tmp_path):
    path = write(tmp_path, name, content)
    named = name.startswith(("t.csv", "t.parquet"))
    with pytest.raises(DataFileError, match=message) as caught:
        read_table(path, target="y" if named else None)
    assert str(path) in str(caught.value)


MATRIX = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 2], "shape": [2, 2]}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "neither X nor"),
        ({"X": [1.0]}, "numeric matrix"),
        ({"X": [["a"]]}, "numeric matrix"),
        ({"X": np.zeros((0, 2))}, "0 rows"),
        ({"X": X, "y": [1, 2]}, "y has shape"),
        ({"X": X, "y": [1, np.nan, 2]}, "first in data row 2"),
        ({"X": np.array([[None]])}, "savez"),
        ({"X": X, "y": np.array(["a", 1, None], object)}, "savez"),
        (MATRIX | {"indices": [0, 2]}, "index outside"),
        (MATRIX | {"indices": [0, -1]}, "index outside"),
        (MATRIX | {"indptr": [0, 9, 2]}, "indptr"),
        (MATRIX | {"indptr": [0, 2]}, "do not fit"),
        (MATRIX | {"shape": [2, -2]}, "shape"),
        (MATRIX | {"shape": [2.0, 2.0]}, "shape"),
        (MATRIX | {"shape": 2}, "format"),
        (MATRIX | {"format": "coo"}, "'coo'; write it as csr"),
        ({"data": [1.0]}, "is missing"),
    ],
)
def test_bad_archives(parts, message, tmp_path):
    np.savez(tmp_path / "t.npz", **parts)
    with pytest.raises(DataFileError, match=message):
        read_table(tmp_path / "t.npz")


def test_an_array_file_is_not_an_archive(tmp_path):
    np.save(tmp_path / "t.npy", X)
    (tmp_path / "t.npy").rename(tmp_path / "t.npz")
    with pytest.raises(DataFileError, match="savez"):
        read_table(tmp_path / "t.npz")


@pytest.mark.parametrize("name", ["no.csv", "no.parquet", "no.svm", "no.npz"])
def test_missing_files_and_folders(name, tmp_path):
    with pytest.raises(DataFileError, match=r"no\..*cannot be read"):
        read_table(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(DataFileError):
        read_table(tmp_path / name)


def test_formats_with_a_fixed_target_refuse_another(tmp_path):
    path = write(tmp_path, "t.svm", "1 1:2\n")
    with pytest.raises(DataFileError, match="target='price'"):
        read_table(path, target="price")
    np.savez(tmp_path / "t.npz", X=X, y=Y)
    with pytest.raises(DataFileError, match="'y'"):
        read_table(tmp_path / "t.npz", target="price")


@pytest.mark.parametrize(
    ("package", "text", "message"),
    [("pyarrow", "a\n1\n", r"widemargin\[cli\]"), ("pandas", "a\nx\n", "pip install pandas")],
)
def test_missing_packages_are_named(package, text, message, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=message):
        read_table(write(tmp_path, "t.csv", text))


# ---------------------------------------------------------------- encoder


def mixed_frame():
    return pd.DataFrame(
        {
            "age": [20.0, None, 40.0, 25.0],
            "count": pd.array([1, 2, None, 4], dtype="Int64"),
            "town": ["Bern", "Sion", None, "Bern"],
            "object": np.array(["u", None, "v", "u"], dtype=object),
            "category": pd.Categorical([3, 4, 3, 4]),
            "flag": [True, False, True, True],
        }
    )


@pytest.mark.parametrize("sparse_output", ["auto", True, False])
def test_encoder_takes_every_column_type_and_is_saved(sparse_output, tmp_path):
    frame = mixed_frame()
    encoder = table_encoder(frame, sparse=sparse_output)
    Z = encoder.fit_transform(frame)
    if sparse_output != "auto":
        assert sparse.issparse(Z) is sparse_output
    Z = Z.toarray() if sparse.issparse(Z) else Z
    assert Z.shape == (4, 2 + 3 + 3 + 2 + 2)
    assert Z[1, 0] == 25.0
    assert Z[2, 1] == 2.0
    assert np.isfinite(Z).all()
    persistence.save(encoder, tmp_path / "encoder")
    again = persistence.load(tmp_path / "encoder").transform(frame)
    np.testing.assert_array_equal(again.toarray() if sparse.issparse(again) else again, Z)
    assert text_columns(encoder) == ["town", "object", "category", "flag"]
    assert len(encoder.get_feature_names_out()) == Z.shape[1]


def test_encoder_drops_what_does_not_vary():
    frame = mixed_frame().assign(
        one=1.0, word="w", void=np.nan, nothing=None, when=pd.Timestamp("2026-01-02")
    )
    with pytest.warns(UserWarning, match="'one'.*'word'.*'void'.*'nothing'.*'when'.*dates"):
        encoder = table_encoder(frame)
    assert encoder.fit_transform(frame).shape[1] == 12
    with pytest.raises(ValueError, match="varies"), pytest.warns(UserWarning, match="one"):
        table_encoder(frame[["one"]])
    with pytest.raises(TypeError, match="arrays need no encoder"):
        table_encoder(X)
    with pytest.raises(ValueError, match="sparse='yes'"):
        table_encoder(frame, sparse="yes")


def test_new_and_rare_categories_are_no_error():
    words = np.r_[np.repeat(["a", "b"], 15_000), ["rare"]]
    frame = pd.DataFrame({"w": words})
    encoder = table_encoder(frame, sparse=False).fit(frame)
    rows = encoder.transform(pd.DataFrame({"w": ["a", "rare", "new", None]}))
    assert rows.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1]]


def test_text_is_the_same_however_a_column_was_read():
    columns = [[1, 2], [1.0, 2.0], ["1", "2"], np.array([1, "2"], object), pd.Categorical([1, 2])]
    for column in columns:
        assert TextColumns().fit_transform(pd.DataFrame({"c": column})).tolist() == [["1"], ["2"]]
    array = np.array([["x", None], [float("nan"), 2]], dtype=object)
    assert TextColumns("?").fit_transform(array).tolist() == [["x", "?"], ["?", "2"]]


def test_columns_keep_their_type_in_later_files(tmp_path):
    train = read_table(write(tmp_path, "train.csv", "code,n,y\n01,1,0\n2,2,1\nA,3,0\n"), target="y")
    encoder = table_encoder(train.X, sparse=False)
    model = make_pipeline(encoder, StandardScaler()).fit(train.X)
    later = write(tmp_path, "later.csv", "y,n,code\n1,2,01\n1,2,2\n")
    table = read_table(later, text_columns=text_columns(model))
    assert table.X["code"].tolist() == ["01", "2"]
    assert model[0].transform(table.X).tolist() == [[2, 1, 0, 0], [2, 0, 1, 0]]
    numbers = read_table(write(tmp_path, "n.csv", "a\n1\n2\n"), text_columns=[])
    assert isinstance(numbers.X, pd.DataFrame)
    with pytest.raises(DataFileError, match="lacks 'code', to be read as text"):
        read_table(write(tmp_path, "short.csv", "codes,n\n1,2\n"), text_columns=["code"])
    assert text_columns(StandardScaler()) is None


@pytest.mark.skipif("WIDEMARGIN_DATA" not in os.environ, reason="WIDEMARGIN_DATA is not set")
def test_adult(tmp_path):
    source = Path(os.environ["WIDEMARGIN_DATA"]) / "adult" / "adult.data.xz"
    if not source.exists():
        pytest.skip("WIDEMARGIN_DATA holds no adult/adult.data.xz")
    table = read_table(source, target="-1", format="csv", header=False)
    assert table.X.shape == (32_561, 14)
    assert np.unique(table.y).tolist() == ["<=50K", ">50K"]
    # 1836 + 1843 + 583 question marks in work class, occupation and country.
    assert int(table.X.isna().to_numpy().sum()) == 4262
    encoder = table_encoder(table.X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Z = encoder.fit_transform(table.X)
    assert sparse.issparse(Z)
    assert 100 < Z.shape[1] < 115
    persistence.save(encoder, tmp_path / "adult")
    again = persistence.load(tmp_path / "adult").transform(table.X)
    assert (again != Z).nnz == 0


# ---------------------------------------------------------------- predictions

COLUMNS = {
    "row": [1, 2, 3],
    "file": np.array(["a", 'q"uo,te', "\u00e9"]),
    "label": np.array(["x", "y", "z"], dtype=object),
    "score": np.array([0.1, -1e300, 2.5]),
    "flag": [True, False, True],
}


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.csv.gz", "p.parquet", "p.npz"])
def test_predictions_come_back(name, tmp_path):
    path = tmp_path / name
    write_predictions(path, COLUMNS)
    if name.endswith("npz"):
        with np.load(path, allow_pickle=False) as archive:
            frame = pd.DataFrame({key: archive[key] for key in archive.files})
    elif name.endswith("parquet"):
        frame = pd.read_parquet(path)
    else:
        frame = pd.read_csv(path, sep="\t" if "tsv" in name else ",")
    for key, values in COLUMNS.items():
        assert frame[key].tolist() == list(values)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(
    ("name", "columns", "error", "message"),
    [
        ("p.svm", {"a": [1]}, DataFileError, ".csv, .tsv, .parquet or .npz"),
        ("p.doc", {"a": [1]}, DataFileError, ".csv, .tsv, .parquet or .npz"),
        ("p.csv", {"a": [1], "b": [1, 2]}, ValueError, "lengths"),
        ("p.csv", {}, ValueError, "lengths"),
        ("p.csv", {"a": [[1, 2]]}, ValueError, "column 'a' has shape"),
        ("p.npz", {"a": np.array([{}, None])}, ValueError, "column 'a' has shape"),
    ],
)
def test_unwritable_predictions_leave_nothing(name, columns, error, message, tmp_path):
    with pytest.raises(error, match=message):
        write_predictions(tmp_path / name, columns)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "a,b,y\n1,2,u\n3,inf,v\n", "'b' is infinite in 1 of 2 rows, first in data row 2"),
        ("a.csv", "a,b,y\n1,,u\n3,-inf,v\n", "'b' is infinite in 1 of 2 rows, first in data row 2"),
        ("a.csv", b"a\0\x8f,b\n1,2\n", "is no text file"),
        ("a.npz", b"\x80\x04no archive at all", "is no NumPy archive"),
        ("a.npz", b"", "is no NumPy archive"),
    ],
)
def test_infinite_values_and_files_of_another_kind(name, content, message, tmp_path):
    with pytest.raises(DataFileError, match=message):
        read_table(write(tmp_path, name, content))


def test_text_that_hardly_repeats_is_warned_of():
    frame = pd.DataFrame(
        {"price": [f"{i},5" for i in range(40)], "town": ["Bern", "Sion"] * 20, "n": range(40)}
    )
    with pytest.warns(UserWarning, match=r"'price' holds 40 different texts.*decimal point"):
        table_encoder(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table_encoder(frame.drop(columns="price"))

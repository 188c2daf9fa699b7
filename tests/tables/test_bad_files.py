"""The error of a bad file says what is wrong, and where."""

import gzip
import sys
import warnings

import numpy as np
import pytest

from helpers.data_files import X, Y, write
from widemargin.tables import DataFileError, read_table

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

BAD = [
    ("t.xls", "", "unknown suffix '.xls'; use one of .csv"),
    ("t.parquet.gz", "", "unknown suffix"),
    ("t.csv", "", "empty"),
    ("t.csv", "\n\n", "empty"),
    ("t.csv", "a,y\n", "no rows"),
    ("t.csv", "a,y\n1,2\n\n3\n", "line 4 has 1 values where the first has 2"),
    ("t.csv", 'a,y\n1,"x\ny"\n3,4,5\n', "line 4 has 3 values"),
    ("t.csv", 'a,y\n1,2\n"3,4\n5,6\n', "line 3 has 1 values"),
    ("t.csv", "a,a,y\n1,2,3\n", "more than one column is called 'a'.*header=False"),
    ("t.csv", "a,Yy\n1,2\n", "no column 'y'.*'Yy'"),
    ("t.csv", "y\n1\n", "no column besides the target"),
    ("t.csv", "a,y\n1,2\n3,\n4,?\n", "column 'y' is missing in 2 of 3 rows, first in data row 2"),
    ("t.csv.gz", b"a,y\n1,2\n", "cannot be read"),
    ("t.csv.gz", gzip.compress(b"a,y\n1,2\n" * 99, mtime=0)[:-20], "cannot be read"),
    ("t.csv.xz", b"a,y\n1,2\n", "cannot be read"),
    ("t.arrow", b"", "Arrow"),
    ("t.feather", b"ARROW1 and no more", "Arrow"),
    ("t.parquet", b"", "Parquet"),
    ("t.parquet", b"PAR1 and not more PAR1", "Parquet"),
    ("t.svm", "", "0 rows"),
    ("t.svm", "1 1:2\n\n1 1:x\n", "line 3:"),
    ("t.svm", "1 1:2\nabc 1:2\n", "line 2:"),
    ("t.svm", "1 2:2 1:1\n", "line 1:.*increasing"),
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
    named = name.startswith(("t.csv", "t.parquet", "t.arrow", "t.feather"))
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
        (MATRIX | {"format": "coo"}, "'coo', which must be csr"),
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


@pytest.mark.parametrize("name", ["no.csv", "no.parquet", "no.arrow", "no.svm", "no.npz"])
def test_missing_files_and_folders(name, tmp_path):
    with pytest.raises(DataFileError, match=r"no\..*cannot be read"):
        read_table(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(DataFileError):
        read_table(tmp_path / name)


def test_formats_with_a_fixed_target_refuse_another_one(tmp_path):
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


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "a,b,y\n1,2,u\n3,inf,v\n", "'b' is infinite in 1 of 2 rows, first in data row 2"),
        ("a.csv", "a,b,y\n1,,u\n3,-inf,v\n", "'b' is infinite in 1 of 2 rows, first in data row 2"),
        ("a.csv", "a,b\n1,2\n3,-Infinity\n", "data row 2, which holds -inf; replace .* or leave"),
        ("a.csv", b"a\0\x8f,b\n1,2\n", "not a text file"),
        ("a.csv", np.random.default_rng(0).bytes(5000), "not a text file.*format=.*encoding="),
        ("a.csv", np.random.default_rng(1).bytes(90).replace(b"\0", b"."), "not a text file"),
        ("a.csv", b"a,b\n1,2\n\xe9\0,4\n", "not a text file"),
        ("a.csv", "a,b\nZürich,1\n".encode("cp850"), "no utf-8 or cp1252 text.*encoding="),
        ("a.csv", "a,b\n札幌,1\n東京、,2\n".encode("shift-jis"), "no utf-8 or cp1252 text"),
        ("a.npz", b"\x80\x04no archive at all", "not a NumPy archive"),
        ("a.npz", b"", "not a NumPy archive"),
    ],
)
def test_infinite_values_and_files_of_another_type(name, content, message, tmp_path):
    path = write(tmp_path, name, content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataFileError, match=message):
            read_table(path)

"""Separator, header, encoding and decimal sign are found, and can be given."""

import numpy as np
import pytest

from helpers.data_files import write
from widemargin.tables import DataFileError, read_table
from widemargin.tables.dialect import find_dialect
from widemargin.tables.formats import COMPRESSED, open_arrow
from widemargin.tables.originals import original_columns
from widemargin.tables.raw import Reading, read_raw

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

FOUND = [
    ("a,b\n1,2\n3,4\n", (",", True, "utf-8", ".")),
    ("1,2\n3,4\n", (",", False, "utf-8", ".")),
    ("a;b\n1,5;2\n3,25;4\n", (";", True, "utf-8", ",")),
    ("1,5;2,5\n3,25;4,5\n", (";", False, "utf-8", ",")),
    ("a\tb\n1.5\tx, y\n2\tz\n", ("\t", True, "utf-8", ".")),
    ("a|b|c\n1|2|3\n", ("|", True, "utf-8", ".")),
    ("p,x\ne,x\np,s\np,x\n", (",", False, "utf-8", ".")),  # texts that come again
    ("name,town\nAnna,Bern\nBeat,Sion\n", (",", True, "utf-8", ".")),
    ("0,1,2\n5,3.5,4\n1,2,3\n", (",", True, "utf-8", ".")),  # numbered columns
    ("39, State-gov, 77516\n50, Private, 83311\n", (",", False, "utf-8", ".")),
    ("x\n1\n2\n", (",", True, "utf-8", ".")),
    ("a,b\n?,1\n2,?\n", (",", True, "utf-8", ".")),
    ("\n\na,b\n1,2\n", (",", True, "utf-8", ".")),
    ("a,b\n1,é\n2,ü\n".encode("cp1252"), (",", True, "cp1252", ".")),
    ("a,b\n1,é\n".encode("utf-16"), (",", True, "utf-16", ".")),
    ('a,b\n"0,345","1,5"\n"2,25",3\n', (",", True, "utf-8", ",")),
    ('"1,5","2,5"\n"3,25","4,5"\n', (",", False, "utf-8", ",")),
    ('a,b\n"1,234","12,000"\n"2,345",3\n', (",", True, "utf-8", ".")),  # thousands
    ('a,b\n"1,23",1.5\n"2,34",2.5\n', (",", True, "utf-8", ".")),
    ('a,b\n"3,5",1\n"3,5,8",2\n', (",", True, "utf-8", ".")),  # lists
    ("sep=;\na;b\n1,5;x\n", (";", True, "utf-8", ",")),
    ("\ufeffsep=|\r\na,b|c\r\n1|2\r\n", ("|", True, "utf-8", ".")),
    ("SEP=\t\na\tb\n1\t2\n", ("\t", True, "utf-8", ".")),
]


@pytest.mark.parametrize(("text", "expected"), FOUND)
def test_what_is_found(text, expected, tmp_path):
    found = find_dialect(write(tmp_path, "t.csv", text))
    assert (found.separator, found.header, found.encoding, found.decimal) == expected


@pytest.mark.parametrize(
    "before",
    [
        "sep=;\n",
        "# a comment\n",
        "\n# of 2026, by X, with commas; more\n\n#\n",
        "sep=;\r\n# a comment\r\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_lines_before_the_table_are_skipped(before, encoding, tmp_path):
    path = write(tmp_path, "t.csv", f"{before}a;b;c\n1;x;3\n4;y;6\n".encode(encoding))
    table = read_table(path, target="c")
    assert (table.feature_names, table.y.tolist()) == (("a", "b"), [3, 6])
    assert read_table(path, separator=";", columns=["a"]).X.tolist() == [[1], [4]]
    assert original_columns(path, None, Reading())["b"].tolist() == ["x", "y"]


def test_a_comment_before_numbers(tmp_path):
    path = write(tmp_path, "t.csv", "# of 2026\n1,2\n3,4\n")
    assert read_table(path).X.tolist() == [[1, 2], [3, 4]]
    write(tmp_path, "t.csv", "# of 2026\n" + "1,2\n" * 20 + "3,4,5\n")
    with pytest.raises(DataFileError, match="line 22 has 3 values"):
        read_table(path)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("#id,name\n1,Anna\n2,Beat\n", ("#id", "name")),
        ("# of 2026\n#id,name\n1,Anna\n2,Beat\n", ("#id", "name")),
        ("#id,name\n#1,Anna\n#2,Beat\n", ("#id", "name")),
        ("#id,name\n#1,Anna\nx2,Beat\n", ("#id", "name")),
        ("#id\n1\n2\n", ("#id",)),
    ],
)
def test_a_header_may_start_like_a_comment(text, names, tmp_path):
    assert read_table(write(tmp_path, "t.csv", text)).feature_names == names


def test_a_header_with_too_few_names_is_no_comment(tmp_path):
    path = write(tmp_path, "t.csv", "#id,name\n1,2,\n3,4,\n")
    with pytest.raises(DataFileError, match="line 2 has 3 values where the first has 2"):
        read_table(path)


def test_a_known_name_makes_a_header(tmp_path):
    path = write(tmp_path, "t.csv", "1990,2000\n5,6\n7,8\n")
    assert not find_dialect(path).header
    assert find_dialect(path, known=["2000"]).header
    assert read_table(path, target="2000").y.tolist() == [6, 8]


def test_what_is_given_is_not_guessed(tmp_path):
    path = write(tmp_path, "t.csv", "1,5;2,5\n3,5;4,5\n")
    table = read_table(path, separator=",", header=True, decimal=".")
    assert table.feature_names == ("1", "5;2", "5")
    assert read_table(path).X.tolist() == [[1.5, 2.5], [3.5, 4.5]]
    assert read_table(path, separator="semicolon", header=False).X.shape == (2, 2)


def test_encodings(tmp_path):
    text = "town,y\nZürich,1\nGenève,2\n"
    for encoding in ("utf-8", "utf-16"):
        path = write(tmp_path, f"{encoding}.csv", text.encode(encoding))
        assert read_table(path).X["town"].tolist() == ["Zürich", "Genève"]
    path = write(tmp_path, "w.csv", text.encode("cp1252"))
    with pytest.warns(UserWarning, match=r"w\.csv: not UTF-8; read as cp1252"):
        assert read_table(path).X["town"].tolist() == ["Zürich", "Genève"]
    assert read_table(path, encoding="latin-1").X["town"][1] == "Genève"
    with pytest.raises(DataFileError, match="no utf-8 text; name its encoding with encoding="):
        read_table(path, encoding="utf-8")
    with pytest.raises(ValueError, match="encoding='klingon' is not known"):
        read_table(path, encoding="klingon")


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "UTF8", "utf-8-sig"])
def test_threads_of_arrow_hold_no_object_of_python(tmp_path, encoding, suffix):
    """A decoder of Python in such a thread aborts the process now and then as it ends."""
    text = "town,y\n" + "Zürich,1\n" * 300_000  # several parts
    path = tmp_path / f"towns.csv{suffix}"
    opened = COMPRESSED.get(suffix, open)
    with opened(path, "wb") as stream:
        stream.write(text.encode(encoding))
    with open_arrow(path, encoding) as stream:
        assert isinstance(stream, pa.NativeFile)
        assert not isinstance(stream, pa.PythonFile)
        assert stream.read().decode("utf-8-sig") == text
    assert set(read_table(path, encoding=encoding).X["town"]) == {"Zürich"}


def test_another_encoding_far_from_the_beginning(tmp_path):
    rows = "Bern,1\n" * 60_000 + "Zürich,2\n"
    path = write(tmp_path, "t.csv", ("town,y\n" + rows).encode("cp1252"))
    with pytest.warns(UserWarning, match="cp1252"):
        assert read_table(path).X["town"].iloc[-1] == "Zürich"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"separator": "ab"}, "separator='ab'; use one character"),
        ({"decimal": "'"}, 'decimal="\'"; use . or ,'),
    ],
)
def test_wrong_arguments(arguments, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read_table(write(tmp_path, "t.csv", "a,b\n1,2\n"), **arguments)


def test_dates_with_points_and_slashes(tmp_path):
    text = "d,e,f,g\n03.01.1970,1970/01/02,01/02/1970,3\n01.01.1970,1970/01/05,03/04/1970,4\n"
    X = read_table(write(tmp_path, "t.csv", text)).X
    assert X["d"].tolist() == [2.0, 0.0]
    assert X["e"].tolist() == [1.0, 4.0]
    assert X["f"].tolist() == ["01/02/1970", "03/04/1970"]  # day or month first?


def test_a_column_without_a_name(tmp_path):
    assert read_table(write(tmp_path, "t.csv", ",a\n0,2\n1,3\n")).feature_names == (
        "unnamed 1",
        "a",
    )


def test_arrow_and_feather_files(tmp_path):
    table = pa.table({"a": [1.0, 2.0], "b": ["x", None], "when": pa.array([0, 1], pa.date32())})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    with pa.ipc.new_stream(tmp_path / "t.ipc", table.schema) as file:
        file.write_table(table)
    pa.feather.write_feather(table, tmp_path / "t.feather") if hasattr(pa, "feather") else None
    for path in tmp_path.iterdir():
        X = read_table(path).X
        assert X["a"].tolist() == [1.0, 2.0]
        assert X["b"].isna().tolist() == [False, True]
        assert X["when"].tolist() == [0.0, 1.0]


def test_archives_with_names_and_images(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.eye(3), y=[0, 1, 0], columns=np.array(["a", "b", "c"]))
    assert read_table(tmp_path / "t.npz").feature_names == ("a", "b", "c")
    np.savez(tmp_path / "t.npz", X=np.eye(3), columns=np.array(["a", "a", "c"]))
    assert read_table(tmp_path / "t.npz").feature_names == ()
    images = np.arange(24).reshape(2, 3, 4)
    np.savez(tmp_path / "t.npz", x_train=images, y_train=[0, 1], x_test=images)
    table = read_table(tmp_path / "t.npz")
    assert table.X.tolist() == images.reshape(2, 12).tolist()
    assert table.y.tolist() == [0, 1]


# --------------------------------------------------------------------------------- raw columns


def test_numbers_among_which_words_stand(tmp_path):
    rows = [*(f"{i},5;x" for i in range(20)), "unknown;y", ";z"]
    path = write(tmp_path, "t.csv", "\n".join(["a;b", *rows]))
    raw = read_raw(path, "csv", Reading(mostly=True))
    assert raw.odd == {"a": ("unknown", 1)}
    assert raw.columns[0].to_pylist() == [*(i + 0.5 for i in range(20)), None, None]
    assert read_raw(path, "csv", Reading()).odd == {}
    assert read_raw(path, "csv", Reading(mostly=True, text=["a"])).odd == {}
    X = read_table(path, text_columns=["b"]).X  # as for prediction
    assert X["a"].isna().sum() == 2


def test_dates_that_stay_dates(tmp_path):
    path = write(tmp_path, "t.csv", "d,x\n2020-01-31,1\n,2\n")
    raw = read_raw(path, "csv", Reading(dates=True))
    assert str(raw.columns[0].type) == "timestamp[ms]"
    assert raw.rows == 2


def test_reading_ends_early(tmp_path):
    path = write(tmp_path, "t.csv", "a,b\n" + "1,2\n" * 9_000_000)
    raw = read_raw(path, "csv", Reading(rows=10))
    assert 10 <= raw.rows < 9_000_000


def test_original_columns(tmp_path):
    path = write(tmp_path, "t.csv", "a;b\n007;NA\n 1,5;x\n")
    found = original_columns(path, None, Reading())
    assert {name: array.tolist() for name, array in found.items()} == {
        "a": ["007", " 1,5"],
        "b": ["NA", "x"],
    }
    pa.parquet.write_table(pa.table({"a": [1, 2], "b": ["x", None]}), tmp_path / "t.parquet")
    found = original_columns(tmp_path / "t.parquet", None, Reading())
    assert found["a"].tolist() == [1, 2]
    assert found["b"].tolist() == ["x", ""]
    write(tmp_path, "t.svm", "1 1:2\n")
    with pytest.raises(DataFileError, match="leave out --keep-columns"):
        original_columns(tmp_path / "t.svm", None, Reading())

"""A file .dat holds svmlight lines or CSV; a look at it tells."""

import gzip

import pytest

from helpers.data_files import write
from widemargin.tables import DataFileError, read_table, write_predictions

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.mark.parametrize(
    "text",
    [
        "a,b,y\n1,2,3\n4,5,6\n",
        "# of 2026\na;b;y\n1;2;3\n4;5;6\n",
        "a\tb\ty\n1\t2\t3\n4\t5\t6\n",
        "a,b,y\n1,2,2026-01-31 12:30\n4,5,2026-02-01 1:30\n",
    ],
)
def test_csv_is_recognised(text, tmp_path):
    assert read_table(write(tmp_path, "t.dat", text), target="y").X.tolist() == [[1, 2], [4, 5]]
    path = write(tmp_path, "t.dat.gz", gzip.compress(text.encode()))
    assert read_table(path, target="y").feature_names == ("a", "b")


@pytest.mark.parametrize(
    "text",
    [
        "1 1:2\n-1 2:3\n",
        "# a, b\n1\n-1\t1:2\t2:3\n",
        "1 qid:3 1:2\n-1 qid:3 2:1\n",
        "1e0\t1:2\n-1\t2:1\n",
    ],
)
def test_svmlight_is_recognised(text, tmp_path):
    table = read_table(write(tmp_path, "t.dat", text))
    assert (table.target_name, table.X.shape) == ("label", (2, 2))


@pytest.mark.parametrize("text", ["1.0 2.0\n3.0 4.0\n", "1 1:2\n1 1:x\n"])
def test_errors_name_the_argument_of_the_format(text, tmp_path):
    with pytest.raises(DataFileError, match=r"line \d:.*name its format with format="):
        read_table(write(tmp_path, "t.dat", text))
    with pytest.raises(DataFileError) as caught:
        read_table(write(tmp_path, "t.svm", text))
    assert "format=" not in str(caught.value)


def test_predictions_are_never_written_to_dat(tmp_path):
    path = write(tmp_path, "t.dat", "a,b\n1,2\n")
    with pytest.raises(DataFileError, match=r"predictions go to \.csv"):
        write_predictions(path, {"a": [1]})

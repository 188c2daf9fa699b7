"""`read_table(columns=...)`: the other columns may hold anything."""

import numpy as np
import pytest

from widemargin.easy.data import read
from widemargin.easy.options import Options
from widemargin.tables import read_table

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture
def path(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [np.inf, 1.0], "c": [[1], [2]], "y": ["u", "v"]})
    frame.to_parquet(tmp_path / "d.parquet")
    return tmp_path / "d.parquet"


def test_only_these_columns_are_read(path):
    table = read_table(path, columns=["a"], target="y")
    assert table.X.tolist() == [[1.0], [2.0]]
    assert (table.feature_names, table.others) == (("a",), ("b", "c"))
    assert table.y.tolist() == ["u", "v"]


def test_columns_that_the_file_lacks_are_left_to_the_caller(path):
    table = read_table(path, columns=["a", "none"], target="-1")
    assert table.feature_names == ("a",)
    table = read_table(path, columns=["none"])
    assert (table.X.shape, table.others) == ((2, 0), ("a", "b", "c", "y"))


def test_rows_without_a_target_may_be_left_out(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n1,u\n2,\n3,v\n")
    with pytest.raises(ValueError, match="is missing in 1 of 3 rows"):
        read_table(tmp_path / "d.csv", target="y")
    table = read_table(tmp_path / "d.csv", target="y", missing_target="drop")
    assert (table.X.tolist(), table.y.tolist(), table.left_out) == ([[1.0], [3.0]], ["u", "v"], 1)
    with pytest.raises(ValueError, match="missing_target='mean'; use 'error' or 'drop'"):
        read_table(tmp_path / "d.csv", target="y", missing_target="mean")


def test_names_that_come_twice_may_be_left_out(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("note,a,note,y\n5,1,6,u\n7,2,8,v\n")
    assert read_table(path, columns=["a"], target="y").X.tolist() == [[1], [2]]
    for columns, target in ((["a", "note"], "y"), (["a"], "note")):
        with pytest.raises(ValueError, match="more than one column is called 'note'"):
            read_table(path, columns=columns, target=target)
    data = read(Options(data=path, output=tmp_path / "m", target="y", drop=("note",)))
    assert (data.names, data.dropped) == (["a"], ("note",))
    with pytest.raises(ValueError, match="more than one column is called 'note'"):  # one is left
        read(Options(data=path, output=tmp_path / "m", target="y", drop=("0",)))

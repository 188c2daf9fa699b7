"""Which columns of a file are read, and what is refused before the work begins."""

import numpy as np
import pytest

from widemargin.easy.data import read
from widemargin.easy.options import Options

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
RNG = np.random.default_rng(0)
N = 60
FRAME = pd.DataFrame(
    {"a": RNG.normal(size=N), "b": RNG.normal(size=N), "c": RNG.normal(size=N), "y": np.arange(N)}
)


def rows_of(frame, tmp_path, suffix=".csv", **options):
    path = tmp_path / f"d{suffix}"
    if suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return read(Options(path, tmp_path / "m", **{"target": "y", **options}))


def test_columns_are_dropped_and_kept_by_name_or_position(tmp_path):
    data = rows_of(FRAME, tmp_path, drop=("0", "c"))
    assert (data.names, data.dropped) == (["b"], ("a", "c"))
    data = rows_of(FRAME, tmp_path, keep=("-3",), target="-1")
    assert data.kept == ("b",)


@pytest.mark.parametrize("option", ["target", "groups", "time_column"])
def test_a_column_with_a_role_is_not_dropped(option, tmp_path):
    options = {"target": "y", option: "c"}
    with pytest.raises(ValueError, match=f"column 'c' is dropped, but .* {option}="):
        rows_of(FRAME, tmp_path, drop=("c",), **options)


def test_a_dropped_column_may_hold_anything(tmp_path):
    frame = FRAME.assign(lists=[[1, 2]] * N, endless=np.inf)
    with pytest.raises(ValueError, match="column 'lists' holds values of type"):
        rows_of(frame, tmp_path, ".parquet")
    data = rows_of(frame, tmp_path, ".parquet", drop=("lists", "endless"))
    assert data.names == ["a", "b", "c"]


def test_an_infinite_number_is_found_in_its_row_of_the_file(tmp_path):
    """Not in a sample or in a part of the rows, whose rows have other numbers."""
    rows = 30_000
    values = RNG.normal(size=rows)
    values[25_000] = np.inf
    frame = pd.DataFrame({"a": values, "y": np.arange(rows) % 2})
    with pytest.raises(ValueError, match="is infinite in 1 of 30000 rows, first in data row 25001"):
        rows_of(frame, tmp_path)
    with pytest.raises(ValueError, match="the target 'a' is infinite in 1 of"):
        rows_of(frame, tmp_path, target="a")


@pytest.mark.parametrize("is_sparse", [False, True])
def test_an_infinite_number_of_a_matrix(is_sparse, tmp_path):
    X = np.ones((50, 3))
    X[40, 1] = -np.inf
    if is_sparse:
        lines = [f"{i % 2} " + " ".join(f"{j + 1}:{X[i, j]}" for j in range(3)) for i in range(50)]
        (tmp_path / "d.svm").write_text("\n".join(lines))
    else:
        np.savez(tmp_path / "d.npz", X=X, y=np.arange(50) % 2)
    path = tmp_path / ("d.svm" if is_sparse else "d.npz")
    with pytest.raises(ValueError, match="infinite number, first in data row 41"):
        read(Options(path, tmp_path / "m"))


@pytest.mark.parametrize("option", ["groups", "time_column", "text", "drop", "keep"])
def test_options_that_need_names_are_refused_without_them(option, tmp_path):
    np.savez(tmp_path / "d.npz", X=np.eye(20), y=np.arange(20) % 2)
    value = "0" if option in ("groups", "time_column") else ("0",)
    with pytest.raises(ValueError, match=f"its columns have no names .* {option}="):
        read(Options(tmp_path / "d.npz", tmp_path / "m", **{option: value}))


def test_a_named_column_of_an_archive_is_dropped(tmp_path):
    columns = np.array(["a", "b", "c"])
    np.savez(tmp_path / "d.npz", X=np.eye(3), y=np.arange(3), columns=columns)
    data = read(Options(tmp_path / "d.npz", tmp_path / "m", drop=("b",)))
    assert (data.names, data.dropped, data.matrix.shape) == (["a", "c"], ("b",), (3, 2))


def test_a_column_is_not_both_kept_and_dropped(tmp_path):
    (tmp_path / "d.csv").write_text("x,z,y\n1,2,a\n3,4,b\n")
    options = Options(tmp_path / "d.csv", tmp_path / "m", target="y", keep=("x",), drop=("x",))
    with pytest.raises(ValueError, match="column 'x' is dropped, but it is also named by keep="):
        read(options)

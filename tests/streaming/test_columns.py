"""The core turns the columns of a chunk into rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from widemargin import _core
from widemargin.streaming import stream

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
rng = np.random.default_rng(0)


@every_dtype
@pytest.mark.parametrize("count", [0, 1, 31, 64, 65, 128, 200])
@pytest.mark.parametrize("width", [1, 3, 17])
def test_columns_become_rows(dtype, count, width):
    columns = [rng.normal(size=count).astype(dtype) for _ in range(width)]
    out = np.full((count, width), -1, dtype)
    assert _core.interleave(columns, out)
    assert_array_equal(out, np.stack(columns, axis=1))


@every_dtype
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_missing_and_infinite_values_are_found_anywhere(dtype, bad):
    largest = np.finfo(dtype).max
    for row in (0, 5, 63, 64, 150, 199):
        for column in (0, 2):
            columns = [np.full(200, largest), np.zeros(200), np.full(200, -largest)]
            columns = [values.astype(dtype) for values in columns]
            assert _core.interleave(columns, np.empty((200, 3), dtype))
            columns[column][row] = bad
            assert not _core.interleave(columns, np.empty((200, 3), dtype))


def test_columns_of_the_wrong_size():
    columns = [np.zeros(5), np.zeros(4)]
    with pytest.raises(ValueError, match="as long as out"):
        _core.interleave(columns, np.empty((5, 2)))
    with pytest.raises(ValueError, match="one column for each"):
        _core.interleave(columns, np.empty((5, 3)))


def test_chunks_that_are_kept_keep_their_rows(tmp_path):
    """Also if only a view of them is kept."""
    X = rng.normal(size=(1000, 3)).astype(np.float32)
    table = pa.table({**{f"x{j}": X[:, j] for j in range(3)}, "y": np.arange(1000) % 2})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=100)
    data = stream(tmp_path / "rows.parquet", target="y", chunk_rows=100)
    assert_array_equal(np.vstack([chunk.X[:, 1:] for chunk in data]), X[:, 1:])
    for start, chunk in enumerate(data):  # none is kept
        assert_array_equal(chunk.X, X[100 * start : 100 * (start + 1)])

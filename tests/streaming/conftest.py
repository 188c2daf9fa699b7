"""A stream of the rows in `helpers.streamed_training`."""

import pytest


@pytest.fixture
def data(tmp_path):
    """Function that opens a stream of a CSV file, with options."""
    from helpers.streamed_training import CHUNK_ROWS, write
    from widemargin.streaming import stream

    return lambda **options: stream(
        write(tmp_path / "rows.csv"), **{"target": "y", "chunk_rows": CHUNK_ROWS, **options}
    )

"""Files of predictions are complete or absent, and hold what was written."""

import os

import numpy as np
import pytest

from widemargin.tables import DataFileError, write_predictions

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

COLUMNS = {
    "row": [1, 2, 3],
    "file": np.array(["a", 'q"uo,te', "\u00e9"]),
    "label": np.array(["x", "y", "z"], dtype=object),
    "score": np.array([0.1, -1e300, 2.5]),
    "flag": [True, False, True],
}


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.csv.gz", "p.parquet", "p.npz"])
def test_written_predictions_can_be_read(name, tmp_path):
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
def test_a_failure_leaves_no_file(name, columns, error, message, tmp_path):
    with pytest.raises(error, match=message):
        write_predictions(tmp_path / name, columns)
    assert os.listdir(tmp_path) == []

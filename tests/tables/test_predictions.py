"""Files of predictions are complete or absent, and hold what was written."""

import os
import re

import numpy as np
import pytest

from widemargin.tables import DataFileError, read_table, write_predictions

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-x", "@SUM(A1)", "\tx", "\r=1", "'=a", "''@b"]
HARMLESS = ["-1", "+2.5e-3", "-.5", "a=b", "'quoted'", "", "é", "'"]

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
        ("p.svm", {"a": [1]}, DataFileError, ".csv, .tsv, .parquet, .arrow or .npz"),
        ("p.doc", {"a": [1]}, DataFileError, ".csv, .tsv, .parquet, .arrow or .npz"),
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


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.csv.xz"])
def test_formulas_get_an_apostrophe_that_can_be_removed(name, tmp_path):
    text = [*FORMULAS, *HARMLESS]
    write_predictions(tmp_path / name, {"=class": text, "score": -np.arange(float(len(text)))})
    options = {"sep": "\t" if "tsv" in name else ",", "keep_default_na": False, "dtype": {0: str}}
    frame = pd.read_csv(tmp_path / name, **options)
    assert frame.columns.tolist() == ["'=class", "score"]
    cells = frame["'=class"].astype(str).tolist()
    assert cells == [f"'{word}" for word in FORMULAS] + HARMLESS
    restored = [re.sub(r"^'('*[=+\-@\t\r])", r"\1", cell) for cell in cells]
    assert restored == text
    assert frame["score"].tolist() == (-np.arange(float(len(text)))).tolist()


@pytest.mark.parametrize("name", ["p.parquet", "p.npz"])
def test_formats_without_formulas_are_not_changed(name, tmp_path):
    write_predictions(tmp_path / name, {"class": FORMULAS})
    if name.endswith("npz"):
        with np.load(tmp_path / name) as archive:
            found = archive["class"].tolist()
    else:
        found = pd.read_parquet(tmp_path / name)["class"].tolist()
    assert found == FORMULAS


def test_arrow_files(tmp_path):
    write_predictions(tmp_path / "p.arrow", {"row": [1, 2], "name": ["=a", "b"]})
    table = read_table(tmp_path / "p.arrow").X
    assert table["row"].tolist() == [1.0, 2.0]
    assert table["name"].tolist() == ["=a", "b"]  # no spreadsheet opens it

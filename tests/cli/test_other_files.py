"""Files at prediction that differ from the training file, and options at their limits."""

import subprocess
import sys

import numpy as np
import pytest

from helpers.command_line import MARGIN, fails, run, run_json

pd = pytest.importorskip("pandas")


def test_other_columns_may_hold_anything(csv, model, tmp_path):
    frame = pd.read_csv(csv)
    frame["lists"], frame["endless"] = [[1, 2]] * len(frame), np.inf
    frame.to_parquet(tmp_path / "d.parquet")
    run("predict", model, tmp_path / "d.parquet", "-o", tmp_path / "p.csv")
    assert len(pd.read_csv(tmp_path / "p.csv")) == len(frame)


def test_a_file_without_the_columns_says_which_it_has(csv, model, tmp_path):
    pd.DataFrame({"u": [1], "v": ["w"]}).to_csv(tmp_path / "d.csv", index=False)
    line = fails("predict", model, tmp_path / "d.csv", "-o", tmp_path / "p.csv")
    assert "lacks columns 'a', 'b', 'c' of the model; the file has columns 'u', 'v'" in line


def test_a_missing_column_of_text_is_called_a_column_of_the_model(mixed, tmp_path):
    model, quick = tmp_path / "m", ("--set", "effort=0.05", "--time-limit", "30", "--quiet")
    run("train", mixed, "--target", "pay", "-o", model, *quick)
    pd.read_csv(mixed).drop(columns="town").to_csv(tmp_path / "d.csv", index=False)
    line = fails("predict", model, tmp_path / "d.csv", "-o", tmp_path / "p.csv")
    assert "lacks column 'town' of the model; the file has columns 'age', 'pay'" in line
    line = fails("train", mixed, "--target", "pay", "-o", model, "--text", "twon")
    assert "no column 'twon'; closest: 'town'" in line


@pytest.mark.slow
def test_evaluation_of_standard_input(csv, model):
    command = [sys.executable, "-m", "widemargin", "evaluate", model, "-", "--target", "y"]
    done = subprocess.run(command, input=csv.read_bytes(), capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert b"error rate" in done.stdout


def test_a_coverage_of_zero_is_refused(csv, tmp_path):
    model = tmp_path / "m"
    quick = ("--set", "effort=0.05", "--time-limit", "30", "--quiet")
    run("train", csv, "--target", "a", "-o", model, *quick)
    line = fails("predict", model, csv, "-o", tmp_path / "p.csv", "--intervals", "--coverage", "0")
    assert "--coverage 0 is not between 0 and 1" in line


@pytest.mark.parametrize("limit", ["nan", "inf"])
def test_a_time_limit_is_a_number_of_seconds(limit, csv, tmp_path):
    options = ("--target", "y", "-o", tmp_path / "m", "--time-limit", limit)
    for model in ((), MARGIN):
        assert "is no number of seconds; use seconds, or 0" in fails("train", csv, *options, *model)


def test_kept_columns_of_a_file_that_is_no_utf8_after_all(csv, model, tmp_path):
    """The first part of the file, which tells the encoding, is plain ASCII."""
    frame = pd.read_csv(csv)
    long = pd.concat([frame] * 150, ignore_index=True).assign(town="Sion")
    long.loc[len(long) - 1, "town"] = "Genève"
    (tmp_path / "d.csv").write_bytes(long.to_csv(index=False).encode("cp1252"))
    run("predict", model, tmp_path / "d.csv", "-o", tmp_path / "p.csv", "--keep-columns")
    assert pd.read_csv(tmp_path / "p.csv")["town"].iloc[-1] == "Genève"


def test_options_of_a_search_are_spelled_as_options(tmp_path):
    np.savez(tmp_path / "d.npz", X=np.eye(20), y=np.arange(20) % 2)
    line = fails("train", tmp_path / "d.npz", "-o", tmp_path / "m", "--time-column", "0")
    assert "--time-column; leave it out, or write the table as CSV" in line


def test_what_to_do_next(mixed, tmp_path):
    text = run("inspect", mixed).stdout
    assert text.splitlines()[-1] == (
        f"Next: widemargin train {mixed} --output mixed.safetensors --target COLUMN"
    )
    text = run("inspect", mixed, "--target", "pay").stdout
    assert text.splitlines()[-1] == (
        f"Next: widemargin train {mixed} --target pay --output mixed.safetensors"
    )
    text = run("train", mixed, "--target", "pay", "-o", tmp_path / "m", "--dry-run").stdout
    assert "leave out --dry-run to train" in text
    text = run("train", mixed, "--target", "pay", "--time-limit", "0.001", "--dry-run").stdout
    assert "would have no time" in text
    text = run("train", *MARGIN, mixed, "--target", "pay", "-o", tmp_path / "m").stdout
    predict = f"To predict: widemargin predict {tmp_path / 'm'} new.csv -o predictions.csv"
    assert text.splitlines()[-1] == predict
    assert run_json("inspect", mixed)["rows"] == 300


def test_a_folder_is_no_data_file(tmp_path):
    assert "is a folder; name one of its files" in fails("inspect", tmp_path)
    (tmp_path / "d.csv").write_text("a,y\n1,u\n")
    assert "d.csv: 1 row, 2 columns" in run("inspect", tmp_path / "d.csv").stdout


def test_a_model_that_libsvm_does_not_have(model, tmp_path):
    line = fails("convert", model, tmp_path / "x.model")
    assert "LIBSVM's files cannot hold a MarginPerceptron; train with --model svc" in line


def test_classes_that_the_model_does_not_know_are_told(csv, model, tmp_path):
    frame = pd.read_csv(csv)
    frame.loc[:5, "y"] = 7
    frame.to_csv(tmp_path / "d.csv", index=False)
    text = run("evaluate", model, tmp_path / "d.csv", "--target", "y").stdout
    assert "warning: 6 rows are of classes that the model does not know: 7" in text


def test_rows_without_a_target_are_not_measured(csv, model, tmp_path):
    frame = pd.read_csv(csv)
    frame.loc[:9, "y"] = None
    frame.to_csv(tmp_path / "d.csv", index=False)
    result = run("evaluate", model, tmp_path / "d.csv", "--target", "y")
    assert "d.csv: 10 rows without a target are left out" in result.stderr
    assert "d.csv" not in result.stdout
    assert "110 rows" in result.stdout
    frame.assign(y=None).to_csv(tmp_path / "d.csv", index=False)
    line = fails("evaluate", model, tmp_path / "d.csv", "--target", "y")
    assert "the target 'y' is missing in all rows; name another column with --target" in line

"""An error is one line, and no file is written."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from helpers.command_line import MARGIN, fails, run, run_json
from widemargin import load, save

TRAIN_ERRORS = [
    (("--target", "y", "--model", "svm"), "no model 'svm'; use one of perceptron, "),
    (("--target", "y", "--set", "max_itr=3"), "no parameter 'max_itr'; closest: max_iter"),
    (("--target", "y", "--set", "max_iter"), "--set max_iter: give a parameter and its value"),
    (("--target", "y", "--set", "max_iter=0"), "'max_iter' parameter of MarginPerceptron must be"),
    (("--target", "y", "--set", "max_iter=many"), "'max_iter' parameter"),
    (("--target", "y", "--time-limit", "-1"), "--time-limit -1 is negative; use seconds"),
    (("--target", "z"), "no column 'z'"),
    (("--target", "a"), "different numbers, such as -3.772, and this model predicts classes"),
    ((), "name it with --target"),
    (("--target", "y", "--format", "xls"), "--format xls is unknown; use one of csv,"),
    (("--target", "y", "--test", "none.csv"), "none.csv"),
    (("--target", "y", "--no-header"), "no column 'y'"),
]


@pytest.mark.parametrize(("options", "message"), TRAIN_ERRORS)
def test_training_errors(options, message, csv, tmp_path):
    assert message in fails("train", *MARGIN, csv, "-o", tmp_path / "m", *options)
    assert not (tmp_path / "m").exists()


def test_wrong_files_and_folders(csv, model, tmp_path):
    out = ("-o", tmp_path / "p.csv")
    assert "none.csv: cannot be read" in fails(
        "train", *MARGIN, tmp_path / "none.csv", "-o", tmp_path / "m"
    )
    assert "no folder" in fails("train", *MARGIN, csv, "--target", "y", "-o", tmp_path / "no" / "m")
    assert "is a folder" in fails("train", *MARGIN, csv, "--target", "y", "-o", tmp_path)
    assert "name the format with --format" in fails("predict", model, tmp_path / "data.xls", *out)
    assert "there is no such file" in fails("info", tmp_path / "none")
    assert "not a complete model file" in fails("info", csv)
    assert "not a complete model file" in fails("predict", csv, csv, *out)
    assert "predictions go to .csv" in fails("predict", model, csv, "-o", tmp_path / "p.doc")
    assert "no model of this name" in fails("info", "none")
    save(StandardScaler().fit([[0.0], [1.0]]), tmp_path / "scaler")
    assert "not a fitted classifier or regressor" in fails(
        "predict", tmp_path / "scaler", csv, *out
    )
    assert run_json("info", tmp_path / "scaler")["training"]["epochs"] is None
    run("info", tmp_path / "scaler")


def test_output_never_overwrites_an_input(csv, model, tmp_path):
    before = csv.read_bytes(), model.read_bytes()
    for command in (
        ("train", *MARGIN, csv, "--target", "y", "-o", csv),
        ("predict", model, csv, "-o", csv),
        ("predict", model, csv, "-o", model),
    ):
        assert "would overwrite" in fails(*command)
    assert (csv.read_bytes(), model.read_bytes()) == before


def test_text_for_a_model_without_column_names(mixed, numbers, tmp_path):
    np.savez(tmp_path / "d.npz", X=numbers[0], y=numbers[1])
    run("train", *MARGIN, tmp_path / "d.npz", "-o", tmp_path / "m", "--quiet")
    line = fails("predict", tmp_path / "m", mixed, "-o", tmp_path / "p.csv")
    assert "mixed.csv: has text or missing values" in line


PREDICTION_ERRORS = [
    ("a,b,y\n1,2,1\n", "lacks column 'c' of the model; the file has columns 'a', 'b'"),
    ("a,b,c,y\n1,2,x,1\n", "text in column 'c', where the model was trained on numbers"),
    ("a,b,c,y\n1,2,,1\n1,2,3,1\n", "missing values in column 'c'"),
    ("a,b,c,y\n1,2,3,yes\n", "none of the model's classes, -1, 1"),
    ("a,b,c\n1,2,3\n", "no column 'y'"),
]


@pytest.mark.parametrize(("text", "message"), PREDICTION_ERRORS)
def test_prediction_errors(text, message, model, tmp_path):
    (tmp_path / "d.csv").write_text(text)
    out = tmp_path / "p.csv"
    line = fails("predict", model, tmp_path / "d.csv", "-o", out, "--target", "y")
    assert message in line
    assert not out.exists()


SPELLED_ERRORS = [
    (("d.csv", "--target", "z"), "use --no-header if the first line is data"),
    (("twice.csv", "--target", "y"), "use --no-header if the first line is data"),
    (
        ("d.svm", "--index-base", "1"),
        "--index-base 1 says that columns start at 1; use --index-base",
    ),
    (("d.svm", "--target", "b"), "leave out --target b"),
    (("d.csv", "--stream"), "name it with --target"),
    (("d.csv", "d.svm", "--target", "y", "--stream"), "name the format with --format"),
    (("d.csv", "--target", "y", "--stream", "--classes", "1,2"), "with --classes"),
]


@pytest.mark.parametrize(("arguments", "message"), SPELLED_ERRORS)
def test_messages_name_options_not_arguments(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text("a,b,y\n1,2,u\n3,4,v\n")
    (tmp_path / "twice.csv").write_text("a,a,y\n1,2,u\n3,4,v\n")
    (tmp_path / "d.svm").write_text("1 0:2\n-1 1:1\n")
    line = fails("train", *MARGIN, *arguments, "-o", tmp_path / "m")
    assert message in line
    assert "=" not in line


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("trian",),
        ("train",),
        ("predict", "m"),
        ("info", "--no"),
        ("papers", "run", "table-8.2", "--seeds", "0"),
    ],
)
def test_wrong_usage_exits_with_code_2(arguments):
    result = run(*arguments, code=2)
    assert "Usage:" in result.output


@pytest.mark.parametrize("stream", [(), ("--stream",)])
@pytest.mark.parametrize(
    ("values", "refused"),
    [
        (np.random.default_rng(0).integers(0, 4000, size=600), True),
        (np.arange(120).repeat(5), True),
        (np.arange(30).repeat(3), True),  # few rows of each
        (np.arange(30).repeat(10), False),
        (np.arange(4).repeat(2), False),
    ],
)
def test_a_numeric_target_with_many_values(values, refused, stream, tmp_path):
    rows = "".join(f"{value % 7},{value}\n" for value in values)
    (tmp_path / "d.csv").write_text(f"size,price\n{rows}")
    options = ("--target", "price", "-o", tmp_path / "m", "--set", "max_iter=1", *stream)
    result = run("train", *MARGIN, tmp_path / "d.csv", *options, code=int(refused))
    assert (tmp_path / "m").exists() != refused
    if refused:
        assert f"different numbers in {len(values)} rows" in result.stderr
        assert "use a regressor" in result.stderr
        resume = ("--resume",) if stream else ()
        run("train", *MARGIN, tmp_path / "d.csv", *options, "--many-classes", *resume)
        assert len(load(tmp_path / "m").classes_) == len(np.unique(values))


@pytest.mark.parametrize("suffix", [".pkl", ".joblib", ".PKL", ".onnx"])
def test_suffixes_of_other_formats(suffix, csv, tmp_path):
    line = fails("train", *MARGIN, csv, "--target", "y", "-o", tmp_path / f"m{suffix}")
    assert "safetensors format" in line
    assert "name the file m.safetensors" in line
    assert not (tmp_path / f"m{suffix}").exists()


def test_an_unexpected_error_is_one_line_too(csv, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise KeyError("surprise\nand more")

    monkeypatch.setattr("widemargin.tables.read_table", broken)
    line = fails("train", *MARGIN, csv, "--target", "y", "-o", tmp_path / "m")
    assert "KeyError" in line
    assert "WIDEMARGIN_DEBUG=1" in line

"""`widemargin train --stream`, from files to a model."""

import json

import numpy as np
import pytest

from helpers.command_line import run
from widemargin import load

pd = pytest.importorskip("pandas")

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3)).round(3)
Y = np.where(X @ [1.0, -2.0, 0.5] > 0, "yes", "no")


@pytest.fixture
def folder(tmp_path):
    """Two files in a folder."""
    (tmp_path / "data").mkdir()
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=Y)
    for i, rows in enumerate((slice(0, 90), slice(90, 200))):
        frame[rows].to_csv(tmp_path / "data" / f"{i}.csv", index=False)
    return tmp_path / "data"


@pytest.fixture
def train(folder, tmp_path):
    def call(*arguments, data=(folder,), code=0):
        model = tmp_path / "model"
        options = ["--stream", "--target", "y", "--chunk-rows", 20, "-o", model]
        return run("train", *data, *options, *arguments, code=code)

    return call


def test_from_training_to_prediction(train, folder, tmp_path):
    test = folder / "1.csv"
    summary = json.loads(train("--epochs", 5, "--test", test, "--json").stdout)
    assert summary["rows"] == 1000
    assert summary["epochs"] == 5
    assert summary["stop_reason"] == "max_iter"
    assert summary["test_rows"] == 110
    assert summary["test_error"] < 5
    assert summary["online_error"] < 10
    assert "target" not in summary
    assert not (tmp_path / "model.checkpoint").exists()
    out = tmp_path / "predictions.csv"
    done = run("predict", tmp_path / "model", test, "--target", "y", "-o", out, "--json")
    assert json.loads(done.stdout)["error"] == summary["test_error"]
    assert load(tmp_path / "model").n_iter_ == 5


def test_summary_and_quiet(train):
    assert "online error" in train().stdout
    quiet = train("--quiet")
    assert quiet.stdout == quiet.stderr == ""


def test_several_files_and_patterns_give_the_same_model(train, folder, tmp_path):
    coefficients = []
    for data in ([folder], sorted(folder.iterdir()), [folder / "*.csv"]):
        train(data=data)
        coefficients.append(load(tmp_path / "model").coef_.tolist())
    assert coefficients[0] == coefficients[1] == coefficients[2]


def test_the_model_of_a_mixed_table_includes_its_encoder(train, tmp_path):
    frame = pd.DataFrame(X, columns=list("abc")).assign(town=np.where(X[:, 0] > 0, "u", "v"), y=Y)
    frame.loc[3, "b"] = None
    frame.to_parquet(tmp_path / "mixed.parquet")
    train("--epochs", 3, data=[tmp_path / "mixed.parquet"])
    model = load(tmp_path / "model")
    assert [name for name, _ in model.steps] == ["encoder", "model"]
    assert model.score(frame.drop(columns="y"), Y) > 0.9


def test_svmlight_files_keep_their_numbering(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 0:1 1:2\n-1 1:-1\n" * 10)
    run("train", path, "--stream", "-o", tmp_path / "m", "--statistics", "first-pass")
    assert load(tmp_path / "m").svmlight_index_base_ == 0


def test_bad_rows_and_resuming(train, folder, tmp_path):
    path, checkpoint = folder / "1.csv", tmp_path / "model.checkpoint"
    good = path.read_text()
    lines = good.splitlines()
    path.write_text("\n".join([*lines[:60], "1,2,x,yes", *lines[61:]]))
    message, note = train("--classes", "no,yes", code=1).stderr.splitlines()[::-1]
    assert message.startswith("error: ")
    assert "1.csv: line 61: column 'c' holds 'x'" in message
    assert note == f"the work so far is in {checkpoint}; --resume continues from it"
    assert load(checkpoint).rows == 130
    assert not (tmp_path / "model").exists()

    (line,) = train("--classes", "no,yes", code=1).stderr.splitlines()
    assert "continue from it with --resume, or delete it" in line
    path.write_text(good)
    train("--classes", "no,yes", "--resume")
    assert not checkpoint.exists()
    resumed = load(tmp_path / "model").coef_
    train("--classes", "no,yes")
    assert load(tmp_path / "model").coef_.tolist() == resumed.tolist()


def test_a_named_checkpoint_stays_and_more_epochs_follow(train, tmp_path):
    options = ["--checkpoint", tmp_path / "state"]
    train(*options)
    train(*options, "--resume", "--epochs", 3)
    twice = load(tmp_path / "model").coef_
    train("--epochs", 3)
    assert load(tmp_path / "model").coef_.tolist() == twice.tolist()
    assert load(tmp_path / "state").rows == 600


def test_time_limit_keeps_the_checkpoint(train, tmp_path):
    done = train("--time-limit", 1e-9, "--json")
    assert json.loads(done.stdout)["stop_reason"] == "time_limit"
    assert f"--resume continues from {tmp_path / 'model.checkpoint'}" in done.stderr
    assert load(tmp_path / "model").history_[-1]["rows"] == 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "svc"], "SVC needs all data in memory; use one of perceptron,"),
        (["--classes", "no"], "['no']; fix the row, or name every class with --classes"),
        (["--statistics", "all"], "--statistics all: use running or first-pass"),
        (["--target", "q"], "no column 'q'"),
    ],
)
def test_errors_are_one_line_and_leave_no_files(arguments, message, train, tmp_path):
    (line,) = train(*arguments, code=1).stderr.splitlines()
    assert message in line
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data"]


def test_options_of_streams_need_a_stream(folder, tmp_path):
    for arguments, message in (
        (["--epochs", 2], "--epochs is an option of streams; add --stream"),
        (["--resume", "--model", "svc"], "--resume is an option of streams"),
        ([folder / "1.csv"], "2 data files were given; several need --stream"),
    ):
        command = ["train", folder / "0.csv", *arguments, "--target", "y", "-o", tmp_path / "m"]
        assert message in run(*command, code=1).stderr

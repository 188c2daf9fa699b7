"""The output of commands: tables, JSON, warnings; the demo and the papers."""

import json

import numpy as np
import pytest

from helpers.command_line import EXACT, fails, run, run_json


def test_quiet_prints_nothing(csv, tmp_path):
    options = ("--target", "y", "-o", tmp_path / "m", "--quiet", *EXACT)
    assert run("train", csv, *options).output == ""


def test_json_is_valid_even_if_the_model_prints(csv, tmp_path):
    result = run(
        "train", csv, "--target", "y", "-o", tmp_path / "m", "--set", "verbose=1", "--json"
    )
    assert json.loads(result.stdout)["rows"] == 120
    assert "epoch" in result.stderr


def test_warnings_are_one_line(csv, tmp_path):
    options = ("--target", "y", "-o", tmp_path / "m", "--set", "max_iter=1", "--json")
    result = run("train", csv, *options)
    (line,) = result.stderr.splitlines()
    assert line.startswith("warning: MarginPerceptron reached max_iter=1")
    assert json.loads(result.stdout)["stop_reason"] == "max_iter"


def test_versions():
    result = run_json("versions")
    assert result["dependencies"]["numpy"] == np.__version__
    assert result["instruction_set"]
    assert result["threads"] >= 1
    assert result["blas"]
    assert "scikit-learn" in run("versions").stdout


@pytest.mark.slow
def test_tables_fit_80_columns(csv, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("WIDEMARGIN_DATA", raising=False)
    model = tmp_path / "m"
    outputs = [
        run("train", csv, "--target", "y", "-o", model).stdout.replace(str(model), "m"),
        run("versions").stdout,
        run("models").stdout,
        run("demo", "-o", tmp_path / "d.png").stdout.replace(str(tmp_path), ""),
    ]
    for line in "".join(outputs).splitlines():
        assert len(line.rstrip()) <= 80
        assert "…" not in line


# --------------------------------------------------------------------------------- demo and papers


@pytest.mark.slow
def test_demo_without_data(tmp_path, monkeypatch):
    monkeypatch.delenv("WIDEMARGIN_DATA", raising=False)
    picture = tmp_path / "demo.png"
    result = run_json("demo", "--output", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert result["picture"] == str(picture)
    assert "digits" in result["data"]
    assert all(row["error"] < 10 for row in result["models"])
    text = run("demo", "--output", picture).stdout
    assert "Kernel Perceptron" in text
    assert "demo.png" in text
    assert "no folder" in fails("demo", "--output", tmp_path / "no" / "demo.png")


@pytest.mark.data
def test_papers_fleuret():
    rows = run_json("papers", "fleuret")
    assert rows[-1]["changes"] == 0
    assert rows[0]["published"] == 64
    assert "published" in run("papers", "fleuret").stdout


@pytest.mark.data
def test_papers_table_8_2():
    models = ("--model", "Perceptron", "--model", "MarginPerceptron")
    rows = run_json("papers", "table-8.2", "--seeds", "1", *models)
    assert {row["data"] for row in rows} == {"Forest", "Connect-4"}
    assert len(rows) == 4
    for row in rows:
        assert row["test_error"] < row["published"] + 2


def test_an_unknown_model_of_the_papers():
    assert "MarginPerceptron" in fails("papers", "table-8.2", "--model", "SVC")


def test_papers_tables_fit_80_columns(monkeypatch):
    from widemargin.experiments import papers

    monkeypatch.setenv("COLUMNS", "80")
    row = papers.Result(
        "Connect-4", "MarginPerceptron", {"learning_rate": 1e-4}, 20.41, 19.85, 0.25, 12.5, 20.3
    )
    monkeypatch.setattr(papers, "table_8_2", lambda seeds, models: [row] * len(seeds))
    text = run("papers", "table-8.2", "--seeds", "2").stdout
    assert "19.85 ± 0.25" in text
    assert "mean of 2 seeds" in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert "…" not in text


def test_papers_show_training_errors_if_they_are_published(monkeypatch):
    from widemargin.experiments import papers

    row = papers.Result(
        "Forest", "MLPClassifier", {"loss": "squared_error"}, 11.2, 11.6, np.nan, 9.0, 11.6, 10.04
    )
    monkeypatch.setattr(papers, "table_7_1", lambda: [row])
    text = run("papers", "table-7.1").stdout
    assert "training" in text
    assert "10.04" in text
    assert "nan" not in text


def test_version():
    from widemargin import __version__

    assert run("--version").stdout == f"widemargin {__version__}\n"


def test_models_that_count_no_updates_show_none(csv, tmp_path):
    options = ("--target", "y", "-o", tmp_path / "m", "--set", "max_iter=2")
    for model in ("hard-mixture", "linear-svc", "svc"):
        assert "updates" not in run("train", csv, *options, "--model", model).stdout
        assert "updates" not in run("info", tmp_path / "m").stdout
    assert "updates" in run("train", csv, *options).stdout

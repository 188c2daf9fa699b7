"""The output of commands: tables, JSON, warnings; the demo and the papers."""

import json

import numpy as np
import pytest

from helpers.command_line import EXACT, MARGIN, fails, run, run_json
from widemargin.cli.models import MODELS


def test_quiet_prints_nothing(csv, tmp_path):
    options = ("--target", "y", "-o", tmp_path / "m", "--quiet", *EXACT)
    assert run("train", *MARGIN, csv, *options).output == ""


def test_json_is_valid_even_if_the_model_prints(csv, tmp_path):
    result = run(
        "train", *MARGIN, csv, "--target", "y", "-o", tmp_path / "m", "--set", "verbose=1", "--json"
    )
    assert json.loads(result.stdout)["rows"] == 120
    assert "epoch" in result.stderr


def test_warnings_are_one_line(csv, tmp_path):
    options = ("--target", "y", "-o", tmp_path / "m", "--set", "max_iter=1", "--json")
    result = run("train", *MARGIN, csv, *options)
    (line,) = result.stderr.splitlines()
    assert line.startswith("warning: MarginPerceptron reached max_iter=1")
    assert json.loads(result.stdout)["stop_reason"] == "max_iter"


def test_versions():
    result = run_json("info")
    assert result["dependencies"]["numpy"] == np.__version__
    assert result["instruction_set"]
    assert result["threads"] >= 1
    assert result["blas"]
    assert set(result["models"]) == set(MODELS)
    assert "scikit-learn" in run("info").stdout


@pytest.mark.slow
def test_tables_fit_80_columns(csv, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("WIDEMARGIN_DATA", raising=False)
    model = tmp_path / "m"
    outputs = [
        run("train", *MARGIN, csv, "--target", "y", "-o", model).stdout.replace(str(model), "m"),
        run("info").stdout,
    ]
    for line in "".join(outputs).splitlines():
        assert len(line.rstrip()) <= 80
        assert "…" not in line


# --------------------------------------------------------------------------------- demo and papers


@pytest.mark.slow(seconds=20)
def test_demo(tmp_path, monkeypatch):
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path / "nowhere"))  # the demo needs none
    picture = tmp_path / "demo.png"
    result = run_json("demo", "--output", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert result["picture"] == str(picture)
    assert {row["data"] for row in result["models"]} == set(result["data"])
    for row in result["models"]:
        limit = 100 if row["data"] == "diabetes" else 8
        assert row["error"] < limit
        assert row["rival_error"] < limit
        assert row["seconds"] > 0
        assert row["checks_held"] == row["checks"] > 0
    assert "no folder" in fails("demo", "--output", tmp_path / "no" / "demo.png")


def test_version():
    from widemargin import __version__

    assert run("--version").stdout == f"widemargin {__version__}\n"


def test_models_that_count_no_updates_show_none(csv, tmp_path):
    options = ("--target", "y", "-o", tmp_path / "m", "--set", "max_iter=2")
    for model in ("hard-mixture", "linear-svc", "svc"):
        assert "updates" not in run("train", *MARGIN, csv, *options, "--model", model).stdout
        assert "updates" not in run("info", tmp_path / "m").stdout
    assert "updates" in run("train", *MARGIN, csv, *options).stdout

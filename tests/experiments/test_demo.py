"""The demo trains every family, and says what to do next."""

import pytest
from sklearn.base import is_classifier, is_regressor

from helpers.command_line import run
from widemargin.experiments import boundaries, demo

FAMILIES = {"perceptrons", "linear_svm", "svm", "mlp", "mixtures", "tabular"}


def row(**values):
    found = {
        "model": "Kernel Perceptron",
        "rival": "Perceptron",
        "data": "digits",
        "error": 14.07,
        "rival_error": 17.04,
        "seconds": 10.41,
        "rival_seconds": 10.06,
        "checks": 17,
        "checks_held": 17,
        "classes": ("KernelPerceptron", "Perceptron"),
    }
    return demo.DemoRow(**found | values)


@pytest.fixture
def few_models(monkeypatch):
    """A demo without training: the widest labels, one of each task."""
    rows = [row(), row(data="wedge", model="Mixture of SVMs", checks_held=16), row(data="diabetes")]
    monkeypatch.setattr(demo, "run_models", lambda: iter(rows))
    monkeypatch.setattr(boundaries, "draw_boundaries", lambda path: path.write_bytes(b""))


def test_every_family_has_a_model_and_a_rival_for_the_same_task():
    families = set()
    for contestant in demo.contestants():
        ours, theirs = contestant.ours(), contestant.theirs()
        families.add(type(ours).__module__.split(".")[1])
        assert type(theirs).__module__.startswith("sklearn.")
        assert contestant.data in demo.DATA
        for kind in (is_classifier, is_regressor):
            assert (
                kind(ours)
                == kind(theirs)
                == (kind is is_regressor) ^ (contestant.data != "diabetes")
            )
    assert families == FAMILIES


@pytest.mark.parametrize("width", ["80", "120"])
def test_the_table_fits_the_terminal_one_line_per_model(few_models, tmp_path, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.chdir(tmp_path)
    lines = run("demo").stdout.splitlines()
    assert all(len(line.rstrip()) <= int(width) and "…" not in line for line in lines)
    (found,) = (line for line in lines if line.startswith("Mixture of SVMs"))
    assert found.split()[-1] == "16/17"
    assert found.split()[-5:-1] == ["14.07", "17.04", "10.41", "10.06"]


def test_the_demo_ends_with_the_command_for_a_file_of_your_own(few_models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = run("demo").stdout
    assert text.split()[-5:] == ["widemargin", "train", "your.csv", "--target", "COLUMN"]
    assert "widemargin-demo.png" in text


@pytest.mark.parametrize("name", demo.DATA)
def test_test_rows_take_no_part_in_scaling(name):
    X, X_test, y, y_test = demo.parts_of(name)
    assert len(X) == len(y) > len(X_test) == len(y_test)
    assert abs(X.mean(axis=0)).max() < 1e-9 < abs(X_test.mean(axis=0)).max()


@pytest.mark.slow
def test_the_picture(tmp_path):
    pytest.importorskip("matplotlib")
    boundaries.draw_boundaries(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")

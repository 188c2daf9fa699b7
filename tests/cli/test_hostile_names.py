"""Names that a file chooses are printed as they are; they command neither rich nor the terminal."""

import numpy as np
import pandas as pd
import pytest

from helpers.command_line import MARGIN, fails, run
from widemargin import MarginPerceptron, save

NAMES = ["[/nope]", "[bold]b", ":smile:", "\x1b[2J\x1b]0;title\x07", "\x9b31m", "a\u202eb"]
CONTROLS = {*map(chr, [*range(10), *range(11, 32), *range(0x7F, 0xA0)]), "\u202e"}


def shown(text):
    """Where the lines of a table were broken does not matter here."""
    assert not CONTROLS & set(text)
    return "".join(text.split())


def table(tmp_path, name):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=[f"x{name}", "b"])
    frame["y"] = np.where(frame["b"] > 0, f"u{name}", "v")
    path = tmp_path / "d.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_names_in_data_files(name, tmp_path):
    data, model = table(tmp_path, name), tmp_path / "m"
    outputs = [
        run("train", *MARGIN, data, "--target", "y", "-o", model),
        run("info", model),
        run("predict", model, data, "-o", tmp_path / "p.csv", "--target", "y"),
    ]
    for result in outputs:
        text = shown(result.output)
        assert name in text or not name.isprintable()
    (tmp_path / "other.csv").write_text("b\n1\n")
    shown(fails("predict", model, tmp_path / "other.csv", "-o", tmp_path / "p.csv"))
    shown(fails("train", *MARGIN, data, "--target", name.strip() + "x", "-o", model))


@pytest.mark.parametrize("name", NAMES)
def test_info_on_the_model_of_a_stranger(name, tmp_path):
    X = pd.DataFrame(np.eye(2), columns=[name, "b"])
    model = MarginPerceptron().fit(X, np.array([name, "v"]))
    model.stop_reason_, model.feature_map = name, None
    save(model, tmp_path / "m")
    shown(run("info", tmp_path / "m").output)


def test_a_message_in_a_model_file(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"\x1b[2J" * 20)
    shown(fails("info", path))

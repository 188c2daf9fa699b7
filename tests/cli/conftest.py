"""Data files for commands, and a model that the command line trained.

Fixtures import the optional packages; a skip at the top of this file would be an error.
"""

import numpy as np
import pytest


@pytest.fixture
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)).round(3)
    return X, np.where(X @ [1.0, -2.0, 0.5] > 0, 1, -1)


@pytest.fixture
def csv(tmp_path, numbers):
    pd = pytest.importorskip("pandas")
    X, y = numbers
    path = tmp_path / "numbers.csv"
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y).to_csv(path, index=False)
    return path


@pytest.fixture
def mixed(tmp_path):
    """Numbers and text, both with missing values; the class depends on both."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 300).astype(float)})
    frame["town"] = rng.choice(["Bern", "Sion", "Genève"], 300)
    frame["pay"] = np.where(frame["age"] + 20 * (frame["town"] == "Bern") > 50, "high", "low")
    frame.loc[::17, "age"] = np.nan
    frame.loc[::23, "town"] = None
    path = tmp_path / "mixed.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def model(tmp_path, csv):
    from helpers.command_line import MARGIN, run

    path = tmp_path / "numbers.model"
    run("train", *MARGIN, csv, "--target", "y", "-o", path, "--set", "random_state=0", "--quiet")
    return path

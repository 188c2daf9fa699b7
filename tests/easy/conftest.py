"""Data files for runs, and the options of a quick one."""

import numpy as np
import pytest

QUICK = {"effort": 0.05}


@pytest.fixture
def customers(tmp_path):
    """A table as people have them: an id, numbers with gaps, text, a date, a constant."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 240
    frame = pd.DataFrame({"customer_id": np.arange(1, n + 1)})
    frame["age"] = rng.integers(18, 80, n).astype(float)
    frame["town"] = rng.choice(["Bern", "Sion", "Genève"], n)
    days = rng.integers(0, 900, n).astype("timedelta64[D]")
    frame["since"] = (np.datetime64("2020-01-01") + days).astype(str)
    frame["country"] = "CH"
    score = 0.1 * (frame["age"] - 50) + 2.0 * (frame["town"] == "Bern") + rng.normal(size=n)
    frame["spent"] = (score * 10 + 100).round(2)
    frame["churned"] = np.where(score > 0.5, "yes", "no")
    frame.loc[::17, "age"] = np.nan
    path = tmp_path / "customers.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def options(customers, tmp_path):
    """The options of a quick run, with changes."""
    from widemargin.easy.options import Options

    def made(**changes):
        settled = {
            "data": customers,
            "output": tmp_path / "m.safetensors",
            "report": tmp_path / "m.html",
            "target": "churned",
            "drop": ("spent",),
            "settings": QUICK,
        }
        return Options(**{**settled, **changes})

    return made

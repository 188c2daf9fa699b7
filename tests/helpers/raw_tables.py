"""Small raw tables for tabular models, and how little of a search they need."""

import numpy as np
import pandas

QUICK = {"effort": 0.15}


def table(rows=240, seed=0):
    """A raw table, and a target that depends on two of its columns."""
    random = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "age": random.integers(18, 80, rows).astype(float),
            "town": random.choice(["Bern", "Sion", "Basel"], rows),
            "day": pandas.Timestamp("2024-01-01")
            + pandas.to_timedelta(random.integers(0, 400, rows), "D"),
            "member": random.random(rows) < 0.5,
            "noise": random.standard_cauchy(rows),
            "constant": 1,
        }
    )
    y = np.where((frame["age"] > 45) ^ (frame["town"] == "Bern"), "yes", "no")
    frame.loc[::11, "noise"] = np.nan
    return frame, y


def values(rows=300, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 4))
    return X, 100.0 + 10.0 * (X[:, 0] + X[:, 1] ** 2) + random.normal(size=rows)

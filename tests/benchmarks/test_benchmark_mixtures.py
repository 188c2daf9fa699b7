"""The benchmark of mixtures measures what it claims; times are not tested."""

import json

import numpy as np
import pytest

from benchmarks import mixtures
from helpers.mixtures import wedge


@pytest.fixture
def run(monkeypatch):
    """Function that runs parts of the benchmark on a small problem and returns the results."""
    X, y = wedge(900)
    parts = [X[:600], y[:600], X[600:700], y[600:700], X[700:], y[700:]]
    monkeypatch.setenv("WIDEMARGIN_DATA", "somewhere")
    monkeypatch.setattr(mixtures, "load", lambda rows: mixtures.Parts(*parts).first(rows))
    monkeypatch.setattr(mixtures, "PER_EXPERT", 100)
    monkeypatch.setattr(mixtures, "LEAVES", ((5, 7), (10, 7)))
    saved = {}
    monkeypatch.setattr(mixtures, "save", lambda name, found, **rest: saved.update({name: found}))

    def call(*arguments):
        small = ["--max-iter", "2", "--units", "5", "--threads", "1", "--gammas", "1", "20"]
        mixtures.main([*arguments, *small])
        return json.loads(json.dumps(saved["mixtures"]))

    return call


@pytest.mark.slow
def test_forest(run, capsys):
    results = run("--only", "forest", "--rivals", "svc", "scikit-learn", "lightgbm")
    assert results[0]["model"] == "hard mixture, 6 experts, gater 5"
    assert {result["rows"] for result in results} == {600}
    for result in results:
        if result["extrapolated"]:
            assert np.isnan(result["test_error"])
        else:
            assert result["test_error"] < 30
            assert result["valid_error"] < 30
    svc = next(result for result in results if result["model"] == "SVC")
    alone = [mixtures.ours.Ours().machine(mixtures.Machine(10, gamma), 1) for gamma in (1, 20)]
    data = mixtures.load(600).scaled()
    errors = [
        100 * (1 - one.fit(data.X, data.y).score(data.X_valid, data.y_valid)) for one in alone
    ]
    assert svc["valid_error"] == pytest.approx(min(errors))
    assert "Forest 600" in capsys.readouterr().out


@pytest.mark.slow
def test_scaling_and_workers(run, capsys):
    results = run("--only", "scaling", "workers", "--rows", "600")
    sizes = [result["rows"] for result in results if "rows" in result]
    assert sizes == [150, 300, 600]
    assert np.isfinite(results[3]["exponent"])
    assert results[4]["workers"] == 1
    assert results[4]["speed"] == 1
    assert "rows^" in capsys.readouterr().out


def test_more_rows_than_the_split_has(monkeypatch):
    """The training rows of the split come first; no test row is added."""
    whole = np.arange(50.0)[:, None]

    class Split:
        rows_train, rows_valid, rows_test = np.arange(10), np.arange(10, 15), np.arange(15, 20)
        X_train, X_valid, X_test = whole[:10], whole[10:15], whole[15:20]
        y_train = y_valid = y_test = np.zeros(10)
        data, target = whole, np.zeros(50)

    monkeypatch.setattr(mixtures, "fetch_forest", lambda **options: Split)
    found = mixtures.load(25)
    assert found.X.shape == (25, 1)
    assert list(found.X[:10, 0]) == list(range(10))
    assert found.X[10:].min() >= 20
    assert len(np.unique(found.X)) == 25

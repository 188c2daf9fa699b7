"""The benchmark of committees measures what it claims; times are not tested."""

import json

import numpy as np
import pytest

from benchmarks import committee


class Fake:
    """A model with a known error."""

    n_iter_ = 4

    def __init__(self, error):
        self.error = error

    def score(self, X, y):
        return 1.0 - self.error


@pytest.fixture
def toy(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(2.0, 1.0, size=(600, 6)).astype(np.float32)
    X[:, 5] = 1.0
    y = np.where(X[:, 0] + X[:, 1] > 4.0, 1, -1)
    monkeypatch.setattr(committee, "load", lambda: ("toy", X[:400], y[:400], X[400:], y[400:]))
    monkeypatch.setattr(committee, "UNITS", 8)
    monkeypatch.setattr(committee, "SINGLE_STEP_ROWS", 50)
    monkeypatch.setattr(committee, "OURS", ((20, 10),))
    monkeypatch.setattr(committee, "PYTORCH", (((8,), 32, 2, 1e-2),))
    monkeypatch.setattr(committee, "SKLEARN", (((8,), 32),))
    return committee.Inputs(None)


def run(monkeypatch, *arguments):
    saved = {}
    monkeypatch.setattr(
        committee, "save", lambda name, results, **rest: saved.update({name: results}) or name
    )
    committee.main([*arguments, "--repeat", "1", "--threads", "1"])
    return json.loads(json.dumps(saved["committee"]))


@pytest.mark.slow
def test_epochs_of_all_libraries(toy, monkeypatch, capsys):
    results = run(monkeypatch, "--only", "epoch", "--rows", "300")
    assert results[0]["model"].startswith("widemargin")
    assert results[0]["ratio"] == 1
    assert {result["rows"] for result in results} == {300}
    assert len(results) == (1 if committee.pytorch.missing() else 3)
    assert "toy 300" in capsys.readouterr().out


def test_time_to_the_target(toy, monkeypatch, capsys):
    results = run(monkeypatch, "--only", "target", "--limit", "0.2")
    mine = [result for result in results if result["library"] == "widemargin"]
    assert mine[0]["reached"]
    assert min(result["ratio"] for result in mine) == 1
    for result in results:
        assert result["reached"] == (result["error"] <= committee.TARGET_ERROR)
    assert "toy 400" in capsys.readouterr().out


def test_an_attempt_ends_at_the_target_or_after_its_epochs(toy):
    def trained(*errors):
        return committee.attempt("other", "", lambda: map(Fake, errors), toy, 100.0)

    reached = trained(0.3, 0.1, 0.05)
    assert (reached.epochs, reached.error, reached.reached) == (2, pytest.approx(0.1), True)
    given_up = trained(0.3, 0.2, 0.25)
    assert (given_up.epochs, given_up.error, given_up.reached) == (3, pytest.approx(0.2), False)


def test_an_attempt_ends_at_the_time_limit(toy):
    endless = committee.attempt("other", "", lambda: map(Fake, iter(lambda: 0.5, None)), toy, 0.01)
    assert not endless.reached
    assert endless.seconds >= 0.01


def test_other_libraries_get_standardised_inputs(toy):
    np.testing.assert_allclose(toy.scaled[:, :5].mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(toy.scaled[:, :5].std(0), 1, atol=1e-5)
    assert np.all(toy.scaled[:, 5] == 0)

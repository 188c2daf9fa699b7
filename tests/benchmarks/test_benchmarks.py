"""The benchmarks of linear SVMs measure what they claim; times are not tested."""

import json

import numpy as np
import pytest
from benchmarks._data import Data
from benchmarks._measure import fit_seconds
from benchmarks._objective import primal_objective
from benchmarks._race import Attempt, Problem, Race, search
from benchmarks.adapters._library import convert
from benchmarks.adapters._linear import LinearMachine

from benchmarks import _race, linear_svm


def toy(rows: int) -> Data:
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, 4)).astype(np.float32)
    y = np.where(X[:, 0] + 0.5 * random.normal(size=rows) > 0.3, 5, 2)
    return Data(X, y, X[:0], y[:0])


LIBRARIES = [_race.OURS, *_race.RIVALS]


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
@pytest.mark.parametrize("layout", ["dense", "CSR"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_every_library_solves_the_same_problem(library, layout, loss):
    if library.missing() or loss not in library.losses:
        pytest.skip(f"no {loss} of {library.name} here: {library.missing()}")
    data, machine = toy(200), LinearMachine(0.1, loss)
    y = np.where(data.y == 5, 1, -1)
    X = convert(data.X, f"{layout} float64")
    exact = _race.ours.linear_svc(machine, 1e-9, 1).fit(X, y)
    least = primal_objective(machine, exact, X, y)
    assert least == pytest.approx(exact.primal_objective_, rel=1e-9)
    model = library.linear(machine, min(library.most, 500), 1)
    fit_seconds(model, convert(X, library.form(X)), y)
    assert 1 - 1e-6 <= primal_objective(machine, model, X, y) / least <= 1 + 1e-2


@pytest.mark.parametrize("enough", [1, 2, 3, 7, 8, 1000])
def test_the_search_finds_the_least_effort(enough):
    tried = search(lambda n: Attempt(n, n * 1e-3, 0.0 if n >= enough else 1.0), 10**9, 1e6)
    least = min(one.effort for one in tried if one.good)
    assert enough <= least <= max(enough, enough * _race.EFFORT_RATIO)


def test_the_search_ends_at_the_time_limit():
    tried = search(lambda n: Attempt(n, float(n), 1.0), 10**9, 100.0)
    assert not any(one.good for one in tried)
    assert 80 < sum(one.seconds for one in tried) <= 100
    assert [one.effort for one in search(lambda n: Attempt(n, 0.0, 1.0), 5, 1.0)] == [1, 2, 4, 5]


@pytest.mark.slow
def test_the_race_and_its_report(monkeypatch, capsys):
    saved = {}
    problem = Problem("toy", "Toy", toy, 300, LinearMachine(0.1))
    monkeypatch.setattr(linear_svm, "PROBLEMS", (problem,))
    monkeypatch.setattr(
        linear_svm, "save", lambda name, results, **rest: saved.update({name: results}) or name
    )
    small = ["--rows", "200", "--repeat", "1", "--limit", "1"]
    linear_svm.main(["--only", "toy", "--rivals", "scikit-learn", "sgd", *small])
    output = capsys.readouterr().out
    assert "Toy 200" in output
    assert "penalised intercept" in output
    (result,) = json.loads(json.dumps(saved["linear_svm"]))
    ours, theirs, _ = result["entries"]
    assert ours["library"] == "widemargin"
    assert ours["reached"]
    assert theirs["reached"]
    assert max(ours["suboptimality"], theirs["suboptimality"]) <= _race.TARGET_SUBOPTIMALITY
    assert result["gap"] <= _race.EXACT_GAP


def test_a_library_without_the_loss_makes_no_attempt(monkeypatch):
    problem = Problem("toy", "Toy", toy, 100, LinearMachine(0.1, "squared_hinge"))
    monkeypatch.setattr(_race.RIVALS[0].__class__, "losses", ("hinge",))
    outcome = Race(_race.RIVALS[:1], 1, 1, 1.0).run(problem)
    assert [bool(entry.tried) for entry in outcome.entries] == [True, False]
    assert linear_svm.end(outcome.entries[1]) == ""

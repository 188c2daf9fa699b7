"""Candidates: their neighbours, and the machines that they stand for."""

import numpy as np
import pandas
import pytest

from widemargin.tabular.candidates import LIMITS, Candidate
from widemargin.tabular.plan import PORTFOLIO


@pytest.mark.parametrize("family", ["mlp", "deep_mlp", "simple_mlp"])
def test_neighbours_of_a_network_differ_in_their_first_weights_alone(family):
    network = Candidate(family)
    near = list(network.neighbours(regression=False))
    assert [one.seed for one in near] == [1, 2]
    assert {one.arm for one in near} == {network.arm}
    assert len({str(one) for one in [network, *near]}) == 3
    again = {two for one in near for two in one.neighbours(regression=False)}
    assert again == {network, *near}
    machines = [
        one.machine(1.0, 100, regression=False, n_jobs=1, random_state=7).get_params()
        for one in [network, *near]
    ]
    assert [machine.pop("random_state") for machine in machines] == [7, 8, 9]
    assert machines[0] == machines[1] == machines[2]


@pytest.mark.parametrize("regression", [False, True])
def test_neighbours_of_a_kernel_machine_stay_within_limits(regression):
    names = ("sharpness", "C", *(("epsilon",) if regression else ()))
    for candidate in PORTFOLIO:
        if candidate.is_network:
            continue
        for near in candidate.neighbours(regression=regression):
            changed = [name for name in names if getattr(near, name) != getattr(candidate, name)]
            assert len(changed) == 1
            low, high = LIMITS[changed[0]]
            assert low <= getattr(near, changed[0]) <= high


@pytest.mark.parametrize("rows", [50, 3000, 20_000, 1_000_000])
@pytest.mark.parametrize("regression", [False, True])
def test_deep_networks_visit_about_as_many_examples_for_any_table(rows, regression):
    network = Candidate("deep_mlp").machine(
        1.0, rows, regression=regression, n_jobs=1, random_state=0
    )
    assert 10 <= network.max_iter <= 40
    assert 1 <= network.batch_size <= min(256, rows)
    assert network.dropout > 0


def test_a_deep_network_learns():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    network = Candidate("deep_mlp").machine(1.0, 300, regression=False, n_jobs=1, random_state=0)
    assert network.fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.85


def test_settings_that_a_machine_does_not_have_are_empty():
    def present(family, *, regression):
        found = Candidate(family).settings(regression=regression)
        return [name for name in ("kernel", "C", "epsilon") if not pandas.isna(found[name])]

    assert present("kernel", regression=True) == ["kernel", "C", "epsilon"]
    assert present("mixture", regression=False) == ["kernel", "C"]
    assert present("linear", regression=False) == ["C"]
    assert present("mlp", regression=True) == []

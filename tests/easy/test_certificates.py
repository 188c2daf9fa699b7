"""What a report says of the optimality of machines has the numbers behind it."""

from types import SimpleNamespace

import numpy as np
import pytest

from widemargin.easy.notes import certificate_lines
from widemargin.report.build import build
from widemargin.report.record import Record


def members_of(gap, cost):
    machine = SimpleNamespace(
        kkt_violation_=np.array([0.0005]),
        converged_=True,
        tol=1e-3,
        duality_gap_=np.array([gap]),
        primal_objective_=np.array([cost]),
    )
    return [{"model": [machine], "description": "SVC", "weight": 1.0}]


def test_the_report_tells_the_largest_violation_and_the_gap():
    lines = certificate_lines(members_of(2.0, 10.0))
    record = Record("classification", "y", "f", 1, 1, 1, certificate=tuple(lines))
    section = next(one for one in build(record).sections if one.id == "certificate")
    text = section.parts[0].text
    assert "the largest violation is 0.0005" in text
    assert "duality gap is at most 0.2 of the cost" in text


@pytest.mark.parametrize(
    ("gap", "cost", "said"),
    [
        (2.0, 10.0, "at most 25.00% above"),  # the best costs at least 8
        (9.0, 10.0, "nothing is known"),
        (11.0, 10.0, "nothing is known"),
        (np.inf, np.inf, "nothing is known"),
    ],
)
def test_how_far_the_cost_is_above_the_best(gap, cost, said):
    lines = {line["name"]: line["text"] for line in certificate_lines(members_of(gap, cost))}
    assert said in lines["primal and dual"]


def test_a_linear_machine_has_a_gap_and_no_violation():
    members = members_of(0.1, 10.0)
    del members[0]["model"][0].kkt_violation_
    (line,) = certificate_lines(members)
    assert (line["name"], line["values"]["gap"]) == ("primal and dual", 0.1)


def test_networks_have_none():
    network = SimpleNamespace(converged_=True, tol=1e-3)
    members = [{"model": [network], "description": "mlp", "weight": 1.0}]
    assert certificate_lines(members) == []

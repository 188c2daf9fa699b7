"""The summary of a run, whatever was decided and found."""

import io
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("typer")
rich = pytest.importorskip("rich.console")

from widemargin.cli.easy import print_outcome  # noqa: E402
from widemargin.report.record import Decision, Finding, Record  # noqa: E402

LONG = "words that are many enough to fill more than a single line of a terminal, and one more"


@pytest.fixture
def outcome():
    decisions = [Decision(f"choice {i}", "this one", LONG) for i in range(9)]
    measure = {"value": 0.25, "low": 0.2, "high": 0.3}
    metrics = dict.fromkeys(("error", "balanced_accuracy", "auc", "log_loss"), measure)
    record = Record(
        task="classification",
        target="y",
        file="d.csv",
        rows=100,
        train_rows=80,
        test_rows=20,
        decisions=(*decisions, Decision("model", "one machine", "of 3 trials")),
        findings=tuple(Finding("warning", "dates", LONG, LONG) for _ in range(9)),
        evaluation={"metrics": metrics},
        baseline={"metrics": metrics},
    )
    return SimpleNamespace(record=record, seconds=9.0, report=Path("m.html"))


def test_a_summary_has_less_than_thirty_lines_and_tells_of_the_model(outcome):
    console = rich.Console(file=io.StringIO(), width=80)
    options = SimpleNamespace(output=Path("m"), data=Path("d.csv"))
    print_outcome(outcome, options, console)
    lines = console.file.getvalue().splitlines()
    assert 25 < len(lines) < 30
    assert any(line.startswith("model ") and "one machine" in line for line in lines)
    assert any("more in the report" in line for line in lines)
    assert lines[-1].startswith("To predict: widemargin predict m new.csv")

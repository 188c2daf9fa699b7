"""A run from a file to a model: what is decided, saved, and kept when it is ended early."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest

from widemargin import load
from widemargin.easy import run as module
from widemargin.easy.clock import Clock
from widemargin.easy.run import run
from widemargin.easy.saved import (
    MOST_CHARACTERS,
    RECORD_ATTRIBUTE,
    bounded,
    record_of,
    remember,
)
from widemargin.report import render_html
from widemargin.report.record import Record

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def test_from_a_file_to_a_model_and_its_report(options):
    wanted = options()
    outcome = run(wanted)
    record = outcome.record
    assert (record.task, record.target, record.rows) == ("classification", "churned", 240)
    assert (record.train_rows, record.test_rows) == (192, 48)
    assert record.classes == ("no", "yes")
    roles = {column.name: column.role for column in record.columns}
    assert list(roles) == [*pd.read_csv(wanted.data).columns]
    assert [name for name, role in roles.items() if role == "input"] == ["age", "town", "since"]
    kinds = {column.name: column.kind for column in record.columns}
    assert (kinds["customer_id"], kinds["since"], kinds["country"]) == ("id", "date", "constant")
    assert {decision.what for decision in record.decisions} >= {"task", "held-out rows", "model"}
    assert record.evaluation["metrics"]["error"]["value"] < 0.35
    assert record.baseline["metrics"]["error"]["value"] < 0.5
    assert record.leaderboard
    assert record.seconds.keys() >= {"reading", "baseline", "search", "evaluation"}
    assert "customers.csv" in wanted.report.read_text("utf-8")
    model = load(wanted.output)
    assert record_of(model) == Record.from_dict(json.loads(json.dumps(record.to_dict())))
    X = pd.read_csv(wanted.data, parse_dates=["since"])
    assert set(model.predict(X)) == {"no", "yes"}
    assert not list(wanted.output.parent.glob("*.run"))


def test_values(options):
    outcome = run(options(target="spent", drop=("churned",)))
    assert outcome.record.task == "regression"
    assert outcome.record.evaluation["metrics"]["r2"]["value"] > 0.2
    assert outcome.model.scoring is None
    assert outcome.model.predict_interval(
        pd.DataFrame({"age": [30.0], "town": ["Bern"], "since": ["2020-02-03"]})
    ).shape == (1, 2)


def test_a_test_file_judges(options, customers, tmp_path):
    frame = pd.read_csv(customers)
    frame.iloc[::-1, ::-1].iloc[:50].assign(more=1).to_csv(tmp_path / "test.csv", index=False)
    outcome = run(options(test=tmp_path / "test.csv"))
    assert (outcome.record.train_rows, outcome.record.test_rows) == (240, 50)
    assert "time order" not in {finding.kind for finding in outcome.record.findings}
    frame.drop(columns="age").to_csv(tmp_path / "test.csv", index=False)
    with pytest.raises(ValueError, match=r"test\.csv: lacks the columns 'age'"):
        run(options(test=tmp_path / "test.csv"))


def test_the_metric_is_used(options):
    outcome = run(options(metric="auc"))
    assert outcome.model.scoring == "roc_auc"
    with pytest.raises(ValueError, match=r"metric='acuracy' is unknown; closest: accuracy"):
        run(options(metric="acuracy"))
    with pytest.raises(ValueError, match=r"metric='rmse' does not suit classification"):
        run(options(metric="rmse"))


def test_parameters_of_the_model_are_checked_before_the_work(options):
    with pytest.raises(ValueError, match="--set max_iter: TabularClassifier has no such parameter"):
        run(options(settings={"max_iter": 3}))
    with pytest.raises(ValueError, match="'effort' parameter of TabularClassifier"):
        run(options(settings={"effort": -1}))


def test_times_and_groups_are_no_inputs(options, customers):
    outcome = run(options(time_column="since"))
    columns = {column.name: column for column in outcome.record.columns}
    assert columns["since"].role == "time"
    assert outcome.model.feature_names_in_.tolist() == ["age", "town"]
    assert outcome.model.cv is None
    outcome = run(options(groups="town"))
    assert {column.name for column in outcome.record.columns if column.role == "group"} == {"town"}


def test_without_time_for_a_search_the_model_is_the_baseline(options, monkeypatch):
    monkeypatch.setattr(Clock, "for_search", lambda self: 0.0)
    wanted = options()
    outcome = run(wanted)
    assert outcome.record.findings[0].kind == "time limit"
    assert [type(step).__name__ for _, step in load(wanted.output).steps] == [
        "TableEncoder",
        "LinearSVC",
    ]
    assert record_of(load(wanted.output)).stop_reason == "time_limit"
    assert outcome.record.baseline == {}
    assert "primal and dual" in {line["name"] for line in outcome.record.certificate}
    page = wanted.report.read_text("utf-8")
    assert "The model is the baseline itself, a linear SVM" in page
    assert "The error of the baseline" not in page


def test_a_search_that_fails_leaves_the_baseline(options, monkeypatch):
    def broken(*_):
        raise MemoryError("no memory")

    monkeypatch.setattr(module, "fit_search", broken)
    wanted = options()
    with pytest.raises(MemoryError, match=r"no memory; the baseline, a linear SVM, was saved to "):
        run(wanted)
    assert load(wanted.output).classes_.tolist() == ["no", "yes"]


def test_a_much_better_baseline_is_the_model(options, monkeypatch):
    complete = module._Run._scores

    def scores(self, model, baseline):
        found, base = complete(self, model, baseline)
        return found | {"metrics": {"error": {"value": 0.9, "low": 0.8, "high": 1.0}}}, base

    monkeypatch.setattr(module._Run, "_scores", scores)
    wanted = options()
    outcome = run(wanted)
    assert outcome.record.findings[0].kind == "baseline"
    assert outcome.record.leaderboard
    assert type(load(wanted.output)[-1]).__name__ == "LinearSVC"


@pytest.mark.parametrize("limit", [2.0, 5.0])
def test_stages_are_told_their_part_of_the_limit(limit, options, monkeypatch):
    """The search is told less than what is left, whatever the stages before have taken."""
    told = []

    def fit(model, X, y, folds):
        told.append((model.time_limit, clock.left))
        return model.set_params(cv=None).fit(X, y)

    monkeypatch.setattr(module, "fit_search", fit)
    clock = Clock(limit)
    run(options(time_limit=limit), clock=clock)
    for seconds, left in told:
        assert 0 < seconds < left


def test_the_time_of_a_report_begins_with_the_command(options):
    outcome = run(options(), clock=Clock(60.0, time.perf_counter() - 3.0))
    assert outcome.record.seconds["start"] >= 3.0
    assert sum(outcome.record.seconds.values()) <= outcome.seconds


def test_libraries_do_not_speak_for_a_run(options, customers, recwarn):
    """scikit-learn doubts classes with few rows each; the findings say it in other words."""
    frame = pd.read_csv(customers).iloc[:60]
    frame["code"] = np.arange(60) // 2
    frame.to_csv(customers, index=False)
    outcome = run(options(target="code", task="classification", drop=()))
    assert [str(one.message) for one in recwarn] == []
    assert "rare classes" in {finding.kind for finding in outcome.record.findings}


# ------------------------------------------------------------------------------------- resuming


def test_a_finished_search_is_not_repeated(options, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    complete = module._Run._scores
    monkeypatch.setattr(module._Run, "_scores", stopped)
    wanted = options()
    with pytest.raises(KeyboardInterrupt):
        run(wanted)
    assert (wanted.output.with_name("m.safetensors.run") / "search.safetensors").is_file()
    monkeypatch.setattr(module._Run, "_scores", complete)
    monkeypatch.setattr(module, "fit_search", stopped)
    monkeypatch.setattr(module, "fit_baseline", stopped)
    outcome = run(replace(wanted, resume=True))
    assert outcome.resumed
    assert outcome.record.evaluation["metrics"]["error"]["value"] < 0.35
    assert not list(wanted.output.parent.glob("*.run"))


def test_a_run_with_other_options_is_not_continued(options, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "fit_search", stopped)
    wanted = options()
    with pytest.raises(KeyboardInterrupt):
        run(wanted)
    with pytest.raises(ValueError, match="of another file or with other options"):
        run(replace(wanted, resume=True, drop=()))


# -------------------------------------------------------------------------------------- records


def test_the_record_of_a_stranger_does_no_harm(options):
    model = load_free()
    for text in ("", "[]", "{", '{"task": 3}', "[" * 10_000, 7, "x" * (MOST_CHARACTERS + 1)):
        setattr(model, RECORD_ATTRIBUTE, text)
        assert record_of(model) is None
    assert record_of(load_free()) is None


def test_a_record_is_bounded():
    trials = tuple({"model": "x" * 10_000, "loss": 0.1} for _ in range(1000))
    record = Record("classification", "y", "f", 1, 1, 1, leaderboard=trials)
    model = load_free()
    remember(model, record)
    assert len(getattr(model, RECORD_ATTRIBUTE)) < MOST_CHARACTERS
    assert record_of(model).target == "y"


def load_free():
    from widemargin import Perceptron

    return Perceptron().fit(np.eye(2), [0, 1])


def test_numbers_that_json_lacks_do_not_end_a_run():
    """A trial that was cut off has an infinite loss, and so has a search without any other."""
    trials = ({"model": "x", "rows": 10, "loss": np.inf},)
    curve = ({"rows": 10.0, "loss": float("nan")},)
    loss = {"name": "log loss", "value": np.inf, "constant": 1.0}
    record = Record(
        "classification", "y", "f", 1, 1, 1, leaderboard=trials, learning_curve=curve, loss=loss
    )
    model = load_free()
    remember(model, record)
    found = record_of(model)
    assert found.leaderboard[0]["loss"] is None
    assert (found.loss["value"], found.learning_curve[0]["loss"]) == (None, None)
    assert bounded(replace(found, leaderboard=found.leaderboard * 1000)).leaderboard
    assert "Would more rows help?" in render_html(found)

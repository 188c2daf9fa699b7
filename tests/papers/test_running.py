"""Runs are resumed item by item; results are files that are complete or absent."""

import json
import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest

from widemargin import MarginPerceptron
from widemargin.papers import Item, Measured, Scope, read_records, run_items


class Counter:
    """Items that count their runs."""

    def __init__(self, *ids, fails=(), minutes=0.0):
        self.runs, self.fails = [], set(fails)
        self.items = [self._item(key, minutes) for key in ids]

    def _item(self, key, minutes):
        def run(scope):
            if key in self.fails:
                raise KeyboardInterrupt
            self.runs.append(key)
            return Measured({"a": 1.0}, spread={"a": float("nan")}, notes=("one",))

        return Item(key, key, "somewhere", "value", "none", minutes, run, published={"a": 1.0})


def test_an_interrupted_run_continues_where_it_was(tmp_path):
    counter = Counter("one", "two", "three", fails=["two"])
    with pytest.raises(KeyboardInterrupt):
        run_items(counter.items, tmp_path)
    assert counter.runs == ["one"]
    counter.fails.clear()
    records = run_items(counter.items, tmp_path)
    assert counter.runs == ["one", "two", "three"]
    assert list(records) == ["one", "two", "three"]
    assert run_items(counter.items, tmp_path) == records
    assert read_records(tmp_path).keys() == records.keys()


def test_another_scale_other_seeds_and_another_version_are_measured_again(tmp_path):
    counter = Counter("one")
    run_items(counter.items, tmp_path)
    run_items(counter.items, tmp_path, Scope(0.5))
    run_items(counter.items, tmp_path, Scope(0.5, seeds=(0,)))
    assert counter.runs == ["one"] * 3
    path = tmp_path / "one.json"
    path.write_text(path.read_text().replace('"widemargin": "', '"widemargin": "old'))
    run_items(counter.items, tmp_path, Scope(0.5, seeds=(0,)))
    assert counter.runs == ["one"] * 4


def test_what_takes_longer_than_the_budget_is_not_begun(tmp_path):
    told = []
    counter = Counter("long", minutes=10.0)
    counter.items.append(replace(counter.items[0], id="short", minutes=0.0))
    found = run_items(
        counter.items, tmp_path, budget=1.0, watch=lambda item, what: told.append((item.id, what))
    )
    assert list(found) == ["short"]
    assert told == [("long", "no time"), ("short", "begun"), ("short", "done")]
    quick = run_items(counter.items, tmp_path, Scope(0.05), budget=1.0)
    assert list(quick) == ["long", "short"]


def test_records_are_plain_json_and_nan_is_left_out(tmp_path):
    counter = Counter("one")
    records = run_items(counter.items, tmp_path)
    found = json.loads((tmp_path / "one.json").read_text(), parse_constant=pytest.fail)
    assert found["measured"]["spread"] == {}
    assert read_records(tmp_path)["one"].measured.here == records["one"].measured.here
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"measured": 3}', '{"measured": {"x": 1}}'])
def test_a_damaged_result_is_named(tmp_path, text):
    (tmp_path / "one.json").write_text(text)
    with pytest.raises(ValueError, match=r"one\.json is no result"):
        run_items(Counter("one").items, tmp_path)


def test_an_item_that_fails_does_not_keep_the_others_from_being_run(tmp_path):
    def fail(scope):
        raise OSError("no such file")

    told = []
    counter = Counter("bad", "good")
    counter.items[0] = replace(counter.items[0], run=fail)
    with pytest.raises(OSError, match="no such file"):
        run_items(counter.items, tmp_path, watch=lambda item, what: told.append((item.id, what)))
    assert told == [("bad", "begun"), ("bad", "failed"), ("good", "begun"), ("good", "done")]
    assert list(read_records(tmp_path)) == ["good"]


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to itself")
def test_ctrl_c_in_a_fit_ends_the_item_and_leaves_no_result(tmp_path, ctrl_c):
    after = []

    def long(scope):
        X = np.random.RandomState(0).normal(size=(2000, 20))
        MarginPerceptron(max_iter=10**9, tol=None).fit(X, np.where(X[:, 0] > 0, 1, -1))
        after.append("reached")  # Python's own handler would let the fit return
        return Measured({"a": 1.0})

    counter = Counter("one", "two")
    items = [counter.items[0], replace(counter.items[1], run=long)]
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_items(items, tmp_path)
    finally:
        timer.cancel()
    assert not after
    assert list(read_records(tmp_path)) == ["one"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_damaged_result_is_named_before_anything_is_run(tmp_path):
    (tmp_path / "two.json").write_text("{")
    counter = Counter("one", "two")
    with pytest.raises(ValueError, match=r"two\.json is no result"):
        run_items(counter.items, tmp_path)
    assert not counter.runs

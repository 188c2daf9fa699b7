"""Scores of probabilities, and one model against the others over all tables."""

import io
import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks._lines import Entry, Line
from benchmarks._scores import auc, log_loss
from benchmarks._splits import Split
from benchmarks._summary import Ratios, compare, comparison_table
from benchmarks.adapters._tables import TableLibrary
from rich.console import Console
from sklearn.base import BaseEstimator


def test_log_loss():
    p = np.array([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]])
    y = np.array([0, 1, 0])
    expected = -(math.log(0.5) + math.log(0.75)) / 3
    assert log_loss(y, p, np.array([0, 1])) == pytest.approx(expected)
    assert log_loss(np.array([1]), p[2:], np.array([0, 1])) == pytest.approx(-math.log(1e-15))


def test_classes_without_training_rows_have_probability_zero():
    p = np.array([[0.5, 0.5]] * 4)
    y = np.array([0, 1, 2, 3])
    expected = (2 * math.log(2) - 2 * math.log(1e-15)) / 4
    assert log_loss(y, p, np.array([0, 2])) == pytest.approx(expected)


def test_auc_is_for_two_classes():
    p = np.array([0.1, 0.4, 0.35, 0.8])
    p = np.column_stack([1 - p, p])
    assert auc(np.array([0, 0, 1, 1]), p) == 0.75
    assert auc(np.array([0, 0, 0, 0]), p) is None
    assert auc(np.array([0, 1, 2, 1]), np.full((4, 3), 1 / 3)) is None


# ------------------------------------------------------------------------- predictions of an entry


class Counts(BaseEstimator):
    """Says the first class with probability 0.6, and counts its predictions."""

    classes_ = np.array([0, 1])

    def fit(self, X, y):
        self.calls_ = []
        return self

    def predict(self, X):
        self.calls_.append("predict")
        return np.ones(len(X), dtype=int)

    def predict_proba(self, X):
        self.calls_.append("predict_proba")
        return np.array([[0.6, 0.4]] * len(X))


class Counted(TableLibrary):
    name = title = "counted"
    module = "sklearn"

    def model(self, split, threads):
        self.made = Counts()
        return self.made


@pytest.mark.parametrize("most_likely", [False, True])
def test_rows_are_predicted_once_if_predict_is_the_most_likely_class(most_likely):
    model = Counted()
    model.predicts_most_likely = most_likely
    X = np.zeros((4, 1))
    split = Split("classification", X, np.array([0, 0, 1, 1]), X, np.array([0, 0, 0, 1]))
    entry = Entry(model)
    entry.fit(split, type("Options", (), {"threads": 1}))
    expected = ["predict_proba"] if most_likely else ["predict", "predict_proba"]
    assert model.made.calls_ == expected
    assert entry.error == (25 if most_likely else 75)
    assert entry.log_loss == pytest.approx(-(3 * math.log(0.6) + math.log(0.4)) / 4)
    assert entry.auc == 0.5


def test_values_have_no_probabilities():
    model = Counted()
    X = np.zeros((4, 1))
    split = Split("regression", X, np.arange(4.0), X, np.arange(4.0))
    entry = Entry(model)
    entry.fit(split, type("Options", (), {"threads": 1}))
    assert model.made.calls_ == ["predict"]
    assert (entry.log_loss, entry.auc) == (None, None)
    assert Line.of("values", 4, model, [entry]).log_loss is None


# ------------------------------------------------------------------------------------- the summary


def line(table, model, error, log_loss=None, seconds=1.0, search=0.0):
    measured = {"error": error, "log_loss": log_loss, "auc": None, "seconds": seconds}
    rest = {"predict_seconds": 0.0, "choice_seconds": search, "valid_error": None}
    return Line(table, 100, model, model, **measured, **rest, settings=[""], errors=[error])


LINES = [
    line("a", "tabular", 1.8, 0.048, seconds=5),
    line("a", "trees", 3.8, 0.098, seconds=1, search=2),
    line("b", "tabular", 9.8, seconds=7),
    line("b", "trees", 4.8, seconds=9),
    line("c", "tabular", 10.001, 0.3, seconds=60),
    line("c", "trees", 10.002, 0.2, seconds=4),
    line("d", "tabular", 5.0, 0.3, seconds=6),
]


def test_ratios_of_errors_and_log_losses():
    itself, trees = compare(LINES, "tabular")
    assert (trees.reference, trees.model) == ("tabular", "trees")
    error, loss = trees.error, trees.log_loss
    assert (error.wins, error.ties, error.losses) == (1, 1, 1)  # c: both are printed as 10.00
    assert error.mean == pytest.approx((0.5 + 2 + 1) / 3, rel=1e-4)
    assert error.geometric_mean == pytest.approx(1, rel=1e-4)
    assert (error.worst, error.worst_table) == (pytest.approx(2), "b")
    assert (loss.wins, loss.ties, loss.losses) == (1, 0, 1)
    assert loss.geometric_mean == pytest.approx(math.sqrt(0.5 * 0.302 / 0.202))
    assert (trees.median_seconds, trees.most_seconds) == (4, 9)  # searches count
    assert (itself.median_seconds, itself.most_seconds) == (6.5, 60)
    assert itself.error is itself.log_loss is None


def test_without_a_common_table_there_is_nothing_to_compare():
    assert Ratios.of({"a": 0.1}, {"b": 0.1}, 100, 2) is None
    assert compare(LINES, "absent") == []
    apart = [LINES[0], replace(LINES[1], table="z")]
    assert compare(apart, "tabular")[1].error is None


def test_the_summary_is_printed():
    console = Console(width=150, file=io.StringIO())
    console.print(comparison_table(compare(LINES, "tabular")))
    text = console.file.getvalue()
    assert "1, 1, 1" in text
    assert "1.167" in text
    assert "9.00 s" in text

"""Bars on the terminal of the command line."""

import io
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("typer")
from rich.console import Console

from widemargin import SVC, MarginPerceptron
from widemargin.cli import easy, progress

X = np.random.default_rng(0).normal(size=(200, 3))
Y = (X[:, 0] > 0) * 1
CLOCK = SimpleNamespace(limit=60.0, elapsed=1.0)


@pytest.fixture
def terminal(monkeypatch):
    """A console that takes itself for a terminal."""
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(progress, "err", console)
    monkeypatch.setattr(easy, "err", console)
    return console.file


def test_a_fit_has_a_bar_and_its_own_output_stays_on_the_terminal(terminal, capsys):
    model = MarginPerceptron(max_iter=3, tol=None, verbose=1, random_state=0)
    with progress.progress_bar(model, quiet=False):
        model.fit(X, Y)
    assert capsys.readouterr().out == ""
    assert terminal.getvalue().count("[MarginPerceptron] epoch") == 3  # above the bar
    assert "MarginPerceptron" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()


def test_quiet_has_no_bar(terminal):
    with progress.progress_bar(SVC(), quiet=True):
        SVC().fit(X, Y)
    with easy.stages(CLOCK, quiet=True) as show:
        show("searching")
        SVC().fit(X, Y)
    assert terminal.getvalue() == ""


def test_stages_show_the_fits_that_they_consist_of(terminal, monkeypatch):
    drawn = []

    class Bars:
        def __init__(self, *columns, **options):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def add_task(self, text, total):
            return 0

        def update(self, task, *, description):
            drawn.append(description)

    monkeypatch.setattr(easy, "Progress", Bars)
    with easy.stages(CLOCK, quiet=False) as show:
        show("a \x1b[2J stage")
        MarginPerceptron(max_iter=2, tol=None).fit(X, Y)
    first, one, two, last = drawn
    assert first == last == "a \\x1b[2J stage"
    assert one.startswith(f"{first}: 1/2")
    assert two.startswith(f"{first}: 2/2")

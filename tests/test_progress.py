"""Bars of long fits: every estimator reports, a fit inside a fit does not, displays draw."""

import io
import sys
import types
import warnings

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from test_common import OF_MANY_MODELS, PARAMETRISED, SMALLER
from widemargin import (
    SVC,
    GradientMetric,
    HardMixtureClassifier,
    MarginPerceptron,
    Perceptron,
    TabularClassifier,
)
from widemargin import progress as module
from widemargin.mixtures import Gater
from widemargin.progress import NotebookBar, Step, TerminalBar, progress_bar

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
Y = (X[:, 0] + X[:, 1] ** 2 > 0.5) * 1


def trained():
    """Every estimator whose fit takes time."""
    for cls in PARAMETRISED:
        if not issubclass(cls, Gater) and (hasattr(cls, "predict") or cls is GradientMetric):
            marks = pytest.mark.slow if issubclass(cls, OF_MANY_MODELS) else ()
            yield pytest.param(cls(**SMALLER.get(cls, {})), id=cls.__name__, marks=marks)


def steps_of(model, inputs=X):
    steps = []
    with warnings.catch_warnings(), progress_bar(steps.append):
        warnings.simplefilter("ignore")
        model.fit(inputs, Y * 1.0 if is_regressor(model) else Y)
    return steps


@pytest.mark.parametrize("model", [*trained()])
def test_every_fit_reports_and_ends(model):
    *steps, last = steps_of(model)
    assert {step.name for step in steps} == {type(model).__name__}
    counts = [step.done for step in steps]
    assert set(np.diff([0, *counts])) <= {0, 1}
    assert counts[-1] >= 1
    assert [step.finished for step in steps] == [False] * len(steps)
    assert last.finished
    fractions = [step.fraction for step in steps if step.fraction is not None]
    assert all(0.0 <= fraction <= 1.0 for fraction in fractions)


def test_epochs_are_a_fraction_of_the_most():
    steps = steps_of(Perceptron(max_iter=4, tol=None))
    assert [step.fraction for step in steps] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert steps[0].words.startswith("1/4  ")
    assert "error" in steps[0].text


def test_an_exact_machine_reports_its_violation():
    steps = steps_of(SVC(C=100))
    assert "violation" in steps[0].text
    assert steps[0].fraction < steps[-1].fraction == 1.0


def test_several_problems_have_no_fraction():
    three = np.where(X[:, 2] > 0.5, 2, Y)
    steps = []
    with progress_bar(steps.append):
        SVC().fit(X, three)
    assert steps[-1].fraction is None


def test_a_time_limit_is_a_fraction():
    first, *_ = steps_of(SVC(kernel="rbf", time_limit=1000.0))
    assert 0.0 <= first.fraction < 0.1
    assert steps_of(GradientMetric(time_limit=1000.0))[0].fraction > 0.0


def test_fits_inside_a_fit_are_silent():
    steps = steps_of(HardMixtureClassifier(MarginPerceptron(), n_experts=2, max_iter=2))
    assert {step.name for step in steps} == {"HardMixtureClassifier"}
    assert sum(step.finished for step in steps) == 1


@pytest.mark.slow
def test_a_search_counts_its_fits():
    steps = steps_of(TabularClassifier(effort=0.05))
    fits = [step.fits for step in steps]
    assert fits == sorted(fits)
    assert fits[-1] > steps[-1].done >= 1
    assert f"{fits[-1]} fits" in steps[-1].words


def test_the_fits_of_a_pipeline_follow_each_other():
    steps = steps_of(make_pipeline(StandardScaler(), GradientMetric(), SVC()))
    names = [step.name for step in steps if step.finished]
    assert names == ["GradientMetric", "SVC"]


def test_a_fit_that_fails_ends_its_bar():
    steps = []
    with progress_bar(steps.append), pytest.raises(ValueError, match="NaN"):
        SVC().fit(X * np.nan, Y)
    assert [step.finished for step in steps] == [True]


def test_nothing_is_shown_outside_or_without_a_terminal(capfd):
    steps = steps_of(SVC())
    count = len(steps)
    SVC().fit(X, Y)
    with progress_bar():
        SVC().fit(X, Y)
    assert len(steps) == count
    assert capfd.readouterr() == ("", "")


def test_the_bar_of_a_terminal():
    console = pytest.importorskip("rich.console")
    file = io.StringIO()
    bar = TerminalBar(console.Console(file=file, force_terminal=True, width=80))
    for step in (Step("SVC", 1, None, None, "gap [bold]"), Step("SVC", 2, 4, 0.5, "gap")):
        bar(step)
        bar._bar.refresh()
    bar(Step("SVC", finished=True))
    bar(Step("SVC", finished=True))  # a fit without a step
    shown = file.getvalue()
    assert "SVC" in shown
    assert "gap [bold]" in shown  # not taken for markup
    assert "2/4" in shown


def test_the_bar_of_a_notebook(monkeypatch):
    shown = []
    handle = types.SimpleNamespace(update=lambda html: shown.append(html))
    display = types.ModuleType("IPython.display")
    display.HTML = str
    display.display = lambda html, display_id: shown.append(html) or handle
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setattr(module, "REDRAW_SECONDS", 0.0)
    assert isinstance(module._default_display(), NotebookBar)
    with progress_bar():
        Perceptron(max_iter=2, tol=None).fit(X, Y)
    assert len(shown) == 3
    assert '<progress value="0.500"></progress>' in shown[0]
    assert "2/2" in shown[1]
    assert "<progress" not in shown[2]
    assert "&lt;b&gt;" in NotebookBar().html(Step("<b>"))


def test_without_rich_the_error_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(ImportError, match="pip install"):
        TerminalBar()

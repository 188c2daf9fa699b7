"""Views and the trials of them: what is measured, and what is kept."""

import numpy as np
import pytest

from widemargin.metrics.examples import Rows
from widemargin.tabular import evaluation, views
from widemargin.tabular.candidates import Candidate
from widemargin.tabular.evaluation import Evaluator
from widemargin.tabular.targets import Classes
from widemargin.tabular.views import View
from widemargin.training.control import Control, interrupt_flag

LINEAR = Candidate("linear", C=0.1)


def rows(count=60, n_classes=3, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 3))
    return Rows(X, np.digitize(X[:, 0], [-0.5, 0.5][: n_classes - 1]).astype(float))


def view(count=60):
    return View(rows(count), rows(20, seed=1), Classes(np.arange(3)), 100, 0)


def test_every_candidate_pays_for_the_form_of_what_it_predicts(monkeypatch):
    clock, transformed = [0.0], views._Inputs._transformed

    def slow(self, X):
        clock[0] += 100.0
        return transformed(self, X)

    monkeypatch.setattr(views, "now", lambda: clock[0])
    monkeypatch.setattr(views._Inputs, "_transformed", slow)
    tried = view()
    tried.prepare("robust", "none", 1)
    first = tried.fit(LINEAR, 1)
    second = tried.fit(Candidate("linear", C=1.0), 1)
    assert first.predict_seconds == second.predict_seconds == 100.0


def test_candidates_share_the_median_of_a_norm(monkeypatch):
    calls, median = [], views.median_distance

    def counted(X, kernel, random):
        calls.append(kernel)
        return median(X, kernel, random)

    monkeypatch.setattr(views, "median_distance", counted)
    tried = view()
    tried.prepare("robust", "none", 1)
    gammas = {}
    for kernel in ("exponential", "rbf", "laplacian"):
        for C in (1.0, 10.0):
            model = tried.fit(Candidate(kernel=kernel, C=C), 1).model
            gammas.setdefault(kernel, set()).add(model[-1].gamma)
    assert len(calls) == 2
    assert all(len(found) == 1 for found in gammas.values())
    for kernel, (gamma,) in gammas.items():
        Z = tried._inputs["robust", "none"].train
        own = median(Z, kernel, np.random.RandomState(0))
        assert gamma == Candidate(kernel=kernel).gamma(own)


@pytest.fixture
def evaluator():
    target = Classes(np.arange(3))
    with interrupt_flag() as flag:
        control = Control("test", flag)
        yield Evaluator(rows(120), target, target.default_loss, control, 100, 1, 0)


def test_trials_keep_the_model_of_the_largest_fold(evaluator):
    folds = [(np.arange(size), np.arange(size, size + 20)) for size in (40, 80, 60)]
    (found,) = evaluator.evaluate([Candidate()], evaluator.views(folds), "screening")
    alone = evaluator.evaluate([Candidate()], evaluator.views(folds[1:2]), "screening")[0]
    np.testing.assert_array_equal(found.model[-1].support_, alone.model[-1].support_)
    assert (found.rows, found.folds, len(found.test)) == (40, 3, 60)


def test_folds_do_not_warn_of_classes_that_are_many_for_them(recwarn):
    y = np.arange(60) % 25
    X = np.random.default_rng(0).normal(size=(60, 3))
    target = Classes(np.arange(25))
    folds = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    with interrupt_flag() as flag:
        control = Control("test", flag)
        tried = Evaluator(Rows(X, y.astype(float)), target, target.default_loss, control, 100, 1, 0)
        tried.evaluate([LINEAR], tried.views(folds), "screening")
    assert not recwarn.list


def test_few_outputs_wait_for_their_calibration(evaluator, monkeypatch):
    folds = [(np.arange(0, 60), np.arange(60, 120)), (np.arange(60, 120), np.arange(0, 60))]
    candidates = [LINEAR, Candidate(), Candidate(kernel="laplacian")]
    expected = evaluator.evaluate(candidates, evaluator.views(folds), "screening")
    waiting, most = [], evaluation.MOST_OUTPUTS
    fits = Evaluator.fits

    def counted(self, some, *arguments):
        waiting.append(len(some))
        return fits(self, some, *arguments)

    monkeypatch.setattr(Evaluator, "fits", counted)
    monkeypatch.setattr(evaluation, "MOST_OUTPUTS", 2 * 120 * 3)
    found = evaluator.evaluate(candidates, evaluator.views(folds), "screening")
    assert waiting == [2, 1]
    assert most > 720
    assert [trial.loss for trial in found] == [trial.loss for trial in expected]

"""The HTML display of every estimator, unfitted and fitted, as notebooks show it."""

import builtins
import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr

from test_common import PARAMETRISED, SMALLER
from widemargin import SVC, GradientMetric, HardMixtureClassifier, HatEncoder, TabularClassifier
from widemargin.mixtures import Gater
from widemargin.tables import TableEncoder
from widemargin.tabular import InputForm
from widemargin.training.display import fit_facts

CLASSES = [*dict.fromkeys([*PARAMETRISED, TableEncoder, InputForm])]
PLAIN = (Gater, HatEncoder, TableEncoder, InputForm)  # nothing is optimised, or a mixture tells
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
Y = (X[:, 0] + X[:, 1] ** 2 > 0.5) * 1


def new(cls):
    """One that is quick to fit."""
    options = dict(SMALLER.get(cls, {}))
    if cls.__name__ == "EstimatorGater":
        options["estimator"] = LogisticRegression()
    return cls(**options)


def fitted(cls):
    if issubclass(cls, Gater):
        return HardMixtureClassifier(SVC(), new(cls), n_experts=2, max_iter=1).fit(X, Y).gater_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return new(cls).fit(X, Y * 1.0 if is_regressor(new(cls)) else Y)


def html(estimator):
    """What a notebook shows; it must not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return estimator_html_repr(estimator)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_unfitted(cls):
    shown = html(new(cls))
    assert cls.__name__ in shown
    assert "Not fitted" in shown
    assert "Certificate" not in shown


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_fitted(cls):
    model = fitted(cls)
    shown = html(model)
    assert "<span>Fitted</span>" in shown
    assert len(shown) < 100_000
    if not issubclass(cls, PLAIN):
        assert "<summary>Certificate</summary>" in shown
        for name, text in fit_facts(model).items():
            assert name in shown
            assert text in shown
    assert not hasattr(clone(model), "stop_reason_")
    assert "Not fitted" in html(clone(model))


def test_the_certificate_states_the_optimum_and_what_was_reached():
    facts = fit_facts(SVC(C=10).fit(X, Y))
    assert facts["training"] == "converged"
    _, dual, _, primal, *_ = facts["optimum"].replace(",", "").split()
    assert float(dual) <= float(primal)
    assert facts["support vectors"].endswith("of 120 rows")
    with pytest.warns(UserWarning, match="max_iter"):
        stopped = fit_facts(SVC(C=1e6, max_iter=1).fit(X, Y))
    assert stopped["training"] == "ended by max_iter"


def test_steps_of_a_pipeline_have_their_certificates():
    shown = html(make_pipeline(GradientMetric(), SVC()).fit(X, Y))
    assert shown.count("<summary>Certificate</summary>") == 2


def test_names_from_data_are_escaped():
    labels = np.where(Y == 1, "<script>alert(1)</script>", "b")
    assert "<script>alert" not in html(TabularClassifier(effort=0.05).fit(X, labels))


def test_large_models_are_shown_by_their_shapes():
    model = SVC().fit(rng.normal(size=(3000, 40)), rng.integers(2, size=3000))
    assert len(html(model)) < 100_000


def test_without_pandas_a_table_model_is_still_shown(monkeypatch):
    model = fitted(TabularClassifier)
    known = builtins.__import__

    def without_pandas(name, *arguments, **options):
        if name == "pandas":
            raise ImportError(name)
        return known(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    assert "Certificate" in html(model)
    with pytest.raises(AttributeError, match="pip install pandas"):
        _ = model.leaderboard_


def test_scikit_learn_can_turn_diagrams_off():
    with config_context(display="text"):
        assert not hasattr(SVC(), "_repr_html_")
    assert hasattr(SVC(), "_repr_html_")

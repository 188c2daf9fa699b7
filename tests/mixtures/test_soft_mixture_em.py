"""Expectation-maximisation: the likelihood never falls, and experts can be any estimator."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB

from helpers.soft_mixtures import (
    QUADRANTS,
    SPARSE,
    THREE,
    VALUES,
    X,
    classifier,
    every_target,
    problem,
    regressor,
)
from widemargin import MLPClassifier, load, save

pytestmark = pytest.mark.filterwarnings("ignore:.*reached max_iter")


def falls(history, name="objective"):
    return np.max(np.diff([record[name] for record in history]))


@pytest.mark.parametrize("mu", [0.0, 1e-3])
@pytest.mark.parametrize("units", [0, 4])
@every_target
def test_em_never_lowers_the_likelihood(target, units, mu):
    """Also with weight decay and sample weights, because each M step raises the bound."""
    rng = np.random.default_rng(1)
    model, y = problem(target, "em", max_iter=25, mu=mu, n_units=units, n_gater_units=units)
    model.fit(X, y, sample_weight=rng.uniform(0.2, 3, 300))
    assert falls(model.history_) <= 1e-10
    if mu == 0:
        assert np.diff([record["log_likelihood"] for record in model.history_]).min() >= -1e-7
    assert model.history_[-1]["criterion"] < model.history_[0]["criterion"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "expert"),
    [
        ("two classes", LogisticRegression(C=1e6, tol=1e-10, max_iter=1000)),
        ("three classes", LogisticRegression(C=1e6, tol=1e-10, max_iter=1000)),
        ("values", LinearRegression()),
    ],
)
def test_em_with_exact_fits_of_given_experts(target, expert):
    rng = np.random.default_rng(1)
    model, y = problem(target, "em", max_iter=20, expert=expert, mu=0.0)
    noisy = y + 0.2 * y.std(0) * rng.normal(size=y.shape) if target == "values" else y
    model.fit(X, noisy)
    assert falls(model.history_, "criterion") <= 1e-5
    assert len(model.experts_) == 3
    assert model.gates(X).shape == (300, 3)
    assert model.score(X, noisy) > clone(expert).fit(X, noisy).score(X, noisy) + 0.1


@pytest.mark.parametrize(
    ("target", "expert"),
    [("two classes", GaussianNB()), ("three classes", GaussianNB()), ("values", Ridge())],
)
def test_em_with_one_given_expert_is_that_expert(target, expert):
    model, y = problem(target, "em", n_experts=1, expert=expert, scaling=None)
    alone = clone(expert).fit(X, y)
    assert_allclose(model.fit(X, y).predict(X), alone.predict(X)) if target == "values" else (
        assert_allclose(model.fit(X, y).predict_proba(X), alone.predict_proba(X), atol=1e-9)
    )


@pytest.mark.parametrize("y", [QUADRANTS, THREE], ids=["two classes", "three classes"])
def test_em_with_one_linear_expert_is_logistic_regression(y):
    clf = classifier("em", n_experts=1, mu=0.01, max_iter=40).fit(X, y)
    alone = LogisticRegression(C=1 / (0.01 * 300), tol=1e-10, max_iter=1000)
    alone.fit((X - X.mean(0)) / X.std(0), y)
    expected = alone.predict_proba((X - X.mean(0)) / X.std(0))
    assert_allclose(clf.predict_proba(X), expected, atol=1e-4)


def test_em_with_one_linear_expert_is_least_squares():
    model = regressor("em", n_experts=1, mu=0.0, max_iter=40).fit(X, VALUES)
    assert_allclose(model.predict(X), LinearRegression().fit(X, VALUES).predict(X), 1e-4, 1e-5)


@pytest.mark.slow
def test_experts_of_this_library_are_saved_with_the_mixture(tmp_path):
    expert = MLPClassifier((5,), max_iter=20, tol=None, n_jobs=1)
    clf = classifier("em", expert=expert, n_jobs=2).fit(X, QUADRANTS)
    save(clf, tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").decision_function(X), clf.decision_function(X))
    again = classifier("em", expert=expert).fit(X, QUADRANTS)
    assert_array_equal(again.decision_function(X), clf.decision_function(X))


def test_a_refit_forgets_given_experts():
    clf = classifier("em", expert=GaussianNB()).fit(X, QUADRANTS)
    clf.set_params(expert=None).fit(X, THREE)
    assert not hasattr(clf, "experts_")
    assert_allclose(clf.predict_proba(X).sum(1), 1)


def test_given_experts_go_on_and_stop_early():
    clf = classifier("em", expert=GaussianNB(), warm_start=True, early_stopping=True)
    clf.fit(X, QUADRANTS)
    before = clf.experts_[0].theta_.copy()
    clf.fit(X, QUADRANTS)
    assert len(clf.history_) == 12
    assert clf.experts_[0].theta_.shape == before.shape


class Recipient(ClassifierMixin, BaseEstimator):
    """An expert that keeps what it was given; the prior of the classes is all it learns."""

    def fit(self, X, y, sample_weight):
        self.seen_, self.classes_ = X, np.unique(y)
        self.prior_ = np.bincount(y, sample_weight) / sample_weight.sum()
        return self

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(1)]

    def predict_proba(self, X):
        tilt = 1 / (1 + np.exp(-X @ np.ones(X.shape[1])))
        p = self.prior_ * np.column_stack([1 - tilt, tilt])
        return p / p.sum(1, keepdims=True)


def test_sparse_inputs_of_given_experts_are_not_centred():
    filled, sparse = classifier("em", expert=Recipient()), classifier("em", expert=Recipient())
    filled.fit(SPARSE, QUADRANTS)
    sparse.fit(sp.csr_array(SPARSE), QUADRANTS)
    assert not sp.issparse(filled.experts_[0].seen_)
    assert_allclose(filled.experts_[0].seen_.mean(0), 0, atol=1e-12)
    assert sp.issparse(sparse.experts_[0].seen_)
    assert_allclose(sparse.experts_[0].seen_.toarray(), SPARSE / SPARSE.std(0))
    for model in (filled, sparse):  # and what they are asked is the same for dense and CSR rows
        scores = model.decision_function(sp.csr_array(SPARSE))
        assert_allclose(model.decision_function(SPARSE), scores)

"""`SGDSVC(shuffle="replacement")`: draws from all examples, as the lecture has it (Yuille 2.7)."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from widemargin import SGDSVC, load, save
from widemargin.reference import perceptrons as reference
from widemargin.streaming import fit_stream, stream
from widemargin.training.loop import epoch_order

pytestmark = pytest.mark.filterwarnings("ignore:.*Theorem 8:sklearn.exceptions.ConvergenceWarning")
OPTIONS = {"shuffle": "replacement", "learning_rate": 0.05, "tol": None, "scaling": None}


def problem(seed, rows=30, columns=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, (X[:, 0] + 0.5 * rng.normal(size=rows) > 0).astype(int)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
@settings(deadline=None, max_examples=15)
def test_equals_the_reference(container, seed, epochs, average):
    X, y = problem(seed)
    clf = SGDSVC(mu=0.1, average=average, max_iter=epochs, random_state=seed, **OPTIONS)
    clf.fit(container(X), y)
    drawn = reference.draws(
        len(y), check_random_state(seed).randint(np.iinfo(np.int32).max), epochs
    )
    steps = 1 / (0.1 * (np.arange(len(drawn)) + 1 / (0.05 * 0.1)))
    w, b, mean_w, mean_b = reference.sgd_svm(X, 2.0 * y - 1, drawn, steps, 0.1)
    expected = X @ mean_w + mean_b if average else X @ w + b
    assert_allclose(clf.decision_function(X), expected, rtol=1e-9, atol=1e-9)


def test_draws_are_independent_and_uniform():
    """A third of the examples, 1/e, is missing from an epoch; every place has the same chances."""
    examples = np.arange(100, 1100)
    orders = np.array([epoch_order(examples, 7, epoch, replacement=True) for epoch in range(400)])
    missing = [1 - len(np.unique(order)) / 1000 for order in orders]
    assert np.mean(missing) == pytest.approx(np.exp(-1), abs=0.01)
    counts = np.bincount(orders.ravel() - 100, minlength=1000)
    assert counts.std() == pytest.approx(20.0, rel=0.15)  # of a Poisson number with mean 400
    assert_array_equal(orders[5], epoch_order(examples, 7, 5, replacement=True))
    assert np.any(orders[5] != orders[6])


def test_examples_without_weight_are_never_drawn():
    X, y = problem(1)
    weights = np.where(np.arange(30) % 3 == 0, 0.0, 1.0)
    wrong = np.where(weights == 0.0, 1 - y, y)
    clf = SGDSVC(mu=0.1, max_iter=5, random_state=0, **OPTIONS)
    with_wrong = clf.fit(X, wrong, sample_weight=weights).coef_.copy()
    assert_array_equal(with_wrong, clf.fit(X, y, sample_weight=weights).coef_)


def test_comes_to_the_solution_of_svc():
    X, y = problem(2, rows=200)
    clf = SGDSVC(mu=0.05, max_iter=3000, random_state=0, **OPTIONS).fit(X, y)
    exact = SVC(kernel="linear", C=1 / (0.05 * 200)).fit(X, y)
    slack = np.maximum(0, 1 - (2 * y - 1) * exact.decision_function(X))
    best = 0.5 * np.sum(exact.coef_**2) + slack.sum() / (0.05 * 200)
    assert best <= clf.primal_objective_ + 1e-6
    assert clf.primal_objective_ == pytest.approx(best, rel=0.01)


def test_resumed_training_draws_what_one_fit_would(tmp_path):
    X, y = problem(3)
    once = SGDSVC(mu=0.1, max_iter=6, random_state=0, **OPTIONS).fit(X, y)
    twice = SGDSVC(mu=0.1, max_iter=3, random_state=0, warm_start=True, **OPTIONS).fit(X, y)
    save(twice, tmp_path / "model")
    again = load(tmp_path / "model").fit(X, y)
    assert again.shuffle == "replacement"
    assert_allclose(again.coef_, once.coef_, rtol=1e-12)


def test_streams_are_refused(tmp_path):
    X, y = problem(4)
    clf = SGDSVC(shuffle="replacement")
    assert not hasattr(clf, "partial_fit")
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as error:
        clf.partial_fit(X, y)
    assert "use shuffle=True" in str(error.value.__cause__)
    table = tmp_path / "rows.csv"
    table.write_text(
        "a,b,y\n" + "\n".join(f"{a},{b},{c}" for (a, b), c in zip(X[:, :2], y, strict=True))
    )
    with pytest.raises((AttributeError, TypeError, ValueError), match="partial_fit"):
        fit_stream(clf, stream(table, target="y"), epochs=1)

"""The online SVM equals its NumPy reference, in both views, and comes to the SVM's solution."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from widemargin import SGDSVC, MarginPerceptron, load, save, theory
from widemargin.reference import perceptrons as reference

quick = settings(deadline=None, max_examples=15)
LAYOUTS = {
    f"{name}-{dtype.__name__}": (make, dtype)
    for name, make in {"dense": np.asarray, "csr": sp.csr_array}.items()
    for dtype in (np.float64, np.float32)
}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
standardized = pytest.mark.parametrize("scaling", [None, "standard"], ids=["raw", "standard"])
schedules = pytest.mark.parametrize("schedule", ["inverse", "constant", "decay"])
pytestmark = pytest.mark.filterwarnings("ignore:.*Theorem 8:sklearn.exceptions.ConvergenceWarning")
RATE = 0.0371


def model(**options):
    """Epochs in the order given, all of them."""
    defaults = {"mu": 0.2, "learning_rate": RATE, "max_iter": 3, "tol": None, "shuffle": False}
    return SGDSVC(**(defaults | options))


def rates(schedule, n, epochs, mu):
    """The step of every example, from its definition."""
    visits = np.arange(n * epochs)
    if schedule == "inverse":
        return 1 / (mu * (visits + 1 / (RATE * mu)))
    return RATE / (1 + 0.1 * (visits // n)) if schedule == "decay" else np.full(n * epochs, RATE)


@st.composite
def problems(draw, n_classes=2):
    """Random inputs, some of them zero; every class is there."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(8, 40)), draw(st.integers(1, 37))
    X = rng.normal(draw(st.sampled_from([0.0, 2.0])), 1.5, size=(n, d))
    X[:, 1:] *= rng.random((n, d - 1)) < draw(st.sampled_from([0.2, 1.0]))
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    return X.astype(np.float32).astype(float), rng.permutation(y)


def standardised(X):
    scale = X.std(0)
    return (X - X.mean(0)) / np.where(scale <= 1e-12 * np.abs(X.mean(0)), 1.0, scale)


def objective(clf, X, y, weights=1.0):
    """(8.15), for the inputs as trained on."""
    slack = np.maximum(0.0, 1.0 - np.where(y == clf.classes_[1], 1, -1) * clf.decision_function(X))
    w = clf.coef_ * clf.feature_scale_
    return clf.mu / 2 * np.sum(w**2) + np.mean(weights * slack)


# --------------------------------------------------------------------- equal to the reference


@layouts
@standardized
@schedules
@given(problems(), st.booleans(), st.sampled_from([1e-3, 0.2, 5.0, 1 / RATE]))
@quick
def test_equation_8_16(layout, scaling, schedule, problem, average, mu):
    X, y = problem
    make, dtype = layout
    data = make(X.astype(dtype))
    clf = model(mu=mu, scaling=scaling, schedule=schedule, average=average).fit(data, y)
    Z = standardised(X) if scaling else X
    order = np.tile(np.arange(len(y)), 3)
    w, b, mean_w, mean_b = reference.sgd_svm(
        Z, 2.0 * y - 1, order, rates(schedule, len(y), 3, mu), mu
    )
    expected = Z @ mean_w + mean_b if average else Z @ w + b
    assert_allclose(clf.decision_function(data), expected, rtol=1e-9, atol=1e-9)


@schedules
@given(problems(), st.sampled_from([1e-3, 0.2, 5.0]))
@quick
def test_the_dual_view_is_the_same_machine(schedule, problem, mu):
    """(8.17): w = Σ α_l y_l x_l / μ at the end of every run."""
    X, y = problem
    signs, order = 2.0 * y - 1, np.tile(np.arange(len(y)), 3)
    steps = rates(schedule, len(y), 3, mu)
    alpha, b = reference.dual_sgd_svm(X @ X.T, signs, order, steps, mu)
    clf = model(mu=mu, scaling=None, schedule=schedule, average=False).fit(X, y)
    assert_allclose(clf.coef_[0], (alpha * signs) @ X / mu, rtol=1e-9, atol=1e-9)
    assert_allclose(clf.intercept_, [b], rtol=1e-9, atol=1e-9)
    assert np.all((alpha >= 0) & (alpha <= 1))


def test_almost_no_decay_is_the_margin_perceptron():
    X, y = load_breast_cancer(return_X_y=True)
    options = {"learning_rate": RATE, "schedule": "constant", "max_iter": 3, "tol": None}
    options |= {"random_state": 0, "average": True}
    svm, perceptron = SGDSVC(mu=1e-15, **options), MarginPerceptron(**options)
    assert_allclose(svm.fit(X, y).coef_, perceptron.fit(X, y).coef_, rtol=1e-8)


# ------------------------------------------------------------------------- to the solution


@pytest.mark.parametrize("mu", [0.1, 0.01])
def test_comes_to_the_solution_of_svc(mu):
    X, y = load_breast_cancer(return_X_y=True)
    exact = SVC(kernel="linear", C=1 / (mu * len(y)), tol=1e-6).fit(standardised(X), y)
    slack = np.maximum(0, 1 - (2 * y - 1) * exact.decision_function(standardised(X)))
    optimum = mu / 2 * np.sum(exact.coef_**2) + slack.mean()
    clf = SGDSVC(mu=mu, max_iter=600, tol=None, random_state=0).fit(X, y)
    assert clf.theorem_epochs_ < 60
    assert optimum * (1 - 1e-6) <= clf.mu * clf.primal_objective_ <= 1.01 * optimum


def test_comes_to_the_solution_of_linear_svc():
    """LinearSVC decays the bias too, so without one."""
    X, y = make_classification(400, 8, flip_y=0.1, random_state=0)
    X, mu = standardised(X), 0.02
    exact = LinearSVC(
        loss="hinge", C=1 / (mu * len(y)), fit_intercept=False, tol=1e-8, max_iter=10**6
    ).fit(X, y)
    slack = np.maximum(0, 1 - (2 * y - 1) * exact.decision_function(X))
    optimum = mu / 2 * np.sum(exact.coef_**2) + slack.mean()
    clf = SGDSVC(mu=mu, fit_intercept=False, max_iter=500, tol=None, random_state=0)
    clf.fit(X, y)
    assert optimum * (1 - 1e-6) <= clf.mu * clf.primal_objective_ <= 1.01 * optimum
    assert_allclose(clf.mu * clf.C_ * len(y), 1.0, rtol=1e-12)


def test_weights_are_those_of_svc():
    X, y = load_breast_cancer(return_X_y=True)
    weights, mu = np.random.default_rng(0).uniform(0, 4, len(y)), 0.05
    weights[::5] = 0.0  # absent: L is the number of the others
    n = np.count_nonzero(weights)
    clf = SGDSVC(mu=mu, max_iter=400, tol=None, scaling=None, random_state=0)
    Z = standardised(X)
    clf.fit(Z, y, weights)
    exact = SVC(kernel="linear", C=clf.C_, tol=1e-6).fit(Z, y, weights)
    slack = np.maximum(0, 1 - (2 * y - 1) * exact.decision_function(Z))
    optimum = mu / 2 * np.sum(exact.coef_**2) + np.sum(weights * slack) / n
    assert_allclose(clf.C_, 1 / (mu * n))
    assert optimum * (1 - 1e-6) <= clf.mu * clf.primal_objective_ <= 1.01 * optimum


def test_objectives_are_as_defined():
    X, y = load_breast_cancer(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    clf = SGDSVC(max_iter=5, tol=None, random_state=0).fit(X, y, weights)
    assert_allclose(clf.mu * clf.primal_objective_, objective(clf, X, y, weights), rtol=1e-9)
    assert {"objective", "criterion"} <= set(clf.history_[-1])


# ------------------------------------------------------------------------------- Theorem 8.1


def test_theorem_8_1_is_the_time_to_forget():
    n, rate, mu = 500, 1e-3, 1e-2
    visits = round(n * theory.decay_epochs(n, rate, mu))
    assert (1 - rate * mu) ** visits == pytest.approx(np.exp(-1), rel=1e-4)
    assert np.prod(1 - mu / (mu * (np.arange(visits) + 1 / (rate * mu)))) == pytest.approx(
        0.5, rel=1e-4
    )


def test_too_few_epochs_are_a_warning_with_the_number():
    X, y = load_breast_cancer(return_X_y=True)
    clf = SGDSVC(mu=1e-3, learning_rate=0.01, max_iter=20, random_state=0)
    needed = 1 / (len(y) * 0.01 * 1e-3)
    with pytest.warns(ConvergenceWarning, match=rf"{needed:.4g} epochs.*Theorem 8.1") as caught:
        clf.fit(X, y)
    assert len(caught) == 1
    assert "raise max_iter" in str(caught[0].message)
    assert clf.theorem_epochs_ == pytest.approx(needed)
    assert not clf.converged_


def test_enough_epochs_or_another_aim_are_not():
    X, y = load_breast_cancer(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = SGDSVC(mu=1e-2, random_state=0).fit(X, y)
        SGDSVC(mu=1e-6, early_stopping=True, random_state=0).fit(X, y)
        SGDSVC(mu=1e-6).partial_fit(X, y)
    assert clf.stop_reason_ == "tol"
    assert clf.n_iter_ >= clf.theorem_epochs_ > 50


def test_epochs_of_earlier_calls_count():
    X, y = load_breast_cancer(return_X_y=True)
    clf = SGDSVC(mu=1e-2, max_iter=30, tol=None, warm_start=True, random_state=0)
    with pytest.warns(ConvergenceWarning, match="30 epochs in total"):
        clf.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.fit(X, y)


def test_an_epoch_without_updates_is_not_the_end():
    """The weights keep shrinking until examples come back inside the margin."""
    X, y = np.array([[-5.0], [5.0]]), [0, 1]
    clf = model(mu=1.0, max_iter=200, scaling=None, average=False).fit(X, y)
    updates = [record["updates"] for record in clf.history_]
    assert clf.n_iter_ == 200
    assert 0 in updates
    assert max(updates[updates.index(0) :]) > 0


# ---------------------------------------------------------------------- resuming and streams


@schedules
@pytest.mark.parametrize("average", [False, True])
def test_partial_fit_is_fit_epoch_by_epoch(schedule, average):
    X, y = load_breast_cancer(return_X_y=True)
    options = {"schedule": schedule, "average": average}
    whole = model(**options).fit(X, y)
    clf = model(**options)
    for _ in range(3):
        clf.partial_fit(X, y)
    assert_allclose(clf.coef_, whole.coef_, rtol=1e-8)
    assert_allclose(clf.primal_objective_, whole.primal_objective_, rtol=1e-8)


@layouts
@given(problems(n_classes=3), st.integers(1, 9), st.booleans())
@quick
def test_partial_fit_in_pieces_is_one_epoch(layout, problem, size, average):
    X, y = problem
    make, dtype = layout
    X = X.astype(dtype)
    options = {"scaling": None, "average": average}
    whole = model(max_iter=1, **options).fit(make(X), y)
    clf = model(**options)
    for i in range(0, len(y), size):
        part = slice(i, i + size)
        clf.partial_fit(make(X[part]), y[part], classes=[0, 1, 2])
    assert_allclose(clf.coef_, whole.coef_, rtol=1e-9, atol=1e-11)
    assert_allclose(clf.intercept_, whole.intercept_, rtol=1e-9, atol=1e-11)
    rate = clf.history_[-1]["learning_rate"]
    assert rate == pytest.approx(1 / (0.2 * (len(y) + 1 / (0.2 * RATE))))


@schedules
@pytest.mark.parametrize("average", [False, True])
def test_warm_start_goes_on_where_fit_stopped(schedule, average):
    X, y = load_iris(return_X_y=True)
    options = {"schedule": schedule, "average": average, "shuffle": True, "random_state": 0}
    whole = model(max_iter=5, **options).fit(X, y)
    clf = model(max_iter=2, warm_start=True, **options).fit(X, y)
    clf.set_params(max_iter=3).fit(X, y)
    assert_allclose(clf.coef_, whole.coef_, rtol=1e-10)
    assert [r["epoch"] for r in clf.history_] == [0, 1, 2, 3, 4]


# ------------------------------------------------------------------------------- invariances


@standardized
@given(problems(n_classes=3), st.booleans())
@quick
def test_csr_is_dense_and_classes_are_separate_machines(scaling, problem, average):
    X, y = problem
    options = {"scaling": scaling, "average": average}
    dense = model(**options).fit(X, y)
    sparse = model(**options, n_jobs=2).fit(sp.csr_array(X), y)
    scores = dense.decision_function(X)
    assert_allclose(sparse.decision_function(sp.csr_array(X)), scores, rtol=1e-9, atol=1e-9)
    for k in range(3):
        alone = model(**options).fit(X, y == k)
        assert_allclose(alone.decision_function(X), scores[:, k], rtol=1e-9, atol=1e-9)
    assert_allclose(sparse.primal_objective_, dense.primal_objective_, rtol=1e-9)


def test_pegasos_forgets_the_start_at_once():
    """λ = 1/(μ t) from t = 1: the first step multiplies what was there by zero."""
    X, y = load_breast_cancer(return_X_y=True)
    clf = SGDSVC(mu=0.1, learning_rate=10.0, max_iter=300, tol=None, random_state=0).fit(X, y)
    auto = SGDSVC(mu=0.1, max_iter=300, tol=None, random_state=0).fit(X, y)
    assert clf.primal_objective_ == pytest.approx(auto.primal_objective_, rel=0.05)


def test_a_step_too_large_for_the_decay_is_an_error():
    with pytest.raises(ValueError, match=r"learning_rate=3 times mu=0\.5 is more than 1"):
        SGDSVC(mu=0.5, learning_rate=3.0).fit([[0.0], [1.0]], [0, 1])


def test_saved_and_loaded_it_goes_on(tmp_path):
    X, y = load_iris(return_X_y=True)
    clf = model(max_iter=2).fit(X, y)
    save(clf, tmp_path / "model")
    again = load(tmp_path / "model").partial_fit(X, y)
    assert_array_equal(again.coef_, clf.partial_fit(X, y).coef_)

"""`SVC(C=inf)`: the widest margin without an example inside it, or an error that says why not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

from helpers.hyperplanes import hyperplane, separable
from widemargin import SVC, SVCCV, SVR, NuSVR
from widemargin.persistence import load, save
from widemargin.svm import svm_path


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
@pytest.mark.parametrize("seed", range(3))
def test_every_condition_holds(seed, kernel):
    X, y = hyperplane(seed)
    model = SVC(C=np.inf, kernel=kernel, coef0=1.0).fit(X, y)
    assert model.converged_
    assert model.kkt_violation_ <= 1e-3
    margin = np.where(y, 1.0, -1.0) * model.decision_function(X)
    assert margin.min() >= 1.0 - 1e-9  # no example inside
    assert np.all(margin[model.support_] <= 1.0 + 1e-3)  # complementary slackness
    alpha = np.where(y[model.support_], 1.0, -1.0) * model.dual_coef_[0]
    assert np.all(alpha > 0.0)
    assert abs(model.dual_coef_.sum()) <= 1e-9 * alpha.sum()
    square = 4.0 / model.geometric_margin_**2
    assert model.primal_objective_ == pytest.approx(0.5 * square)
    assert model.dual_objective_ == pytest.approx(alpha.sum() - 0.5 * square)
    assert 0.0 <= model.duality_gap_ <= 2e-3 * model.primal_objective_


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_the_limit_of_finite_costs(kernel):
    X, y = hyperplane(3)
    hard = SVC(C=np.inf, kernel=kernel, tol=1e-6).fit(X, y)
    soft = svm.SVC(C=1e8, kernel=kernel, tol=1e-6).fit(X, y)
    assert_array_equal(np.sort(hard.support_), np.sort(soft.support_))
    scale = np.abs(soft.decision_function(X)).max()
    assert_allclose(hard.decision_function(X), soft.decision_function(X), atol=1e-4 * scale)


def test_the_margin_of_two_points():
    model = SVC(C=np.inf, kernel="linear", tol=1e-9).fit([[0.0, 0.0], [3.0, 4.0]], [0, 1])
    assert model.geometric_margin_ == pytest.approx(5.0)
    assert_allclose(model.coef_, [[6 / 25, 8 / 25]])
    assert model.intercept_[0] == pytest.approx(-1.0)


# ------------------------------------------------------------------------------------ separable?


@pytest.mark.parametrize("seed", range(20))
def test_decides_as_linear_programming_does(seed):
    """Few rows in the plane, of which about half can be separated."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(6, 2)), np.arange(6) % 2 == 0
    model = SVC(C=np.inf, kernel="linear")
    if separable(X, y):
        assert model.fit(X, y).converged_
        assert model.score(X, y) == 1.0
    else:
        with pytest.raises(ValueError, match=r"C=inf allows no example .* False and True cannot"):
            model.fit(X, y)
        assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "exponential"])
@pytest.mark.parametrize("seed", range(3))
def test_kernels_that_separate_everything(seed, kernel):
    """Their matrices are positive definite, so every labelling of different rows is separable."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 4)), rng.permutation(np.arange(40) % 2)
    model = SVC(C=np.inf, kernel=kernel, gamma=1.0).fit(X, y)
    assert model.converged_
    assert model.score(X, y) == 1.0
    K = model._kernel  # its values, for the smallest eigenvalue
    (values,) = K.expand(X, np.arange(40), X, np.eye(40), [slice(0, 40)])
    assert np.linalg.eigvalsh(values).min() > 0.0


def test_equal_rows_of_different_classes():
    X, y = hyperplane(5)
    X, y = np.vstack([X, X[:1]]), np.append(y, ~y[0])
    with pytest.raises(ValueError, match="kernel='rbf': no margin is wider than"):
        SVC(C=np.inf).fit(X, y)


@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-9])
def test_narrow_margins(width):
    """What separates the classes is found, however narrow; of what does not, a bound is given."""
    model = SVC(C=np.inf, kernel="linear").fit([[0.0], [width], [1.0]], [0, 1, 1])
    assert model.geometric_margin_ == pytest.approx(width)
    with pytest.raises(ValueError, match=r"no margin is wider than ([0-9.]+e-(0[7-9]|1[0-9])|0;)"):
        SVC(C=np.inf, kernel="linear").fit([[0.0], [width], [1.0]], [1, 0, 1])


# ------------------------------------------------------------------------- in every kind of fit


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_many_classes(multi_class):
    rng = np.random.default_rng(0)
    centres = 6.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    X, y = np.repeat(centres, 15, axis=0) + rng.normal(size=(60, 2)), np.repeat(list("abcd"), 15)
    model = SVC(C=np.inf, kernel="poly", coef0=1.0, multi_class=multi_class).fit(X, y)
    assert model.converged_
    assert model.score(X, y) == 1.0
    lines = SVC(C=np.inf, kernel="linear", multi_class="ovr")
    y[:2] = "d"
    with pytest.raises(ValueError, match="'a' and the other classes cannot be separated"):
        lines.fit(X, y)
    with pytest.raises(ValueError, match="'a' and 'd' cannot be separated"):
        lines.set_params(multi_class="ovo").fit(X, y)


def test_weights_decide_only_whether_an_example_counts():
    X, y = hyperplane(6)
    wrong = y.copy()
    wrong[:3] = ~wrong[:3]
    weights = np.random.default_rng(0).choice([0.5, 3.0], size=len(y))
    weights[:3] = 0.0
    model = SVC(C=np.inf, kernel="linear").fit(X, wrong, sample_weight=weights)
    alone = SVC(C=np.inf, kernel="linear").fit(X[3:], y[3:])
    assert_allclose(model.coef_, alone.coef_, atol=1e-6)
    assert model.support_.min() >= 3


def test_given_kernels():
    X, y = hyperplane(7)
    named = SVC(C=np.inf, kernel="linear").fit(X, y)
    given = SVC(C=np.inf, kernel="precomputed").fit(X @ X.T, y)
    called = SVC(C=np.inf, kernel=lambda a, b: a @ b.T).fit(X, y)
    for model in (given, called):
        assert model.geometric_margin_ == pytest.approx(named.geometric_margin_, rel=1e-3)


def test_paths_searches_and_warm_starts():
    X, y = hyperplane(8)
    path = svm_path(X, y, [np.inf, 0.1, 10.0], kernel="linear")
    alone = SVC(C=np.inf, kernel="linear").fit(X, y)
    assert np.isposinf(path.models[0].C)
    assert path.models[0].geometric_margin_ == pytest.approx(alone.geometric_margin_, rel=1e-3)
    assert np.all(np.diff([path.models[k].geometric_margin_ for k in (1, 2, 0)]) < 0)
    chosen = SVCCV(Cs=[0.01, np.inf], kernel="linear", cv=3).fit(X, y)
    assert chosen.C_ in (0.01, np.inf)
    assert np.all(np.isfinite(chosen.scores_))
    again = SVC(C=np.inf, kernel="linear", warm_start=True).fit(X, y)
    steps = again.n_iter_[0]
    assert again.fit(X, y).n_iter_[0] < steps
    soft = again.set_params(C=1.0).fit(X, y)
    assert_allclose(soft.coef_, SVC(kernel="linear").fit(X, y).coef_, atol=0.01)


def test_files_and_probabilities(tmp_path):
    X, y = hyperplane(9)
    model = SVC(C=np.inf, probability=True, gamma=0.5).fit(X, y)
    assert_array_equal(model.predict_proba(X)[:, 1] > 0.5, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.isposinf(again.C)
    assert again.geometric_margin_ == model.geometric_margin_
    assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("stop", [{"max_iter": 1}, {"max_iter": 30}, {"time_limit": 1e-9}])
def test_early_stops(stop):
    X, y = hyperplane(10, gap=0.02)
    with pytest.warns(ConvergenceWarning):
        model = SVC(C=np.inf, gamma=5.0, **stop).fit(X, y)
    assert model.stop_reason_ == next(iter(stop))
    assert not model.converged_
    assert model.duality_gap_ > 0.0
    assert model.predict(X).shape == y.shape


@pytest.mark.parametrize("machine", [SVR, NuSVR])
def test_regressions_need_a_finite_cost(machine):
    X, y = hyperplane(11)
    with pytest.raises(ValueError, match=r"The 'C' parameter of .* Got inf"):
        machine(C=np.inf).fit(X, y)


def test_the_margin_is_absent_where_it_is_not_known():
    X, y = hyperplane(12)
    soft = SVC(kernel="linear").fit(X, y)
    assert soft.geometric_margin_ == pytest.approx(2.0 / np.linalg.norm(soft.coef_))
    assert not hasattr(SVC(), "geometric_margin_")
    indefinite = SVC(kernel="precomputed", C=100.0).fit(-X @ X.T, y)
    assert not hasattr(indefinite, "geometric_margin_")

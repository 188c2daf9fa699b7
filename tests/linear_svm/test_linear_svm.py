"""Linear SVMs: optimal on any input, whichever solver finds it; clear errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn import svm
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight

from widemargin import LinearSVC, LinearSVR
from widemargin.reference.linear_svm import LinearProblem, solve

MODELS = {
    "hinge": LinearSVC(loss="hinge"),
    "squared_hinge": LinearSVC(),
    "epsilon_insensitive": LinearSVR(epsilon=0.1),
    "squared_epsilon_insensitive": LinearSVR(epsilon=0.1, loss="squared_epsilon_insensitive"),
}
SOLVERS = {"dual": True, "interior": False}
every_loss = pytest.mark.parametrize("loss", MODELS)
every_solver = pytest.mark.parametrize("solver", SOLVERS)
every_container = pytest.mark.parametrize("container", [np.asarray, csr_array])
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 6)) * (rng.random((200, 6)) < 0.7)
SCORE = X @ np.array([1.0, -1.0, 0.5, 0.0, 0.0, 2.0]) + 0.5 * rng.normal(size=200) + 0.7
CLASSES = np.where(SCORE > 1.0, "b", "a")


def model(loss, solver="interior", **options):
    """With a free intercept, a gap that no test sees, and as many epochs as that takes."""
    free = {"intercept_scaling": None}
    options = {"tol": 1e-8, "dual": SOLVERS[solver], "random_state": 0, **free, **options}
    options = {"max_iter": 100_000 if options["dual"] else 100, **options}
    return type(MODELS[loss])(**{**MODELS[loss].get_params(), **options})


def targets(loss):
    return CLASSES if loss.endswith("hinge") else SCORE


def signs(y):
    return np.where(y == "b", 1.0, -1.0) if y.dtype.kind == "U" else y


def assert_optimal(fitted, tol=1e-8):
    assert fitted.converged_
    assert fitted.stop_reason_ == "tol"
    assert np.all(fitted.duality_gap_ <= 1.001 * tol * np.asarray(fitted.primal_objective_))
    assert np.all(np.isfinite(fitted.coef_))


# --------------------------------------------------------------------------- the same optimum


@every_loss
def test_both_solvers_agree_and_say_who_they_are(loss):
    fitted = [model(loss, solver).fit(X, targets(loss)) for solver in SOLVERS]
    assert [one.solver_ for one in fitted] == list(SOLVERS)
    for one in fitted:
        assert_optimal(one)
    assert_allclose(fitted[0].coef_, fitted[1].coef_, atol=2e-3)
    assert_allclose(fitted[0].intercept_, fitted[1].intercept_, atol=2e-3)


def test_auto_takes_the_one_that_is_quicker():
    assert LinearSVC(C=1e4, loss="hinge").fit(X, CLASSES).solver_ == "interior"
    assert LinearSVC(C=1e-4, loss="hinge").fit(np.tile(X, 200), CLASSES).solver_ == "dual"


@every_loss
@every_solver
def test_scikit_learn_finds_the_same(loss, solver):
    """With a penalised intercept, as in scikit-learn."""
    ours = model(loss, solver, intercept_scaling=1.0).fit(X, targets(loss))
    options = {} if loss.endswith("hinge") else {"epsilon": 0.1}
    theirs = (svm.LinearSVC if loss.endswith("hinge") else svm.LinearSVR)(
        loss=loss, dual=True, tol=1e-10, max_iter=10**6, random_state=0, **options
    ).fit(X, targets(loss))
    assert_allclose(np.ravel(ours.coef_), np.ravel(theirs.coef_), atol=1e-3)
    assert_allclose(ours.intercept_, np.ravel(theirs.intercept_), atol=1e-3)
    assert_array_equal(np.shape(ours.coef_), np.shape(theirs.coef_))


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_a_kernel_machine_finds_the_same(loss):
    """With a free intercept."""
    theirs = (
        svm.SVC(kernel="linear", tol=1e-8)
        if loss == "hinge"
        else svm.SVR(kernel="linear", epsilon=0.1, tol=1e-8)
    ).fit(X, targets(loss))
    ours = model(loss).fit(X, targets(loss))
    assert_allclose(np.ravel(ours.coef_), np.ravel(theirs.coef_), atol=1e-3)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


@every_loss
@pytest.mark.parametrize("shape", [(30, 5), (5, 30), (12, 12)])
def test_more_columns_than_rows_and_fewer(loss, shape):
    inputs = np.random.default_rng(1).normal(size=shape)
    y = np.where(inputs[:, 0] > inputs[0, 0], "b", "a") if loss.endswith("hinge") else inputs[:, 0]
    costs = []
    for solver in SOLVERS:
        fitted = model(loss, solver).fit(inputs, y)
        assert_optimal(fitted)
        costs.append(fitted.primal_objective_)
    assert costs[0] == pytest.approx(costs[1], rel=1e-6)


@every_loss
@every_solver
def test_results_are_repeatable_and_do_not_depend_on_threads(loss, solver):
    y = np.digitize(SCORE, [0.0, 1.0]) if loss.endswith("hinge") else SCORE
    first, again, threaded = (model(loss, solver, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 1, 2))
    assert_array_equal(first.coef_, again.coef_)
    if solver == "dual":
        assert_array_equal(first.coef_, threaded.coef_)
        assert_array_equal(first.intercept_, threaded.intercept_)
    assert_allclose(first.coef_, threaded.coef_, rtol=1e-6, atol=1e-9)


# ------------------------------------------------------------------------------------- weights


@every_loss
@every_solver
def test_rows_of_weight_zero_are_left_out(loss, solver):
    y, weights = targets(loss), np.random.default_rng(2).choice([0.0, 1.0, 2.5], size=200)
    some, options = weights > 0, {"scaling": "standard"}
    weighted = model(loss, solver, **options).fit(X, y, sample_weight=weights)
    fewer = model(loss, solver, **options).fit(X[some], y[some], sample_weight=weights[some])
    assert_array_equal(weighted.coef_, fewer.coef_)
    assert_array_equal(weighted.intercept_, fewer.intercept_)


def test_balanced_classes_are_weights():
    y = np.where(SCORE > 2.0, "b", "a")
    weights = compute_sample_weight("balanced", y)
    balanced = model("hinge", class_weight="balanced").fit(X, y)
    assert_array_equal(balanced.coef_, model("hinge").fit(X, y, sample_weight=weights).coef_)
    assert balanced.primal_objective_ != model("hinge").fit(X, y).primal_objective_


# ------------------------------------------------------------------------- inputs of any kind


@every_loss
@every_solver
@every_container
def test_standardised_inputs(loss, solver, container):
    """The objective is that of scaled inputs; coef_ is for the raw ones, dense or sparse."""
    raw, y = X * np.logspace(-2, 3, 6) + np.array([0, 0, 5.0, 0, 0, 0]), targets(loss)
    scaler = StandardScaler().fit(raw)
    scaled = model(loss, solver).fit(scaler.transform(raw), y)
    fitted = model(loss, solver, scaling="standard").fit(container(raw), y)
    assert fitted.primal_objective_ == pytest.approx(scaled.primal_objective_, rel=1e-7)
    expected = scaler.transform(raw) @ np.ravel(scaled.coef_) + scaled.intercept_
    assert_allclose(raw @ np.ravel(fitted.coef_) + fitted.intercept_, expected, atol=5e-3)


@every_loss
@every_solver
@every_container
@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_huge_and_tiny_columns(loss, solver, container, size):
    columns = np.array([1.0, size, 1.0, 1.0 / size, 1.0, 1.0])
    plain = model(loss, solver, scaling="standard").fit(container(X), targets(loss))
    fitted = model(loss, solver, scaling="standard").fit(container(X * columns), targets(loss))
    assert_optimal(fitted)
    assert_allclose(fitted.coef_ * columns, plain.coef_, atol=2e-3)


@every_loss
@every_solver
@every_container
@pytest.mark.parametrize("scaling", [None, "standard"])
def test_constant_columns_and_rows_that_contradict_each_other(loss, solver, container, scaling):
    y = targets(loss)
    twice = np.vstack([X, X])
    twice[:, 3] = 2.0
    opposite = np.concatenate([y, np.where(y == "a", "b", "a") if y.dtype.kind == "U" else 1 - y])
    fitted = model(loss, solver, scaling=scaling).fit(container(twice), opposite)
    assert_optimal(fitted)
    if scaling:
        assert np.ravel(fitted.coef_)[3] == pytest.approx(0.0, abs=1e-9)


@every_loss
@every_solver
@every_container
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_rows_that_are_all_equal(loss, solver, container, fit_intercept, value):
    rows, y = np.full((10, 3), value), targets(loss)[:10]
    fitted = model(loss, solver, fit_intercept=fit_intercept).fit(container(rows), y)
    assert_optimal(fitted)
    s = np.inf if fit_intercept else 0.0
    epsilon = 0.0 if loss.endswith("hinge") else 0.1
    best = solve(LinearProblem(rows, signs(y), np.ones(10), loss, epsilon, s))
    assert fitted.primal_objective_ == pytest.approx(best.certificate.primal, rel=1e-6)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@every_solver
@pytest.mark.parametrize(
    ("y", "epsilon"),
    [(SCORE, 100.0), (np.full(200, 7.0), 0.0), (np.full(200, 7.0), 0.5), (np.zeros(200), 0.0)],
)
def test_regression_at_no_cost(loss, solver, y, epsilon):
    """A tube that holds all targets, or equal targets: w = 0 costs nothing."""
    fitted = model(loss, solver, epsilon=epsilon, tol=1e-4).fit(X, y)
    assert fitted.converged_
    assert fitted.primal_objective_ == pytest.approx(0.0, abs=1e-5)
    assert np.all(np.abs(fitted.predict(X) - y) <= epsilon + 1e-3)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@every_solver
def test_regression_on_one_example(loss, solver):
    fitted = model(loss, solver, tol=1e-4).fit([[1.0, 2.0]], [3.0])
    assert fitted.converged_
    assert fitted.predict([[1.0, 2.0]]) == pytest.approx([3.0], abs=0.11)


def test_the_corrector_does_not_cycle():
    """With Mehrotra's full corrector in every step it would cycle on these two examples."""
    rows = np.array([[7.76716668, -3.0], [-7.8777514, -3.0]])
    clf = LinearSVC(loss="hinge", intercept_scaling=1.0, dual=False, tol=1e-8)
    assert clf.fit(rows, [1, -1], sample_weight=[4.0, 1.0]).n_iter_ < 20
    assert_optimal(clf)


def test_regression_through_all_points():
    """Without a tube, α of the two sides are large, and only their difference counts."""
    rows = np.random.default_rng(3).normal(size=(3, 6))
    reg = LinearSVR(C=1e4, fit_intercept=False, dual=False, tol=1e-6).fit(rows, [1.0, -1.0, 2.0])
    assert_optimal(reg, tol=1e-6)
    assert reg.n_iter_ < 20
    assert_allclose(reg.predict(rows), [1.0, -1.0, 2.0], atol=1e-4)


# ------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("options", "y", "weights", "message"),
    [
        ({}, CLASSES, 1.0 * (CLASSES == "a"), r"class 'b' have weight zero; .*leave the class out"),
        ({"class_weight": {"a": 0.0}}, CLASSES, None, "class 'a' have weight zero"),
        ({}, CLASSES, np.zeros(200), "at least one non-zero"),
        ({}, np.full(200, "a"), None, r"one class only \('a'\)"),
        ({"class_weight": {"c": 1.0}}, CLASSES, None, "not among the classes"),
        ({"penalty": "l1"}, CLASSES, None, "'penalty' parameter of LinearSVC"),
        ({"C": 0.0}, CLASSES, None, "'C' parameter of LinearSVC"),
        ({"intercept_scaling": 0.0}, CLASSES, None, "'intercept_scaling' parameter of LinearSVC"),
    ],
)
def test_a_failed_fit_leaves_the_old_model(options, y, weights, message):
    fitted = LinearSVC().fit(X, CLASSES)
    before, history = fitted.coef_.copy(), list(fitted.history_)
    with pytest.raises(ValueError, match=message):
        fitted.set_params(**options).fit(X, y, sample_weight=weights)
    assert_array_equal(fitted.coef_, before)
    assert_array_equal(fitted.classes_, ["a", "b"])
    assert fitted.history_ == history
    assert set(fitted.predict(X)) == {"a", "b"}


def test_regression_needs_a_weight():
    with pytest.raises(ValueError, match="at least one non-zero"):
        LinearSVR().fit(X, SCORE, sample_weight=np.zeros(200))
    with pytest.raises(ValueError, match="NaN"):
        LinearSVR().fit(X, np.where(SCORE > 2, np.nan, SCORE))

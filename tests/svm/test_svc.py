"""SVC and NuSVC: the optimum of every binary problem, and what scikit-learn's classes promise."""

import warnings
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels, rbf_kernel

from widemargin import SVC, NuSVC
from widemargin.reference.svm import certificate, svm_problem

KERNELS = {
    "linear": {},
    "poly": {"degree": 2, "gamma": 0.2, "coef0": 1.0},
    "rbf": {"gamma": 0.3},
    "sigmoid": {"gamma": 0.01, "coef0": 0.0},
}
rng = np.random.default_rng(0)


def examples(n, n_classes, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 5)) * (generator.random((n, 5)) < 0.7)
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.4 * generator.normal(size=n)
    bins = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, np.array(["a", "b", "c", "d"])[np.digitize(score, bins)]


X, Y2 = examples(240, 2)
_, Y3 = examples(240, 3)
X_NEW, _ = examples(3000, 2, seed=1)
WEIGHTS = rng.choice([0.0, 0.5, 1.0, 3.0], size=240)


def problems(model, y, weights, **parameters):
    """The binary problems of a fitted model of either library, with its β of each."""
    codes = np.searchsorted(model.classes_, y)
    weights = np.ones(len(y)) if weights is None else weights
    coef = model.dual_coef_
    coef = coef.toarray() if sp.issparse(coef) else coef
    full = np.zeros((len(coef), len(y)))
    full[:, model.support_] = coef
    kind = "nu_svc" if "nu" in parameters else "c_svc"
    for i, j in combinations(range(len(model.classes_)), 2):
        ids = np.flatnonzero(np.isin(codes, (i, j)) & (weights > 0))
        positive = codes[ids] == (i if len(model.classes_) > 2 else 1)
        beta = np.where(codes[ids] == i, full[j - 1, ids], full[i, ids])
        problem = svm_problem(kind, np.where(positive, 1.0, -1.0), weights[ids], **parameters)
        if kind == "nu_svc":  # both have divided by ρ
            beta = beta * np.abs(problem.sums).sum() / np.abs(beta).sum()
            at_bound = np.abs(beta) > (1 - 1e-9) * problem.upper
            beta = np.where(at_bound, np.sign(beta) * problem.upper, beta)
        yield ids, problem, np.clip(beta, problem.low, problem.high)


def fit_without_weight_zero(theirs, X, y, weights):
    """Some versions of scikit-learn count the rows of `support_` without those of weight zero."""
    kept = np.flatnonzero(np.ones(len(y)) if weights is None else weights)
    theirs.fit(X[kept], y[kept], None if weights is None else weights[kept])
    theirs.support_ = kept[theirs.support_].astype(np.int32)
    return theirs


def kernel_matrix(model, X):
    names = {"rbf": ("gamma",), "poly": ("gamma", "degree", "coef0"), "sigmoid": ("gamma", "coef0")}
    options = {name: getattr(model, name) for name in names.get(model.kernel, ())}
    if "gamma" in options:
        options["gamma"] = model._gamma
    dense = X.toarray() if sp.issparse(X) else X
    return pairwise_kernels(dense.astype(np.float64), metric=model.kernel, **options)


# --------------------------------------------------------------------- against scikit-learn


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
@pytest.mark.parametrize("y", [Y2, Y3], ids=["two", "three"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", ["SVC", "NuSVC"])
def test_the_optimum_of_scikit_learn(kind, kernel, y, weights, layout):
    number = {"C": 2.0} if kind == "SVC" else {"nu": 0.8}
    options = {"kernel": kernel, "tol": 1e-5, **KERNELS[kernel], **number}
    ours = {"SVC": SVC, "NuSVC": NuSVC}[kind](**options).fit(layout(X), y, weights)
    theirs = fit_without_weight_zero(getattr(sklearn.svm, kind)(**options), X, y, weights)
    assert ours.converged_
    K = kernel_matrix(ours, X)
    both = (problems(model, y, weights, **number) for model in (ours, theirs))
    pairs = zip(*both, strict=True)
    for (ids, problem, beta), (_, _, their_beta) in pairs:
        block = K[np.ix_(ids, ids)]
        proof = certificate(block, problem, beta)
        their_proof = certificate(block, problem, their_beta)
        assert proof.violation <= 1.1e-5
        if kind == "NuSVC" and kernel == "sigmoid":  # not convex: there are several solutions
            return
        assert proof.dual >= their_proof.dual - 1e-4 * abs(their_proof.dual)
    assert np.mean(ours.predict(X_NEW) == theirs.predict(X_NEW)) >= 0.999
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0]
    assert_array_equal(ours.n_support_.sum(), len(ours.support_))


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_outputs_and_votes_are_those_of_scikit_learn(kernel, shape):
    _, y = examples(240, 4)
    options = {"kernel": kernel, "tol": 1e-8, "decision_function_shape": shape, **KERNELS[kernel]}
    ours, theirs = SVC(**options).fit(X, y), sklearn.svm.SVC(**options).fit(X, y)
    assert_allclose(
        ours.decision_function(X_NEW), theirs.decision_function(X_NEW), rtol=1e-4, atol=1e-4
    )
    assert_array_equal(ours.support_, theirs.support_)
    assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-3)
    if kernel == "linear":
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    if shape == "ovr":
        options["break_ties"] = True
        ours, theirs = SVC(**options).fit(X, y), sklearn.svm.SVC(**options).fit(X, y)
        assert np.mean(ours.predict(X_NEW) == theirs.predict(X_NEW)) >= 0.999


@pytest.mark.parametrize("class_weight", ["balanced", {"a": 3.0, "b": 0.5}])
def test_class_weight(class_weight):
    y = np.where(np.arange(240) % 5 == 0, Y2, "a")
    options = {"class_weight": class_weight, "tol": 1e-8}
    ours, theirs = SVC(**options).fit(X, y), sklearn.svm.SVC(**options).fit(X, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert_allclose(ours.class_weight_, theirs.class_weight_)


def test_gamma_is_that_of_scikit_learn():
    for gamma in ("scale", "auto", 0.25):
        for inputs in (X, sp.csr_array(X), X.astype(np.float32)):
            ours = SVC(gamma=gamma).fit(inputs, Y2)
            assert ours.gamma_ == ours._gamma
            assert_allclose(ours.gamma_, sklearn.svm.SVC(gamma=gamma).fit(inputs, Y2)._gamma)


# ------------------------------------------------------------------- optimal on any problem


@st.composite
def hard_problems(draw):
    """Duplicates with opposite labels, constant columns, any scale, any C."""
    n, width = draw(st.integers(2, 40)), draw(st.integers(1, 4))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = generator.normal(size=(n, width)) * 10.0 ** draw(st.integers(-3, 3))
    if draw(st.booleans()):
        X[n // 2 :] = X[: n - n // 2]
    if draw(st.booleans()):
        X[:, 0] = 7.0
    y = generator.integers(0, 2, size=n)
    y[:2] = 0, 1
    return X, y, 10.0 ** draw(st.floats(-6, 6)), draw(st.sampled_from(["rbf", "linear", "poly"]))


@settings(deadline=None, max_examples=60)
@given(hard_problems())
def test_the_conditions_hold_on_every_example(problem):
    X, y, C, kernel = problem
    if kernel == "linear":
        X = X / np.linalg.norm(X, axis=1).max()
        C = min(C, 1e3)
    model = SVC(C=C, kernel=kernel, degree=2, coef0=1.0).fit(X, y)
    assert model.stop_reason_ == "tol"
    K = kernel_matrix(model, X)
    ((ids, general, beta),) = problems(model, y, None, C=C)
    proof = certificate(K[np.ix_(ids, ids)], general, beta)
    rounding = 1e-14 * np.abs(beta).sum() * np.abs(K).max()
    assert proof.violation <= 1.01e-3 + rounding
    assert_allclose(model.dual_objective_, proof.dual, rtol=1e-3, atol=1e-9)
    assert model.duality_gap_ <= 1.01e-3 * C * len(y) + rounding * C * len(y)


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20])
def test_scaled_inputs_give_the_same_machine(scale):
    """With gamma='scale' the kernel does not see the scale."""
    reference = SVC(tol=1e-6).fit(X, Y2)
    scaled = SVC(tol=1e-6).fit(scale * X, Y2)
    assert_allclose(scaled.decision_function(scale * X), reference.decision_function(X), atol=1e-5)


# ------------------------------------------------------------------------- kernels and inputs


@pytest.mark.parametrize("y", [Y2, Y3], ids=["two", "three"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precomputed_and_callable_kernels(y, dtype):
    named = SVC(gamma=0.3, tol=1e-6).fit(X, y)
    K = rbf_kernel(X, X, gamma=0.3).astype(dtype)
    K_new = rbf_kernel(X_NEW, X, gamma=0.3).astype(dtype)
    expected = named.decision_function(X_NEW)
    precomputed = SVC(kernel="precomputed", tol=1e-6).fit(K, y)
    assert_allclose(precomputed.decision_function(K_new), expected, atol=1e-4)
    assert precomputed.support_vectors_.shape == (0, 0)
    function = SVC(kernel=lambda a, b: rbf_kernel(a, b, gamma=0.3), tol=1e-6).fit(X, y)
    assert_allclose(function.decision_function(X_NEW), expected, atol=1e-4)


def test_a_kernel_function_never_sees_all_pairs():
    calls = []

    def kernel(a, b):
        calls.append((len(a), len(b)))
        return laplacian_kernel(a, b, gamma=0.2)

    X = np.random.default_rng(0).normal(size=(3000, 2))
    model = SVC(kernel=kernel, cache_size=20).fit(X, X[:, 0] + X[:, 1] > 0)
    assert model.converged_
    assert max(rows for rows, _ in calls) <= 1000


def test_examples_of_any_kind_with_a_kernel_function():
    def common_letters(a, b):
        return np.array([[len(set(s) & set(t)) for t in b] for s in a], dtype=float)

    words = ["abba", "abab", "baab", "xyxx", "yyxy", "xyz"]
    model = SVC(kernel=common_letters).fit(words, [0, 0, 0, 1, 1, 1])
    assert_array_equal(model.predict(["ab", "zy"]), [0, 1])


def test_dtypes_of_inputs():
    reference = SVC(gamma=0.3, dtype="float64").fit(X, Y2)
    for inputs in (X.astype(np.float32), X):
        for dtype in ("auto", "float32", "float64"):
            model = SVC(gamma=0.3, dtype=dtype).fit(inputs, Y2)
            assert model.converged_
            assert model.decision_function(inputs).dtype == np.float64
            difference = model.decision_function(inputs) - reference.decision_function(X)
            assert np.abs(difference).max() < 5e-3


def test_a_model_of_dense_inputs_takes_sparse_ones_and_the_other_way_round():
    for fit, other in ((np.asarray, sp.csr_array), (sp.csr_array, np.asarray)):
        model = SVC(gamma=0.3).fit(fit(X), Y3)
        assert_allclose(
            model.decision_function(other(X_NEW)), model.decision_function(fit(X_NEW)), atol=1e-9
        )


def test_outputs_do_not_depend_on_the_batch():
    model = SVC(gamma=0.3).fit(X, Y3)
    whole = model.decision_function(X_NEW[:50])
    one_by_one = np.vstack([model.decision_function(row[None]) for row in X_NEW[:50]])
    assert_allclose(whole, one_by_one, rtol=1e-12, atol=1e-12)


def test_many_outputs_in_single_precision():
    """Large products need not be in double precision."""
    generator = np.random.default_rng(0)
    model = SVC(gamma=0.3).fit(X, Y2)
    many = generator.normal(size=(70_000, 5))
    K = rbf_kernel(many[:100], model.support_vectors_, gamma=0.3)
    expected = K @ model.dual_coef_[0] + model.intercept_
    assert_allclose(model.decision_function(many)[:100], expected, atol=1e-4)


@pytest.mark.parametrize("y", [Y2, Y3], ids=["two", "three"])
def test_the_number_of_threads_does_not_matter(y):
    one, two = (SVC(gamma=0.3, n_jobs=n).fit(X, y) for n in (1, 2))
    assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert_array_equal(one.decision_function(X_NEW), two.decision_function(X_NEW))


def test_pairs_side_by_side_give_what_they_give_in_turn():
    X, y = examples(6000, 3)
    one, two = (SVC(gamma=0.3, n_jobs=n).fit(X, y) for n in (1, 2))
    assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert_array_equal(one.intercept_, two.intercept_)


# ------------------------------------------------------------------------- more than two classes


def test_one_against_the_rest():
    model = SVC(multi_class="ovr", tol=1e-6).fit(X, Y3)
    assert model.dual_coef_.shape[0] == 3
    for k, name in enumerate(model.classes_):
        alone = SVC(gamma=model.gamma_, tol=1e-6).fit(X, name == Y3)
        assert_allclose(model.decision_function(X)[:, k], alone.decision_function(X), atol=1e-5)
    expected = model.classes_[model.decision_function(X).argmax(axis=1)]
    assert_array_equal(model.predict(X), expected)
    with pytest.raises(ValueError, match="multi_class='ovo'"):
        model.set_params(decision_function_shape="ovo").fit(X, Y3)


def test_objectives_are_numbers_or_arrays():
    two, three = SVC().fit(X, Y2), SVC().fit(X, Y3)
    for name in ("primal_objective_", "dual_objective_", "duality_gap_", "kkt_violation_"):
        assert np.ndim(getattr(two, name)) == 0
        assert getattr(three, name).shape == (3,)
    assert two.n_iter_.shape == (1,)
    assert three.n_iter_.shape == (3,)
    assert 0 <= two.cache_hit_rate_ <= 1
    assert two.n_kernel_evaluations_ > 0


# --------------------------------------------------------------------------------- probabilities


@pytest.mark.parametrize("cls", [SVC, NuSVC])
def test_probabilities_agree_with_predictions_of_two_classes(cls):
    model = cls(probability=True).fit(X, Y2)
    p = model.predict_proba(X_NEW)
    assert_allclose(p.sum(axis=1), 1.0)
    assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X_NEW))
    assert_allclose(model.predict_log_proba(X_NEW), np.log(p))


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_probabilities_of_three_classes(multi_class):
    model = SVC(probability=True, multi_class=multi_class).fit(X, Y3, WEIGHTS)
    p = model.predict_proba(X_NEW)
    assert p.shape == (3000, 3)
    assert_allclose(p.sum(axis=1), 1.0)
    assert np.mean(model.classes_[p.argmax(axis=1)] == model.predict(X_NEW)) > 0.9
    again = SVC(probability=True, multi_class=multi_class).fit(X, Y3, WEIGHTS)
    assert_array_equal(again.predict_proba(X_NEW), p)


def test_probabilities_are_calibrated_like_those_of_scikit_learn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        theirs = sklearn.svm.SVC(probability=True, random_state=0).fit(X, Y2)
    ours = SVC(probability=True).fit(X, Y2)
    assert np.abs(ours.predict_proba(X_NEW) - theirs.predict_proba(X_NEW)).mean() < 0.1


def test_probabilities_are_there_only_when_asked_for():
    model = SVC().fit(X, Y2)
    assert not hasattr(model, "predict_proba")
    assert model.probA_.size == model.probB_.size == 0
    with pytest.raises(NotFittedError, match="fit again"):
        model.set_params(probability=True).predict_proba(X)


# ------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": 0}, r"gamma=0 makes every kernel value the same; use gamma > 0"),
        ({"kernel": "precomputed"}, "square matrix"),
        ({"working_set_size": 3}, "working_set_size=3 is odd"),
        ({"C": 0}, "'C' parameter"),
        ({"kernel": "gauss"}, "'kernel' parameter"),
        ({"kernel": lambda a, b: np.zeros((1, 1))}, "must return a matrix of shape"),
        ({"kernel": lambda a, b: np.full((len(a), len(b)), np.nan)}, "not finite"),
        ({"class_weight": {"a": 0.0}}, "class 'a' have weight zero"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        SVC(**options).fit(X, Y2)


def test_bad_data():
    with pytest.raises(ValueError, match="one class only"):
        SVC().fit(X, np.zeros(240))
    with pytest.raises(TypeError, match=r"X\.toarray\(\)"):
        SVC(kernel="precomputed").fit(sp.csr_array(np.eye(240)), Y2)
    with pytest.raises(ValueError, match="break_ties must be False"):
        SVC(break_ties=True, decision_function_shape="ovo").fit(X, Y3).predict(X)
    with pytest.raises(ValueError, match="overflow"):
        SVC(kernel="linear").fit(1e200 * X, Y2)
    with pytest.raises(AttributeError, match="linear kernel"):
        SVC().fit(X, Y2).coef_  # noqa: B018


def test_infeasible_nu():
    y = np.where(np.arange(240) < 24, "a", "b")
    with pytest.raises(ValueError, match=r"nu is infeasible: nu=0\.5 .* use nu <= 0\.2"):
        NuSVC().fit(X, y)
    assert NuSVC(class_weight="balanced").fit(X, y).converged_
    assert NuSVC(nu=0.2, probability=True).fit(X, y).converged_  # the folds have fewer


def test_nu_without_a_margin():
    """Opposite labels at the same points: rho = 0, and f is not divided by it."""
    model = NuSVC().fit(np.repeat(X[:20], 2, axis=0), np.tile([0, 1], 20))
    assert np.all(np.isfinite(model.decision_function(X)))


def test_nothing_to_support():
    """Coefficients that are all zero predict the intercept."""
    with pytest.warns(ConvergenceWarning, match="max_iter=0"):
        model = SVC(max_iter=0).fit(X, Y2)
    assert model.dual_coef_.shape == (1, 0)
    assert_allclose(model.decision_function(X), model.intercept_[0])
    with pytest.warns(ConvergenceWarning, match="in 3 of 3 problems"):
        model = SVC(kernel="linear", max_iter=0).fit(X, Y3)
    assert model.predict(X).shape == (240,)

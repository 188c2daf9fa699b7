"""Problems of many classes share their examples and kernel values, and are still exact."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel

from widemargin import SVC, NuSVC, _core
from widemargin.inputs.rows import as_rows
from widemargin.reference.svm import certificate, svm_problem
from widemargin.svm.examples import Examples, SharedExamples
from widemargin.svm.kernel_source import KernelInputs, KernelSource
from widemargin.training.control import Control, interrupt_flag

GAMMA = 0.01


def examples(n, width=80, n_classes=4, seed=0):
    """So many inputs that kernel values are worth keeping; classes of different sizes."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, width))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * generator.normal(size=n)
    bins = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1] ** 1.5)
    return X, np.digitize(score, bins)


X, Y = examples(500)
KERNEL = KernelSource("rbf", GAMMA, 0.0, 3, double_precision=True)


def mostly_zero(X):
    return np.where(X > 1.2, X, 0.0)


def problems(model, X, y, C, multi_class, weights):
    """Each problem of a fitted model in the words of the reference, with its β and its K."""
    coef = np.zeros((len(model.dual_coef_), len(y)))
    coef[:, model.support_] = model.dual_coef_
    K, counted = rbf_kernel(X, gamma=GAMMA), weights > 0
    if multi_class == "ovr":
        sides = [(coef[k], counted, y == k) for k in range(len(model.classes_))]
    else:
        sides = [
            (np.where(y == i, coef[j - 1], coef[i]), counted & ((y == i) | (y == j)), y == i)
            for i, j in combinations(range(len(model.classes_)), 2)
        ]
    for beta, some, positive in sides:
        problem = svm_problem("c_svc", np.where(positive, 1.0, -1.0)[some], weights[some], C=C)
        yield problem, np.clip(beta[some], problem.low, problem.high), K[np.ix_(some, some)]


@pytest.mark.parametrize("cache_size", [200, 0.5], ids=["matrix", "no matrix"])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("form", [np.asarray, mostly_zero, lambda X: sp.csr_matrix(mostly_zero(X))])
def test_every_problem_is_solved(form, multi_class, cache_size):
    weights = np.random.default_rng(1).choice([0.0, 0.5, 2.0], size=len(Y))
    some, C, tol = form(X), 3.0, 1e-5
    model = SVC(C=C, gamma=GAMMA, tol=tol, cache_size=cache_size, multi_class=multi_class)
    model.fit(some, Y, weights)
    assert model.converged_
    assert np.all(model.kkt_violation_ <= tol)
    dense = some.toarray() if sp.issparse(some) else some
    found = problems(model, dense, Y, C, multi_class, weights)
    for (problem, beta, K), gap, dual in zip(
        found, model.duality_gap_, model.dual_objective_, strict=True
    ):
        exact = certificate(K, problem, beta)
        assert exact.violation <= tol
        assert exact.primal - exact.dual <= gap + 1e-9
        assert exact.dual == pytest.approx(dual)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("cls", [SVC, NuSVC])
def test_a_pair_of_classes_is_the_machine_of_these_two(cls, dtype):
    model = cls(gamma=GAMMA, tol=1e-6, dtype=dtype, decision_function_shape="ovo").fit(X, Y)
    outputs = model.decision_function(X)
    for k, (i, j) in enumerate(combinations(range(4), 2)):
        some = np.isin(Y, (i, j))
        alone = cls(gamma=GAMMA, tol=1e-6, dtype=dtype).fit(X[some], Y[some] == i)
        assert_allclose(outputs[some, k], alone.decision_function(X[some]), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_threads_change_nothing(multi_class):
    X, y = examples(3600, n_classes=5)  # small enough for several problems at a time
    options = {"gamma": GAMMA, "multi_class": multi_class, "C": 5.0}
    one, two = (SVC(n_jobs=n_jobs, **options).fit(X, y) for n_jobs in (1, 2))
    assert_array_equal(one.support_, two.support_)
    assert_allclose(one.dual_coef_, two.dual_coef_, atol=1e-10)
    assert_allclose(one.intercept_, two.intercept_, atol=1e-10)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_stopped_and_resumed(multi_class):
    X, y = examples(2000)
    model = SVC(gamma=GAMMA, C=10, multi_class=multi_class, warm_start=True, time_limit=1e-3)
    with pytest.warns(match="time_limit"):
        model.fit(X, y)
    assert model.stop_reason_ == "time_limit"
    model.set_params(time_limit=None).fit(X, y)
    assert model.converged_
    whole = SVC(gamma=GAMMA, C=10, multi_class=multi_class).fit(X, y)
    assert_allclose(model.dual_objective_, whole.dual_objective_, rtol=1e-3)
    in_time = SVC(gamma=GAMMA, C=10, multi_class=multi_class, time_limit=600).fit(X, y)
    assert_allclose(in_time.dual_objective_, whole.dual_objective_, rtol=1e-3)


# ---------------------------------------------------------------------------- what is shared


def control():
    with interrupt_flag() as flag:
        return Control("test", flag)


def pairs(y):
    sides = combinations(np.unique(y), 2)
    return [np.concatenate([np.flatnonzero(y == i), np.flatnonzero(y == j)]) for i, j in sides]


@pytest.mark.parametrize("form", [np.asarray, mostly_zero, lambda X: sp.csr_matrix(mostly_zero(X))])
def test_shared_examples_are_those_of_each_problem(form):
    inputs, ids = KernelInputs(form(X), None), pairs(Y)
    shared, coef = SharedExamples(inputs, ids, 200 << 20), np.ones((1, 30))
    for some in ids:
        at = np.arange(len(some))
        sums = []
        for one in (Examples(inputs, some), shared.of(some)):
            vectors, rows = one.packed(KERNEL, [at[:30], at[::-7]])
            out = np.zeros((1, len(at[::-7])))
            _core.expand(vectors, coef, rows, out, 1)
            bounds = one.rounding(KERNEL, vectors).of_sum(np.ones(len(some)), 30)
            sums.append((out, bounds[at[::-7]]))
        (own, own_bounds), (taken, bounds) = sums
        assert np.all(np.abs(own - taken) <= own_bounds + bounds)
        assert np.all(bounds >= own_bounds / 2)


def test_a_matrix_is_worth_it_for_many_small_problems(monkeypatch):
    inputs, ids = KernelInputs(X, None), pairs(Y)
    needed = len(X) * -(-len(X) // 16) * 16 * 8
    assert SharedExamples(inputs, ids, 2 * needed).matrix_bytes(KERNEL) == needed
    assert not SharedExamples(inputs, ids, 2 * needed - 2).matrix_bytes(KERNEL)  # no memory
    few = KernelInputs(X[:, :3].copy(), None)  # values cost less than reading them
    assert not SharedExamples(few, ids, 2 * needed).matrix_bytes(KERNEL)
    monkeypatch.setattr("widemargin.svm.examples.ROWS_NEEDED", 50)  # problems need few rows each
    assert not SharedExamples(inputs, ids, 2 * needed).matrix_bytes(KERNEL)


def test_a_matrix_is_computed_once_unless_stopped():
    shared = SharedExamples(KernelInputs(X, None), pairs(Y), 200 << 20)
    stopped = control()
    stopped.stop("interrupted")
    stopped.slice = lambda: 0.0  # type: ignore[method-assign]
    assert shared.matrix(KERNEL, stopped) is None
    matrix = shared.matrix(KERNEL, control())
    assert matrix is not None
    assert shared.matrix(KERNEL, control()) is matrix


def test_what_the_core_refuses():
    (packed,) = KERNEL.pack([(as_rows(X), np.arange(len(X)))], None)
    matrix = _core.KernelMatrix(packed)
    with pytest.raises(ValueError, match="not complete"):
        matrix.take(np.arange(3))
    assert matrix.compute(np.inf, 1)
    for wrong in ([0, 500], [-1]):
        for source in (matrix, packed):
            with pytest.raises(ValueError, match="outside"):
                source.take(np.array(wrong))
    one, two = np.ones((1, 1)), np.array([[0.0, 0.0]])
    solver = _core.Decomposition(
        matrix.take(np.array([0, 1])),
        diagonal=None,
        beta=two,
        lo=-np.hstack([0 * one, one]),
        hi=np.hstack([one, 0 * one]),
        s=np.array([[-1.0, 1.0]]),
        group=None,
        working_set=0,
        shrinking="checked",
        patience=5,
        threshold=-1.0,
        tol=1e-3,
        cache_bytes=1 << 20,
        max_steps=-1,
        threads=1,
        memory=None,
    )
    solver.release()
    with pytest.raises(ValueError, match="memory away"):
        solver.run(0.0)

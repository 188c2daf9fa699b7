"""Linear SVMs: what a certificate says is true, on random problems and on real data."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

from widemargin import LinearSVC, LinearSVR
from widemargin.reference.linear_svm import LOSSES, LinearProblem, primal, solve

TOL = 1e-5
INTERCEPTS = {  # the s of the reference
    0.0: {"fit_intercept": False},
    np.inf: {"intercept_scaling": None},
    1.0: {"intercept_scaling": 1.0},
    10.0: {"intercept_scaling": 10.0},
}


@st.composite
def problems(draw):
    """Few examples, some of them twice, columns that are constant, C and weights of any size."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count, width = draw(st.integers(2, 25)), draw(st.integers(1, 6))
    X = generator.normal(size=(count, width)) * draw(st.sampled_from([0.1, 1.0, 10.0]))
    X[generator.random((count, width)) < draw(st.sampled_from([0.0, 0.5]))] = 0.0
    X[:, generator.random(width) < 0.2] = draw(st.sampled_from([0.0, 1.0, -3.0]))
    again = generator.random(count) < draw(st.sampled_from([0.0, 0.3]))
    X[again] = X[0]
    loss, s = draw(st.sampled_from(LOSSES)), draw(st.sampled_from(list(INTERCEPTS)))
    f = X @ generator.normal(size=width) + generator.normal(size=count)
    epsilon = 0.0 if loss.endswith("hinge") else draw(st.sampled_from([0.0, 0.1, 2.0]))
    t = np.where(f > 0, 1.0, -1.0) if loss.endswith("hinge") else f
    t[:2] = (1.0, -1.0)
    c = generator.choice([0.5, 1.0, 4.0], size=count) * 10.0 ** draw(st.floats(-4, 4))
    c[2:][generator.random(count - 2) < draw(st.sampled_from([0.0, 0.4]))] = 0.0
    return LinearProblem(X, t, c, loss, epsilon, s)


@pytest.mark.slow
@given(
    problem=problems(),
    dual=st.sampled_from([True, False, "auto"]),
    container=st.sampled_from([np.asarray, csr_array]),
)
@settings(deadline=None, max_examples=150)
def test_the_certificate_holds(problem, dual, container):
    options = {"loss": problem.loss, "tol": TOL, "dual": dual, "max_iter": 2000}
    options |= INTERCEPTS[problem.intercept_scaling]
    labels = problem.loss.endswith("hinge")
    model = LinearSVC(**options) if labels else LinearSVR(epsilon=problem.epsilon, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(container(problem.X), problem.t, sample_weight=problem.c)
    best = solve(problem).certificate
    scale = 1e-9 * (1.0 + primal(problem, np.zeros(problem.X.shape[1]), 0.0))  # of rounding
    value = primal(problem, np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]))

    assert model.primal_objective_ == pytest.approx(value, rel=1e-7, abs=scale)
    assert model.dual_objective_ <= best.primal + scale
    assert model.primal_objective_ >= best.dual - scale
    if model.converged_:
        assert not caught
        assert model.duality_gap_ <= TOL * model.primal_objective_ + scale
    else:
        assert model.stop_reason_ in ("rounding", "max_iter")
        assert any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
        if dual is False:  # what rounding hides is little
            assert model.duality_gap_ <= 1e-3 * model.primal_objective_ + scale


# ------------------------------------------------------------------------------------ real data


def real(name, rows):
    """The first rows of a data set, sparse."""
    file = Path(os.environ["WIDEMARGIN_DATA"]) / name / f"{name}.npz"
    if not file.is_file():
        pytest.skip(f"WIDEMARGIN_DATA names no folder that holds {name}/{name}.npz")
    with np.load(file, allow_pickle=False) as arrays:
        parts = (arrays["data"].astype(np.float64), arrays["indices"], arrays["indptr"])
        return csr_array(parts, shape=arrays["shape"])[:rows], arrays["y"][:rows]


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "rows"), [("a9a", 5000), ("w8a", 5000), ("reuters-money-fx", 7770)]
)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_real_data(name, rows, loss):
    """The gap is small, and no long run of LIBLINEAR finds a lower cost."""
    X, y = real(name, rows)
    ours = LinearSVC(loss=loss, intercept_scaling=1.0, tol=1e-4, random_state=0).fit(X, y)
    assert ours.converged_
    assert ours.duality_gap_ <= 1e-4 * ours.primal_objective_
    theirs = svm.LinearSVC(loss=loss, tol=1e-6, max_iter=3000, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs.fit(X, y)
    problem = LinearProblem(X, 1.0 * y, np.ones(X.shape[0]), loss, 0.0, 1.0)
    cost, other = (primal(problem, m.coef_[0], float(m.intercept_[0])) for m in (ours, theirs))
    assert cost == pytest.approx(ours.primal_objective_, rel=1e-9)
    assert ours.dual_objective_ <= other * (1 + 1e-9)
    assert cost <= other * (1 + 1e-4)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.995

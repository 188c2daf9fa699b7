"""When examples are set aside: the two numbers that the thesis leaves to the user (5.2.4)."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, load, save

SMALL = {"working_set_size": 2, "gamma": 0.5, "C": 10.0}


@pytest.fixture(autouse=True)
def short_slices(monkeypatch):
    """A record per iteration, so that the history shows the active set."""
    monkeypatch.setattr("widemargin.training.control.SLICE_SECONDS", 0.0)


def noisy(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + 0.7 * rng.normal(size=n) > 0).astype(int)


def first_shrunk(model, n):
    """The iteration after which examples are set aside first; infinite if none is."""
    found = [r["iteration"] for r in model.history_ if 0 < r["active"] < n]
    return min(found, default=np.inf)


def test_defaults_are_what_they_were():
    X, y = noisy()
    plain = SVC(**SMALL).fit(X, y)
    named = SVC(shrinking_iterations=5, shrinking_threshold=None, **SMALL).fit(X, y)
    assert first_shrunk(plain, 300) < np.inf
    assert_array_equal(plain.dual_coef_, named.dual_coef_)
    assert_array_equal(plain.n_iter_, named.n_iter_)


def test_examples_wait_for_as_many_iterations():
    X, y = noisy()
    begun = [
        first_shrunk(SVC(shrinking_iterations=k, **SMALL).fit(X, y), 300) for k in (1, 5, 50, 10**6)
    ]
    assert begun == sorted(begun)
    assert begun[0] < begun[2] < begun[3] == np.inf
    assert all(at >= k for at, k in zip(begun, (1, 5, 50), strict=False))


def test_a_high_threshold_keeps_all_examples():
    """f is within ±100 here, so that no condition is satisfied by more."""
    X, y = noisy()
    assert first_shrunk(SVC(shrinking_threshold=1e3, **SMALL).fit(X, y), 300) == np.inf
    assert first_shrunk(SVC(shrinking_threshold=0.0, **SMALL).fit(X, y), 300) < np.inf


@pytest.mark.parametrize("machine", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
@pytest.mark.parametrize("threshold", [None, 0.0, 0.5])
def test_the_solution_is_that_without_shrinking(machine, threshold):
    """With shrinking=True, examples that were set aside are checked before the end."""
    X, y = noisy()
    options = {"gamma": 0.5, "tol": 1e-5, "working_set_size": 2}
    aside = machine(shrinking_iterations=1, shrinking_threshold=threshold, **options).fit(X, y)
    plain = machine(shrinking=False, **options).fit(X, y)
    assert aside.converged_
    assert aside.dual_objective_ == pytest.approx(plain.dual_objective_, rel=1e-4)


def test_the_heuristic_of_the_thesis_may_fail_and_says_so():
    """Set aside at once and never looked at again; patience makes up for it."""
    X, y = noisy()
    options = {**SMALL, "shrinking": "heuristic", "tol": 1e-4}
    with pytest.warns(ConvergenceWarning, match="set aside examples that do not satisfy"):
        hasty = SVC(shrinking_iterations=1, shrinking_threshold=0.0, **options).fit(X, y)
    assert hasty.stop_reason_ == "shrunk"
    assert hasty.kkt_violation_ > 1e-4
    patient = SVC(shrinking_iterations=200, shrinking_threshold=1.0, **options).fit(X, y)
    assert patient.dual_objective_ >= hasty.dual_objective_


def test_files(tmp_path):
    X, y = noisy(60)
    save(SVC(shrinking_iterations=7, shrinking_threshold=0.25).fit(X, y), tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.shrinking_iterations, again.shrinking_threshold) == (7, 0.25)

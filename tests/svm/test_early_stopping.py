"""`SVC` and `SVR` stopped by the error on validation examples; the best iterate is the machine."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_moons

from widemargin import SVC, SVCCV, SVR, load, save
from widemargin.svm import svm_path

OPTIONS = {"C": 1e4, "gamma": 20.0, "early_stopping": True}


def noisy(n=400, seed=0):
    """Two classes that overlap: the machine of a large C learns the noise by heart."""
    X, y = make_moons(n, noise=0.4, random_state=seed)
    return (X[: n // 2], y[: n // 2]), {"X_val": X[n // 2 :], "y_val": y[n // 2 :]}


def errors(model):
    return [r["validation_error"] for r in model.history_[:-1] if "validation_error" in r]


@pytest.mark.parametrize("seed", range(4))
def test_the_best_iterate_is_kept(seed):
    train, held_out = noisy(seed=seed)
    model = SVC(**OPTIONS).fit(*train, **held_out)
    full = SVC(**{**OPTIONS, "early_stopping": False}).fit(*train, **held_out)
    assert model.stop_reason_ == "validation"
    assert not model.converged_
    assert full.converged_
    assert model.validation_error_ == pytest.approx(min(errors(model)))
    assert model.validation_error_ <= full.validation_error_
    assert model.n_iter_[0] < full.n_iter_[0]
    assert model.fit_status_ == 1


def test_it_waits_as_long_as_it_is_told():
    """After the lowest error there are as many measures as `n_iter_no_change`, none lower."""
    train, held_out = noisy()
    for patience in (1, 3, 10):
        measured = errors(SVC(n_iter_no_change=patience, **OPTIONS).fit(*train, **held_out))
        best = int(np.argmin(measured))
        assert len(measured) - 1 - best >= patience - 1
        assert min(measured[best:]) == measured[best]


def test_the_result_does_not_depend_on_the_clock(monkeypatch):
    train, held_out = noisy()
    first = SVC(**OPTIONS).fit(*train, **held_out)
    monkeypatch.setattr("widemargin.training.control.SLICE_SECONDS", 1e-6)
    again = SVC(n_jobs=2, time_limit=1000.0, **OPTIONS).fit(*train, **held_out)
    assert_array_equal(first.support_, again.support_)
    assert_array_equal(first.dual_coef_, again.dual_coef_)
    assert first.n_iter_ == again.n_iter_


def test_a_machine_that_gains_to_the_end_converges():
    """Nothing is lost where the validation error falls to its last value."""
    X, y = make_moons(300, noise=0.05, random_state=0)
    model = SVC(early_stopping=True, n_iter_no_change=10**6).fit(X, y, X_val=X, y_val=y)
    plain = SVC().fit(X, y)
    assert model.stop_reason_ in ("tol", "validation")
    assert model.validation_error_ <= 1.0 - plain.score(X, y)
    if model.stop_reason_ == "tol":
        assert model.converged_


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_many_classes(multi_class):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.digitize(X[:, 0] + rng.normal(size=300), [-0.5, 0.5])
    model = SVC(multi_class=multi_class, **OPTIONS)
    model.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    full = SVC(multi_class=multi_class, C=1e4, gamma=20.0).fit(X[:200], y[:200])
    assert model.stop_reason_ == "validation"
    assert len(model.n_iter_) == 3
    assert model.score(X[200:], y[200:]) >= full.score(X[200:], y[200:]) - 0.02


def test_regression():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, size=(300, 1))
    y = np.sin(X[:, 0]) + rng.normal(size=300)
    held_out = {"X_val": X[200:], "y_val": y[200:], "sample_weight_val": rng.random(100)}
    options = {"C": 1e3, "gamma": 100.0, "epsilon": 0.01}
    model = SVR(early_stopping=True, **options).fit(X[:200], y[:200], **held_out)
    full = SVR(**options).fit(X[:200], y[:200], **held_out)
    assert model.stop_reason_ == "validation"
    assert model.validation_error_ < full.validation_error_
    weights, f = held_out["sample_weight_val"], model.predict(X[200:])
    error = np.average((f - y[200:]) ** 2, weights=weights)
    assert error == pytest.approx(min(errors(model)))


@pytest.mark.parametrize("kernel", ["precomputed", "callable"])
def test_given_kernels(kernel):
    (X, y), held_out = noisy(200)
    val = held_out["X_val"]

    def gaussian(a, b):
        return np.exp(-20.0 * ((a[:, None] - b[None]) ** 2).sum(axis=2))

    named = SVC(**OPTIONS).fit(X, y, **held_out)
    if kernel == "callable":
        given = SVC(kernel=gaussian, **OPTIONS).fit(X, y, **held_out)
    else:
        given = SVC(kernel="precomputed", **OPTIONS)
        given.fit(gaussian(X, X), y, X_val=gaussian(val, X), y_val=held_out["y_val"])
    assert given.validation_error_ == pytest.approx(named.validation_error_, abs=0.05)


def test_files(tmp_path):
    train, held_out = noisy()
    model = SVC(**OPTIONS).fit(*train, **held_out)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.early_stopping is True
    assert again.stop_reason_ == "validation"


def test_what_does_not_go_together():
    (X, y), held_out = noisy()
    with pytest.raises(ValueError, match="early_stopping=True needs validation examples"):
        SVC(early_stopping=True).fit(X, y)
    with pytest.raises(ValueError, match="early_stopping=True needs validation examples"):
        svm_path(X, y, [1.0], early_stopping=True)
    with pytest.raises(ValueError, match="early_stopping=True and probability=True"):
        SVC(early_stopping=True, probability=True).fit(X, y, **held_out)
    with pytest.raises(ValueError, match="use a finite C"):
        SVC(early_stopping=True, C=np.inf).fit(X, y, **held_out)
    with pytest.raises(TypeError, match="early_stopping"):
        SVCCV(early_stopping=True)

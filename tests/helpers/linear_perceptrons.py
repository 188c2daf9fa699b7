"""Problems and models for the tests of linear perceptrons."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from widemargin import MarginPerceptron, Perceptron

quick = settings(deadline=None, max_examples=15)
LAYOUTS = {
    f"{name}-{dtype.__name__}": (make, dtype)
    for name, make in {"dense": np.asarray, "csr": sp.csr_array}.items()
    for dtype in (np.float64, np.float32)
}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
standardized = pytest.mark.parametrize("scaling", [None, "standard"], ids=["raw", "standard"])
both = pytest.mark.parametrize("Model", [Perceptron, MarginPerceptron])


def model(Model, **options):
    """Epochs in the order given, none of them skipped, with a constant step."""
    defaults = {"max_iter": 4, "tol": None, "shuffle": False}
    if Model is MarginPerceptron:
        defaults |= {"schedule": "constant", "learning_rate": 0.0371}
    return Model(**(defaults | options))


@st.composite
def problems(draw, n_classes=2, min_rows=8):
    """Random inputs, some of them zero; every class is there.

    The first column has no zeros: otherwise a score may be 0 in exact arithmetic, and which side
    of the kink it falls on is then a matter of rounding.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(min_rows, 40)), draw(st.integers(1, 37))
    X = rng.normal(draw(st.sampled_from([0.0, 2.0])), 1.5, size=(n, d))
    X[:, 1:] *= rng.random((n, d - 1)) < draw(st.sampled_from([0.2, 0.7, 1.0]))
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    return X.astype(np.float32).astype(float), rng.permutation(y), rng.uniform(0.2, 3.0, n)


def standardised(X, weights=None):
    mean = np.average(X, axis=0, weights=weights)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    return (X - mean) / np.where(scale <= 1e-12 * np.abs(mean), 1.0, scale)


def visits(clf, n):
    return np.tile(np.arange(n), clf.n_iter_)


def assert_same_function(clf, data, expected):
    """f(x) agrees, and coef_ and intercept_ are weights for the inputs as given."""
    tolerance = {"rtol": 1e-9, "atol": 1e-9 * max(1.0, np.abs(expected).max())}
    found = clf.decision_function(data)
    assert_allclose(found, expected, **tolerance)
    assert_allclose((data @ clf.coef_.T + clf.intercept_).reshape(found.shape), found, **tolerance)

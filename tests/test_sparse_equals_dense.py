"""Sparse and dense inputs of the same numbers give the same model, for every estimator.

What must be equal: the outputs of a model fitted to a dense array and of one fitted to a sparse
matrix, each on dense and on sparse inputs, at input scales from 2⁻²⁷ to 2²⁷ (7e-9 to 1e8), far from
the origin, and beside a column of 0 and 1e8. Entries are multiples of 1/64, so the layouts hold
exactly the same numbers, and duplicate entries add up exactly.

The tolerance: layouts add the same terms in different orders, which changes a sum by a few units in
the last place, relative to the largest term. Statistics, distances and outputs of one pass are then
equal to about 1e-15. Far from the origin, where no model scales its inputs, terms are 2²⁰ times
as large as their sum: 1e-9. Where an estimator solves a problem to a tolerance of its own, both
solutions are within it, and rounding may decide which one is found: `SOLVED` sets it to 1e-9, and
the radius of the kernel perceptron is given. `GradientMetric` trains machine after machine, each in
the metric of the one before. Far from the origin 3e-6 was seen after five iterations, from the one
on in which the machines differ by a support vector; probably because the gradient of its kernel
jumps at each of them. It is allowed 1e-5. A defect of a layout shows as 1e-4 or more.
"""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_regressor
from sklearn.utils import get_tags

from test_common import ESTIMATORS
from widemargin import (
    SVC,
    SVR,
    GradientMetric,
    HardMixtureClassifier,
    KernelPerceptron,
    MarginPerceptron,
    NuSVC,
    OneClassSVM,
    Perceptron,
)
from widemargin.mixtures import GaussianGater
from widemargin.reference.kernels import distance_kernel

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::widemargin.kernels.UnscaledInputsWarning"),
]

TOLERANCE, METRIC_TOLERANCE = 1e-8, 1e-5
SCALES = {"2**-27": 2.0**-27, "2**0": 1.0, "2**27": 2.0**27}
TABLES = [*SCALES, "far", "spike"]

QUICK = {"max_iter": 5, "n_experts": 2, "random_state": 0, "cv": 2, "n_units": 21, "n_jobs": 1}
SOLVED = {"tol": 1e-9}  # of exact machines, whose max_iter counts steps


@cache
def table(name):
    """Inputs of which some columns are mostly zero, and two classes."""
    rng = np.random.default_rng(0)
    X = np.round(64 * rng.normal(size=(120, 6))) / 64
    X[:, 2:5] *= rng.random((120, 3)) < 0.25
    X[:, 5] = rng.random(120) < 0.2
    y = (X[:, 0] + X[:, 2] - X[:, 3] + X[:, 5] > 0.2).astype(int)
    if name == "far":
        X[:, :2] += 2.0**20, 1000.0
    elif name == "spike":
        X[:, 5] *= 1e8
    else:
        X *= SCALES[name]
    return X, y


def disordered(X):
    """A CSR matrix with unsorted columns, duplicate entries and explicit zeros."""
    entries, rng = sp.coo_array(X), np.random.default_rng(1)
    every = np.arange(X.shape[0])
    rows = np.concatenate([entries.row, entries.row, every])
    columns = np.concatenate([entries.col, entries.col, np.zeros_like(every)])
    values = np.concatenate([0.25 * entries.data, 0.75 * entries.data, 0.0 * every])
    order = rng.permutation(len(rows))
    order = order[np.argsort(rows[order], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows))])
    return sp.csr_matrix((values[order], columns[order], starts), shape=X.shape)


LAYOUTS = {
    "csr": sp.csr_array,
    "disordered": disordered,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
    "int64": lambda X: sp.csr_array(X.astype(np.int64)),
}


def new(cls, **parameters):
    """The estimator with few epochs and small problems, or exact."""
    exact = hasattr(cls, "_remedies")
    solves = exact or cls is GradientMetric  # whose machines are exact
    chosen = {**QUICK, **SOLVED, **parameters} if solves else {**QUICK, **parameters}
    if exact:
        del chosen["max_iter"]
    if "Cs" in cls().get_params():
        chosen["Cs"] = [0.1, 10.0]
    known = cls().get_params(deep=False)
    return cls(**{name: value for name, value in chosen.items() if name in known})


def targets(model, y):
    """Classes, or numbers near them for a regression."""
    return y + 0.25 * np.sin(np.arange(len(y))) if is_regressor(model) else y


def outputs(model, X):
    names = ("decision_function", "predict_proba", "transform", "predict")
    found = getattr(model, next(name for name in names if hasattr(model, name)))(X)
    return np.asarray(found.toarray() if sp.issparse(found) else found, dtype=np.float64)


def assert_equal_outputs(found, expected, case, tolerance):
    largest = np.abs(expected).max()
    assert found.shape == expected.shape, case
    assert np.abs(found - expected).max() <= tolerance * largest, case


def check(make, name, layouts):
    X, y = table(name)
    dense = make().fit(X, targets(make(), y))
    expected = outputs(dense, X)
    tolerance = METRIC_TOLERANCE if isinstance(dense, GradientMetric) else TOLERANCE
    for layout in layouts:
        S = LAYOUTS[layout](X)
        sparse = make().fit(S, targets(make(), y))
        for model, inputs, case in (
            (dense, S, f"{layout}, fitted to dense inputs"),
            (sparse, X, f"{layout}, fitted to sparse inputs"),
            (sparse, S, layout),
        ):
            assert_equal_outputs(outputs(model, inputs), expected, case, tolerance)


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("name", TABLES)
def test_every_estimator(cls, name):
    assert get_tags(cls()).input_tags.sparse
    check(lambda: new(cls), name, ["disordered"])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_every_layout_predicts_alike(cls, layout):
    X, _ = table("2**27")  # whole numbers
    model = _fitted(cls)
    assert_equal_outputs(outputs(model, LAYOUTS[layout](X)), outputs(model, X), layout, TOLERANCE)


@cache
def _fitted(cls):
    X, y = table("2**27")
    return new(cls).fit(X, targets(cls(), y))


OPTIONS = [
    *[
        (SVC, {"kernel": kernel, "scaling": scaling, "degree": 2, "coef0": 0.5})
        for kernel in ("linear", "poly", "rbf", "sigmoid", "exponential", "laplacian")
        for scaling in ("standard", "minmax")
    ],
    (SVC, {"kernel": "exponential", "exponent": 0.5, "gamma": 1.0}),
    (SVR, {"kernel": "laplacian", "exponent": 0.7, "scaling": "standard"}),
    (KernelPerceptron, {"kernel": "exponential", "exponent": 1.5, "radius": 1.0}),
    (KernelPerceptron, {"kernel": "laplacian", "scaling": None, "gamma": 1.0, "radius": 1.0}),
    (SVR, {"kernel": "linear", "scaling": "standard"}),
    (NuSVC, {"kernel": "poly", "coef0": 1.0, "scaling": "standard", "nu": 0.3}),
    (OneClassSVM, {"scaling": "minmax", "nu": 0.2}),
    (SVC, {"gamma": 1.0, "dtype": "float64"}),
    (KernelPerceptron, {"scaling": None, "gamma": 1.0}),
    (KernelPerceptron, {"scaling": "minmax", "kernel": "poly", "coef0": 1.0, "radius": 1.0}),
    (MarginPerceptron, {"feature_map": "polynomial"}),
    (Perceptron, {"feature_map": "fourier", "scaling": "standard"}),
    (HardMixtureClassifier, {"gater": GaussianGater(), "scaling": "minmax"}),
    (HardMixtureClassifier, {"first_partition": "kmeans"}),
]


@pytest.mark.parametrize(("cls", "options"), OPTIONS, ids=str)
@pytest.mark.parametrize("name", ["far", "spike"])
def test_options_that_change_the_inputs(cls, options, name):
    check(lambda: new(cls, **options), name, ["disordered"])


def test_gamma_far_from_the_origin():
    """E[x²] − E[x]² of these entries is 0 or negative after rounding."""
    X = 1e9 + np.arange(40.0).reshape(20, 2)
    for layout in (sp.csr_array, disordered):
        assert SVC().fit(layout(X), np.arange(20) % 2).gamma_ == pytest.approx(1 / (2 * X.var()))


@pytest.mark.parametrize("width", [40, 3000])
@pytest.mark.parametrize("dtype", ["auto", "float32"])
@pytest.mark.parametrize("kernel", ["rbf", "exponential", "laplacian"])
def test_distances_beside_a_column_of_large_numbers(width, dtype, kernel):
    """f of the fit and of the prediction; with 1e8² in the norms, 1 is within their rounding."""
    rng = np.random.default_rng(0)
    X = rng.integers(1, 4, size=(60, width)) * (rng.random((60, width)) < 3 / width)
    X[:, 0] = 1e8 * (rng.random(60) < 0.5)
    y = np.where(rng.random(60) < 0.5, -1.0, 1.0)
    model = SVC(kernel=kernel, gamma=0.25, C=2.0, dtype=dtype)
    model.fit(sp.csr_array(X.astype(np.float64)), y)
    vectors, coef = X[model.support_], model.dual_coef_[0]
    expected = distance_kernel(kernel, X, vectors, 0.25) @ coef + model.intercept_
    precision = 1e-9 if dtype == "auto" else 1e-4
    for S in (X, sp.csr_array(X), sp.csc_array(X)):
        np.testing.assert_allclose(model.decision_function(S), expected, atol=precision)
    free = np.abs(coef) < 2.0 - 1e-6
    np.testing.assert_allclose((y * expected)[model.support_[free]], 1.0, atol=0.01)

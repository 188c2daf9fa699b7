"""Gradients of kernel machines: equal to differences, dense and sparse."""

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import SVC, SVR
from widemargin.kernels import Inputs, Kernel
from widemargin.metrics.gradients import kernel_gradients, mean_outer_product
from widemargin.svm.kernel_source import KernelSource

GAMMA, COEF0, DEGREE, STEP = 0.3, 0.5, 3, 1e-6
KERNELS = [
    ("linear", 1.0),
    ("poly", 1.0),
    ("sigmoid", 1.0),
    ("rbf", 1.0),
    ("exponential", 1.0),
    ("exponential", 0.5),
    ("exponential", 1.5),
    ("exponential", 0.7),
    ("exponential", 2.0),
    ("laplacian", 1.0),
    ("laplacian", 0.75),
    ("laplacian", 0.6),
]
every = pytest.mark.parametrize(("name", "exponent"), KERNELS)


def expansion(name, exponent, X, vectors, coef):
    kernel = Kernel(name, GAMMA, DEGREE, COEF0, exponent)
    return kernel(Inputs.of(X), Inputs.of(vectors)) @ coef


def differences(name, exponent, X, vectors, coef):
    found = np.empty_like(X)
    for j in range(X.shape[1]):
        step = np.zeros(X.shape[1])
        step[j] = STEP
        up, down = (expansion(name, exponent, X + s, vectors, coef) for s in (step, -step))
        found[:, j] = (up - down) / (2 * STEP)
    return found


@every
@pytest.mark.parametrize("threads", [1, 2])
def test_gradients_are_derivatives(name, exponent, threads):
    random = np.random.default_rng(0)
    X, vectors = random.normal(size=(37, 6)), random.normal(size=(50, 6))
    coef = random.normal(size=50)
    kernel = KernelSource(name, GAMMA, COEF0, DEGREE, exponent, threads=threads)
    found = kernel_gradients(kernel, X, vectors, coef)
    assert found == pytest.approx(differences(name, exponent, X, vectors, coef), rel=1e-5, abs=1e-6)


@every
def test_sparse_equals_dense(name, exponent):
    random = np.random.default_rng(1)
    X, vectors = (random.normal(size=(n, 9)) * (random.random((n, 9)) < 0.4) for n in (20, 30))
    vectors[3], coef = X[5], random.normal(size=30)
    kernel = KernelSource(name, GAMMA, COEF0, DEGREE, exponent)
    dense = kernel_gradients(kernel, X, vectors, coef)
    sparse = kernel_gradients(kernel, sp.csr_array(X), sp.csr_array(vectors), coef)
    assert sparse == pytest.approx(dense, rel=1e-9, abs=1e-12)


@every
def test_the_vector_itself_adds_nothing(name, exponent):
    if name in ("linear", "poly", "sigmoid"):
        pytest.skip("products have a derivative everywhere")
    x = np.array([[0.5, -1.0, 2.0]])
    kernel = KernelSource(name, GAMMA, COEF0, DEGREE, exponent)
    assert np.all(kernel_gradients(kernel, x, x, np.ones(1)) == 0.0)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_mean_over_binary_machines(classes, multi_class):
    """G is the mean over examples, and the sum over machines, of outer products."""
    random = np.random.default_rng(2)
    X = random.normal(size=(150, 4))
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], np.linspace(-0.8, 0.8, classes - 1))
    weights = random.uniform(0.5, 2.0, size=150)
    shape = "ovr" if classes > 2 and multi_class == "ovr" else "ovo"
    machine = SVC(
        kernel="exponential", C=5.0, multi_class=multi_class, decision_function_shape=shape
    ).fit(X, y)

    def outputs(Z):
        return machine.decision_function(Z).reshape(len(Z), -1)

    gradients = np.stack(
        [(outputs(X + s) - outputs(X - s)) / (2 * STEP) for s in STEP * np.eye(4)], axis=2
    )
    wanted = np.zeros((4, 4))
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    for k in range(gradients.shape[1]):
        inside = np.isin(y, pairs[k]) if shape == "ovo" and classes > 2 else np.ones(150, bool)
        g = gradients[inside, k]
        wanted += g.T @ (g * weights[inside, None])
    wanted /= weights.sum()
    found = mean_outer_product(machine, X, y, weights, full=True)
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-6)
    diagonal = mean_outer_product(machine, X, y, weights, full=False)
    assert diagonal == pytest.approx(np.diagonal(found))


def test_regression():
    random = np.random.default_rng(3)
    X = random.normal(size=(80, 3))
    machine = SVR(kernel="linear", C=10.0, epsilon=0.01).fit(X, X @ [2.0, 0.0, -1.0])
    found = mean_outer_product(machine, X, np.zeros(80), None, full=True)
    assert found == pytest.approx(np.outer([2, 0, -1], [2, 0, -1]), abs=0.05)

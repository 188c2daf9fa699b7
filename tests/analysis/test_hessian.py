"""Blocks of Hessians are finite differences of the reference's gradients."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import MixtureOfExpertsClassifier, MLPClassifier, criteria
from widemargin.analysis import expert_hessian, unit_hessian
from widemargin.reference import mlp, soft_mixture

CRITERIA = {
    "squared_error": criteria.MSE(),
    "log_loss": criteria.CrossEntropy(),
    "tanh_squared_error": criteria.TanhMSE(),
    "margin": criteria.Margin(1.0),
}
SMOOTH = [loss for loss in CRITERIA if loss != "margin"]
random = np.random.default_rng(0)
X = random.normal(size=(60, 3))
Z = np.where(X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0, 1.0, -1.0)
UNITS, STEP = 4, 1e-5


def network(loss, activation="tanh", **options):
    options = {"margin": 1.0, "max_iter": 5, "tol": 0.0, "dtype": "float64"} | options
    model = MLPClassifier((UNITS,), loss=loss, activation=activation, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, Z)


def scaled(model):
    return (X - model.feature_offset_) / model.feature_scale_


def differences(gradient, theta):
    """The matrix of second derivatives from differences of a gradient."""
    rows = []
    for e in np.eye(len(theta)):
        rows.append((gradient(theta + STEP * e) - gradient(theta - STEP * e)) / (2 * STEP))
    return np.array(rows)


def unit_gradient(model, rows=slice(None)):
    """The gradient by all (v_n, c_n), unit after unit, from the reference, and where it is."""
    w, b = model.coefs_[1].astype(float), model.intercepts_[1].astype(float)
    inputs, q = scaled(model)[rows], CRITERIA[model.loss]

    def gradient(theta):
        V = theta.reshape(UNITS, -1)
        net = mlp.Network([V[:, :-1].T, w], [V[:, -1], b], model._transfer)
        _, (dV, dc, _, _) = mlp.gradients(net, inputs, Z[rows, None], q)
        return np.column_stack([dV.T, dc]).ravel()

    start = np.column_stack([model.coefs_[0].T, model.intercepts_[0]]).astype(float)
    return gradient, start.ravel()


def whole(hessian):
    n = len(hessian)
    return np.block([[hessian.block(i, j) for j in range(n)] for i in range(n)])


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("activation", ["tanh", "logistic", "slanted_tanh"])
def test_units(loss, activation):
    model = network(loss, activation)
    found = whole(unit_hessian(model, X, Z))
    expected = differences(*unit_gradient(model))
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("loss", SMOOTH)
def test_one_example(loss):
    """The instantaneous Hessian; the mean of all is the total one (7.9)."""
    model = network(loss)
    found = whole(unit_hessian(model, X[:1], Z[:1]))
    expected = differences(*unit_gradient(model, slice(0, 1)))
    np.testing.assert_allclose(found, expected, atol=1e-6 * max(np.abs(expected).max(), 1e-3))
    mean = np.mean([whole(unit_hessian(model, X[l : l + 1], Z[l : l + 1])) for l in range(60)], 0)
    np.testing.assert_allclose(mean, whole(unit_hessian(model, X, Z)), atol=1e-12)


@pytest.mark.parametrize("activation", ["tanh", "hard_tanh"])
def test_units_of_a_margin_machine_do_not_interact(activation):
    hessian = unit_hessian(network("margin", activation), X, Z)
    norms = hessian.norms()
    assert np.all(norms[~np.eye(UNITS, dtype=bool)] == 0)
    assert np.all(hessian.block(0, 1) == 0)
    assert (norms.max() > 0) == (activation == "tanh")  # a piecewise linear network has none
    steps = list(random.normal(size=(UNITS, 4)))
    assert hessian.interaction(steps) == 0 == hessian.interaction_bound(steps)


def test_printed_coefficients():
    """(7.12), (7.15) and the one of the cross-entropy, for one example and two units."""
    for loss, coefficient in (
        ("squared_error", lambda y, f: 1.0),
        ("log_loss", lambda y, f: 1 / (2 + 2 * np.cosh(f))),
        ("tanh_squared_error",
         lambda y, f: (1 - np.tanh(f) ** 2) * (1 + 2 * np.tanh(f) * y - 3 * np.tanh(f) ** 2)),
    ):  # fmt: skip
        model = network(loss)
        x = np.append(scaled(model)[0], 1.0)
        V = np.vstack([model.coefs_[0], model.intercepts_[0]])
        h, w = np.tanh(x @ V), model.coefs_[1][:, 0]
        f = h @ w + model.intercepts_[1][0]
        slopes = w * (1 - h**2)
        expected = coefficient(Z[0], f) * slopes[0] * slopes[1] * np.outer(x, x)
        found = unit_hessian(model, X[:1], Z[:1]).block(0, 1)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("loss", SMOOTH)
def test_the_split_and_its_bound(loss):
    """What (7.8) leaves out of the quadratic form, and its bound by the norms."""
    hessian = unit_hessian(network(loss), X, Z)
    H = whole(hessian)
    for _ in range(20):
        steps = list(random.normal(size=(UNITS, 4)))
        delta = np.concatenate(steps)
        own = sum(steps[i] @ hessian.block(i, i) @ steps[i] for i in range(UNITS))
        assert hessian.interaction(steps) == pytest.approx((delta @ H @ delta - own) / 2)
        assert abs(hessian.interaction(steps)) <= hessian.interaction_bound(steps)


def test_a_negative_eigenvalue_may_be_the_norm():
    """So the norm is not "the maximum eigenvalue"."""
    found = []
    for seed in range(10):
        model = network("tanh_squared_error", max_iter=1)
        rows = np.random.default_rng(seed).permutation(60)[:5]
        hessian = unit_hessian(model, X[rows], Z[rows])
        norms = hessian.norms()
        for i in range(UNITS):
            values = np.linalg.eigvalsh(hessian.block(i, i))
            assert norms[i, i] == pytest.approx(np.abs(values).max())
            found.append(values.max() < 0.99 * norms[i, i])
    assert any(found)


def test_products_alone_give_the_same_norms():
    for hessian in (unit_hessian(network("log_loss"), X, Z), expert_hessian(mixture(), X, Z)):
        exact, products = hessian.norms("exact"), hessian.norms("lanczos")
        np.testing.assert_allclose(products, exact, rtol=1e-6, atol=1e-12)
    with pytest.raises(ValueError, match="must be 'auto'"):
        hessian.norms("guess")


def test_sparse_inputs_and_class_names():
    model = network("log_loss")
    names = np.where(Z > 0, "yes", "no")
    named = MLPClassifier((UNITS,), loss="log_loss", max_iter=5, tol=0.0, dtype="float64",
                          margin=1.0, activation="tanh", random_state=0)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        named.fit(X, names)
    expected = unit_hessian(model, X, Z).norms()
    np.testing.assert_allclose(unit_hessian(model, sp.csr_array(X), Z).norms(), expected)
    np.testing.assert_allclose(unit_hessian(named, X, names).norms(), expected)


# ------------------------------------------------------------------------------------ mixtures


def mixture(**options):
    options = {"criterion": "mse", "n_units": 3, "n_gater_units": 4, "max_iter": 3} | options
    model = MixtureOfExpertsClassifier(3, dtype="float64", random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, Z)


def reference_of(model):
    """The same mixture as separate networks."""
    layout, views = model._mixture().layout, model._mixture().layout.views(model._parameters)
    E, N = layout.expert_columns, layout.hidden
    experts = [
        mlp.Network(
            [views["first"][:, k * N : (k + 1) * N].copy(), views["experts"][k].copy()],
            [views["first_bias"][k * N : (k + 1) * N].copy(), views["experts_bias"][k].copy()],
            layout.transfer,
        )
        for k in range(layout.experts)
    ]
    biases = [views["first_bias"][E:], views["gater_bias"]]
    gater = mlp.Network([views["first"][:, E:], views["gater"]], biases, layout.transfer)
    return soft_mixture.Mixture(experts, gater)


def packed(gradient):
    """V with its biases as the last row, w, b: the order of a block."""
    V, c, w, b = gradient
    return np.concatenate([np.vstack([V, c]).ravel(), w.ravel(), b])


@pytest.mark.parametrize("criterion", ["mse", "tanh_mse"])
def test_experts(criterion):
    model = mixture(criterion=criterion)
    plain, inputs = reference_of(model), scaled(model)
    sizes = [len(packed(expert.parameters())) for expert in plain.experts]

    def gradient(theta):
        for expert, part in zip(plain.experts, np.split(theta, np.cumsum(sizes)[:-1]), strict=True):
            N = len(expert.biases[0])
            first = part[: -N - 1].reshape(-1, N)
            expert.weights, expert.biases = (
                [first[:-1], part[-N - 1 : -1, None]],
                [first[-1], part[-1:]],
            )
        experts, _, _ = soft_mixture.gradients(plain, inputs, Z, "logistic", criterion)
        return np.concatenate([packed(one) for one in experts])

    start = np.concatenate([packed(expert.parameters()) for expert in plain.experts])
    expected = differences(gradient, start)
    found = whole(expert_hessian(model, X, Z))
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_blocks_of_experts_are_printed_in_7_10():
    """g_i g_j ∂f_i/∂u_i (∂f_j/∂u_j)^T, of one example."""
    model = mixture()
    hessian, gates = expert_hessian(model, X[:1], Z[:1]), model.gates(X[:1])[0]
    plain, inputs = reference_of(model), scaled(model)[:1]
    one = np.ones((1, 1))
    slopes = [packed(mlp.back_propagate(expert, inputs, one)) for expert in plain.experts]
    expected = gates[0] * gates[2] * np.outer(slopes[0], slopes[2])
    np.testing.assert_allclose(hessian.block(0, 2), expected, rtol=1e-9, atol=1e-15)


def test_gates_decide_how_experts_interact():
    """(7.10): where one gate is 1, other experts have no part in the Hessian."""
    model = mixture()
    hessian = expert_hessian(model, X, Z)
    hessian.blocks.gates = np.eye(3)[np.arange(60) % 3]
    norms = hessian.norms()
    assert np.all(norms[~np.eye(3, dtype=bool)] < 1e-12)
    assert np.all(np.diag(norms) > 1e-6)


def test_what_has_no_such_hessian():
    deep, many = (MLPClassifier(units, max_iter=1, random_state=0) for units in ((3, 3), (3,)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        deep.fit(X, Z)
        many.fit(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match="2 hidden layers"):
        unit_hessian(deep, X, Z)
    with pytest.raises(ValueError, match="3 classes"):
        unit_hessian(many, X, Z)
    for options in ({"criterion": "likelihood"}, {"n_units": 0}):
        with pytest.raises(ValueError, match="hidden units and criterion='mse' or"):
            expert_hessian(mixture(**options), X, Z)

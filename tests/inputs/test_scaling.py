"""Inputs are scaled implicitly: every model computes what it would on scaled data."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from widemargin import (
    SGDSVC,
    SVC,
    KernelPerceptron,
    LinearSVC,
    MarginPerceptron,
    MLPClassifier,
    Perceptron,
    SimpleMLPClassifier,
)
from widemargin.inputs.scaling import Scaling, partly_scaled

MODELS = [
    Perceptron(max_iter=4, tol=None),
    MarginPerceptron(max_iter=4, tol=None, random_state=0),
    SGDSVC(max_iter=4, tol=None, random_state=0),
    KernelPerceptron(max_iter=4, tol=None, gamma=0.3, random_state=0),
    LinearSVC(loss="hinge", tol=1e-8, random_state=0),
    SVC(tol=1e-9),
    MLPClassifier(max_iter=4, tol=None, dtype="float64", random_state=0),
    SimpleMLPClassifier(n_units=20, max_iter=4, encoding=None, random_state=0),
]
SCALERS = {"standard": StandardScaler(), "minmax": MinMaxScaler()}
LAYOUTS = [np.asarray, sp.csr_array]


def problem(rows=200):
    """Columns of other units, one of them constant, some mostly zero."""
    rng = np.random.default_rng(0)
    X = rng.normal(1.0, 1.0, (rows, 8)) * [1, 10, 0.1, 1, 1, 1, 1, 1] + [0, 5, 0, 0, 0, 0, 0, 0]
    X[:, 3] = 7.0
    X[:, 4:] *= rng.random((rows, 4)) < 0.2
    return X, (X[:, 0] + X[:, 2] + rng.normal(size=rows) > 1.1).astype(int)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("layout", LAYOUTS, ids=["dense", "CSR"])
@pytest.mark.parametrize("kind", SCALERS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_implicit_scaling_is_explicit_scaling(model, kind, layout):
    X, y = problem()
    Z = SCALERS[kind].fit_transform(X)
    implicit = clone(model).set_params(scaling=kind).fit(layout(X), y)
    explicit = clone(model).set_params(scaling=None).fit(Z, y)
    expected = explicit.decision_function(Z)
    rough = isinstance(model, SimpleMLPClassifier)  # weights are float32
    tolerance = (1e-3 if rough else 1e-6) * np.abs(expected).max()
    assert_allclose(implicit.decision_function(layout(X)), expected, atol=tolerance)


@pytest.mark.parametrize("layout", LAYOUTS, ids=["dense", "CSR"])
@pytest.mark.parametrize("kind", SCALERS)
def test_statistics_in_pieces_are_those_of_all(kind, layout):
    X, _ = problem()
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    order = np.flatnonzero(weights)
    whole = Scaling.measured(kind, layout(X), order, weights)
    pieces = Scaling.empty(kind, X.shape[1])
    for part in np.array_split(order, [1, 2, 50]):
        pieces.update(layout(X), part, weights)
    assert_allclose(pieces.offset, whole.offset, rtol=1e-12, atol=1e-12)
    assert_allclose(pieces.scale, whole.scale, rtol=1e-9)
    assert pieces.weight == whole.weight == weights.sum()
    repeated = np.repeat(X[order], weights[order].astype(int), axis=0)
    scaler = SCALERS[kind].fit(repeated)
    assert_allclose(whole.transform(X), scaler.transform(X), rtol=1e-9, atol=1e-9)
    norms = np.sum(scaler.transform(repeated) ** 2, axis=1)
    assert_allclose(whole.mean_squared_norm(X, order, weights), norms.mean(), rtol=1e-9)


@pytest.mark.parametrize("kind", SCALERS)
def test_a_layer_computes_the_same_when_the_statistics_move(kind):
    X, _ = problem()
    rng = np.random.default_rng(2)
    W, b = rng.normal(size=(3, 8, 5)), rng.normal(size=(3, 5))
    scaling = Scaling.measured(kind, X)
    before = scaling.transform(X) @ W + b[:, None]
    offset = scaling.offset.copy()
    scaling.update(3.0 * X - 20.0, np.arange(len(X)), None, [(W, b)])
    assert not np.allclose(scaling.offset, offset)
    assert_allclose(scaling.transform(X) @ W + b[:, None], before, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [*SCALERS, None])
def test_raw_weights(kind):
    X, _ = problem()
    scaling = Scaling.measured(kind, X)
    v, b = np.random.default_rng(0).normal(size=8), 0.5
    w, c = scaling.raw(v, b)
    assert_allclose(X @ w + c, scaling.transform(X) @ v + b, rtol=1e-9)


def test_fixed_statistics_stay_and_none_measures_nothing():
    X, _ = problem()
    fixed = Scaling.measured("standard", X[:50])
    fixed.fixed, mean = True, fixed.mean.copy()
    fixed.update(X, np.arange(len(X)), None)
    assert_array_equal(fixed.mean, mean)
    none = Scaling.measured(None, X)
    assert none.weight == 0.0
    assert none.core_arguments == (None, None)
    assert none.transform(X) is X


@pytest.mark.parametrize(("kind", "size"), [("minmax", "max"), ("standard", "std")])
def test_without_centring_sparse_rows_stay_sparse(kind, size):
    X, _ = problem()
    X[:, 3] = -7.0
    scaled = Scaling.measured(kind, sp.csr_array(X), centre=False).transform(sp.csr_array(X))
    assert sp.issparse(scaled)
    expected = np.abs(X).max(axis=0) if size == "max" else X.std(axis=0)
    expected[expected < 1e-12] = 1.0
    assert_allclose(scaled.toarray(), X / expected, rtol=1e-9)


@pytest.mark.parametrize("kind", SCALERS)
def test_filled_columns_are_centred_in_any_layout(kind):
    """The others have a mean within one standard deviation of 0, and keep their zeros."""
    X, _ = problem()
    X[:, 4] -= 0.5 * (X[:, 4] != 0)
    scalings = [Scaling.measured(kind, layout(X), centre="filled") for layout in LAYOUTS]
    filled = (X != 0).mean(axis=0) > 0.5
    assert filled.any()
    assert not filled.all()
    for scaling, layout in product(scalings, LAYOUTS):
        scaled = scaling.transform(layout(X))
        scaled = scaled.toarray() if sp.issparse(scaled) else scaled
        explicit = SCALERS[kind].fit_transform(X)
        assert_allclose(scaled[:, filled], explicit[:, filled], rtol=1e-9, atol=1e-9)
        assert_array_equal(scaled[:, ~filled] == 0, X[:, ~filled] == 0)
        assert np.all(np.abs(scaled).max(axis=0)[~filled] <= (1.0 if kind == "minmax" else 9.0))
        if kind == "standard":
            assert np.all(np.abs(scaled.mean(axis=0)[~filled]) <= 1.0)
    pieces = Scaling.empty(kind, X.shape[1], centre="filled")
    for part in np.array_split(np.arange(len(X)), [1, 70]):
        pieces.update(X, part, None)
    assert_allclose(pieces.filled, (X != 0).mean(axis=0))
    assert_allclose(pieces.transform(X), scalings[0].transform(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", SCALERS)
def test_partly_scaled_inputs_and_the_rest_of_their_centre(kind):
    X, _ = problem()
    X[:, 0] += 1e6
    scaling = Scaling.measured(kind, X)
    for layout in LAYOUTS:
        stored, centre = partly_scaled(layout(X), scaling.offset, scaling.scale)
        full = stored.toarray() if sp.issparse(stored) else stored
        assert sp.issparse(stored) == sp.issparse(layout(X))
        assert np.count_nonzero(full) <= 2 * np.count_nonzero(X)
        assert np.all(np.abs(centre) <= 1.0)
        assert_allclose(full - centre, SCALERS[kind].fit_transform(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", SCALERS)
def test_saved_statistics(kind):
    X, _ = problem()
    scaling = Scaling.measured(kind, X, centre=kind == "standard", divide=kind == "minmax")
    again = Scaling.from_dict(kind, {"other": 1, **scaling.to_dict()})
    assert_array_equal(again.transform(X), scaling.transform(X))
    again.update(2 * X, np.arange(len(X)), None)
    scaling.update(2 * X, np.arange(len(X)), None)
    assert_array_equal(again.transform(X), scaling.transform(X))


@pytest.mark.parametrize("Model", [MarginPerceptron, SGDSVC])
@pytest.mark.parametrize("layout", LAYOUTS, ids=["dense", "CSR"])
def test_partial_fit_follows_the_range_of_the_inputs(Model, layout):
    X, y = problem()
    clf = Model(scaling="minmax")
    if Model is MarginPerceptron:
        clf.set_params(schedule="constant")
    for part in np.array_split(np.arange(len(X)), 4):
        clf.partial_fit(layout(X[part]), y[part], classes=[0, 1])
    assert_allclose(clf.feature_offset_, X.min(axis=0))
    constant = np.ptp(X, axis=0) == 0
    assert_allclose(clf.feature_scale_, np.where(constant, 1.0, np.ptp(X, axis=0)))


def test_duplicate_entries_are_added_up():
    X = sp.csr_array(([1.0, 2.0, 5.0], ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    raw = sp.csr_array((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])))
    scaling = Scaling.measured("minmax", raw)
    assert_array_equal(scaling.high, X.toarray().max(axis=0))
    assert_array_equal(scaling.high, [3.0, 5.0])


def test_values_that_overflow_name_their_column():
    X = np.array([[1.0, 1e200], [2.0, -1e200]])
    with pytest.raises(ValueError, match=r"column 1 of X.*overflow"):
        Scaling.measured("standard", X)


# ------------------------------------------------------------------------- columns with two values


def indicators(rows=200):
    """The problem above, with a rare indicator, one of −1 and 3, and one with a third value."""
    X, _ = problem(rows)
    X[:, 5], X[:, 6], X[:, 7] = 0.0, -1.0, 0.0
    X[::20, 5], X[::3, 6], X[::2, 7] = 1.0, 3.0, 5.0
    X[-1, 7] = 2.0
    return X


@pytest.mark.parametrize("layout", LAYOUTS, ids=["dense", "CSR"])
def test_two_values_are_divided_by_their_distance(layout):
    X = indicators()
    scaling, standard = (Scaling.measured(kind, layout(X)) for kind in ("auto", "standard"))
    assert_array_equal(np.flatnonzero(scaling.two_valued), [3, 5, 6])
    assert_array_equal(scaling.scale[[3, 5, 6]], [1.0, 1.0, 4.0])
    assert_array_equal(scaling.offset, standard.offset)
    others = [0, 1, 2, 4, 7]
    assert_array_equal(scaling.scale[others], standard.scale[others])


@pytest.mark.parametrize("layout", LAYOUTS, ids=["dense", "CSR"])
def test_two_values_in_pieces_are_those_of_all(layout):
    X = indicators()
    whole, pieces = Scaling.measured("auto", layout(X)), Scaling.empty("auto", X.shape[1])
    for part in np.array_split(np.arange(len(X)), [1, 2, 50, 199]):
        pieces.update(layout(X), part, None)
    assert_array_equal(pieces.two_valued, whole.two_valued)
    assert_allclose(pieces.scale, whole.scale, rtol=1e-9)


def test_zero_between_two_stored_values_is_a_third():
    X = sp.csr_array([[-1.0], [0.0], [2.0]])
    assert not Scaling.measured("auto", X).two_valued[0]
    assert Scaling.measured("auto", X[[0, 2]]).two_valued[0]

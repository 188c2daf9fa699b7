"""Data with many zeros are packed for repeated passes: faster, and the same model."""

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import MarginPerceptron, _core
from widemargin.inputs.packing import DENSITY_TO_PACK
from widemargin.reference import perceptrons as reference


def mostly_zero(random, n, d, dtype):
    """Few non-zeros, but for every seventh input, which always is one."""
    filled = random.random((n, d)) < DENSITY_TO_PACK / 3
    filled[:, ::7] = True
    return (random.normal(1.0, 2.0, (n, d)) * filled).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scaling", [None, "standard"])
@pytest.mark.parametrize("weighted", [False, True])
def test_mostly_zero_inputs_follow_the_reference(dtype, layout, scaling, weighted):
    random = np.random.default_rng(3)
    X = mostly_zero(random, 300, 23, dtype)
    y = np.where(random.random(300) < 0.5, 1, -1)
    weights = random.integers(0, 3, 300).astype(float) if weighted else None
    model = MarginPerceptron(
        learning_rate=0.02,
        schedule="constant",
        scaling=scaling,
        max_iter=4,
        tol=None,
        shuffle=False,
    ).fit(layout(X), y, sample_weight=weights)

    Z = X.astype(float)
    if scaling:
        mean = np.average(Z, axis=0, weights=weights)
        Z = (Z - mean) / np.sqrt(np.average((Z - mean) ** 2, axis=0, weights=weights))
    order = np.tile(np.arange(300), 4)
    criterion = model._criterion()
    w, b = reference.stochastic_gradient(Z, y, order, 0.02, criterion, weights)
    np.testing.assert_allclose(model.decision_function(X), Z @ w + b, rtol=1e-7, atol=1e-9)


def test_large_offsets_keep_their_digits():
    random = np.random.default_rng(0)
    X = mostly_zero(random, 200, 20, np.float64)
    y = np.where(X[:, 1] + X[:, 2] > 0.3, 1, -1)
    X[:, 0] = 1e7 + random.normal(size=200)  # implicit centring would lose half of the digits
    options = {"max_iter": 20, "tol": None, "random_state": 0}
    shifted = MarginPerceptron(**options).fit(X, y)
    centred = MarginPerceptron(**options).fit(X - X.mean(axis=0), y)
    assert shifted.n_updates_ == centred.n_updates_
    np.testing.assert_allclose(shifted.coef_, centred.coef_, rtol=1e-6, atol=1e-12)


def test_packed_rows_check_what_they_get():
    rows = _core.Rows.dense(np.eye(3))
    places = np.arange(3, dtype=np.int32)

    def pack(size, places=places, block=1, y=1.0):
        y, lines = np.full(3, y), np.empty(4, dtype=np.int32)
        memory = np.empty(size, dtype=np.uint8)
        return _core.Rows.packed(rows, y, None, None, None, places, block, lines, memory)

    with pytest.raises(ValueError, match="too small"):
        pack(8)
    with pytest.raises(ValueError, match="permutation"):
        pack(1000, places=np.array([0, 1, 1], dtype=np.int32))
    with pytest.raises(ValueError, match="dense_inputs"):
        pack(1000, block=4)
    with pytest.raises(ValueError, match="classes"):
        pack(1000, y=0.1)  # a float would round it
    packed = pack(rows.packed_bytes(places, 1))
    with pytest.raises(ValueError, match="packed"):
        packed.packed_bytes(places, 1)
    with pytest.raises(ValueError, match="packed"):
        _core.decision(packed, np.eye(3), np.zeros(3), np.empty((3, 3)), 1)


@pytest.mark.parametrize("dense_inputs", [1, 20])
def test_packed_rows_take_whole_cache_lines_and_no_more(dense_inputs):
    """24 bytes about the example, 8 per input, and 4 for the place of a sparse one."""
    X = np.zeros((4, 40))
    X[:, :dense_inputs] = 1.0
    non_zeros = np.array([0, 2, 3, 15])
    for row, count in zip(X, non_zeros, strict=True):
        row[dense_inputs : dense_inputs + count] = 2.0
    needed = np.ceil((24 + 8 * dense_inputs + 12 * non_zeros) / 64)
    rows, places = _core.Rows.dense(X), np.arange(40, dtype=np.int32)
    size, lines = rows.packed_bytes(places, dense_inputs), np.empty(5, dtype=np.int32)
    assert size == 64 * needed.sum() + 63  # they begin at a multiple of 64
    memory = np.empty(size, dtype=np.uint8)
    _core.Rows.packed(rows, np.ones(4), None, None, None, places, dense_inputs, lines, memory)
    np.testing.assert_array_equal(lines, [0, *np.cumsum(needed)])

"""Examples for the dual perceptron, and when two machines are the same."""

import numpy as np

from widemargin.perceptrons.kernel_learner import EXAMPLES_PER_BLOCK

ROWS = 2 * EXAMPLES_PER_BLOCK + 88  # the last block is not full
IN_ORDER = {"shuffle": False, "tol": None}
PLAIN = {**IN_ORDER, "scaling": None, "gamma": 0.5, "radius": 0.75}


def noisy(n=ROWS, d=4, classes=2, seed=0):
    """Overlapping classes, a third of the inputs zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    scores = np.stack([np.sin(2 * X @ rng.normal(size=d)) for _ in range(classes)])
    y = (scores + 0.3 * rng.normal(size=scores.shape)).argmax(axis=0)
    return X, (2.0 * y - 1.0 if classes == 2 else y)


def alpha_y(clf, n):
    """α y of every training example, one column per output."""
    full = np.zeros((n, len(clf.dual_coef_)))
    full[clf.support_] = clf.dual_coef_.T
    return full


def assert_same_machine(a, b):
    """The same support vectors with the same α: not only the same predictions."""
    np.testing.assert_array_equal(a.support_, b.support_)
    np.testing.assert_array_equal(a.dual_coef_, b.dual_coef_)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-9)
    assert a.n_updates_ == b.n_updates_

"""Problems for hard mixtures of experts, and what a mixture is by its definition."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from widemargin import HardMixtureClassifier
from widemargin.mixtures import MLPGater
from widemargin.reference.hard_mixture import mixture


def wedge(rows=400, seed=0, classes=2):
    """Classes by the height over a roof, so that a line a side separates them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 2))
    height = X[:, 1] - 2 * np.abs(X[:, 0])
    return X, np.digitize(height, np.quantile(height, np.arange(1, classes) / classes))


X, Y = wedge()
LINEAR = MLPGater((), learning_rate_init=0.1)
LOGISTIC = LogisticRegression(C=100)


def quick(expert=LOGISTIC, gater=LINEAR, cls=HardMixtureClassifier, **options):
    """A small mixture of lines, for inputs as they are."""
    chosen = {"n_experts": 3, "n_iter": 3, "scale": None, "random_state": 0} | options
    return cls(expert, gater, **chosen)


def by_definition(model, inputs, said):
    """Σ g f, with what each expert says, of shape (L, K, C) or (L, K)."""
    f = np.stack([said(expert) for expert in model.experts_], axis=1)
    return mixture(model.gates(inputs), f.reshape(len(inputs), len(model.experts_), -1))


def log_probabilities(model, inputs, codes):
    """log P(y | x, k) of the right classes, with the least that a mixture counts."""
    p = np.zeros((len(inputs), len(model.experts_)))
    for k, expert in enumerate(model.experts_):
        every = np.zeros((len(inputs), len(model.classes_)))
        one = len(expert.classes_) == 1
        every[:, expert.classes_] = 1.0 if one else expert.predict_proba(inputs)
        p[:, k] = every[np.arange(len(inputs)), codes]
    return np.log(p.clip(1e-7, 1))


def assert_same_mixture(a, b, inputs=X):
    np.testing.assert_array_equal(a.partition_, b.partition_)
    np.testing.assert_array_equal(a.gates(inputs), b.gates(inputs))
    np.testing.assert_array_equal(a.predict(inputs), b.predict(inputs))
    say = "decision_function" if hasattr(a, "decision_function") else "predict"
    np.testing.assert_array_equal(getattr(a, say)(inputs), getattr(b, say)(inputs))

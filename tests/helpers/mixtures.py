"""Problems for hard mixtures of experts, and outputs of mixtures by their definition."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from widemargin import HardMixtureClassifier
from widemargin.mixtures import MLPGater
from widemargin.reference.hard_mixture import mixture


def wedge(rows=400, seed=0, classes=2):
    """Classes by the height over a roof, so that one line per side separates them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 2))
    height = X[:, 1] - 2 * np.abs(X[:, 0])
    return X, np.digitize(height, np.quantile(height, np.arange(1, classes) / classes))


X, Y = wedge()
LINEAR = MLPGater((), learning_rate=0.1)
LOGISTIC = LogisticRegression(C=100)


def quick(expert=LOGISTIC, gater=LINEAR, cls=HardMixtureClassifier, **options):
    """A small mixture of linear models, without scaling."""
    chosen = {"n_experts": 3, "max_iter": 3, "scaling": None, "random_state": 0} | options
    return cls(expert, gater, **chosen)


def by_definition(model, inputs, outputs):
    """Σ g f, for outputs of each expert of shape (L, C) or (L,)."""
    f = np.stack([outputs(expert) for expert in model.experts_], axis=1)
    return mixture(model.gates(inputs), f.reshape(len(inputs), len(model.experts_), -1))


def log_probabilities(model, inputs, codes):
    """log P(y | x, k) of the correct classes, clipped as in a mixture."""
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
    method = "decision_function" if hasattr(a, "decision_function") else "predict"
    np.testing.assert_array_equal(getattr(a, method)(inputs), getattr(b, method)(inputs))

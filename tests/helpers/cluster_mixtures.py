"""Small mixtures on a cluster, and comparisons of them; needs Dask."""

import dask.array as da
from numpy.testing import assert_array_equal

from widemargin import SVC
from widemargin.dask import HardMixtureClassifier
from widemargin.datasets import make_toy_mixture
from widemargin.mixtures import MLPGater

LINEAR = SVC(kernel="linear")
GATER = MLPGater((), learning_rate=0.3, max_iter=2)
GATERS = {"mlp": GATER, "local": "local", "uniform": "uniform"}


def chunked(X, y, rows=300):
    return da.from_array(X, chunks=(rows, X.shape[1])), da.from_array(y, chunks=rows)


def mixture(client, gater="mlp", **options):
    options = {"n_experts": 2, "max_iter": 2, "random_state": 0} | options
    return HardMixtureClassifier(LINEAR, GATERS.get(gater, gater), client=client, **options)


def assert_same_experts_and_gates(a, b):
    X = make_toy_mixture(200, random_state=1)[0]
    assert_array_equal(a.to_local().gates(X), b.to_local().gates(X))
    for pair in zip(a.experts_, b.experts_, strict=True):
        one, other = (getattr(expert, "expert", expert) for expert in pair)  # in a PlattExpert
        assert_array_equal(one.decision_function(X), other.decision_function(X))
    assert_array_equal(a.to_local().decision_function(X), b.to_local().decision_function(X))

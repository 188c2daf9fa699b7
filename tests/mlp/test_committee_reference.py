"""The core trains committees as the thesis does: passes, outputs, threads, layouts."""

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import NilssonMLPClassifier, SimpleMLPClassifier, _core
from widemargin.mlp import committee as _committee
from widemargin.mlp import committee_classifier as _committee_classifier
from widemargin.reference.committees import (
    Committee,
    nilsson_mlp,
    simple_mlp,
    simple_mlp_classes,
)

ROUNDING = 2e-4  # error of hundreds of steps in float32


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def examples(rng, classes=2, rows=120, width=7):
    """Half of the inputs are zero and one column is constant; labels depend on two columns."""
    X = rng.normal(size=(rows, width)) * (rng.random((rows, width)) < 0.5)
    X[:, -1] = 3.0
    score = np.digitize(X[:, 0] + X[:, 1] ** 2 - 0.3, np.linspace(-0.3, 1.2, classes - 1))
    return X, score


def standardized(X):
    scale = X.std(axis=0)
    scale[scale < 1e-12 * np.abs(X.mean(axis=0))] = 1.0
    return (X - X.mean(axis=0)) / scale


def committees_of(clf):
    """A fitted model with one committee per class, as the reference has it."""
    v, a, b = clf.coefs_[0][0], clf.intercepts_[0][0], clf.intercepts_[1][0, :, 0]
    return [
        Committee(v_k.T.astype(float), a_k.astype(float), b_k)
        for v_k, a_k, b_k in zip(v, a, b, strict=True)
    ]


def close(ours, theirs):
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.v, other.v, atol=ROUNDING)
        np.testing.assert_allclose(mine.a, other.a, atol=ROUNDING)
        np.testing.assert_allclose(mine.b, other.b, atol=1e-9)


def initial(model, X, y, sample_weight=None):
    """The model before its first step: trained with steps too small to matter."""
    return committees_of(model.set_params(learning_rate=1e-30).fit(X, y, sample_weight))


def settings(**more):
    return {"encoding": None, "shuffle": False, "schedule": "constant", "random_state": 3} | more


INPUTS = {
    "dense": np.ascontiguousarray,
    "float32": lambda X: X.astype(np.float32),
    "sparse": sp.csr_matrix,
}


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("scaling", [None, "standard"])
@pytest.mark.parametrize("units", [1, 64, 70])
def test_a_pass_of_the_simple_mlp(rng, kind, scaling, units):
    X, y = examples(rng)
    X = X.astype(np.float32).astype(float)
    model = SimpleMLPClassifier(n_units=units, margin=2.0, max_iter=3, **settings(scaling=scaling))
    start = initial(model, INPUTS[kind](X), y)
    clf = model.set_params(learning_rate=0.03).fit(INPUTS[kind](X), y)
    seen = standardized(X) if scaling else X
    order = list(range(len(y))) * 3
    end, updates = simple_mlp(start[0], seen, 2.0 * y - 1, order, 0.03, margin=2.0)
    close(committees_of(clf), [end])
    assert clf.n_updates_ == updates > 50
    outputs = [end.output(x) for x in seen]
    np.testing.assert_allclose(clf.decision_function(INPUTS[kind](X)), outputs, atol=0.05)


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("multi_class", ["best_other", "ovr"])
def test_more_classes(rng, kind, multi_class):
    X, y = examples(rng, classes=4)
    X = X.astype(np.float32).astype(float)
    model = SimpleMLPClassifier(
        n_units=20, margin=1.5, max_iter=2, multi_class=multi_class, **settings()
    )
    start = initial(model, INPUTS[kind](X), y)
    clf = model.set_params(learning_rate=0.03).fit(INPUTS[kind](X), y)
    end, updates = simple_mlp_classes(
        start,
        standardized(X),
        y,
        list(range(len(y))) * 2,
        0.03,
        margin=1.5,
        best_other=multi_class == "best_other",
    )
    close(committees_of(clf), end)
    assert clf.n_updates_ == updates > 50


def test_weights_multiply_steps(rng):
    X, y = examples(rng)
    weights = rng.uniform(0.1, 2.0, len(y))
    weights /= weights.mean()  # only ratios of weights count
    model = SimpleMLPClassifier(n_units=30, margin=2.0, max_iter=1, **settings(scaling=None))
    start = initial(model, X, y, weights)
    clf = model.set_params(learning_rate=0.03).fit(X, y, weights)
    end, _ = simple_mlp(start[0], X, 2.0 * y - 1, range(len(y)), 0.03, 2.0, weights)
    close(committees_of(clf), [end])


@pytest.mark.parametrize("scaling", [None, "standard"])
@pytest.mark.parametrize(
    ("units", "margin"), [(1, 0), (21, 0), (101, 0), (21, 4), (101, 12.5), (101, 1e30)]
)
def test_a_pass_of_the_nilsson_mlp(rng, scaling, units, margin):
    X, y = examples(rng)
    model = NilssonMLPClassifier(
        n_units=units, margin=margin, max_iter=3, **settings(scaling=scaling)
    )
    start = initial(model, X, y)
    clf = model.set_params(learning_rate=0.1).fit(X, y)
    seen = standardized(X) if scaling else X
    order = list(range(len(y))) * 3
    end, updates = nilsson_mlp(start[0], seen, 2.0 * y - 1, order, 0.1, margin)
    close(committees_of(clf), [end])
    assert clf.n_updates_ == updates > 10
    assert np.all(clf.decision_function(X) % 2 == 1)  # a sum of an odd number of signs


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("model", [SimpleMLPClassifier, NilssonMLPClassifier])
def test_threads_change_nothing(rng, classes, model, monkeypatch):
    monkeypatch.setattr(_committee, "OPERATIONS_PER_THREAD", 1)
    monkeypatch.setattr(_committee_classifier, "OPERATIONS_PER_SCORING_THREAD", 1)
    X, y = examples(rng, classes=classes, rows=300)
    fits = [
        model(n_units=151, max_iter=5, random_state=0, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(fits[0].coefs_[0], fits[1].coefs_[0])
    np.testing.assert_array_equal(fits[0].decision_function(X), fits[1].decision_function(X))


def test_committees_trained_in_parallel_are_those_trained_in_turn(rng):
    X, y = examples(rng, rows=200)
    one, two = (
        SimpleMLPClassifier(
            n_units=40, n_committees=3, max_iter=4, dropout=0.3, random_state=0, n_jobs=n_jobs
        ).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.coefs_[0], two.coefs_[0])
    first, second = one.coefs_[0][0], one.coefs_[0][1]
    assert not np.allclose(first, second)


@pytest.mark.parametrize(("n_jobs", "side_by_side", "threads"), [(1, 1, 1), (2, 2, 1), (6, 3, 2)])
def test_committees_share_the_threads(rng, monkeypatch, n_jobs, side_by_side, threads):
    """Of three committees no more than `n_jobs` train at once; each has its share of threads."""
    monkeypatch.setattr(_committee, "OPERATIONS_PER_THREAD", 1)
    monkeypatch.setattr(_committee, "thread_count", lambda n_jobs, useful: min(n_jobs, int(useful)))
    pools, teams = [1], set()
    pool, train = _committee.ThreadPoolExecutor, _committee._core.train_committees

    class Core:
        def __getattr__(self, name):
            return getattr(_core, name)

        def train_committees(self, *arguments, threads, **options):
            teams.add(threads)
            return train(*arguments, threads=threads, **options)

    monkeypatch.setattr(_committee, "ThreadPoolExecutor", lambda n: pools.append(n) or pool(n))
    monkeypatch.setattr(_committee, "_core", Core())
    X, y = examples(rng)
    SimpleMLPClassifier(n_units=40, n_committees=3, max_iter=2, n_jobs=n_jobs).fit(X, y)
    assert (max(pools), teams) == (side_by_side, {threads})

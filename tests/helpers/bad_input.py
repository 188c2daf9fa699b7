"""Bad data for every public classifier, and what must hold after a failure.

Estimators are found in `widemargin.__all__`, so a new one is tested as soon as it is exported.
"""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import NotFittedError

import widemargin

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = np.where(np.arange(40) % 2 == 0, "a", "b")
NAMES = [
    name
    for name in widemargin.__all__
    if inspect.isclass(getattr(widemargin, name))
    and issubclass(getattr(widemargin, name), BaseEstimator)
    and hasattr(getattr(widemargin, name), "fit")
    and is_classifier(getattr(widemargin, name)())
]
every = pytest.mark.parametrize("name", NAMES)
ONLINE = [name for name in NAMES if hasattr(getattr(widemargin, name)(), "partial_fit")]
every_online = pytest.mark.parametrize("name", ONLINE)


def has(name, option):
    """Whether the estimator has this parameter."""
    return option in inspect.signature(getattr(widemargin, name)).parameters


def every_with(option):
    """On every estimator that has this parameter."""
    return pytest.mark.parametrize("name", [name for name in NAMES if has(name, option)])


def online_with(**cases):
    """On every estimator with `partial_fit`, for each pair of values of a parameter it has."""
    found = [
        pytest.param(name, {option: before}, {option: after}, id=f"{name}-{option}-{k}")
        for option, pairs in cases.items()
        for k, (before, after) in enumerate(pairs)
        for name in ONLINE
        if has(name, option)
    ]
    return pytest.mark.parametrize(("name", "before", "after"), found)


def make(name, **options):
    """An estimator with these options and three epochs."""
    cls = getattr(widemargin, name)
    accepted = inspect.signature(cls).parameters
    defaults = {"max_iter": 3, "tol": None, "random_state": 0, "effort": 0.05}
    if None not in cls._parameter_constraints.get("tol", [None]):
        del defaults["tol"]
    return cls(**{k: v for k, v in defaults.items() if k in accepted} | options)


def changed(array, value, place=(3, 1)):
    array = np.array(array, dtype=object if isinstance(value, str) else None)
    array[place] = value
    return array


def weights(**at):
    result = np.ones(40)
    result[at.pop("place", slice(None))] = at["value"]
    return result


# What is wrong -> the arguments of fit, and what the message must name.
BAD_DATA = {
    "NaN in X": ((changed(X, np.nan), Y), "NaN"),
    "infinity in X": ((changed(X, np.inf), Y), "infinit"),
    "NaN in CSR": ((sp.csr_array(changed(X, np.nan)), Y), "NaN"),
    "text in X": ((changed(X, "text"), Y), "text"),
    "complex X": ((X + 1j, Y), "[Cc]omplex"),
    "no rows": ((X[:0], Y[:0]), "0 sample"),
    "no columns": ((X[:, :0], Y), "0 feature"),
    "one dimension": ((X[:, 0], Y), "2D"),
    "three dimensions": ((X[:, :, None], Y), "dim"),
    "one class": ((X, np.full(40, "only")), "one class.*only"),
    "short y": ((X, Y[:-1]), r"40.*39|39.*40"),
    "y of two columns": ((X, np.c_[Y, Y]), "y should be a 1d array"),
    "no y": ((X, None), "y"),
    "continuous y": ((X, rng.normal(size=40)), "continuous"),
    "NaN in y": ((X, changed(np.arange(40) % 2.0, np.nan, 3)), "y contains NaN"),
    "None in y": ((X, changed(Y.astype(object), None, 3)), "label|NoneType"),
    "negative weight": ((X, Y, weights(place=3, value=-1.0)), "sample_weight"),
    "NaN weight": ((X, Y, weights(place=3, value=np.nan)), "sample_weight contains NaN"),
    "zero weights": ((X, Y, weights(value=0.0)), "[Ss]ample weights.*zero"),
    "short weights": ((X, Y, np.ones(39)), r"sample_weight.*39.*40"),
    "weights of two columns": ((X, Y, np.ones((40, 2))), "[Ss]ample.?weight"),
    "text weights": ((X, Y, np.full(40, "text")), "text"),
}


# What raw tables may hold.
GOOD_FOR_TABLES = {"NaN in X", "text in X", "NaN", "text"}


def cases_for(name, cases):
    """The cases that are bad for this estimator, as pairs."""
    raw = getattr(widemargin, name) in (widemargin.TabularClassifier, widemargin.TabularRegressor)
    return [(what, case) for what, case in cases.items() if not raw or what not in GOOD_FOR_TABLES]


def is_unfitted(clf):
    """Whether the estimator has no fitted attribute, and says so."""
    with pytest.raises(NotFittedError):
        clf.predict(X)
    return [name for name in vars(clf) if name.endswith("_")] == []


def fitted(name, **options):
    """A fitted estimator, and a copy of its attributes."""
    clf = make(name, **options).fit(X, Y)
    return clf, {k: np.copy(v) if isinstance(v, np.ndarray) else v for k, v in vars(clf).items()}


def assert_unchanged(clf, before):
    assert set(vars(clf)) == set(before)
    for key, value in vars(clf).items():
        if isinstance(value, np.ndarray):
            assert_array_equal(value, before[key])
        elif not isinstance(value, dict):
            assert value is before[key] or value == before[key], key

"""Training that cannot be resumed: other classes, other columns or other parameters."""

import pickle
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import linear_kernel
from sklearn.preprocessing import PolynomialFeatures

from helpers.bad_input import (
    X,
    Y,
    assert_unchanged,
    every_online,
    fitted,
    is_unfitted,
    make,
    online_with,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*Theorem 8:sklearn.exceptions.ConvergenceWarning")


@every_online
def test_balanced_class_weight_needs_all_labels(name):
    clf = make(name, class_weight="balanced")
    with pytest.raises(ValueError, match=r"class_weight='balanced'.*partial_fit"):
        clf.partial_fit(X, Y)
    assert is_unfitted(clf)


@every_online
def test_partial_fit_refuses_early_stopping(name):
    clf = make(name, early_stopping=True)
    with pytest.raises(ValueError, match=r"early_stopping=True.*early_stopping=False, or use fit"):
        clf.partial_fit(X, Y)
    assert is_unfitted(clf)


PHI = PolynomialFeatures(2)


@online_with(
    scaling=[("standard", None)],
    feature_map=[
        (None, "polynomial"),
        ("polynomial", None),
        ("polynomial", "fourier"),
        (PHI, Nystroem(n_components=5)),
        (PHI, PolynomialFeatures(3)),
    ],
    kernel=[("rbf", "linear"), ("linear", linear_kernel)],
    gamma=[("scale", 0.5)],
    degree=[(3, 2)],
    coef0=[(0.0, 1.0)],
    exponent=[(1.0, 0.5)],
)
def test_training_cannot_continue_in_another_feature_space(name, before, after):
    clf = make(name, warm_start=True, **before).fit(X, Y)
    scores = clf.decision_function(X)
    ((parameter, value),) = after.items()
    message = re.escape(f"{parameter}={value!r} differs") + ".*fit without warm_start"
    for resume in (clf.fit, clf.partial_fit):
        clf.set_params(**after)
        with pytest.raises(ValueError, match=message):
            resume(X, Y)
        assert_array_equal(clf.set_params(**before).decision_function(X), scores)
    clf.set_params(**after, warm_start=False).fit(X, Y)  # the remedy


@online_with(
    degree=[(3, 3.0)],
    kernel=[(linear_kernel, linear_kernel)],
    feature_map=[
        (PHI, PolynomialFeatures(2)),
        tuple(Nystroem(n_components=5, random_state=np.random.RandomState(0)) for _ in "12"),
    ],
)
def test_training_continues_in_an_equal_feature_space(name, before, after):
    clf = make(name, warm_start=True, **before).fit(X, Y)
    epochs = len(clf.history_)
    resumed = pickle.loads(pickle.dumps(clf.set_params(**after))).fit(X, Y)
    assert len(resumed.history_) > epochs


def test_averaging_must_start_with_training():
    clf, _ = fitted("Perceptron", warm_start=True)
    scores = clf.decision_function(X)
    with pytest.raises(ValueError, match="average=True"):
        clf.set_params(average=True).fit(X, Y)
    assert_array_equal(clf.decision_function(X), scores)


@every_online
def test_partial_fit_with_unknown_labels(name):
    clf = make(name)
    with pytest.raises(ValueError, match=r"'b'"):
        clf.partial_fit(X, Y, classes=["a", "c"])
    assert is_unfitted(clf)
    with pytest.raises(ValueError, match="one class"):
        clf.partial_fit(X[:1], Y[:1])
    assert is_unfitted(clf)

    clf.partial_fit(X, Y)
    scores = clf.decision_function(X)
    with pytest.raises(ValueError, match=r"'c'.*partial_fit"):
        clf.partial_fit(X, np.where(Y == "a", "a", "c"))
    with pytest.raises(ValueError, match=r"classes=\['a', 'c'\] differ.*\['a', 'b'\]"):
        clf.partial_fit(X, Y, classes=["a", "c"])
    with pytest.raises(ValueError, match=r"2 features.*3 features"):
        clf.partial_fit(X[:, :2], Y)
    assert_array_equal(clf.decision_function(X), scores)
    assert len(clf.history_) == 1


@every_online
@pytest.mark.parametrize(
    ("data", "y", "message"),
    [
        (X, np.where(Y == "a", "a", "c"), r"'c'.*warm_start"),
        (X, np.arange(40) % 2, r"\[0, 1\].*warm_start"),
        (X[:, :2], Y, "2 features.*3 features"),
    ],
    ids=["other classes", "other type of classes", "other columns"],
)
def test_warm_start_with_other_classes_or_columns(name, data, y, message):
    clf, before = fitted(name, warm_start=True)
    scores = clf.decision_function(X)
    with pytest.raises(ValueError, match=message):
        clf.fit(data, y)
    assert_unchanged(clf, before)
    assert_array_equal(clf.decision_function(X), scores)
    assert clf.set_params(warm_start=False).fit(data, y).n_features_in_ == data.shape[1]

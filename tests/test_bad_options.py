"""Bad options and validation sets: the error names the parameter, and nothing is fitted."""

import inspect
import re

import numpy as np
import pytest
from sklearn.utils._param_validation import InvalidParameterError, make_constraint

import widemargin
from helpers.bad_input import X, Y, changed, every, every_with, is_unfitted, make

pytestmark = pytest.mark.filterwarnings("ignore:.*Theorem 8:sklearn.exceptions.ConvergenceWarning")


def wrong_values(name):
    """Pairs of a parameter and a value that none of its constraints accepts."""
    cls = getattr(widemargin, name)
    known = {
        "random_state": [-1, "text"],
        "verbose": [-1, "text"],
        "class_weight": ["text", 3],
        "kernel": ["text", 3],
        "feature_map": ["text", 3],
        "gamma": ["text", 0],
        "learning_rate": ["text", 0, -1],
        "n_jobs": [0.5, "text"],
        "validation_fraction": [0.0, 1.0, 1.5, "text"],
        "coef0": ["text"],
    }
    for parameter in cls._parameter_constraints:
        default = inspect.signature(cls).parameters[parameter].default
        numeric = [-1, "text"]
        values = ["text", 3] if isinstance(default, (bool, str)) else numeric
        constraints = [make_constraint(c) for c in cls._parameter_constraints[parameter]]
        for value in known.get(parameter, values):
            if not any(constraint.is_satisfied_by(value) for constraint in constraints):
                yield parameter, value


@every
def test_wrong_values_are_refused(name, subtests):
    tried = list(wrong_values(name))
    for parameter, value in tried:
        clf = make(name, **{parameter: value})
        named = rf"'{parameter}'.*{name}.*{re.escape(repr(value))}"
        with subtests.test(parameter, value=value):
            with pytest.raises(InvalidParameterError, match=named):
                clf.fit(X, Y)
            assert is_unfitted(clf)
    assert len(tried) > 10  # nearly every option of every model has a wrong value


@every
def test_every_option_is_constrained(name):
    cls = getattr(widemargin, name)
    assert set(cls._parameter_constraints) == set(inspect.signature(cls).parameters)


@every_with("class_weight")
@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"a": 1.0, "b": 2.0, "c": 3.0}, r"class_weight.*'c'.*'a', 'b'"),
        ({"c": 3.0}, r"class_weight.*'c'.*'a', 'b'"),
        ({"a": -1.0}, "class_weight.*-1.0"),
        ({"a": np.nan}, "class_weight.*nan"),
        ({"a": 0.0, "b": 0.0}, "class_weight.*zero"),
    ],
    ids=["one class more", "an unknown class", "negative", "NaN", "zero"],
)
def test_wrong_class_weights_are_refused(name, class_weight, message):
    clf = make(name, class_weight=class_weight)
    with pytest.raises(ValueError, match=message):
        clf.fit(X, Y)
    assert is_unfitted(clf)


@every_with("validation_fraction")
@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({"early_stopping": True}, {"X_val": X}, "X_val and y_val"),
        ({"early_stopping": True}, {"y_val": Y}, "X_val and y_val"),
        ({"early_stopping": False}, {"X_val": X, "y_val": Y}, "X_val.*early_stopping=False"),
        ({"early_stopping": True}, {"X_val": X[:, :2], "y_val": Y}, "2 features.*3 features"),
        ({"early_stopping": True}, {"X_val": X, "y_val": Y[:-1]}, r"40.*39|39.*40"),
        ({"early_stopping": True}, {"X_val": changed(X, np.nan), "y_val": Y}, "NaN"),
        ({"early_stopping": True}, {"X_val": X, "y_val": np.full(40, "c")}, "'c'"),
        ({"early_stopping": True}, {"sample_weight_val": np.ones(40)}, "needs X_val and y_val"),
        (
            {"early_stopping": True},
            {"X_val": X, "y_val": Y, "sample_weight_val": np.ones(39)},
            "sample_weight.shape",
        ),
    ],
    ids=[
        *("no y_val", "no X_val", "not used", "columns", "short y_val", "NaN", "unknown label"),
        *("weights of nothing", "short weights"),
    ],
)
def test_wrong_validation_sets_are_refused(name, options, arguments, message):
    clf = make(name, **options)
    with pytest.raises(ValueError, match=message):
        clf.fit(X, Y, **arguments)
    assert is_unfitted(clf)


@every_with("validation_fraction")
@pytest.mark.parametrize(
    ("fraction", "rows"), [(0.001, 40), (0.01, 40), (0.99, 40), (0.5, 3)], ids=str
)
def test_a_validation_fraction_that_leaves_too_few_examples(name, fraction, rows):
    clf = make(name, early_stopping=True, validation_fraction=fraction)
    with pytest.raises(ValueError, match=f"validation_fraction={fraction}.*{rows} examples"):
        clf.fit(X[:rows], Y[:rows])
    assert is_unfitted(clf)

"""Bad input: an error that names what is wrong, and nothing is lost.

Estimators are found in `widemargin.__all__`, so a new one is tested as soon as it is exported.
"""

import inspect
import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import linear_kernel
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils._param_validation import InvalidParameterError, make_constraint

import widemargin

pytestmark = pytest.mark.filterwarnings("ignore:.*Theorem 8:sklearn.exceptions.ConvergenceWarning")
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


def make(name, **options):
    """An estimator with three epochs, where it has epochs, and options if it takes them."""
    cls = getattr(widemargin, name)
    accepted = inspect.signature(cls).parameters
    for option in options:
        if option not in accepted:
            pytest.skip(f"{name} has no {option}")
    defaults = {"max_iter": 3, "tol": None, "random_state": 0}
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


# What goes wrong, the arguments of fit, and what the message must name.
BAD_DATA = {
    "NaN in X": ((changed(X, np.nan), Y), "NaN"),
    "infinity in X": ((changed(X, np.inf), Y), "infinity"),
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
bad_data = pytest.mark.parametrize(("arguments", "message"), BAD_DATA.values(), ids=BAD_DATA)


def is_unfitted(clf):
    with pytest.raises(NotFittedError):
        clf.predict(X)
    return [name for name in vars(clf) if name.endswith("_")] == []


def fitted(name, **options):
    clf = make(name, **options).fit(X, Y)
    return clf, {k: np.copy(v) if isinstance(v, np.ndarray) else v for k, v in vars(clf).items()}


def assert_unchanged(clf, before):
    assert set(vars(clf)) == set(before)
    for key, value in vars(clf).items():
        if isinstance(value, np.ndarray):
            assert_array_equal(value, before[key])
        elif not isinstance(value, dict):
            assert value is before[key] or value == before[key], key


def test_there_are_estimators():
    assert {"Perceptron", "MarginPerceptron", "KernelPerceptron"} <= set(NAMES)


# -------------------------------------------------------------------------------------- data


@every
@bad_data
def test_fit(name, arguments, message):
    clf = make(name)
    with pytest.raises((ValueError, TypeError), match=message):
        clf.fit(*arguments)
    assert is_unfitted(clf)
    assert clf.fit(X, Y).predict(X).shape == (40,)  # and it is not spoiled


@every
@pytest.mark.parametrize("warm_start", [False, True])
@bad_data
def test_failed_refit_keeps_the_model(name, warm_start, arguments, message):
    clf, before = fitted(name, warm_start=warm_start)
    scores = clf.decision_function(X)
    with pytest.raises((ValueError, TypeError), match=message):
        clf.fit(*arguments)
    assert_unchanged(clf, before)
    assert_array_equal(clf.decision_function(X), scores)


@every
@bad_data
def test_failed_partial_fit_keeps_the_model(name, arguments, message, request):
    clf, before = fitted(name)
    if not hasattr(clf, "partial_fit"):
        pytest.skip(f"{name} has no partial_fit")
    if request.node.callspec.id.startswith(("one class", "continuous y")):
        message = "not in classes"  # a batch may hold one class, but not an unknown one
    data, y, *rest = arguments
    scores = clf.decision_function(X)
    with pytest.raises((ValueError, TypeError), match=message):
        clf.partial_fit(data, y, sample_weight=rest[0] if rest else None)
    assert_unchanged(clf, before)
    assert_array_equal(clf.decision_function(X), scores)


@every
@pytest.mark.parametrize("method", ["predict", "decision_function"])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (X[:, :2], "2 features.*3 features"),
        (np.c_[X, X], "6 features.*3 features"),
        (X[0], "2D"),
        (changed(X, np.nan), "NaN"),
        (changed(X, np.inf), "infinity"),
        (changed(X, "text"), "text"),
        (X[:0], "0 sample"),
    ],
    ids=["few columns", "many columns", "one dimension", "NaN", "infinity", "text", "no rows"],
)
def test_predict(name, method, data, message):
    clf, before = fitted(name)
    with pytest.raises(ValueError, match=message):
        getattr(clf, method)(data)
    assert_unchanged(clf, before)


@every
def test_predict_before_fit(name):
    with pytest.raises(NotFittedError, match="not fitted"):
        make(name).predict(X)


# ------------------------------------------------------------------------------------ options


def wrong_values(name):
    """For each constrained parameter, values that no constraint accepts."""
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


OPTIONS = [(name, parameter, value) for name in NAMES for parameter, value in wrong_values(name)]


@pytest.mark.parametrize(("name", "parameter", "value"), OPTIONS)
def test_option(name, parameter, value):
    clf = make(name, **{parameter: value})
    named = rf"'{parameter}'.*{name}.*{re.escape(repr(value))}"
    with pytest.raises(InvalidParameterError, match=named):
        clf.fit(X, Y)
    assert is_unfitted(clf)


@every
def test_every_option_is_constrained(name):
    cls = getattr(widemargin, name)
    assert set(cls._parameter_constraints) == set(inspect.signature(cls).parameters)


@every
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
def test_class_weight(name, class_weight, message):
    clf = make(name, class_weight=class_weight)
    with pytest.raises(ValueError, match=message):
        clf.fit(X, Y)
    assert is_unfitted(clf)


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


@every_online
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"scaling": "standard"}, {"scaling": None}),
        ({"feature_map": None}, {"feature_map": "polynomial"}),
        ({"feature_map": "polynomial"}, {"feature_map": None}),
        ({"feature_map": "polynomial"}, {"feature_map": "fourier"}),
        ({"feature_map": PHI}, {"feature_map": Nystroem(n_components=5)}),
        ({"feature_map": PHI}, {"feature_map": PolynomialFeatures(3)}),
        ({"kernel": "rbf"}, {"kernel": "linear"}),
        ({"kernel": "linear"}, {"kernel": linear_kernel}),
        ({"gamma": "scale"}, {"gamma": 0.5}),
        ({"degree": 3}, {"degree": 2}),
        ({"coef0": 0.0}, {"coef0": 1.0}),
    ],
    ids=str,
)
def test_training_cannot_go_on_in_another_space(name, before, after):
    clf = make(name, warm_start=True, **before).fit(X, Y)
    scores = clf.decision_function(X)
    ((parameter, value),) = after.items()
    message = re.escape(f"{parameter}={value!r} differs") + ".*fit without warm_start"
    for go_on in (clf.fit, clf.partial_fit):
        clf.set_params(**after)
        with pytest.raises(ValueError, match=message):
            go_on(X, Y)
        assert_array_equal(clf.set_params(**before).decision_function(X), scores)
    clf.set_params(**after, warm_start=False).fit(X, Y)  # the remedy


@every_online
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"degree": 3}, {"degree": 3.0}),
        ({"kernel": linear_kernel}, {"kernel": linear_kernel}),
        ({"feature_map": PHI}, {"feature_map": PolynomialFeatures(2)}),
        (
            {"feature_map": Nystroem(n_components=5, random_state=np.random.RandomState(0))},
            {"feature_map": Nystroem(n_components=5, random_state=np.random.RandomState(0))},
        ),
    ],
    ids=["number", "function", "transformer", "seeded transformer"],
)
def test_training_goes_on_in_an_equal_space(name, before, after):
    clf = make(name, warm_start=True, **before).fit(X, Y)
    epochs = len(clf.history_)
    resumed = pickle.loads(pickle.dumps(clf.set_params(**after))).fit(X, Y)
    assert len(resumed.history_) > epochs


def test_average_cannot_start_in_the_middle():
    clf, _ = fitted("Perceptron", warm_start=True)
    scores = clf.decision_function(X)
    with pytest.raises(ValueError, match="average=True"):
        clf.set_params(average=True).fit(X, Y)
    assert_array_equal(clf.decision_function(X), scores)


# --------------------------------------------------------------------------------- validation


@every
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
    ],
    ids=["no y_val", "no X_val", "not used", "columns", "short y_val", "NaN", "unknown label"],
)
def test_validation_set(name, options, arguments, message):
    clf = make(name, **options)
    with pytest.raises(ValueError, match=message):
        clf.fit(X, Y, **arguments)
    assert is_unfitted(clf)


@every
@pytest.mark.parametrize(
    ("fraction", "rows"), [(0.001, 40), (0.01, 40), (0.99, 40), (0.5, 3)], ids=str
)
def test_impossible_validation_fraction(name, fraction, rows):
    clf = make(name, early_stopping=True, validation_fraction=fraction)
    with pytest.raises(ValueError, match=f"validation_fraction={fraction}.*{rows} examples"):
        clf.fit(X[:rows], Y[:rows])
    assert is_unfitted(clf)


# ------------------------------------------------------------------------ models that go on


@every
def test_partial_fit_with_unknown_labels(name):
    clf = make(name)
    if not hasattr(clf, "partial_fit"):
        pytest.skip(f"{name} has no partial_fit")
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
def test_warm_start_with_another_problem(name, data, y, message):
    clf, before = fitted(name, warm_start=True)
    scores = clf.decision_function(X)
    with pytest.raises(ValueError, match=message):
        clf.fit(data, y)
    assert_unchanged(clf, before)
    assert_array_equal(clf.decision_function(X), scores)
    assert clf.set_params(warm_start=False).fit(data, y).n_features_in_ == data.shape[1]


@every
def test_sparse_matrix_that_lies_about_its_shape(name):
    """Indices outside the matrix must not reach the core's loops."""
    lying = sp.csr_array(X.copy())
    lying.indices[0] = 10_000_000
    with pytest.raises((ValueError, IndexError)):
        make(name).fit(lying, Y)


@pytest.mark.parametrize("sparse", [False, True])
def test_inputs_whose_squares_overflow(sparse):
    X = np.array([[1.0, 1e200], [2.0, -1e200], [3.0, 1.0]])
    with pytest.raises(ValueError, match="column 1 of X, counted from 0, holds values too large"):
        widemargin.MarginPerceptron().fit(sp.csr_array(X) if sparse else X, [0, 1, 1])


def test_one_class_is_shown_as_it_was_given():
    with pytest.raises(ValueError, match=r"one class only \('yes'\)"):
        widemargin.Perceptron().fit([[1.0], [2.0]], ["yes", "yes"])

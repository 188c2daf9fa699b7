"""Perceptrons as objects: data frames, feature maps, parameters and copies."""

import pickle
from inspect import signature

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import make_circles
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from widemargin import KernelPerceptron, MarginPerceptron, Perceptron

IN_ORDER = {"max_iter": 4, "tol": None, "shuffle": False}
both = pytest.mark.parametrize("Model", [Perceptron, MarginPerceptron])


# ------------------------------------------------------------------------------------ frames


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library):
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.choice(["a", "b"], 50)
    frame = frames.DataFrame({name: X[:, j] for j, name in enumerate("uvw")})
    clf = Perceptron(**IN_ORDER).fit(frame, frames.Series(y))
    assert_array_equal(clf.feature_names_in_, ["u", "v", "w"])
    assert_array_equal(clf.coef_, Perceptron(**IN_ORDER).fit(X, y).coef_)
    assert_array_equal(clf.predict(frame), Perceptron(**IN_ORDER).fit(X, y).predict(X))
    for names in (["w", "v", "u"], ["u", "v", "other"]):
        wrong = frames.DataFrame({name: X[:, j] for j, name in enumerate(names)})
        with pytest.raises(ValueError, match="feature names"):
            clf.predict(wrong)
        with pytest.raises(ValueError, match="feature names"):
            clf.partial_fit(wrong, y)


# ------------------------------------------------------------------------------ feature maps


def test_transformer_as_feature_map_is_a_pipeline():
    X, y = make_circles(120, factor=0.5, noise=0.05, random_state=0)
    phi = PolynomialFeatures(3, include_bias=False)
    clf = MarginPerceptron(**IN_ORDER, feature_map=phi).fit(X, y)
    pipeline = make_pipeline(clone(phi), MarginPerceptron(**IN_ORDER)).fit(X, y)
    assert_array_equal(clf.coef_, pipeline[-1].coef_)
    assert_array_equal(clf.decision_function(X), pipeline.decision_function(X))
    assert not hasattr(phi, "n_output_features_")  # the user's own is left alone
    assert clf.n_features_in_ == 2


def test_named_feature_map_is_a_pipeline_of_standardised_inputs():
    X, y = make_circles(120, factor=0.5, noise=0.05, random_state=0)
    X = 100 * X + 7
    clf = Perceptron(**IN_ORDER, feature_map="polynomial").fit(X, y)
    phi = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False))
    pipeline = make_pipeline(phi, Perceptron(**IN_ORDER)).fit(X, y)
    assert_allclose(clf.decision_function(X), pipeline.decision_function(X), rtol=1e-12)
    assert clf.score(X, y) == 1.0


@pytest.mark.parametrize("name", ["polynomial", "fourier", "nystroem"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_named_feature_maps_separate_circles(name, make):
    X, y = make_circles(600, factor=0.4, noise=0.05, random_state=0)
    first, second = (
        MarginPerceptron(feature_map=name, random_state=1, max_iter=50, tol=None).fit(make(X), y)
        for _ in range(2)
    )
    assert MarginPerceptron(random_state=1).fit(X, y).score(X, y) < 0.8
    assert first.score(make(X), y) > 0.97
    assert_array_equal(first.coef_, second.coef_)


def test_feature_map_with_partial_fit_and_validation():
    X, y = make_circles(300, factor=0.4, noise=0.05, random_state=0)
    clf = Perceptron(**IN_ORDER, feature_map="polynomial").partial_fit(X[:100], y[:100])
    coef = clf.coef_
    clf.partial_fit(X[100:], y[100:])
    assert clf.score(X, y) > 0.95
    assert clf.coef_.shape == coef.shape == (1, 5)
    stopped = Perceptron(feature_map="polynomial", early_stopping=True).fit(
        X[:200], y[:200], X_val=X[200:], y_val=y[200:]
    )
    assert 1 - stopped.score(X[200:], y[200:]) == min(
        r["validation_error"] for r in stopped.history_
    )


def test_nested_parameters_and_grid_search():
    X, y = make_circles(90, factor=0.5, noise=0.05, random_state=0)
    clf = MarginPerceptron(**IN_ORDER, feature_map=PolynomialFeatures(2))
    assert clf.get_params()["feature_map__degree"] == 2
    assert clf.set_params(feature_map__degree=3).fit(X, y).coef_.shape == (1, 10)
    grid = {"feature_map__degree": [1, 2], "learning_rate": [0.01, 0.1]}
    search = GridSearchCV(clf, grid, cv=3).fit(X, y)
    assert search.best_params_["feature_map__degree"] == 2
    assert search.best_score_ > 0.95


# ------------------------------------------------------------------------ objects of the model


@both
@pytest.mark.parametrize("average", [False, True])
def test_copies_predict_and_learn_alike(Model, average, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), rng.integers(0, 3, 80)
    clf = Model(
        **IN_ORDER, scaling="standard", average=average, feature_map=Nystroem(n_components=9)
    )
    clf.set_params(feature_map__random_state=0).fit(X, y)
    joblib.dump(clf, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(clf)), joblib.load(tmp_path / "model")):
        assert_array_equal(copy.decision_function(X), clf.decision_function(X))
        original = pickle.loads(pickle.dumps(clf)).partial_fit(X, y)
        assert_array_equal(copy.partial_fit(X, y).coef_, original.coef_)
        assert np.any(copy.coef_ != clf.coef_)  # and the original stays as it was


@both
def test_clone_is_unfitted_with_the_same_parameters(Model):
    clf = Model(**IN_ORDER, average=True).fit([[0.0], [1.0]], [0, 1])
    copy = clone(clf)
    assert copy.get_params() == clf.get_params()
    assert not hasattr(copy, "coef_")


@both
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fit_leaves_its_inputs_alone(Model, make, dtype):
    rng = np.random.default_rng(0)
    X, y, weights = make(rng.normal(size=(40, 5)).astype(dtype)), np.arange(40) % 2, np.ones(40)
    values = X.data if sp.issparse(X) else X
    before = values.copy(), y.copy(), weights.copy()
    for array in (values, y, weights):
        array.flags.writeable = False
    clf = Model(**IN_ORDER, scaling="standard", average=True, early_stopping=True).fit(
        X, y, weights
    )
    clf.set_params(early_stopping=False).partial_fit(X, y, sample_weight=weights)
    for a, b in zip(before, (values, y, weights), strict=True):
        assert_array_equal(a, b)


def test_margin_is_two_over_the_norm_of_the_trained_weights():
    rng = np.random.default_rng(0)
    X, y = rng.normal(3.0, 2.0, size=(60, 4)), rng.integers(0, 2, 60)
    clf = MarginPerceptron(**IN_ORDER, margin=0.5).fit(X, y)
    norm = np.linalg.norm(clf.coef_ * X.std(axis=0))
    assert clf.geometric_margin_ == pytest.approx(2 * 0.5 / norm)
    assert clf.history_[-1]["geometric_margin"] == clf.geometric_margin_


# -------------------------------------------------------------------------- scikit-learn's options


def test_the_parameters_begin_with_those_of_scikit_learn():
    ours, theirs = (
        [(p.name, p.default) for p in list(signature(Model).parameters.values())]
        for Model in (Perceptron, linear_model.Perceptron)
    )
    assert ours[: len(theirs)] == theirs


@pytest.mark.parametrize("penalty", [None, "l2"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights_are_those_of_scikit_learn(penalty, fit_intercept):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.integers(0, 3, 200)
    options = {"penalty": penalty, "alpha": 0.01, "eta0": 0.5, "fit_intercept": fit_intercept}
    clf = Perceptron(**IN_ORDER, **options).fit(X, y)
    theirs = linear_model.Perceptron(**IN_ORDER, **options).fit(X, y)
    assert_allclose(clf.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)
    assert_allclose(clf.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-12)


def test_the_penalty_is_part_of_what_is_minimised():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.integers(0, 2, 200)
    clf = Perceptron(**IN_ORDER, penalty="l2", alpha=0.01).fit(X, y)
    last = clf.history_[-1]
    assert last["objective"] == pytest.approx(last["criterion"] + 0.005 * np.sum(clf.coef_**2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "l1"}, "penalty='l1' is not available.*use penalty='l2' or None"),
        ({"penalty": "elasticnet"}, "penalty='elasticnet' is not available"),
        ({"penalty": "l2", "alpha": 0.3, "eta0": 4.0}, "eta0=4 times alpha=0.3 is more than 1"),
    ],
)
def test_options_that_cannot_be_honoured_name_the_remedy(options, message):
    with pytest.raises(ValueError, match=message):
        Perceptron(**options).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("Model", [Perceptron, KernelPerceptron])
def test_without_a_margin_there_is_no_geometric_margin(Model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    clf = Model(max_iter=3, tol=None).fit(X, y)
    assert not hasattr(clf, "geometric_margin_")
    assert "geometric_margin" not in clf.history_[-1]

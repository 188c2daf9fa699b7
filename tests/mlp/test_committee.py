"""Committees as estimators: what they learn, weights, inputs, files, errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import validation

import widemargin
from helpers.committees import MODELS, X, Y, assert_same_model, model, rings, simple
from widemargin import HatEncoder, MarginPerceptron, NilssonMLPClassifier, SimpleMLPClassifier
from widemargin.datasets import fetch_forest

every_model = pytest.mark.parametrize("name", MODELS)


# ---------------------------------------------------------------------------------- what it learns


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("multi_class", ["best_other", "ovr"])
def test_it_learns_what_no_line_separates(classes, multi_class):
    X, y = rings(1000, classes=classes)
    names = np.array(["one", "three", "two", "zero"])[y]
    options = {"n_units": 100, "margin": 10.0, "max_iter": 40, "encoding": "hat"}
    clf = simple(multi_class=multi_class, **options)
    clf.fit(X[:700], names[:700])
    assert clf.score(X[:700], names[:700]) > 0.97
    assert clf.score(X[700:], names[700:]) > (0.9 if classes == 2 else 0.75)
    assert clf.decision_function(X).shape == ((1000,) if classes == 2 else (1000, 4))
    assert clf.coefs_[0].shape == (1, 1 if classes == 2 else 4, clf.coefs_[0].shape[2], 100)


def test_the_nilsson_mlp_learns_classes():
    X, y = rings(600, classes=3)
    clf = NilssonMLPClassifier(n_units=101, random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.9
    assert set(clf.predict(X)) == {0, 1, 2}


@pytest.mark.parametrize("margin", ["auto", 3.0])
def test_the_margin_of_the_votes(margin):
    clf = simple(margin=margin, max_iter=1).fit(X, Y)
    beta = 0.2 * 40 if margin == "auto" else margin
    assert clf.margin_ == pytest.approx(beta)
    assert clf.geometric_margin_ == pytest.approx(2 * beta / np.sqrt(40))
    assert clf.history_[0]["geometric_margin"] == clf.geometric_margin_


@every_model
def test_history(name):
    clf = model(name).fit(X, Y)
    assert len(clf.history_) == clf.n_iter_ == 5
    assert sum(record["updates"] for record in clf.history_) == clf.n_updates_ > 0
    for record in clf.history_:
        assert 0 < record["units_active"] <= 1
        assert record["rows"] == len(X)


def test_units_that_are_saturated_do_not_learn():
    small = simple(init_scale=0.1, max_iter=1, learning_rate=1e-30).fit(X, Y)
    assert small.history_[0]["units_active"] == 1.0
    large = simple(init_scale=10.0, max_iter=1, learning_rate=1e-30).fit(X, Y)
    assert large.history_[0]["units_active"] < 0.3


@pytest.mark.parametrize("name", [name for name in MODELS if name != "Nilsson"])  # sign(0) = −1
def test_labels_flip_signs_from_a_symmetric_start(name):
    one, other = (model(name, init_scale=0.0).fit(X, y) for y in (Y, 1 - Y))
    assert_array_equal(one.decision_function(X), -other.decision_function(X))


@pytest.mark.parametrize("average", [False, True])
def test_a_mean_of_weights_lies_between_those_of_the_epochs(average):
    clf = simple(schedule="constant", average=average, encoding=None, max_iter=6).fit(X, Y)
    plain = simple(schedule="constant", encoding=None, max_iter=6).fit(X, Y)
    assert np.array_equal(clf.coefs_[0], plain.coefs_[0]) == (not average)
    assert clf.n_updates_ == plain.n_updates_
    coefs = [
        simple(schedule="constant", encoding=None, max_iter=n).fit(X, Y).coefs_[0]
        for n in range(1, 7)
    ]
    assert np.all(clf.coefs_[0] <= np.max(coefs, axis=0) + 1e-6)
    assert np.all(clf.coefs_[0] >= np.min(coefs, axis=0) - 1e-6)


def test_the_mean_can_be_dropped():
    clf = simple(schedule="constant", average=True, max_iter=3, warm_start=True).fit(X, Y)
    clf.set_params(average=False).fit(X, Y)
    assert_same_model(clf, simple(schedule="constant", max_iter=6).fit(X, Y))


# --------------------------------------------------------------------------------- weights


@every_model
def test_class_weights_are_weights_of_examples(name):
    weights = np.where(Y == 1, 2.0, 0.5)
    by_class = model(name, class_weight={0: 0.5, 1: 2.0}).fit(X, Y)
    by_example = model(name).fit(X, Y, sample_weight=weights)
    assert_array_equal(by_class.decision_function(X), by_example.decision_function(X))


def test_balanced_classes_find_the_rare_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = X[:, 0] + rng.normal(size=2000) > 2.2
    found = [
        np.mean(simple(class_weight=weight).fit(X, y).predict(X)[y])
        for weight in (None, "balanced")
    ]
    assert found[1] > found[0] + 0.2


def test_a_weight_of_zero_is_absence():
    weights = (np.arange(len(Y)) % 3 > 0).astype(float)
    kept = weights > 0
    options = {"encoding": None, "shuffle": False}
    some = simple(**options).fit(X, Y, sample_weight=weights)
    alone = simple(**options).fit(X[kept], Y[kept])
    assert_allclose(some.decision_function(X), alone.decision_function(X), rtol=1e-5, atol=1e-5)


# ------------------------------------------------------------------------------------- inputs


@every_model
def test_csr_is_dense(name):
    sparse = X * (np.abs(X) > 0.6)
    sparse[:, 3] = 2.0
    dense, csr = (model(name).fit(kind(sparse), Y) for kind in (np.asarray, sp.csr_matrix))
    at = dense.decision_function(sparse)
    assert_allclose(dense.decision_function(sp.csr_matrix(sparse)), at, rtol=1e-5, atol=1e-4)
    if name != "Nilsson":  # whose signs may flip by rounding
        assert_allclose(csr.decision_function(sparse), at, rtol=1e-4, atol=1e-3)


def test_a_given_encoder_is_cloned_and_used():
    encoder = HatEncoder(n_knots=5)
    clf = simple(encoding=encoder).fit(X, Y)
    assert not hasattr(encoder, "knots_")
    assert clf.encoder_.knots_.shape == (5, 5)
    assert clf.coefs_[0].shape[2] == 5 * 6
    by_hand = simple(encoding=HatEncoder(n_knots=None)).fit(X, Y)
    assert by_hand.coefs_[0].shape[2] == 5


@pytest.mark.parametrize("encoding", [None, "auto", "hat"])
def test_inputs_are_validated_once(encoding, monkeypatch):
    shapes, check = [], validation.check_array

    def counted(array, *arguments, **options):
        shapes.append(np.shape(array))
        return check(array, *arguments, **options)

    monkeypatch.setattr(validation, "check_array", counted)
    clf = simple(encoding=encoding, max_iter=1).fit(X, Y)
    assert shapes.count(X.shape) == 1
    clf.predict(X)
    assert shapes.count(X.shape) == 2


def test_wide_data_get_no_hats():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 201))
    clf = simple(max_iter=2).fit(X, rng.integers(0, 2, 100))
    assert clf.coefs_[0].shape[2] == 201


@pytest.mark.parametrize("scaling", ["standard", "minmax", None])
@pytest.mark.parametrize("encoding", [None, "hat"])
def test_attributes_are_the_committee(scaling, encoding):
    clf = simple(n_units=70, n_committees=2, scaling=scaling, encoding=encoding, max_iter=3)
    X, y = rings(classes=3)
    X = 3 * X + 1
    clf.fit(X, y)
    inputs = X if encoding is None else clf.encoder_.transform(X).toarray()
    assert [W.shape for W in clf.coefs_] == [(2, 3, inputs.shape[1], 70), (2, 3, 70, 1)]
    assert [b.shape for b in clf.intercepts_] == [(2, 3, 70), (2, 3, 1)]
    offset, scale = np.zeros(inputs.shape[1]), np.ones(inputs.shape[1])
    if scaling is not None:
        offset = inputs.mean(0) if scaling == "standard" else inputs.min(0)
    if encoding is None and scaling is not None:
        scale = inputs.std(0) if scaling == "standard" else np.ptp(inputs, axis=0)
    (v, ones), (a, b) = clf.coefs_, clf.intercepts_
    hidden = np.clip((inputs - offset) / scale @ v + a[:, :, None], -1, 1)
    f = (hidden @ ones)[..., 0] + b
    assert np.all(ones == 1)
    assert_allclose(clf.decision_function(X), f.mean(axis=0).T, rtol=1e-4, atol=1e-4)


# ------------------------------------------------------------------------------------- files


@every_model
@pytest.mark.parametrize("encoding", [None, "auto", HatEncoder(n_knots=4)], ids=str)
def test_a_saved_model_is_the_same_model(name, encoding, tmp_path):
    clf = model(name, encoding=encoding, warm_start=True).fit(X, Y)
    widemargin.save(clf, tmp_path / "model")
    again = widemargin.load(tmp_path / "model")
    assert_array_equal(again.decision_function(X), clf.decision_function(X))
    assert again.geometric_margin_ == clf.geometric_margin_
    if encoding is not None:
        assert_array_equal(again.encoder_.knots_, clf.encoder_.knots_)
    assert_same_model(again.fit(X, Y), clf.fit(X, Y))  # and resumes alike


# ------------------------------------------------------------------------------------ errors


def test_an_even_committee_is_refused():
    with pytest.raises(ValueError, match=r"n_units=20 is even.*n_units=21"):
        NilssonMLPClassifier(n_units=20).fit(X, Y)


@every_model
def test_bad_examples_are_refused(name):
    with pytest.raises(ValueError, match="one class only"):
        model(name).fit(X, np.zeros(len(X)))
    broken = X.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model(name).fit(broken, Y)
    clf = model(name).fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        clf.predict(broken)
    with pytest.raises(ValueError, match=r"4 features, but .* is expecting 5"):
        clf.predict(X[:, :4])


@every_model
def test_options_that_contradict_each_other(name):
    with pytest.raises(ValueError, match="early_stopping=False would ignore it"):
        model(name).fit(X, Y, X_val=X, y_val=Y)
    with pytest.raises(ValueError, match=r"'linear' ends after max_iter.*'constant'"):
        model(name, schedule="linear").partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"early_stopping=True.*partial_fit"):
        model(name, early_stopping=True).partial_fit(X, Y)
    with pytest.raises(ValueError, match="not in classes"):
        model(name).partial_fit(X, Y).partial_fit(X, Y + 1)


def test_a_rate_that_is_too_large_is_named():
    with pytest.raises(ValueError, match="diverged"), np.errstate(all="ignore"):
        simple(encoding=None, learning_rate=1e38).fit(1e3 * X, Y)


# --------------------------------------------------------------------------------- real data


@pytest.mark.data
def test_forest():
    forest = fetch_forest(split="thesis")
    X, y = forest.X_train[:20_000], forest.y_train[:20_000]
    X_test, y_test = forest.X_test[:10_000], forest.y_test[:10_000]
    committee = SimpleMLPClassifier(n_units=200, margin=14.0, max_iter=10, random_state=0).fit(X, y)
    line = MarginPerceptron(max_iter=10, tol=None, random_state=0).fit(X, y)
    assert committee.score(X_test, y_test) > line.score(X_test, y_test) + 0.07


@pytest.mark.parametrize(("margin", "unit"), [(0.0, 1.0), (3.0, 3.0)])
def test_outputs_are_compared_in_margins_or_without_one_in_votes(margin, unit):
    """As an expert of a mixture, beside experts of other margins."""
    clf = NilssonMLPClassifier(n_units=9, margin=margin, max_iter=2, random_state=0).fit(X, Y)
    assert clf._margin_unit() == unit

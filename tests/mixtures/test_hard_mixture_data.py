"""Hard mixtures: regression, weights, kinds of inputs, and errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC as SklearnLinearSVC
from sklearn.tree import DecisionTreeRegressor

from helpers.mixtures import LOGISTIC, X, Y, assert_same_mixture, by_definition, quick
from widemargin import SVC, SVR, HardMixtureRegressor, MLPClassifier, MLPRegressor
from widemargin.mixtures import GaussianGater, MLPGater
from widemargin.mixtures.hard.experts import ConstantExpert

ignore_convergence = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
EXPERTS = {
    "SVC": SVC(C=10),
    "logistic": LOGISTIC,
    "MLP": MLPClassifier((10,), max_iter=30, learning_rate_init=0.05),
}

# ------------------------------------------------------------------------------- regression

ROOF = np.abs(X[:, 0])


def lines(gater="mlp", **options):
    gater = MLPGater((), learning_rate=0.1) if gater == "mlp" else gater
    options = {"n_experts": 2, "max_iter": 10} | options
    return quick(options.pop("expert", LinearRegression()), gater, HardMixtureRegressor, **options)


@pytest.mark.parametrize("gater", ["mlp", GaussianGater(2)], ids=["global", "local"])
def test_two_lines_make_a_roof(gater):
    model = lines(gater, gate_tolerance=0).fit(X, ROOF)
    assert LinearRegression().fit(X, ROOF).score(X, ROOF) < 0.1
    assert model.score(X, ROOF) > 0.7
    expected = by_definition(model, X, lambda expert: expert.predict(X))[:, 0]
    assert_allclose(model.predict(X), expected, atol=1e-5)


@pytest.mark.slow
@ignore_convergence
@pytest.mark.parametrize(
    "expert",
    [
        LinearRegression(),
        SVR(),
        MLPRegressor(hidden_layer_sizes=(10,)),
        DecisionTreeRegressor(max_depth=4),
    ],
    ids=lambda expert: type(expert).__name__,
)
@pytest.mark.parametrize("gater", ["mlp", "local"])
def test_several_targets(expert, gater):
    y = np.column_stack([ROOF, -2 * ROOF + X[:, 1]])
    model = lines(gater, expert=expert).fit(X, y)
    assert model.predict(X).shape == y.shape
    assert model.score(X, y) > 0.8


def test_default_regression():
    model = HardMixtureRegressor(n_experts=2, random_state=0).fit(X, ROOF)
    assert isinstance(model.experts_[0], SVR)
    assert model.score(X, ROOF) > 0.8


def test_regression_does_not_know_units():
    """The gater's criterion is in variances of the targets."""
    one, other = (lines(max_iter=2).fit(X, unit * ROOF) for unit in (1.0, 1024.0))
    assert_allclose(1024 * one.predict(X), other.predict(X), rtol=1e-3, atol=1)
    assert_allclose(one.history_[-1]["error"], other.history_[-1]["error"], rtol=1e-2)


# ---------------------------------------------------------------------------------- weights


@ignore_convergence
@pytest.mark.parametrize("gater", ["mlp", "local", "uniform"])
@pytest.mark.parametrize("name", ["SVC", "logistic", "MLP"])
def test_weight_zero_is_not_there(name, gater):
    wrong = np.random.default_rng(1).random(len(X)) < 0.3
    labels = np.where(wrong, 1 - Y, Y)
    model = quick(EXPERTS[name], gater).fit(X, labels, sample_weight=1.0 - wrong)
    assert_array_equal(model.partition_ == -1, wrong)
    assert model.score(X[~wrong], Y[~wrong]) > (0.6 if gater == "uniform" else 0.8)
    if name == "SVC" and gater != "mlp":  # its order of steps is another
        alone = quick(EXPERTS[name], gater).fit(X[~wrong], Y[~wrong])
        assert_array_equal(model.partition_[~wrong], alone.partition_)
        assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-3)


def test_class_weights_shift_the_boundary():
    for expert, gater in ((SVC(), "mlp"), (LOGISTIC, "local")):
        plain = quick(expert, gater, n_experts=2).fit(X, Y).predict(X).sum()
        heavy = quick(expert, gater, n_experts=2, class_weight={0: 1, 1: 20}).fit(X, Y)
        assert heavy.predict(X).sum() > plain


@pytest.mark.parametrize("given", ["sample_weight", "class_weight"])
def test_experts_without_weights_are_refused(given):
    model, weights = quick(KNeighborsClassifier()), None
    if given == "class_weight":
        model.set_params(class_weight="balanced")
    else:
        weights = np.random.default_rng(0).uniform(size=len(X))
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight; fit"):
        model.fit(X, np.minimum(Y + (X[:, 0] > 0.5), 1), sample_weight=weights)
    assert not hasattr(model, "experts_")


# ----------------------------------------------------------------------------------- inputs


@pytest.mark.parametrize("scaling", ["minmax", "standard", None])
@pytest.mark.parametrize("gater", ["mlp", "local"])
def test_csr_gives_the_same_as_dense(gater, scaling):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(200, 6)) * (rng.random((200, 6)) < 0.5)
    y = (x[:, 0] > x[:, 1]).astype(int)
    one = quick(SVC(), gater, scaling=scaling).fit(x, y)
    other = quick(SVC(), gater, scaling=scaling).fit(sp.csr_array(x), y)
    if scaling == "standard":  # sparse inputs are not centred
        assert other.score(sp.csr_array(x), y) > 0.9
        return
    assert_array_equal(one.partition_, other.partition_)
    assert_allclose(one.decision_function(x), other.decision_function(sp.csr_array(x)), atol=1e-3)
    assert_allclose(other.decision_function(x), one.decision_function(x), atol=1e-3)


def test_scaling_makes_up_for_units():
    far = X * [1e3, 1e-3] + 7
    for scaling in ("minmax", "standard"):
        assert quick(SVC(C=10), scaling=scaling).fit(far, Y).score(far, Y) > 0.9
    assert quick(SVC(C=10), scaling=None).fit(far, Y).score(far, Y) < 0.9


def test_frames_have_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["width", "height"])
    model = quick().fit(frame, Y)
    assert list(model.feature_names_in_) == ["width", "height"]
    assert_array_equal(model.predict(frame), quick().fit(X, Y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["height", "width"]])


def test_parameters_of_parts_can_be_set_and_searched():
    model = quick(SVC(), MLPGater()).set_params(expert__C=3.0, gater__hidden_layer_sizes=(7,))
    model.fit(X, Y)
    assert model.experts_[0].C == 3.0
    assert model.gater_.coefs_[0].shape == (2, 7)
    assert not hasattr(model.expert, "classes_")
    assert not hasattr(model.gater, "coefs_")
    assert clone(model).get_params()["expert__C"] == 3.0


# ----------------------------------------------------------------------------------- errors


def test_fewer_rows_than_experts():
    with pytest.raises(ValueError, match="n_experts=9 is more than n_samples=5"):
        quick(n_experts=9).fit(X[:5], [0, 1, 0, 1, 0])
    model = quick(n_experts=5).fit(X[:5], [0, 1, 0, 1, 0])  # one example each
    assert all(isinstance(expert, ConstantExpert) for expert in model.experts_)


WRONG = {
    "no scores": ({"expert": LinearRegression()}, TypeError, "LinearRegression has no decision_"),
    "no probabilities": (
        {"expert": LinearRegression(), "criterion": "likelihood"},
        TypeError,
        r"no decision_function.*CalibratedClassifierCV",
    ),
    "gater": ({"gater": SklearnLinearSVC()}, TypeError, "LinearSVC has no predict_proba"),
    "word": ({"gater": "global"}, ValueError, "'gater' parameter"),
    "expert": ({"expert": "svc"}, ValueError, "'expert' parameter"),
    "balance": ({"balance": 0.5}, ValueError, "'balance' parameter"),
    "tolerance": ({"gate_tolerance": 1.0}, ValueError, "'gate_tolerance' parameter"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_parameters_raise_errors(wrong):
    options, error, message = WRONG[wrong]
    model = quick(**options)
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "experts_")


def test_the_remedy_of_the_message_works():
    expert = CalibratedClassifierCV(SklearnLinearSVC(), cv=2)
    assert quick(expert, n_experts=2).fit(X, Y).score(X, Y) > 0.85


def test_no_probabilities_of_margins_and_no_partial_fit():
    model = quick(SVC()).fit(X, Y)
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(X)
    with pytest.raises(AttributeError, match="partial_fit"):
        model.partial_fit(X, Y)


def test_hasattr_predict_proba_does_not_advance_the_random_generator():
    results = []
    for ask in (False, True):
        model = quick(random_state=np.random.RandomState(3))
        if ask:
            assert hasattr(model, "predict_proba")
        results.append(model.fit(X, Y))
    assert_same_mixture(*results)

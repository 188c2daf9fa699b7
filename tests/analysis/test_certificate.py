"""Certificates of every estimator: they hold after a fit, and not after a change of the model.

Estimators are found in `widemargin.__all__`, so a new one is tested as soon as it is exported.
"""

import inspect
import json
import warnings
from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import widemargin
from widemargin import SVC, SVCCV, HardMixtureClassifier, LinearSVC, MarginPerceptron
from widemargin.analysis import certificate

random = np.random.default_rng(0)
X = random.normal(size=(160, 4))
SCORE = X[:, 0] + 0.6 * X[:, 1] ** 2 - 0.5 + 0.2 * random.normal(size=160)
BINARY = np.where(SCORE > 0, "yes", "no")
CLASSES = np.digitize(SCORE, [-0.4, 0.4])
NAMES = [
    name
    for name in widemargin.__all__
    if inspect.isclass(getattr(widemargin, name))
    and issubclass(getattr(widemargin, name), BaseEstimator)
]
CLASSIFIERS = [name for name in NAMES if is_classifier(getattr(widemargin, name)())]
EXACT = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "SVCCV", "SVRCV")
LINEAR = ("LinearSVC", "LinearSVR", "LinearSVCCV", "LinearSVRCV")
every = pytest.mark.parametrize("name", NAMES)
REQUIRED = {
    "margin",
    "radius",
    "updates",
    "primal and dual",
    "KKT conditions",
    "support vectors",
    "capacity",
    "margin capacity",
    "validation",
}
#: Small enough for a test: parameters of those that would take long.
SMALL = {
    "effort": 0.05,
    "random_state": 0,
    "n_experts": 2,
    "n_units": 15,
    "hidden_layer_sizes": (8,),
    "Cs": 3,
    "cv": 3,
}


def made(name, **options):
    cls = getattr(widemargin, name)
    known = inspect.signature(cls).parameters
    return cls(**({k: v for k, v in SMALL.items() if k in known} | options))


def targets(model, y=BINARY):
    return SCORE if is_regressor(model) else y


def fitted(name, y=BINARY, rows=X, **options):
    model = made(name, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows, targets(model, y))


def found(model, y=BINARY, rows=X, **options):
    return certificate(model, rows, targets(model, y), **options)


def assert_sound(certificate):
    assert certificate.holds, str(certificate)
    assert "could not be computed" not in str(certificate)


@pytest.mark.slow(seconds=5)
@every
def test_holds_after_a_fit(name):
    model = fitted(name)
    test = random.normal(size=(60, 4))
    labels = targets(model, BINARY[:60])[:60]
    got = found(model, X_test=test, y_test=labels)
    assert_sound(got)
    assert {line.name for line in got} >= REQUIRED
    assert any(line.status == "holds" for line in got)
    assert all(line.theorem and line.text for line in got)
    assert json.loads(got.to_json())["holds"] is True
    assert got["validation"].status == ("holds" if hasattr(model, "predict") else "does not apply")


@pytest.mark.slow(seconds=5)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_holds_for_three_classes(name):
    options = {"nu": 0.2} if name == "NuSVC" else {}
    assert_sound(found(fitted(name, CLASSES, **options), CLASSES))


@pytest.mark.slow(seconds=5)
@every
def test_sparse_rows_give_the_same_statuses(name):
    rows = np.where(np.abs(X) > 0.7, X, 0.0)
    dense = fitted(name, rows=rows)
    wide = sp.csr_array(rows)
    sparse = fitted(name, rows=wide)
    a, b = found(dense, rows=rows), found(sparse, rows=wide)
    assert_sound(b)
    assert [line.name for line in a] == [line.name for line in b]


@pytest.mark.slow(seconds=5)
@every
def test_holds_with_sample_weights(name):
    weights = random.integers(0, 3, size=len(X)).astype(float)
    options = {"nu": 0.2} if "Nu" in name else {}
    model = made(name, **options)
    if "sample_weight" not in inspect.signature(model.fit).parameters:
        pytest.skip("it has no sample weights")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, targets(model), sample_weight=weights)
    assert_sound(found(model, sample_weight=weights))


# ------------------------------------------------------------------------------- broken models


def shifted(array):
    array = np.array(array, dtype=float)
    return array + 0.5 * (np.abs(array).max() or 1.0)


def negated_state(state):
    state = deepcopy(state)
    for key in ("v", "mean_v"):
        if state.get(key) is not None:
            state[key] = -state[key]
    return state


def moved_expert(experts):
    experts = deepcopy(experts)
    inner = getattr(experts[0], "expert", experts[0])
    inner.intercept_ = inner.intercept_ + 0.7
    return experts


def heavier(members):
    members = deepcopy(members)
    members[0]["weight"] = 2.0
    return members


#: What holds the weights of some model -> how it is changed after the fit.
CHANGES = {
    "coef_": lambda w: -2.0 * w,
    "intercept_": shifted,
    "dual_coef_": lambda w: 1.5 * w,
    "support_vectors_": lambda v: v + 0.3,
    "_parameters": lambda w: np.roll(-w, 7),
    "_state": negated_state,
    "experts_": moved_expert,
    "members_": heavier,
    "scale_": lambda s: -s,
    "knots_": lambda k: k[:, ::-1],
}


def changes(model):
    for attribute, change in CHANGES.items():
        linear = isinstance(model, widemargin.perceptrons.linear_classifier.LinearClassifier)
        if attribute not in vars(model) or (attribute == "_state" and "v" not in model._state):
            continue
        if linear and attribute == "_state":
            continue
        if attribute in ("scale_",) and not hasattr(model, "feature_importances_"):
            continue  # the scale of an encoder may be any
        yield attribute, change


@pytest.mark.slow(seconds=5)
@every
def test_a_changed_model_has_lines_that_do_not_hold(name):
    model = fitted(name)
    tried = list(changes(model))
    assert tried, f"{name} keeps its weights in an attribute that CHANGES does not name"
    for attribute, change in tried:
        broken = deepcopy(model)
        setattr(broken, attribute, change(getattr(broken, attribute)))
        got = found(broken)
        assert got.broken, f"{attribute} was changed\n{got}"
        assert "DOES NOT HOLD" in str(got)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize(
    ("attribute", "change", "line"),
    [
        ("dual_coef_", lambda a: 1.1 * a, "dual variables"),
        ("intercept_", lambda b: b + 0.2, "KKT conditions"),
        ("support_vectors_", lambda v: v + 1e-3, "w is an expansion"),
    ],
)
def test_kernel_machines_name_what_was_changed(name, attribute, change, line):
    model = fitted(name)
    setattr(model, attribute, change(getattr(model, attribute)))
    assert line in found(model).broken or (name == "NuSVC" and found(model).broken)


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("attribute", ["coef_", "intercept_"])
def test_linear_machines_name_what_was_changed(name, attribute):
    model = fitted(name)
    setattr(model, attribute, 0.9 * getattr(model, attribute) + 0.02)
    broken = found(model).broken
    assert "recorded optimum" in broken
    assert "primal and dual" in broken


def test_other_rows_are_noticed():
    model = fitted("SVC")
    other = X + 0.2 * random.normal(size=X.shape)
    broken = found(model, rows=other).broken
    assert "w is an expansion" in broken
    assert "KKT conditions" in broken


def test_an_early_stop_is_named():
    got = found(fitted("SVC", C=100.0, max_iter=3))
    assert "KKT conditions" in got.broken
    assert "max_iter" in got["KKT conditions"].text


# -------------------------------------------------------------------- what else can be certified


def test_a_pipeline_ends_in_the_model():
    model = make_pipeline(StandardScaler(), SVC()).fit(X, BINARY)
    alone = SVC().fit(StandardScaler().fit_transform(X), BINARY)
    got = found(model)
    assert_sound(got)
    value = got["primal and dual"].values["primal"]
    assert value == pytest.approx(
        found(alone, rows=StandardScaler().fit_transform(X))["primal and dual"].values["primal"]
    )


def test_searches_have_the_machine_that_they_chose():
    assert_sound(found(GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=3).fit(X, BINARY)))
    model = SVCCV(Cs=[0.1, 10.0], gamma=[0.1, 1.0], cv=3).fit(X, BINARY)
    machine = SVC(C=model.C_, gamma=model.gamma_).fit(X, BINARY)
    a, b = (found(m)["primal and dual"].values["primal"] for m in (model, machine))
    assert a == pytest.approx(b, rel=1e-3)


@pytest.mark.parametrize("kernel", ["linear", "poly", "exponential", "laplacian", "sigmoid"])
def test_other_kernels(kernel):
    got = found(SVC(kernel=kernel, coef0=1.0, scaling="standard").fit(X, BINARY))
    assert got["KKT conditions"].status == "holds"
    assert (got["kernel"].status == "holds") == (kernel != "sigmoid")
    assert (got["primal and dual"].status == "holds") == (kernel != "sigmoid")


def test_a_precomputed_kernel_and_a_function():
    K = X @ X.T
    for model, rows in ((SVC(kernel="precomputed"), K), (SVC(kernel=lambda a, b: a @ b.T), X)):
        got = found(model.fit(rows, BINARY), rows=rows)
        assert_sound(got)
        assert got["margin"].values["rho"] == pytest.approx(
            found(SVC(kernel="linear").fit(X, BINARY))["margin"].values["rho"], rel=1e-3
        )


def test_experts_of_a_mixture_have_certificates():
    model = HardMixtureClassifier(SVC(), n_experts=3, max_iter=2, random_state=0).fit(X, BINARY)
    assert found(model)["experts"].values["n_checked"] == 3
    model.experts_[1].dual_coef_ = 2.0 * model.experts_[1].dual_coef_
    line = found(model)["experts"]
    assert line.status == "does not hold"
    assert "expert 1: " in line.text


def test_fewer_rows_than_there_are():
    model = SVC().fit(X, BINARY)
    got = found(model, max_rows=50)
    assert got.n_checked == 50
    assert "50 of 160 rows" in str(got)
    assert got["KKT conditions"].status == "holds"
    assert got["primal and dual"].status == "does not apply"
    model.intercept_ = model.intercept_ + 1.0
    assert "KKT conditions" in found(model, max_rows=50).broken
    linear = found(LinearSVC().fit(X, BINARY), max_rows=50)
    assert linear["primal and dual"].status == "does not apply"


def test_one_class_without_targets():
    model = widemargin.OneClassSVM(nu=0.2).fit(X)
    got = certificate(model, X, X_test=X + 5.0)
    assert_sound(got)
    assert got["validation"].values["estimate"] > 0.5
    assert "outliers" in got["validation"].text


def test_test_rows_must_not_be_training_rows():
    model = SVC().fit(X, BINARY)
    assert found(model, X_test=X.copy(), y_test=BINARY)["validation"].status == "does not apply"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": 0.0}, "eta=0.0"),
        ({"margin": -1.0}, "margin=-1.0"),
        ({"n_choices": 0}, "n_choices=0"),
        ({"max_rows": 1}, "max_rows=1"),
        ({"y_test": BINARY}, "y_test was given without X_test"),
        ({"sample_weight": np.zeros(160)}, "sample_weight"),
        ({"X_test": X, "y_test": BINARY[:3]}, "inconsistent"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        found(SVC().fit(X, BINARY), **options)


def test_other_estimators_are_refused():
    with pytest.raises(TypeError, match="DecisionTreeClassifier"):
        found(DecisionTreeClassifier().fit(X, BINARY))
    with pytest.raises(ValueError, match="not fitted"):
        found(MarginPerceptron())

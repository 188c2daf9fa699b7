"""Lines about capacity and risk: when they apply, and what they say."""

import numpy as np
import pytest

from widemargin import SVC, SVR, LinearSVC, MLPClassifier, SimpleMLPClassifier
from widemargin.analysis import certificate
from widemargin.theory import margin_capacity, validation_interval, vc_confidence

random = np.random.default_rng(0)
X = random.normal(size=(400, 3))
Y = X[:, 0] > 0
SEPARATED = np.abs(X[:, 0]) > 0.3
NOISY = X[:, 0] + random.normal(size=400) > 0


def test_theorem_3_4_does_not_apply_to_a_soft_margin():
    line = certificate(LinearSVC().fit(X, NOISY), X, NOISY)["margin capacity"]
    assert line.status == "does not apply"
    assert "soft" in line.text


def test_theorem_3_4_does_not_apply_to_a_margin_found_from_the_rows():
    rows, y = X[SEPARATED], Y[SEPARATED]
    model = SVC(kernel="linear", C=1e4).fit(rows, y)
    line = certificate(model, rows, y)["margin capacity"]
    assert line.status == "does not apply"
    assert "fixed before" in line.text


def test_theorem_3_4_applies_to_a_margin_fixed_before():
    rows, y = X[SEPARATED], Y[SEPARATED]
    model = SVC(kernel="rbf", C=1e6, gamma=0.5).fit(rows, y)
    found = certificate(model, rows, y, margin=0.001)
    line = found["margin capacity"]
    assert line.status == "holds"
    radius = found["radius"].values["radius"]
    assert line.values["h"] == pytest.approx(margin_capacity(radius, 0.001))
    wide = certificate(model, rows, y, margin=3.0)
    assert wide.broken == ("margin capacity",)


def test_the_capacity_of_hyperplanes_bounds_the_risk():
    line = certificate(LinearSVC().fit(X, NOISY), X, NOISY, eta=0.1)["capacity"]
    error = np.mean(LinearSVC().fit(X, NOISY).predict(X) != NOISY)
    assert line.values["h"] == 4
    assert line.values["bound"] == pytest.approx(error + vc_confidence(4, 400, 0.1))


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (SVC(), "infinitely many dimensions"),
        (SVC(kernel="poly", coef0=1.0, degree=2), None),
        (MLPClassifier((5,), max_iter=5, tol=None), "an order only"),
        (SimpleMLPClassifier(n_units=10, max_iter=5), "an order only"),
        (SVC(kernel="precomputed"), "is not known"),
    ],
    ids=repr,
)
def test_when_a_capacity_is_known(model, why):
    rows = X @ X.T if getattr(model, "kernel", "") == "precomputed" else X
    line = certificate(model.fit(rows, NOISY), rows, NOISY)["capacity"]
    if why is None:
        assert line.values["h"] == 10  # monomials of degree 2 or less in 3 inputs
    else:
        assert line.status == "does not apply"
        assert why in line.text


def test_the_validation_interval():
    model = LinearSVC().fit(X[:200], NOISY[:200])
    options = {"X_test": X[200:], "y_test": NOISY[200:], "eta": 0.1, "n_choices": 5}
    values = certificate(model, X[:200], NOISY[:200], **options)["validation"].values
    errors = int(np.sum(model.predict(X[200:]) != NOISY[200:]))
    expected = validation_interval(errors, 200, eta=0.1, n_choices=5)
    assert values["low"] == pytest.approx(expected.low)
    assert values["high"] == pytest.approx(expected.high)


def test_the_interval_of_the_median_error_covers_it():
    """In at least 1 − η of many draws, up to four standard errors."""
    train = np.linspace(0, 1, 20)[:, None]
    model = SVR(kernel="linear").fit(train, np.zeros(20))
    draws, inside = 400, 0
    for _ in range(draws):
        errors = random.exponential(size=30)
        rows = random.uniform(size=(30, 1))
        found = certificate(
            model, train, np.zeros(20), rows, model.predict(rows) + errors, eta=0.2
        )["validation"].values
        inside += found["low"] <= np.log(2.0) <= found["high"]
    assert inside / draws >= 0.8 - 4 * np.sqrt(0.2 * 0.8 / draws)
    few = certificate(model, train, np.zeros(20), rows[:3], errors[:3])["validation"]
    assert few.status == "does not apply"


def test_the_ball_holds_all_rows_when_it_is_found_from_some():
    many = random.normal(size=(3000, 2))
    many[0] = [30.0, 0.0]
    y = many[:, 1] > 0
    radius = certificate(LinearSVC().fit(many, y), many, y)["radius"].values["radius"]
    assert radius >= 0.5 * (30.0 - many[1:, 0].min())

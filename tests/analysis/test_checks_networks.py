"""Lines about networks and committees."""

import warnings

import numpy as np
import pytest

from widemargin import MLPClassifier, SimpleMLPClassifier
from widemargin.analysis import certificate

X = np.random.default_rng(0).normal(size=(300, 2))
Y = X[:, 0] * X[:, 1] > 0


def fitted(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, Y)


def test_the_output_layer_of_a_minimum_is_an_svm():
    exact = MLPClassifier(
        (6,),
        activation="hard_tanh",
        loss="margin",
        solver="lbfgs",
        dtype="float64",
        tol=1e-9,
        max_iter=2000,
        random_state=0,
    )
    found = certificate(fitted(exact), X, Y)
    line = found["output layer is an SVM"]
    assert line.status == "holds"
    assert line.values["cost"] == pytest.approx(line.values["optimum"], rel=1e-2)
    w = exact.coefs_[-1][:, 0]
    assert found["margin"].values["rho"] == pytest.approx(2.0 / np.linalg.norm(w))
    early = certificate(fitted(exact.set_params(max_iter=2)), X, Y)["output layer is an SVM"]
    assert early.status == "does not apply"
    assert "before a minimum" in early.text


def test_the_margin_of_a_committee():
    model = fitted(SimpleMLPClassifier(n_units=64, margin=8.0, max_iter=20, random_state=0))
    found = certificate(model, X, Y)
    assert found["margin"].values["rho"] == pytest.approx(2 * 8.0 / np.sqrt(64))
    assert found["hinge bounds errors"].status == "holds"
    f = model.decision_function(X) * np.where(Y, 1.0, -1.0)
    slack = np.maximum(0.0, 1.0 - f / 8.0).sum()
    assert found["hinge bounds errors"].values["slack"] == pytest.approx(slack, rel=1e-6)
    model.geometric_margin_ = 5.0
    assert certificate(model, X, Y).broken == ("margin",)


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_networks_without_a_margin(loss):
    found = certificate(fitted(MLPClassifier((5,), loss=loss, random_state=0)), X, Y)
    assert found["margin"].status == "does not apply"
    assert found["recorded error"].status == "holds"

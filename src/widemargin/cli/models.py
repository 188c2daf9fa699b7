"""The models that the command line trains, by name."""

from typing import Any

from widemargin.linear_svm.estimators import LinearSVC, LinearSVR
from widemargin.mixtures import (
    HardMixtureClassifier,
    HardMixtureRegressor,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
)
from widemargin.mlp.classifier import MLPClassifier
from widemargin.mlp.nilsson import NilssonMLPClassifier
from widemargin.mlp.regressor import MLPRegressor
from widemargin.mlp.simple import SimpleMLPClassifier
from widemargin.perceptrons.kernel_perceptron import KernelPerceptron
from widemargin.perceptrons.kernel_sgd_svm import KernelSGDSVC
from widemargin.perceptrons.margin_perceptron import MarginPerceptron
from widemargin.perceptrons.perceptron import Perceptron
from widemargin.perceptrons.sgd_svm import SGDSVC
from widemargin.svm.nu_svc import NuSVC
from widemargin.svm.svc import SVC
from widemargin.svm.svr import SVR, NuSVR
from widemargin.tabular import TabularClassifier, TabularRegressor

__all__ = ["MODELS", "new_model"]

MODELS: dict[str, type[Any]] = {
    "perceptron": Perceptron,
    "margin-perceptron": MarginPerceptron,
    "kernel-perceptron": KernelPerceptron,
    "linear-svc": LinearSVC,
    "sgd-svc": SGDSVC,
    "kernel-sgd-svc": KernelSGDSVC,
    "mlp": MLPClassifier,
    "simple-mlp": SimpleMLPClassifier,
    "nilsson-mlp": NilssonMLPClassifier,
    "hard-mixture": HardMixtureClassifier,
    "mixture-of-experts": MixtureOfExpertsClassifier,
    "svc": SVC,
    "nu-svc": NuSVC,
    "linear-svr": LinearSVR,
    "svr": SVR,
    "nu-svr": NuSVR,
    "mlp-regressor": MLPRegressor,
    "hard-mixture-regressor": HardMixtureRegressor,
    "mixture-of-experts-regressor": MixtureOfExpertsRegressor,
    "tabular-classifier": TabularClassifier,
    "tabular-regressor": TabularRegressor,
}


def new_model(name: str) -> Any:
    """The model called `name` with the defaults of the command line: inputs are standardised.

    The classes that replace those of scikit-learn leave inputs as they are, as scikit-learn does.
    """
    model = MODELS[name]()
    if "scaling" in model.get_params() and model.scaling is None:
        model.set_params(scaling="standard")
    return model

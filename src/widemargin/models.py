"""The models by name, for the command line and the demo."""

from typing import Any

from widemargin.committee import SimpleMLPClassifier
from widemargin.kernel_perceptron import KernelPerceptron
from widemargin.linear_svm import LinearSVC
from widemargin.mixtures import HardMixtureClassifier, MixtureOfExpertsClassifier
from widemargin.mlp import MLPClassifier
from widemargin.nilsson import NilssonMLPClassifier
from widemargin.perceptron import MarginPerceptron, Perceptron
from widemargin.sgd_svm import SGDSVM
from widemargin.svm import SVC, NuSVC

__all__ = ["MODELS"]

MODELS: dict[str, type[Any]] = {
    "perceptron": Perceptron,
    "margin-perceptron": MarginPerceptron,
    "kernel-perceptron": KernelPerceptron,
    "linear-svc": LinearSVC,
    "sgd-svm": SGDSVM,
    "mlp": MLPClassifier,
    "simple-mlp": SimpleMLPClassifier,
    "nilsson-mlp": NilssonMLPClassifier,
    "hard-mixture": HardMixtureClassifier,
    "mixture-of-experts": MixtureOfExpertsClassifier,
    "svc": SVC,
    "nu-svc": NuSVC,
}

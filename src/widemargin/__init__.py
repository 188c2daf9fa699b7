"""Large-margin learning on large data: f(x) = w · Φ(x) + b, with a margin."""

from widemargin._runtime import openmp as _openmp  # noqa: F401, I001  before the core is loaded

from widemargin.linear_svm import LinearSVC, LinearSVCCV, LinearSVR, LinearSVRCV
from widemargin.metrics import GradientMetric
from widemargin.mixtures import (
    HardMixtureClassifier,
    HardMixtureRegressor,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
)
from widemargin.mlp import (
    HatEncoder,
    MLPClassifier,
    MLPRegressor,
    NilssonMLPClassifier,
    SimpleMLPClassifier,
)
from widemargin.perceptrons import (
    SGDSVC,
    KernelPerceptron,
    KernelSGDSVC,
    MarginPerceptron,
    Perceptron,
)
from widemargin.persistence import load, save
from widemargin.svm import SVC, SVCCV, SVR, SVRCV, NuSVC, NuSVR, OneClassSVM
from widemargin.tabular import TabularClassifier, TabularRegressor

__version__ = "0.1.0"

__all__ = [
    "SGDSVC",
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "GradientMetric",
    "HardMixtureClassifier",
    "HardMixtureRegressor",
    "HatEncoder",
    "KernelPerceptron",
    "KernelSGDSVC",
    "LinearSVC",
    "LinearSVCCV",
    "LinearSVR",
    "LinearSVRCV",
    "MLPClassifier",
    "MLPRegressor",
    "MarginPerceptron",
    "MixtureOfExpertsClassifier",
    "MixtureOfExpertsRegressor",
    "NilssonMLPClassifier",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Perceptron",
    "SimpleMLPClassifier",
    "TabularClassifier",
    "TabularRegressor",
    "load",
    "save",
]

"""Large-margin learning on large data: f(x) = w · Φ(x) + b, with a margin."""

from widemargin import _openmp  # noqa: F401  before anything else loads the core
from widemargin.committee import SimpleMLPClassifier
from widemargin.hats import HatEncoder
from widemargin.kernel_perceptron import KernelPerceptron
from widemargin.libsvm import load_libsvm, save_libsvm
from widemargin.linear_svm import LinearSVC, LinearSVR
from widemargin.linear_svm_path import LinearSVCCV, linear_svm_path
from widemargin.mixtures import (
    GaussianGater,
    HardMixtureClassifier,
    HardMixtureRegressor,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
    MLPGater,
    UniformGater,
)
from widemargin.mlp import MLPClassifier
from widemargin.mlp_regression import MLPRegressor
from widemargin.nilsson import NilssonMLPClassifier
from widemargin.one_class import OneClassSVM
from widemargin.perceptron import MarginPerceptron, Perceptron
from widemargin.persistence import load, save
from widemargin.sgd_svm import SGDSVM
from widemargin.streaming import fit_stream, stream
from widemargin.svm import SVC, NuSVC
from widemargin.svm_path import SVCCV, svm_path
from widemargin.svr import SVR, NuSVR
from widemargin.threshold_unit import ThresholdNetwork, ThresholdUnit

__version__ = "0.1.0"

__all__ = [
    "SGDSVM",
    "SVC",
    "SVCCV",
    "SVR",
    "GaussianGater",
    "HardMixtureClassifier",
    "HardMixtureRegressor",
    "HatEncoder",
    "KernelPerceptron",
    "LinearSVC",
    "LinearSVCCV",
    "LinearSVR",
    "MLPClassifier",
    "MLPGater",
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
    "ThresholdNetwork",
    "ThresholdUnit",
    "UniformGater",
    "fit_stream",
    "linear_svm_path",
    "load",
    "load_libsvm",
    "save",
    "save_libsvm",
    "stream",
    "svm_path",
]

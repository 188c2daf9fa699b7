"""Mixtures of experts: models made of models, f(x) = Σ_k g_k(x) f_k(x)."""

from widemargin.mixtures.gaters.cells import CellGater
from widemargin.mixtures.gaters.estimator import EstimatorGater
from widemargin.mixtures.gaters.gater import Gater
from widemargin.mixtures.gaters.gaussian import GaussianGater
from widemargin.mixtures.gaters.mlp import MLPGater
from widemargin.mixtures.gaters.uniform import UniformGater
from widemargin.mixtures.hard.classifier import HardMixtureClassifier
from widemargin.mixtures.hard.regressor import HardMixtureRegressor
from widemargin.mixtures.soft.classifier import MixtureOfExpertsClassifier
from widemargin.mixtures.soft.regressor import MixtureOfExpertsRegressor

__all__ = [
    "CellGater",
    "EstimatorGater",
    "Gater",
    "GaussianGater",
    "HardMixtureClassifier",
    "HardMixtureRegressor",
    "MLPGater",
    "MixtureOfExpertsClassifier",
    "MixtureOfExpertsRegressor",
    "UniformGater",
]

"""Mixtures of experts: models made of models, f(x) = Σ_k g_k(x) f_k(x)."""

from widemargin.mixtures._estimator_gater import EstimatorGater
from widemargin.mixtures._gater import Gater, UniformGater
from widemargin.mixtures._gaussian_gater import GaussianGater
from widemargin.mixtures._mlp_gater import MLPGater
from widemargin.mixtures.hard import HardMixtureClassifier
from widemargin.mixtures.hard_regression import HardMixtureRegressor
from widemargin.mixtures.soft import MixtureOfExpertsClassifier
from widemargin.mixtures.soft_regression import MixtureOfExpertsRegressor

__all__ = [
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

"""Mixtures of experts (thesis 3.5, chapter 6): gaters."""

from widemargin.mixtures._estimator_gater import EstimatorGater
from widemargin.mixtures._gater import Gater, UniformGater
from widemargin.mixtures._gaussian_gater import GaussianGater
from widemargin.mixtures._mlp_gater import MLPGater
from widemargin.mixtures.hard import HardMixtureClassifier
from widemargin.mixtures.hard_regression import HardMixtureRegressor

__all__ = [
    "EstimatorGater",
    "Gater",
    "GaussianGater",
    "HardMixtureClassifier",
    "HardMixtureRegressor",
    "MLPGater",
    "UniformGater",
]

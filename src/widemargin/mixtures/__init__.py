"""Mixtures of experts: models made of models, f(x) = Σ_k g_k(x) f_k(x)."""

from widemargin.mixtures.soft import MixtureOfExpertsClassifier
from widemargin.mixtures.soft_regression import MixtureOfExpertsRegressor

__all__ = ["MixtureOfExpertsClassifier", "MixtureOfExpertsRegressor"]

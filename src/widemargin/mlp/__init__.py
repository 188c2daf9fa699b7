"""Multi-layer perceptrons and committees of perceptrons (thesis, Chapter 7 and 8.5-8.7)."""

from widemargin.mlp.classifier import MLPClassifier
from widemargin.mlp.hat_encoder import HatEncoder
from widemargin.mlp.nilsson import NilssonMLPClassifier
from widemargin.mlp.regressor import MLPRegressor
from widemargin.mlp.simple import SimpleMLPClassifier

__all__ = [
    "HatEncoder",
    "MLPClassifier",
    "MLPRegressor",
    "NilssonMLPClassifier",
    "SimpleMLPClassifier",
]

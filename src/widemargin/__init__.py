"""Large-margin learning on large data: f(x) = w · Φ(x) + b, with a margin."""

from widemargin.kernel_perceptron import KernelPerceptron
from widemargin.perceptron import MarginPerceptron, Perceptron
from widemargin.persistence import load, save
from widemargin.threshold_unit import ThresholdNetwork, ThresholdUnit

__version__ = "0.1.0"

__all__ = [
    "KernelPerceptron",
    "MarginPerceptron",
    "Perceptron",
    "ThresholdNetwork",
    "ThresholdUnit",
    "load",
    "save",
]

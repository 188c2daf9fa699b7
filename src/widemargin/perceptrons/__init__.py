"""Perceptrons and the online SVM (thesis, Chapter 3 and 8.1-8.4)."""

from widemargin.perceptrons.kernel_perceptron import KernelPerceptron
from widemargin.perceptrons.kernel_sgd_svm import KernelSGDSVC
from widemargin.perceptrons.margin_perceptron import MarginPerceptron
from widemargin.perceptrons.perceptron import Perceptron
from widemargin.perceptrons.sgd_svm import SGDSVC
from widemargin.perceptrons.threshold_unit import ThresholdNetwork, ThresholdUnit

__all__ = [
    "SGDSVC",
    "KernelPerceptron",
    "KernelSGDSVC",
    "MarginPerceptron",
    "Perceptron",
    "ThresholdNetwork",
    "ThresholdUnit",
]

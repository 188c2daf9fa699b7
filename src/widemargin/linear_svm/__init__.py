"""Exact linear support vector machines."""

from widemargin.linear_svm.estimators import LinearSVC, LinearSVR
from widemargin.linear_svm.path import LinearSVCCV, linear_svm_path

__all__ = ["LinearSVC", "LinearSVCCV", "LinearSVR", "linear_svm_path"]

"""Exact linear support vector machines."""

from widemargin.linear_svm.choice import LinearSVCCV, LinearSVRCV
from widemargin.linear_svm.estimators import LinearSVC, LinearSVR
from widemargin.linear_svm.path import linear_svm_path

__all__ = ["LinearSVC", "LinearSVCCV", "LinearSVR", "LinearSVRCV", "linear_svm_path"]

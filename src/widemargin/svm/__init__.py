"""Exact kernel support vector machines (thesis, Chapter 5)."""

from widemargin.svm.choice import SVCCV, SVRCV
from widemargin.svm.nu_svc import NuSVC
from widemargin.svm.one_class import OneClassSVM
from widemargin.svm.path import svm_path
from widemargin.svm.svc import SVC
from widemargin.svm.svr import SVR, NuSVR

__all__ = ["SVC", "SVCCV", "SVR", "SVRCV", "NuSVC", "NuSVR", "OneClassSVM", "svm_path"]

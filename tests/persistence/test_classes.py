"""Every estimator of the package can be saved under its public name."""

import importlib
import inspect
import pkgutil

import pytest
from sklearn.base import BaseEstimator

import widemargin
from widemargin.persistence.classes import CLASSES, find_class, public_name

# Classes that files never hold, because only their subclasses are used -> what these share.
BASE_CLASSES = {
    "ClusterMixture": "the fit of hard mixtures on a cluster",
    "CommitteeClassifier": "the fit of committees of threshold units",
    "DualClassifier": "inputs, kernel and outputs of KernelPerceptron and KernelSGDSVC",
    "Gater": "the interface of gaters; users derive their own from it",
    "HardMixture": "the fit of hard mixtures",
    "IterativeClassifier": "classes and scores of models that are trained by epochs",
    "IterativeModel": "the training loop",
    "IterativeRegressor": "targets of models that are trained by epochs",
    "KernelClassifier": "the binary problems and votes of SVC and NuSVC",
    "KernelMachine": "the fit of exact kernel machines",
    "LinearClassifier": "stochastic gradient on linear models",
    "LinearMachine": "the fit of exact linear machines",
    "NetworkModel": "the fit of multi-layer perceptrons",
    "SoftMixtureModel": "the fit of soft mixtures",
    "StandardizedRegressor": "the scaling of targets",
    "CertifiedMachine": "the fit of exact machines",
    "ChosenKernelMachine": "the choice of C and gamma of kernel machines",
    "ChosenMachine": "the choice of C by validation",
    "DropInNetwork": "parameters of MLPClassifier and MLPRegressor",
    "KernelRegressor": "predictions of SVR and NuSVR",
    "TabularModel": "base of the models for raw tables",
}


def estimators():
    """All classes of the package that derive from BaseEstimator, found in every module."""
    found = set()
    for module in pkgutil.walk_packages(widemargin.__path__, prefix="widemargin."):
        if module.name.endswith(".__main__"):
            continue
        try:
            members = vars(importlib.import_module(module.name)).values()
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] == "widemargin":
                raise
            continue  # an optional package is not installed
        classes = [member for member in members if inspect.isclass(member)]
        found |= {cls for cls in classes if issubclass(cls, BaseEstimator)}
    return {cls for cls in found if cls.__module__.startswith("widemargin")}


ESTIMATORS = estimators()


def test_every_estimator_has_a_public_name_or_is_a_base_class():
    unnamed = {cls.__name__ for cls in ESTIMATORS if public_name(cls) is None}
    missing = unnamed - BASE_CLASSES.keys()
    assert not missing, f"add {sorted(missing)} to persistence/classes.py"
    assert unnamed == BASE_CLASSES.keys()


@pytest.mark.parametrize("name", BASE_CLASSES)
def test_base_classes_have_subclasses_that_can_be_saved(name):
    (base,) = (cls for cls in ESTIMATORS if cls.__name__ == name)
    assert any(issubclass(cls, base) and public_name(cls) for cls in ESTIMATORS)
    assert "__init__" not in vars(base), "a class with parameters of its own can be instantiated"


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_name_finds_its_class(name):
    if name.startswith("widemargin.dask."):
        pytest.importorskip("dask")
    cls = find_class(name)
    assert issubclass(cls, BaseEstimator)
    assert cls.__name__ == name.rpartition(".")[2]
    assert public_name(cls) == name


def test_every_exported_estimator_can_be_saved():
    exported = [getattr(widemargin, name) for name in widemargin.__all__]
    for cls in exported:
        if inspect.isclass(cls) and issubclass(cls, BaseEstimator):
            assert public_name(cls) == f"widemargin.{cls.__name__}"

"""The estimators of this package that a model file may hold, under their public names.

A file names ``widemargin.SVC``, not the module in which that class is defined, so modules can
move.  Gaters, experts and other helpers are named in the same way.
"""

from importlib import import_module

__all__ = ["CLASSES", "find_class", "public_name"]

# Module -> the classes that it exports.
_EXPORTS = {
    "widemargin": (
        "GradientMetric HardMixtureClassifier HardMixtureRegressor HatEncoder KernelPerceptron "
        "KernelSGDSVC LinearSVC LinearSVCCV LinearSVR LinearSVRCV MLPClassifier MLPRegressor "
        "MarginPerceptron "
        "MixtureOfExpertsClassifier MixtureOfExpertsRegressor NilssonMLPClassifier NuSVC NuSVR "
        "OneClassSVM Perceptron SGDSVC SVC SVCCV SVR SVRCV SimpleMLPClassifier TabularClassifier "
        "TabularRegressor"
    ),
    "widemargin.dask": "HardMixtureClassifier HardMixtureRegressor",
    "widemargin.mixtures": "CellGater EstimatorGater GaussianGater MLPGater UniformGater",
    "widemargin.mixtures.hard.experts": "ConstantExpert PlattExpert",
    "widemargin.perceptrons.feature_scaler": "FeatureScaler",
    "widemargin.streaming": "Checkpoint",
    "widemargin.tables": "TableEncoder",
    "widemargin.tabular": "InputForm",
    "widemargin.tables.text": "TextColumns",
}

#: Name in a file -> module that exports the class.
CLASSES: dict[str, str] = {
    f"{'widemargin.dask' if module == 'widemargin.dask' else 'widemargin'}.{name}": module
    for module, names in _EXPORTS.items()
    for name in names.split()
}


def public_name(cls: type) -> str | None:
    """Name under which files hold instances of `cls`, or None if they cannot."""
    for name in (f"widemargin.{cls.__name__}", f"widemargin.dask.{cls.__name__}"):
        if name in CLASSES and cls.__module__.startswith("widemargin") and find_class(name) is cls:
            return name
    return None


def find_class(name: str) -> type:
    """The class with this name in files; the inverse of `public_name`."""
    if name not in CLASSES:
        raise ValueError(f"{name!r} is not an estimator of this version of widemargin")
    try:
        module = import_module(CLASSES[name])
    except ImportError as error:
        raise ValueError(f"class {name!r} cannot be imported ({error})") from error
    cls: type = getattr(module, name.rpartition(".")[2])
    return cls

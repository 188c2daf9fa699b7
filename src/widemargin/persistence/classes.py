"""The estimators of this package that a model file may hold, under their public names.

A file says ``widemargin.SVC``, never where in the package that class is, so modules can move.
"""

from importlib import import_module

__all__ = ["CLASSES", "find_class", "public_name"]

# Module that exports classes -> the classes.
_HOMES = {
    "widemargin": (
        "HardMixtureClassifier HardMixtureRegressor HatEncoder KernelPerceptron LinearSVC "
        "LinearSVCCV LinearSVR MLPClassifier MLPRegressor MarginPerceptron "
        "MixtureOfExpertsClassifier MixtureOfExpertsRegressor NilssonMLPClassifier NuSVC NuSVR "
        "OneClassSVM Perceptron SGDSVC SVC SVCCV SVR SimpleMLPClassifier"
    ),
    "widemargin.dask": "HardMixtureClassifier HardMixtureRegressor",
    "widemargin.mixtures": "EstimatorGater GaussianGater MLPGater UniformGater",
    "widemargin.mixtures.hard.experts": "ConstantExpert PlattExpert",
    "widemargin.streaming": "Checkpoint",
    "widemargin.tables": "TextColumns",
}

#: Name in a file -> module that exports the class.
CLASSES: dict[str, str] = {
    f"{'widemargin.dask' if module == 'widemargin.dask' else 'widemargin'}.{name}": module
    for module, names in _HOMES.items()
    for name in names.split()
}


def public_name(cls: type) -> str | None:
    """Name under which files hold instances of `cls`; None if they may not."""
    for name in (f"widemargin.{cls.__name__}", f"widemargin.dask.{cls.__name__}"):
        if name in CLASSES and cls.__module__.startswith("widemargin") and find_class(name) is cls:
            return name
    return None


def find_class(name: str) -> type:
    """The class that files call `name`; the opposite of `public_name`."""
    if name not in CLASSES:
        raise ValueError(f"{name!r} is not an estimator of this version of widemargin")
    try:
        module = import_module(CLASSES[name])
    except ImportError as error:
        raise ValueError(f"class {name!r} cannot be imported ({error})") from error
    cls: type = getattr(module, name.rpartition(".")[2])
    return cls

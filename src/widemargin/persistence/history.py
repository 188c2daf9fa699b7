"""What older model files call classes, parameters and attributes, and what they are called now.

Format 1 named a class by the module it was in. `upgrade` rewrites the JSON tree of a file before
it is decoded, so that everything else knows the present names only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CHANGES", "CLASSES_OF_FORMAT_1", "Changes", "upgrade"]

#: Module in which format 1 found classes -> the classes, "old" or "old=new".
_MODULES_OF_FORMAT_1 = {
    "widemargin.committee": "SimpleMLPClassifier",
    "widemargin.hats": "HatEncoder",
    "widemargin.kernel_perceptron": "KernelPerceptron",
    "widemargin.linear_svm": "LinearSVC LinearSVR",
    "widemargin.linear_svm_path": "LinearSVCCV",
    "widemargin.mixtures": "EstimatorGater GaussianGater MLPGater UniformGater",
    "widemargin.mixtures._experts": "ConstantExpert PlattExpert",
    "widemargin.mixtures.hard": "HardMixtureClassifier",
    "widemargin.mixtures.hard_regression": "HardMixtureRegressor",
    "widemargin.mixtures.soft": "MixtureOfExpertsClassifier",
    "widemargin.mixtures.soft_regression": "MixtureOfExpertsRegressor",
    "widemargin.mlp": "MLPClassifier",
    "widemargin.mlp_regression": "MLPRegressor",
    "widemargin.nilsson": "NilssonMLPClassifier",
    "widemargin.one_class": "OneClassSVM",
    "widemargin.perceptron": "MarginPerceptron Perceptron",
    "widemargin.sgd_svm": "SGDSVM=SGDSVC",
    "widemargin.streaming": "Checkpoint",
    "widemargin.svm": "NuSVC SVC",
    "widemargin.svm_path": "SVCCV",
    "widemargin.svr": "NuSVR SVR",
    "widemargin.tables": "TextColumns",
}

#: Class name in files of format 1 -> name now.
CLASSES_OF_FORMAT_1: dict[str, str] = {
    f"{module}.{names.partition('=')[0]}": f"widemargin.{names.rpartition('=')[2]}"
    for module, classes in _MODULES_OF_FORMAT_1.items()
    for names in classes.split()
} | {
    "widemargin.dask.hard.HardMixtureClassifier": "widemargin.dask.HardMixtureClassifier",
    "widemargin.dask.hard_regression.HardMixtureRegressor": "widemargin.dask.HardMixtureRegressor",
}


@dataclass(frozen=True)
class Changes:
    """What became of the parameters and attributes of a class since format 1.

    Each mapping has the old name and the new one, or None for what is gone. All renamings happen
    at once, so names may be exchanged. `values` has, by the **new** name of a parameter, old
    values and new ones.
    """

    parameters: Mapping[str, str | None] = field(default_factory=dict)
    attributes: Mapping[str, str | None] = field(default_factory=dict)
    values: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)


#: Present name of a class -> its changes since format 1.
CHANGES: dict[str, Changes] = {}


def upgrade(node: Any) -> Any:
    """The tree of a model of format 1 with the present names."""
    if isinstance(node, list):
        return [upgrade(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: upgrade(value) for key, value in node.items()}
    if node.get("kind") == "estimator":
        name = node["class"] = CLASSES_OF_FORMAT_1.get(node["class"], node["class"])
        if changes := CHANGES.get(name):
            node["params"] = _renamed(node["params"], changes.parameters)
            node["state"] = _renamed(node["state"], changes.attributes)
            for parameter, values in changes.values.items():
                value = node["params"].get(parameter)
                if isinstance(value, (str, bool, type(None))):
                    node["params"][parameter] = values.get(value, value)
    return node


def _renamed(nodes: Mapping[str, Any], names: Mapping[str, str | None]) -> dict[str, Any]:
    new = {old: names.get(old, old) for old in nodes}
    return {name: nodes[old] for old, name in new.items() if name is not None}

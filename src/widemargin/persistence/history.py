"""Names of classes, parameters and attributes in older model files, and their current names.

Format 1 named a class by the module that defined it.  `upgrade` rewrites the JSON tree of such a
file before it is decoded, so that all other code needs only the current names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CHANGES", "CLASSES_OF_FORMAT_1", "Changes", "upgrade"]

#: Module in format 1 -> its classes, each "name" or "old=new".
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

#: Class name in files of format 1 -> current name.
CLASSES_OF_FORMAT_1: dict[str, str] = {
    f"{module}.{names.partition('=')[0]}": f"widemargin.{names.rpartition('=')[2]}"
    for module, classes in _MODULES_OF_FORMAT_1.items()
    for names in classes.split()
} | {
    "widemargin.dask.hard.HardMixtureClassifier": "widemargin.dask.HardMixtureClassifier",
    "widemargin.dask.hard_regression.HardMixtureRegressor": "widemargin.dask.HardMixtureRegressor",
}


Names = Mapping[str, str | None]  # old name -> new name, or None for what is gone


@dataclass(frozen=True)
class Changes:
    """Parameters and attributes of a class that were renamed or removed since format 1.

    `parameters` and `attributes` map an old name to the new one, or to None if it was removed. All
    renamings happen at once, so names can be swapped. `values` maps the **new** name of a parameter
    to a mapping from old values to new ones. `records` renames entries of
    `history_`.
    """

    parameters: Names = field(default_factory=dict)
    attributes: Names = field(default_factory=dict)
    values: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    records: Names = field(default_factory=dict)

    def __or__(self, other: "Changes") -> "Changes":
        """These changes and others."""
        return Changes(
            {**self.parameters, **other.parameters},
            {**self.attributes, **other.attributes},
            {**self.values, **other.values},
            {**self.records, **other.records},
        )


#: Models that scale their inputs.
SCALING = Changes(
    parameters={"standardize": "scaling"},
    attributes={"feature_mean_": "feature_offset_"},
    values={"scaling": {True: "standard", False: None}},
)

#: Classifiers that measure a margin.
MARGIN = Changes(
    attributes={"margin_": "geometric_margin_"}, records={"margin": "geometric_margin"}
)

#: Present name of a class -> its changes since format 1.
CHANGES: dict[str, Changes] = {
    f"widemargin.{name}": changes
    for name, changes in {
        # perceptrons
        "Perceptron": SCALING,
        "MarginPerceptron": SCALING,
        "SGDSVC": SCALING,
        "KernelPerceptron": SCALING,
        # linear SVMs
        "LinearSVC": SCALING,
        "LinearSVR": SCALING,
        "LinearSVCCV": SCALING,
        # multi-layer perceptrons
        "MLPClassifier": SCALING,
        "MLPRegressor": SCALING,
        "SimpleMLPClassifier": SCALING,
        "NilssonMLPClassifier": SCALING,
        "HatEncoder": SCALING,
        # mixtures
        "MixtureOfExpertsClassifier": SCALING,
        "MixtureOfExpertsRegressor": SCALING,
        "MLPGater": SCALING,
        "GaussianGater": SCALING,
    }.items()
}


def upgrade(node: Any) -> Any:
    """The JSON tree of a model of format 1 with the current names."""
    if isinstance(node, list):
        return [upgrade(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: upgrade(value) for key, value in node.items()}
    if node.get("kind") == "estimator":
        name = node["class"] = CLASSES_OF_FORMAT_1.get(node["class"], node["class"])
        if changes := CHANGES.get(name):
            node["params"] = _with_values(_renamed(node["params"], changes.parameters), changes)
            node["state"] = _upgraded_state(_renamed(node["state"], changes.attributes), changes)
    return node


def _upgraded_state(state: dict[str, Any], changes: Changes) -> dict[str, Any]:
    """Attributes that hold names of parameters or records, with the present names."""
    if isinstance(fitted := state.get("_fitted_with"), dict):
        known = _renamed(dict(fitted["items"]), changes.parameters)
        state["_fitted_with"] = fitted | {"items": _pairs(_with_values(known, changes))}
    if isinstance(history := state.get("history_"), list):
        state["history_"] = [
            record | {"items": _pairs(_renamed(dict(record["items"]), changes.records))}
            for record in history
        ]
    return state


def _pairs(nodes: Mapping[str, Any]) -> list[list[Any]]:
    return [[name, value] for name, value in nodes.items()]


def _with_values(nodes: dict[str, Any], changes: Changes) -> dict[str, Any]:
    for parameter, values in changes.values.items():
        value = nodes.get(parameter)
        if isinstance(value, (str, bool, type(None))) and parameter in nodes:
            nodes[parameter] = values.get(value, value)
    return nodes


def _renamed(nodes: Mapping[str, Any], names: Names) -> dict[str, Any]:
    new = {old: names.get(old, old) for old in nodes}
    return {name: nodes[old] for old, name in new.items() if name is not None}

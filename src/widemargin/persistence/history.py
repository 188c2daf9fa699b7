"""Names of classes, parameters and attributes in older model files, and their current names.

Format 1 named a class by the module that defined it.  In format 2, ``criterion="mse"`` of
`MixtureOfExpertsClassifier` meant what is now "tanh_mse".  `upgrade` rewrites the JSON tree of an
older file before it is decoded, so that all other code needs only the current names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = [
    "CHANGES",
    "CHANGES_SINCE_2",
    "CLASSES_OF_FORMAT_1",
    "Changes",
    "tensor_names",
    "upgrade",
]

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
    to a mapping from old values to new ones. `records` renames or removes entries of `history_`.
    `convert` is for parameters that follow from several old ones: it gets all parameters, with
    their new names and values, and all attributes, which it may change, and returns the parameters.
    """

    parameters: Names = field(default_factory=dict)
    attributes: Names = field(default_factory=dict)
    values: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    records: Names = field(default_factory=dict)
    convert: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]] | None = None

    def __or__(self, other: "Changes") -> "Changes":
        """These changes and others."""
        return Changes(
            {**self.parameters, **other.parameters},
            {**self.attributes, **other.attributes},
            {**self.values, **other.values},
            {**self.records, **other.records},
            self.convert or other.convert,
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

#: Kernel SVMs; those loaded from a LIBSVM file noted that, now they have no training set.
KERNEL_SVM = Changes(attributes={"_wide": "_double_precision", "_from_libsvm": None})

#: Linear SVMs.
LINEAR_SVM = SCALING | Changes(attributes={"_former": "_last_solution"})

#: Classifiers that measured a margin where it means nothing.
NO_MARGIN = Changes(attributes={"margin_": None}, records={"margin": None})


def _network_decays(parameters: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """Decays as multiples of 1 / batch size; they were per step for `mu`, `nu` and AdamW."""
    names = ("alpha", "mu", "nu", "batch_size")
    alpha, mu, nu, batch = (_plain(parameters.get(name)) for name in names)
    rest = {name: node for name, node in parameters.items() if name not in ("mu", "nu")}
    per_step = parameters.get("solver") == "adamw"
    if alpha is None or (mu is None and nu is None and not per_step):
        return rest
    batch = _batch_rows(batch, state)
    unless_given = alpha * batch if per_step else alpha
    hidden, output = (unless_given if decay is None else decay * batch for decay in (nu, mu))
    return rest | {"alpha": hidden, "output_alpha": None if output == hidden else output}


def _batch_rows(batch_size: Any, state: dict[str, Any]) -> int:
    """Examples per step of a network; "auto" is 200, or all if there are fewer."""
    if batch_size != "auto":
        return int(batch_size)
    rows = [dict(record["items"]).get("rows", 200) for record in state.get("history_", [])]
    return min(200, max(rows, default=200))


#: Multi-layer perceptrons with scikit-learn's parameters.
NETWORK = Changes(
    parameters={"criterion": "loss"},
    values={
        "loss": {
            "cross_entropy": "log_loss",
            "mse": "squared_error",
            "tanh_mse": "tanh_squared_error",
        }
    },
    convert=_network_decays,
)

#: Gaters and soft mixtures, which are trained by gradient.
STEPS = Changes(
    parameters={"alpha": "mu", "learning_rate": "schedule", "learning_rate_init": "learning_rate"}
)


def _gater_decay(parameters: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """The decay per step; it was a multiple of 1 / batch size, except for AdamW."""
    decay, batch = (_plain(parameters.get(name)) for name in ("mu", "batch_size"))
    if not decay or parameters.get("solver") == "adamw":
        return parameters
    return parameters | {"mu": decay / _batch_rows(batch, state)}


def _mixture_scaling(parameters: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """Replaces the scaler of scikit-learn in a fitted mixture by the statistics that it kept."""
    if "_scaler" not in state:
        return parameters
    scaler, width = state.pop("_scaler"), _plain(state["n_features_in_"])
    kept: dict[str, Any] = {"kind": None, "mean": [0.0] * width, "variance": [1.0] * width}
    if scaler is not None:
        found = scaler["state"]
        kind = "standard" if scaler["class"].endswith("StandardScaler") else "minmax"
        dense = kind == "minmax" and "data_min_" in found
        centre = dense or scaler["params"].get("with_mean", False)
        kept |= {"kind": kind, "centre": centre}
        if kind == "standard":
            kept |= {"mean": found["mean_"], "variance": found["var_"]}
        else:
            low, high = ("data_min_", "data_max_") if dense else ("max_abs_", "max_abs_")
            kept |= {"low": found[low], "high": found[high]}
    state["_scaling_state"] = {"kind": "dict", "items": _pairs(kept)}
    return parameters


#: Hard mixtures.
HARD_MIXTURE = Changes(
    parameters={"n_iter": "max_iter", "capacity": "balance", "scale": "scaling"},
    attributes={"_speech": "_output_format"},
    convert=_mixture_scaling,
)


def _soft_mixture_state(parameters: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """The statistics of the inputs in a place of their own; they stood beside Adam's moments."""
    if "_state" in state:
        kept = dict(state["_state"]["items"])
        names = {"mean": "mean", "variance": "variance", "seen": "weight"}
        scaling = {new: kept.pop(old) for old, new in names.items()}
        kept["scaling"] = {"kind": "dict", "items": _pairs(scaling)}
        state["_state"] = {"kind": "dict", "items": _pairs(kept)}
    return parameters


#: Soft mixtures.
SOFT_MIXTURE = (
    SCALING
    | STEPS
    | Changes(
        parameters={"n_hidden": "n_units", "gater_units": "n_gater_units"},
        convert=_soft_mixture_state,
    )
)


#: Classifiers among them: the squared error of tanh f has a name of its own.
TANH_MSE = Changes(values={"criterion": {"mse": "tanh_mse"}})


def _committee_state(parameters: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """The statistics of the inputs with their present names."""
    if "_state" in state:
        kept = dict(state["_state"]["items"])
        scaling = dict(kept.pop("moments")["items"]) | {"divide": kept.pop("scaled")}
        kept["scaling"] = {"kind": "dict", "items": _pairs(scaling)}
        kept["front"] = kept.pop("block")
        state["_state"] = {"kind": "dict", "items": _pairs(kept)}
    return parameters


#: Committees.
COMMITTEE = SCALING | MARGIN | Changes(convert=_committee_state)

#: Present name of a class -> its changes since format 1.
CHANGES: dict[str, Changes] = {
    f"widemargin.{name}": changes
    for name, changes in {
        # perceptrons
        "Perceptron": SCALING | NO_MARGIN,
        "MarginPerceptron": SCALING | MARGIN,
        "SGDSVC": SCALING | MARGIN | Changes(attributes={"objective_": None}),
        "KernelPerceptron": SCALING | NO_MARGIN | Changes(attributes={"_squared_norm": None}),
        # kernel SVMs
        "SVC": KERNEL_SVM,
        "SVCCV": KERNEL_SVM,
        "NuSVC": KERNEL_SVM,
        "SVR": KERNEL_SVM,
        "NuSVR": KERNEL_SVM,
        "OneClassSVM": KERNEL_SVM,
        # linear SVMs
        "LinearSVC": LINEAR_SVM,
        "LinearSVR": LINEAR_SVM,
        "LinearSVCCV": LINEAR_SVM,
        # multi-layer perceptrons
        "MLPClassifier": SCALING | MARGIN | NETWORK,
        "MLPRegressor": SCALING | NETWORK,
        "SimpleMLPClassifier": COMMITTEE | Changes(parameters={"lock_free": None}),
        "NilssonMLPClassifier": COMMITTEE,
        "HatEncoder": SCALING | Changes(attributes={"mean_": "offset_"}),
        # mixtures
        "HardMixtureClassifier": HARD_MIXTURE,
        "HardMixtureRegressor": HARD_MIXTURE,
        "dask.HardMixtureClassifier": HARD_MIXTURE,
        "dask.HardMixtureRegressor": HARD_MIXTURE,
        "MixtureOfExpertsClassifier": SOFT_MIXTURE | TANH_MSE,
        "MixtureOfExpertsRegressor": SOFT_MIXTURE,
        "MLPGater": SCALING | STEPS | Changes(convert=_gater_decay),
        "GaussianGater": SCALING,
    }.items()
}

#: The same since format 2.
CHANGES_SINCE_2: dict[str, Changes] = {"widemargin.MixtureOfExpertsClassifier": TANH_MSE}


def upgrade(node: Any, written_as: int = 1) -> Any:
    """The JSON tree of a model of an older format with the current names."""
    if isinstance(node, list):
        return [upgrade(item, written_as) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: upgrade(value, written_as) for key, value in node.items()}
    if node.get("kind") == "estimator":
        name = node["class"] = CLASSES_OF_FORMAT_1.get(node["class"], node["class"])
        if changes := (CHANGES if written_as == 1 else CHANGES_SINCE_2).get(name):
            node["params"] = _with_values(_renamed(node["params"], changes.parameters), changes)
            node["state"] = _renamed(node["state"], changes.attributes)
            _upgrade_records(node["state"], changes)
            if changes.convert is not None:
                node["params"] = changes.convert(node["params"], node["state"])
        _upgrade_fitted_with(node["params"], node["state"], changes or Changes())
    return node


def tensor_names(node: Any) -> set[str]:
    """The tensors that a JSON tree refers to."""
    if isinstance(node, dict):
        own = {node["tensor"]} if node.get("kind") == "array" else set()
        return own.union(*(tensor_names(value) for value in node.values()))
    if isinstance(node, list):
        return set().union(*(tensor_names(item) for item in node))
    return set()


def _upgrade_records(state: dict[str, Any], changes: Changes) -> None:
    """The records of `history_` with the current names."""
    if isinstance(history := state.get("history_"), list):
        state["history_"] = [
            record | {"items": _pairs(_renamed(dict(record["items"]), changes.records))}
            for record in history
        ]


def _upgrade_fitted_with(params: dict[str, Any], state: dict[str, Any], changes: Changes) -> None:
    """The parameters that a model was fitted with, under their current names.

    Estimators among them are left out: a file holds their text, which has the old names.
    """
    if isinstance(fitted := state.get("_fitted_with"), dict):
        known = _with_values(_renamed(dict(fitted["items"]), changes.parameters), changes)
        plain = {name: value for name, value in known.items() if not _is_estimator(params, name)}
        state["_fitted_with"] = fitted | {"items": _pairs(plain)}


def _is_estimator(nodes: Mapping[str, Any], name: str) -> bool:
    node = nodes.get(name)
    return isinstance(node, dict) and node.get("kind") in ("estimator", "same")


def _plain(node: Any) -> Any:
    """The value of a small node: itself, or of a NumPy number."""
    if isinstance(node, dict) and node.get("kind") == "scalar":
        return np.frombuffer(bytes.fromhex(node["hex"]), node["dtype"])[0].item()
    return node


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

"""From a finished run to its record."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from typing import Any

import numpy as np

from widemargin.analysis.report import FAILS, HOLDS
from widemargin.easy.data import Data
from widemargin.easy.inspection import Inspection
from widemargin.easy.models import BASELINE
from widemargin.report.record import Column

__all__ = [
    "certificate_lines",
    "columns",
    "facts_of_baseline",
    "facts_of_search",
    "versions",
]

PACKAGES = ("widemargin", "numpy", "scipy", "scikit-learn", "pandas", "pyarrow")


def columns(data: Data, inspection: Inspection, model: Any, dropped: Sequence[str]) -> list[Column]:
    """All columns of the file in its order, with importances and what the encoder said."""
    known = {column.name: column for column in inspection.columns}
    encoder = getattr(model, "encoder_", None)
    shares = getattr(model, "feature_importances_", None)
    if data.named and encoder is not None and shares is not None:
        for share, encoded in zip(shares, encoder.columns_, strict=True):
            if (column := known.get(encoded["name"])) is not None:
                note = encoded["note"] or column.note
                role = "left out" if encoded["kind"] == "dropped" else column.role
                known[column.name] = replace(column, importance=float(share), note=note, role=role)
    elif shares is not None:
        places = {name: i for i, name in enumerate(data.names)}
        for name, column in known.items():
            known[name] = replace(column, importance=float(shares[places[name]]))
    roles = {name: role for role, (name, _) in data.special.items()}
    found = []
    for name in [*data.order, *([] if data.target in data.order else [str(data.target)])]:
        if name in known:
            found.append(known[name])
        elif name == data.target:
            levels = None if data.y is None else len(np.unique(data.y))
            found.append(Column(name, "target", 0, levels, "target"))
        elif name in roles:
            found.append(Column(name, roles[name], 0, None, roles[name]))
        elif name in dropped:
            found.append(Column(name, "", 0, None, "left out", "--drop"))
    return found


def facts_of_search(model: Any) -> dict[str, Any]:
    """Leaderboard, members, loss, learning curve and parameters of a tabular model."""
    trials = [plain(trial) for trial in model.trials_]
    best: dict[int, float] = {}
    for trial in model.trials_:
        rows, loss = int(trial["rows"]), float(trial["loss"])
        best[rows] = min(loss, best.get(rows, np.inf))
    return {
        "leaderboard": tuple(trials),
        "members": tuple(
            {"description": m["description"], "weight": m["weight"]} for m in model.members_
        ),
        "loss": {
            "name": model._loss_name,
            "value": float(model.loss_),
            "constant": float(model.baseline_loss_),
        },
        "learning_curve": tuple(
            {"rows": float(rows), "loss": loss} for rows, loss in sorted(best.items())
        ),
        "certificate": tuple(certificate_lines(model.members_)),
        "parameters": plain(model.get_params(deep=False)),
        "stop_reason": str(model.stop_reason_),
    }


def facts_of_baseline(model: Any) -> dict[str, Any]:
    """What differs if the model is the baseline."""
    parameters = plain(model[-1].get_params(deep=False))
    member = {"model": model, "description": BASELINE}
    lines = tuple(certificate_lines([member]))
    return {"members": (), "certificate": lines, "parameters": parameters}


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as JSON has them; what it lacks becomes None or text."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and not np.isfinite(value):
            value = None
        simple = value is None or isinstance(value, (bool, int, float, str))
        found[name] = value if simple else str(value)
    return found


def certificate_lines(members: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What the machines of an ensemble recorded about their optimality."""
    lines = []
    for member in members:
        machine = member["model"][-1]
        violation = getattr(machine, "kkt_violation_", None)
        gap, cost = (getattr(machine, f"{name}_", None) for name in GAP)
        reached = bool(getattr(machine, "converged_", False))
        if violation is not None:
            worst = float(np.max(violation))
            text = f"violated by at most {worst:.2g}; asked for: {machine.tol:g}"
            if not np.isfinite(worst):
                text = "training ended before the violation was measured"
            lines.append(_line("KKT conditions", reached, text, member, violation=worst))
        if gap is not None and cost is not None:
            distance, total = float(np.sum(gap)), float(np.sum(np.abs(cost)))
            least = max(total - distance, 1e-300)  # the dual objective: no machine costs less
            share = distance / least
            text = f"the cost is at most {share:.2%} above that of the best machine of this form"
            if not share <= 1.0:
                text = "nothing is known of how far the cost is above that of the best machine"
            good = reached or share < 0.1
            lines.append(_line("primal and dual", good, text, member, gap=distance, primal=total))
    return lines


GAP = ("duality_gap", "primal_objective")


def _line(
    name: str, good: bool, text: str, member: Mapping[str, Any], **values: float
) -> dict[str, Any]:
    status, whose = HOLDS if good else FAILS, member["description"]
    return {"name": name, "status": status, "text": text, "member": whose, "values": values}


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that the result depends on."""
    from widemargin import __version__

    found = {"python": platform.python_version(), "widemargin": __version__}
    for package in PACKAGES[1:]:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found

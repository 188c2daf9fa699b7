"""What a run from a file to a model found, as plain text and numbers.

A `Record` is kept with the model and is all that a report is made of: it has no rows of the data,
and every value is a string, a number, a boolean, None, or a list or mapping of these, so that it
survives JSON. Scores with intervals and binned curves come from `widemargin.report.evaluation`.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

__all__ = ["Column", "Decision", "Finding", "Record"]

FORMAT = 1  # raised when the meaning of a field changes


@dataclass(frozen=True)
class Decision:
    """Something that was chosen for the user, and how to choose otherwise."""

    what: str  # "task"
    value: str  # "classification, 2 classes"
    why: str  # "the target holds 2 different texts"
    override: str = ""  # "--task regression"; empty if there is no option


@dataclass(frozen=True)
class Finding:
    """Something about the data that a user should look at."""

    level: str  # "error", "warning" or "note"
    kind: str  # "id", "leakage", "imbalance", "time order", "constant", "duplicates", ...
    text: str  # what was found
    advice: str  # what to do
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Column:
    """What was understood of one column."""

    name: str
    kind: str  # "number", "category", "date", "boolean", "id", "constant", "target", ...
    missing: int
    levels: int | None  # different values, of categories
    role: str  # "input", "left out", "target", "group" or "time"
    note: str = ""
    importance: float | None = None


@dataclass(frozen=True)
class Record:
    """Everything a report needs about one run."""

    task: str  # "classification" or "regression"
    target: str
    file: str  # its name without folders
    rows: int
    train_rows: int
    test_rows: int
    classes: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = ()
    columns: tuple[Column, ...] = ()
    #: Of `TabularModel.trials_`: "model", "stage", "rows", "folds", "loss", "seconds", ...
    leaderboard: tuple[Mapping[str, Any], ...] = ()
    #: "description" and "weight" of each member of the ensemble.
    members: tuple[Mapping[str, Any], ...] = ()
    loss: Mapping[str, Any] = field(default_factory=dict)  # "name", "value", "constant"
    #: As `widemargin.report.evaluation.evaluate` returns it, of the model and of the baseline.
    evaluation: Mapping[str, Any] = field(default_factory=dict)
    baseline: Mapping[str, Any] = field(default_factory=dict)
    learning_curve: tuple[Mapping[str, float], ...] = ()  # "rows", "loss"
    #: Lines of certificates: "name", "status", "text" and the member they are about.
    certificate: tuple[Mapping[str, Any], ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)  # of each stage
    command: str = ""  # that repeats the run
    code: str = ""  # the same in Python
    stop_reason: str = ""
    baseline_name: str = ""  # what the baseline answers: "always '<=50K'"
    format: int = FORMAT

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON has it, with None for numbers that are not finite."""
        found: dict[str, Any] = _finite(asdict(self))
        return found

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, also after a round trip through JSON."""
        values = dict(found)
        for name, kind in (("decisions", Decision), ("findings", Finding), ("columns", Column)):
            values[name] = tuple(kind(**one) for one in values.get(name, ()))
        for name in ("classes", "leaderboard", "members", "learning_curve", "certificate"):
            values[name] = tuple(values.get(name, ()))
        return cls(**values)


def _finite(value: Any) -> Any:
    """The same with None for numbers that are not finite: JSON has none, and no plot holds them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value

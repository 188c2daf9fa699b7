"""What streaming asks of widemargin's own models, beyond `partial_fit`.

A pass over a stream is one epoch of the schedule of learning rates and one record of the history,
however many chunks it has.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from widemargin.perceptrons.linear_learner import LinearClassifier
from widemargin.training.estimators import IterativeModel


def give_statistics(model: Any, statistics: dict[str, Any]) -> None:
    """Lets an unfitted linear model standardise by these from its first chunk on."""
    model._known_statistics = statistics


def check_statistics(model: Any) -> None:
    """Refuse models that cannot use statistics of a first pass."""
    name = type(model).__name__
    if not isinstance(model, LinearClassifier) or model.scaling != "standard":
        raise ValueError(
            f"statistics='first pass' is for linear models with scaling='standard', not {name}; "
            "use statistics='running'"
        )
    if model.feature_map is not None:
        raise ValueError(
            f"statistics='first pass' does not work with feature_map={model.feature_map!r}, which "
            "is fitted to the first chunk; use statistics='running'"
        )
    if hasattr(model, "classes_"):
        raise ValueError(
            f"statistics='first pass' needs a new model, this {name} is fitted; use "
            "statistics='running', or clone it"
        )


@contextmanager
def nameless(model: Any, allowed: bool) -> Iterator[bool]:
    """Lets a model that knows the names of its columns take arrays without a word, if allowed.

    True if it does so: names would be compared anew with each chunk, column by column.
    """
    known = vars(model).get("feature_names_in_") if allowed else None
    if known is None or not isinstance(model, IterativeModel):
        yield False
        return
    del model.feature_names_in_
    try:
        yield True
    finally:
        model.feature_names_in_ = known


def epochs_done(model: Any) -> int:
    """Epochs of a model that was trained before."""
    return int(getattr(model, "_epochs_done", 0))


def before_chunk(model: Any, epoch: int) -> None:
    """Tells the schedule which epoch it is."""
    if isinstance(model, IterativeModel) and hasattr(model, "_epochs_done"):
        model._epochs_done = epoch


def after_chunk(model: Any, *, first: bool) -> None:
    """Merges the record of a chunk into that of its pass, unless it is the first of the pass."""
    if first or not isinstance(model, IterativeModel):
        return
    *earlier, total, chunk = model.history_
    rows = total["rows"] + chunk["rows"]
    share = chunk["rows"] / rows
    merged = chunk | {name: total[name] + chunk[name] for name in ("rows", "updates", "seconds")}
    for name in ("criterion", "error"):
        merged[name] = total[name] + share * (chunk[name] - total[name])
    model.history_ = [*earlier, merged]


def conclude(model: Any, *, epochs: int, reason: str, seconds: float) -> None:
    """Says how training ended in the attributes that `fit` would set."""
    if isinstance(model, IterativeModel) and model._begun:
        model.n_iter_ = model.best_iter_ = epochs
        model.stop_reason_ = reason
        model.fit_time_ = seconds

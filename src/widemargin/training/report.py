"""What the training loop reports of an epoch and of the end: records, lines, warnings."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widemargin._runtime.warning import warn_caller
from widemargin.training.learner import Learner, Tally

if TYPE_CHECKING:
    from widemargin.training.loop import Outcome, Plan

#: Entries of a record that `verbose` prints.
MEASURES = (
    "criterion",
    "error",
    "training_error",
    "validation_criterion",
    "validation_error",
    "geometric_margin",
)

__all__ = ["check_finite", "epoch_record", "progress_line", "warn_unfinished"]


def epoch_record(
    learner: Learner, tally: Tally, epoch: int, visited: int, rate: float | None
) -> dict[str, float]:
    weight = tally.weight or 1.0
    record: dict[str, float] = {
        "epoch": epoch,
        "rows": visited,
        "updates": tally.updates,
        "criterion": tally.criterion / weight,
        "error": tally.errors / weight,
    }
    validation = learner.validate()
    if validation is not None:
        record["validation_criterion"], record["validation_error"] = validation
    if (margin := learner.geometric_margin()) is not None:
        record["geometric_margin"] = margin
    if rate is not None:
        record["learning_rate"] = rate
    record.update(learner.measures(record["criterion"]))
    return record


def progress_line(record: dict[str, float]) -> str:
    parts = [f"epoch {record['epoch']:4d}", f"updates {record['updates']:8d}"]
    for name in MEASURES:
        if name in record:
            value = f"{record[name]:.2%}" if name.endswith("error") else f"{record[name]:.4g}"
            parts.append(f"{name.replace('_', ' ')} {value}")
    return "  ".join([*parts, f"{record['seconds']:.2f} s"])


def check_finite(estimator: Any, record: dict[str, float]) -> None:
    if not np.isfinite(record["criterion"]):
        raise ValueError(
            f"{type(estimator).__name__} diverged in epoch {record['epoch']}: its criterion is "
            f"{record['criterion']}. Scale the inputs (scaling='standard') or lower the "
            "learning rate"
        )


def warn_unfinished(estimator: Any, plan: "Plan", outcome: "Outcome") -> None:
    """Warns if training did not end by its own rule: how far it is, and what to do."""
    last = outcome.history[-1]
    name = type(estimator).__name__
    left = (
        f"{last['updates']} updates over {last['rows']} examples in the last epoch "
        f"(criterion {last['criterion']:.4g}, error {last['error']:.2%})"
    )
    resume = "the model is usable, and fit with warm_start=True resumes training here"
    made = plan.first_epoch + outcome.n_iter
    if outcome.reason == "max_iter" and made < plan.needed:
        message = (
            f"{name} reached max_iter={plan.max_iter}, {made} epochs in total, but its weight "
            f"decay takes at least 1/(L λ mu) = {plan.needed:.4g} epochs to reach the solution of "
            f"the SVM (Theorem 8.1): {left}; raise max_iter, learning_rate or mu, or give up that "
            "solution and use early_stopping=True"
        )
    elif outcome.reason == "max_iter" and plan.tol is not None:
        message = f"{name} reached max_iter={plan.max_iter}: {left}; raise max_iter or tol"
    elif outcome.advice:
        message = f"{name} {outcome.advice}: {left}"
    elif outcome.reason == "time_limit":
        message = f"{name} reached time_limit={plan.time_limit} s: {left}; {resume}"
    elif outcome.reason == "interrupted":
        message = f"{name} was interrupted after {outcome.n_iter} epochs: {left}; {resume}"
    else:
        return
    warn_caller(message, ConvergenceWarning)

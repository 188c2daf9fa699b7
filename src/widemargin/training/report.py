"""What the training loop reports of an epoch and of the end: records, lines, warnings."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.class_weight import compute_sample_weight

from widemargin._runtime.warning import warn_caller
from widemargin._typing import ArrayLike
from widemargin.progress import reporter
from widemargin.training.learner import Learner, Tally
from widemargin.training.time_limit import current_limit

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

#: Training examples that tell whether a model that was cut off is worse than a constant.
SAMPLED_EXAMPLES = 200

__all__ = [
    "check_finite",
    "epoch_record",
    "progress_line",
    "show_epoch",
    "warn_early",
    "warn_unfinished",
    "worse_than_constant",
]


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


def show_epoch(name: str, record: dict[str, float], plan: "Plan") -> None:
    """Advances the bar of the fit, if it is shown, and prints a line if it is verbose."""
    if (shown := reporter(name)) is not None:
        shown.step(record, total=plan.max_iter)
    if plan.verbose:
        print(f"[{name}] {progress_line(record)}", flush=True)


def check_finite(estimator: Any, record: dict[str, float]) -> None:
    if not np.isfinite(record["criterion"]):
        raise ValueError(
            f"{type(estimator).__name__} diverged in epoch {record['epoch']}: its criterion is "
            f"{record['criterion']}. Scale the inputs (scaling='standard') or lower the "
            "learning rate"
        )


def warn_unfinished(estimator: Any, plan: "Plan", outcome: "Outcome", *training: ArrayLike) -> None:
    """Warns if training did not end by its own rule: how far it is, and what to do.

    `training` are the inputs, targets and weights of `fit`.
    """
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
    elif outcome.reason in ("time_limit", "interrupted"):
        if outcome.reason == "time_limit" and plan.limit.share:
            return  # the fit of which this one is a part reports it
        resume = (training and worse_than_constant(estimator, *training)) or resume
        what = f"was interrupted after {outcome.n_iter} epochs"
        if outcome.reason == "time_limit":
            what = f"reached time_limit={plan.limit.seconds:.6g} s"
        message = f"{name} {what}: {left}; {resume}"
    else:
        return
    warn_caller(message, ConvergenceWarning)


def warn_early(machine: Any, left: str, note: str, *training: ArrayLike) -> None:
    """Warns if a certified machine stopped early: what remains, and what to do.

    `left` is what the solutions leave to gain, "" if all have converged; `note` is what the work
    that follows them left undone. `training` are the inputs, targets and weights of `fit`.
    """
    reason, limit = machine.stop_reason_, current_limit()
    if reason == "tol" or (reason == "time_limit" and limit.share):
        return  # of a share, the fit of which this one is a part reports it
    if reason in ("callback", "validation") and not note:
        return  # as it was asked to
    what = {
        "interrupted": f"was interrupted after {machine.fit_time_:.1f} s",
        "time_limit": f"reached time_limit={limit.seconds:.6g} s",
        "callback": "was stopped by a callback",
        "validation": "was stopped by its validation error",
        "max_iter": f"reached max_iter={machine.max_iter}",
        "rounding": f"cannot reach tol={machine.tol}, because rounding hides the remaining gap",
        "shrunk": "set aside examples that do not satisfy the conditions",
    }[reason]
    advice = [machine._remedies[reason]] if reason in machine._remedies else []
    if left and reason in ("interrupted", "time_limit", "max_iter"):
        usable = "the model is usable, and fit with warm_start=True resumes from here"
        advice.append(worse_than_constant(machine, *training) or usable)
    parts = "; ".join(filter(None, [left, note, *advice]))
    warn_caller(f"{type(machine).__name__} {what}: {parts}", ConvergenceWarning)


def worse_than_constant(
    estimator: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None
) -> str:
    """What to say of a fitted model if the best constant prediction is better; otherwise "".

    Both predict the same training examples, two hundred of them.
    """
    if not (is_classifier(estimator) or is_regressor(estimator)):
        return ""
    y = np.asarray(y)
    count = min(len(y), SAMPLED_EXAMPLES)
    rows = np.sort(np.random.RandomState(0).permutation(len(y))[:count])
    y, weights = y[rows], np.ones(count)
    if sample_weight is not None:
        weights = weights * np.asarray(sample_weight)[rows]
    if is_classifier(estimator) and getattr(estimator, "class_weight", None) is not None:
        weights = weights * compute_sample_weight(estimator.class_weight, y)
    if not weights.sum() > 0:
        return ""
    try:
        predicted = np.asarray(estimator.predict(_safe_indexing(X, rows)))
    except ValueError:
        return ""  # these parameters allow no predictions
    later = "fit with warm_start=True resumes training here, or allow more time"
    if is_regressor(estimator):
        residuals, spread = (
            np.reshape(y, (count, -1)) - z
            for z in (
                np.reshape(predicted, (count, -1)),
                np.average(np.reshape(y, (count, -1)), axis=0, weights=weights),
            )
        )
        if weights @ (residuals**2).sum(axis=1) <= weights @ (spread**2).sum(axis=1):
            return ""
        return f"the model is worse than the mean of the targets ({count} examples); {later}"
    names, codes = np.unique(y, return_inverse=True)
    best = int(np.bincount(codes, weights).argmax())
    error = float(np.average(predicted != y, weights=weights))
    constant = float(np.average(codes != best, weights=weights))
    if error <= constant:
        return ""
    return (
        f"the model is worse than its majority class: of {count} training examples it gets "
        f"{error:.1%} wrong, and always predicting {names.tolist()[best]!r} {constant:.1%}; {later}"
    )

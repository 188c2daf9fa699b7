"""What a search found, in words and numbers: records of trials, importances, a report."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from widemargin._typing import FloatArray
from widemargin.metrics import GradientMetric
from widemargin.metrics.examples import Rows
from widemargin.metrics.gradients import mean_outer_product
from widemargin.svm.machine import KernelMachine
from widemargin.tabular.evaluation import Trial

__all__ = ["column_importances", "describe", "record"]

GRADIENT_ROWS = 500  # at which machines without a metric are asked for their gradients
FEW_ROWS = 2000  # that a metric is learnt from, if no model has a gradient
MOST_COLUMNS = 30  # in a report
OVERRIDES = """\
To choose otherwise: scoring= (what is best), cv= (which rows judge), ensemble=False (one machine),
effort= (how much is tried), max_predict_ms= (quick predictions), time_limit= (seconds)."""


def record(trial: Trial, *, regression: bool) -> dict[str, Any]:
    """A line of the leaderboard."""
    machine = trial.model[-1]
    return {
        "model": str(trial.candidate),
        "stage": trial.stage,
        "rows": trial.rows,
        "folds": trial.folds,
        "loss": trial.loss,
        "spread": trial.spread,
        "seconds": trial.seconds,
        "predict_ms": trial.predict_ms,
        "vectors": len(getattr(machine, "support_", ())),
        "kkt_violation": float(np.max(getattr(machine, "kkt_violation_", np.nan))),
        **trial.candidate.settings(regression=regression),
    }


def column_importances(
    models: Sequence[Pipeline],
    weights: FloatArray,
    columns: Sequence[Any],
    rows: Rows,
    task: str,
    n_jobs: int | None = None,
) -> FloatArray:
    """How much the models depend on each column of the table; the numbers sum to 1.

    Parameters
    ----------
    models : sequence of Pipeline
        The members of an ensemble: a form, perhaps a metric, and a machine.
    weights : ndarray
        Their weights.
    columns : sequence of dict
        What the encoder says of each column; "outputs" are its encoded inputs.
    rows : Rows
        Encoded rows, some of which are used.
    task : {"classification", "regression"}
        What the target holds.
    n_jobs : int or None
        The most threads.
    """
    few, some = _spread(rows, GRADIENT_ROWS), _spread(rows, FEW_ROWS)
    total = np.zeros(rows.X.shape[1])
    for model, weight in zip(models, weights, strict=True):
        shares = _input_shares(model, few)
        if shares is not None and shares.sum() > 0:
            total += weight * shares / shares.sum()
    if not total.any() and rows.X.shape[1]:
        metric = GradientMetric(max_iter=1, task=task, sharpness=1.0, n_jobs=n_jobs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a limit that the search tells
            total = metric.fit(some.X, some.y, some.weights).feature_importances_
    found = np.array([total[list(column["outputs"])].sum() for column in columns])
    return found / found.sum() if found.any() else found


def _spread(rows: Rows, most: int) -> Rows:
    """At most so many rows, from all of a table that may be sorted."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(np.int64)]


def _input_shares(model: Pipeline, rows: Rows) -> FloatArray | None:
    """How much a model depends on each encoded input; None if it has no simple gradient."""
    form, machine = model[0], model[-1]
    if len(model) == 3:
        shares = model[1].feature_importances_
    else:
        Z = form.transform(rows.X)
        dense = np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z)
        if isinstance(machine, KernelMachine):
            derivatives = mean_outer_product(machine, Z, rows.y, None, full=False)
        elif hasattr(machine, "coef_"):
            derivatives = np.sum(np.atleast_2d(machine.coef_) ** 2, axis=0)
        else:
            return None
        shares = derivatives * dense.var(axis=0)
    return np.asarray(np.bincount(form.origin_, shares, rows.X.shape[1]), dtype=np.float64)


def describe(model: Any) -> str:
    """The text of `report`."""
    return "\n".join([*_columns(model), "", *_choices(model), "", OVERRIDES])


def _columns(model: Any) -> list[str]:
    columns, shares = model.encoder_.columns_, model.feature_importances_
    order = np.argsort(-shares, kind="stable")
    lines = [f"{len(columns)} columns became {len(model.encoder_.output_kinds_)} inputs"]
    width = min(30, max([6, *(len(str(columns[j]["name"])) for j in order[:MOST_COLUMNS])]))
    lines.append(f"  {'column':<{width}}  {'kind':<8}  importance")
    for j in order[:MOST_COLUMNS]:
        column = columns[j]
        notes = [column["note"]] if column["note"] else []
        if column["kind"] != "dropped":  # there, the note says it all
            levels = [f"{column['levels']:,} levels"] if column["levels"] else []
            missing = [f"{column['missing']:,} missing"] if column["missing"] else []
            notes = [*missing, *levels, *notes]
        name = str(column["name"])[:width]
        line = f"  {name:<{width}}  {column['kind']:<8}  {shares[j]:10.1%}  {', '.join(notes)}"
        lines.append(line.rstrip())
    if len(columns) > MOST_COLUMNS:
        lines.append(f"  … and {len(columns) - MOST_COLUMNS} columns of less importance")
    return lines


def _choices(model: Any) -> list[str]:
    lines = [
        f"{len(model.trials_)} trials in {model.fit_time_:.1f} s; {model._loss_name} of unseen "
        f"rows: {model.loss_:.4g} (of a constant: {model.baseline_loss_:.4g})",
        "  weight  model",
    ]
    for member in sorted(model.members_, key=lambda member: -member["weight"]):
        lines.append(f"  {member['weight']:6.2f}  {member['description']}")
    return lines

"""What a search found, in words and numbers: records of trials, importances, a report."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_batches

from widemargin._typing import FloatArray
from widemargin.metrics import GradientMetric
from widemargin.metrics.examples import Rows
from widemargin.metrics.gradients import mean_outer_product
from widemargin.svm.machine import KernelMachine
from widemargin.tabular.evaluation import Trial
from widemargin.tabular.targets import Target

__all__ = ["column_importances", "describe", "record"]

GRADIENT_ROWS = 500  # at which machines of sparse rows are asked for their gradients
CHANGED_ROWS = 5000  # predicted to see what a column changes, over all columns
LEAST_CHANGED, MOST_CHANGED = 10, 200  # of each column
ROWS_AT_ONCE = 1000
FEW_ROWS = 2000  # that a metric is learnt from, if no model tells anything
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
    target: Target,
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
    target : Target
        What the target asks for.
    n_jobs : int or None
        The most threads.
    """
    total = np.zeros(len(columns))
    for model, weight in zip(models, weights, strict=True):
        if len(model) == 2 and not sp.issparse(rows.X):
            shares = _changes(model, columns, rows, target)
        else:
            shares = _of_columns(_input_shares(model, _spread(rows, GRADIENT_ROWS)), columns)
        if shares.sum() > 0:
            total += weight * shares / shares.sum()
    if not total.any():
        few = _spread(rows, FEW_ROWS)
        metric = GradientMetric(max_iter=1, task=target.task, sharpness=1.0, n_jobs=n_jobs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a limit that the search tells
            metric.fit(few.X, few.y, few.weights)
        total = _of_columns(metric.feature_importances_, columns)
    return total / total.sum() if total.any() else total


def _of_columns(shares: FloatArray, columns: Sequence[Any]) -> FloatArray:
    """The sum over the encoded inputs of each column."""
    return np.array([shares[list(column["outputs"])].sum() for column in columns])


def _spread(rows: Rows, most: int) -> Rows:
    """At most so many rows, from all of a table that may be sorted."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(np.int64)]


def _changes(model: Pipeline, columns: Sequence[Any], rows: Rows, target: Target) -> FloatArray:
    """The mean squared change of a model's outputs if a column comes from other rows.

    Gradients would mislead: those of a Laplacian kernel are large where the function as a whole
    hardly rises, and zero between equal values of an indicator.
    """
    count = min(max(CHANGED_ROWS // len(columns), LEAST_CHANGED), MOST_CHANGED)
    some = _spread(rows, count)
    others = some.X[np.random.RandomState(0).permutation(len(some))]
    before = target.outputs(model, some.X)
    found = np.zeros(len(columns))
    encoded = np.array([j for j, column in enumerate(columns) if column["outputs"]])
    for batch in gen_batches(len(encoded), max(1, ROWS_AT_ONCE // len(some))):
        tables = np.repeat(some.X[None], len(encoded[batch]), axis=0)  # one per column
        for table, j in zip(tables, encoded[batch], strict=True):
            table[:, columns[j]["outputs"]] = others[:, columns[j]["outputs"]]
        outputs = target.outputs(model, np.concatenate(tables)).reshape(len(tables), len(some), -1)
        squares = np.sum((outputs - before) ** 2, axis=2)
        found[encoded[batch]] = np.average(squares, axis=1, weights=some.weights)
    return found


def _input_shares(model: Pipeline, rows: Rows) -> FloatArray:
    """How much a model with a metric, or of sparse rows, depends on each encoded input.

    All are zero for a mixture of sparse rows, which has no simple gradient.
    """
    form, machine = model[0], model[-1]
    if len(model) == 3:
        shares = model[1].feature_importances_
    else:
        Z = sp.csr_array(form.transform(rows.X))
        if isinstance(machine, KernelMachine):
            derivatives = mean_outer_product(machine, Z, rows.y, None, full=False)
        elif hasattr(machine, "coef_"):
            derivatives = np.sum(np.atleast_2d(machine.coef_) ** 2, axis=0)
        else:
            return np.zeros(rows.X.shape[1])
        variances = Z.multiply(Z).mean(axis=0) - Z.mean(axis=0) ** 2
        shares = derivatives * np.maximum(variances, 0.0)
    return np.asarray(np.bincount(form.origin_, shares, rows.X.shape[1]), dtype=np.float64)


def describe(model: Any) -> str:
    """The text of `report`."""
    return "\n".join([*_columns(model), "", *_choices(model), "", OVERRIDES])


def _columns(model: Any) -> list[str]:
    columns, shares = model.encoder_.columns_, model.feature_importances_
    order = np.argsort(-shares, kind="stable")
    lines = [f"{len(columns)} columns became {len(model.encoder_.output_kinds_)} inputs"]
    names = [" ".join(str(column["name"]).split()) for column in columns]  # on one line
    width = min(30, max([6, *(len(names[j]) for j in order[:MOST_COLUMNS])]))
    lines.append(f"  {'column':<{width}}  {'kind':<8}  importance")
    for j in order[:MOST_COLUMNS]:
        column = columns[j]
        notes = [column["note"]] if column["note"] else []
        if column["kind"] != "dropped":  # whose note says why
            levels = [f"{column['levels']:,} levels"] if column["levels"] else []
            missing = [f"{column['missing']:,} missing"] if column["missing"] else []
            notes = [*missing, *levels, *notes]
        name = names[j][:width]
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

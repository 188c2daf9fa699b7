"""`widemargin train --model NAME`: one estimator, with its parameters."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.cli.data import check_classes, check_values, named, remember_index_base
from widemargin.cli.progress import progress_bar
from widemargin.cli.summary import scores_of, summary_of

INTERRUPTED = "interrupted"  # the stop reason after Ctrl-C


def train_on_table(
    estimator: Any,
    data: Path,
    output: Path,
    reading: Mapping[str, Any],
    quiet: bool,
    many_classes: bool,
) -> tuple[Any, dict[str, Any]]:
    """Fit and save a model; return it with a summary of the training."""
    from sklearn.base import is_classifier

    from widemargin.persistence import save
    from widemargin.tables import read_table
    from widemargin.training.control import interrupt_flag

    table = read_table(data, **reading)
    if table.y is None:
        raise ValueError(f"{data}: the target column is not known; name it with --target")
    y = table.y
    if is_classifier(estimator):
        check_classes(np.unique(y), len(y), table.target_name, many=many_classes)
    else:
        y = check_values(y, table.target_name)
    X = named(table)
    mixed = X is table.X and hasattr(X, "iloc") and not hasattr(estimator, "effort")
    fitted = _with_encoder(estimator) if mixed else estimator
    start = time.perf_counter()
    # Ctrl-C while the table is encoded ends training after one step.
    with progress_bar(estimator, quiet=quiet), interrupt_flag():
        fitted.fit(X, y)
    seconds = time.perf_counter() - start
    remember_index_base(fitted, table)
    save(fitted, output)  # before anything else can go wrong
    interrupted = estimator.stop_reason_ == INTERRUPTED  # whoever stops does not want to wait
    scores = {} if interrupted else scores_of(fitted, X, y)
    epochs = getattr(estimator, "n_iter_", None)
    summary = summary_of(
        estimator,
        rows=X.shape[0],
        columns=X.shape[1],
        epochs=None if epochs is None else int(np.sum(epochs)),
        stop_reason=estimator.stop_reason_,
        **{f"training_{name}": value for name, value in scores.items()},
        seconds=seconds,
        file=str(output),
        target=table.target_name,
    )
    return fitted, summary


def _with_encoder(estimator: Any) -> Any:
    from sklearn.pipeline import Pipeline

    from widemargin.tables import TableEncoder

    return Pipeline([("encoder", TableEncoder()), ("model", estimator)])

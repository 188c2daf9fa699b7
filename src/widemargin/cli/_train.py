"""`widemargin train`: a data file in, a model file out."""

import contextlib
import difflib
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from widemargin.cli._console import (
    INTERRUPTED,
    JsonOption,
    check_output,
    err,
    listing,
    number,
    print_facts,
    print_json,
    say,
)
from widemargin.cli._data import (
    DataArgument,
    FormatOption,
    IndexBaseOption,
    NoHeaderOption,
    named,
    read,
    reader_for,
    remember_index_base,
)

WORDS = {"true": True, "false": False, "null": None, "none": None}


def train(
    data: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
    target: Annotated[
        str | None, typer.Option(help="Target column: its name, or a position such as -1.")
    ] = None,
    model: Annotated[
        str, typer.Option("--model", "-m", help="Name of the model; see: widemargin models.")
    ] = "margin-perceptron",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Parameter of the model; repeatable."),
    ] = None,
    format: FormatOption = None,
    no_header: NoHeaderOption = False,
    index_base: IndexBaseOption = None,
    test: Annotated[
        Path | None, typer.Option(help="Data file on which to measure the test error.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Stop training after this many seconds.", metavar="S")
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress bar, no summary.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Train a model on a data file and save it.

    Text becomes indicators, missing numbers the median. Ctrl-C saves the model as it stands.
    """
    from widemargin.persistence import save

    estimator = make_model(model, settings or [], time_limit)
    check_output(output, data, test)
    if test is not None and not test.is_file():
        raise FileNotFoundError(f"{test}: there is no such file")
    table = read(data, target=target, format=format, no_header=no_header, index_base=index_base)
    if table.y is None:
        raise ValueError(f"{data}: which column is the target? name it with --target")
    X = named(table)
    fitted = _with_encoder(estimator, X, mixed=X is table.X and hasattr(X, "iloc"))

    start = time.perf_counter()
    with progress_bar(estimator, quiet=quiet):
        fitted.fit(X, table.y)
    seconds = time.perf_counter() - start
    remember_index_base(fitted, table)
    save(fitted, output)  # before anything else can go wrong

    summary = _summary(fitted, estimator, X, table.y) | {"seconds": seconds, "file": str(output)}
    if test is not None:
        options = (table.target_name, format, no_header, index_base)
        X_test, y_test = reader_for(fitted)(test, *options)
        summary |= {"test_rows": len(y_test), "test_error": error_rate(fitted, X_test, y_test)}
    if json:
        print_json(summary)
    elif not quiet:
        _print_summary(summary)
    if summary["stop_reason"] == "interrupted":
        say(f"interrupted: the model as it stands was saved to {output}", "yellow")
        raise typer.Exit(INTERRUPTED)


def make_model(name: str, settings: Sequence[str], time_limit: float | None) -> Any:
    """The model called `name`, its parameters set and checked."""
    from widemargin.models import MODELS

    if name not in MODELS:
        raise ValueError(f"there is no model {name!r}; use one of {', '.join(MODELS)}")
    estimator = MODELS[name]()
    known = estimator.get_params()
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"--set {setting}: give a parameter and its value, as max_iter=50")
        if key not in known:
            close = difflib.get_close_matches(key, known, n=3, cutoff=0.5) or sorted(known)
            raise ValueError(f"{name} has no parameter {key!r}; closest: {', '.join(close)}")
        estimator.set_params(**{key: parse_value(text)})
    if time_limit is not None:
        estimator.set_params(time_limit=time_limit)
    estimator._validate_params()  # now rather than after reading the data
    return estimator


def parse_value(text: str) -> Any:
    """An integer, a float, true, false or null; anything else is a string."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def error_rate(model: Any, X: Any, y: Any) -> float:
    """Per cent of the rows that `model` gets wrong."""
    classes = model.classes_
    if not np.isin(y, classes).any():
        raise ValueError(
            f"the target holds {listing(np.unique(y))} and none of the model's classes, "
            f"{listing(classes)}"
        )
    return 100.0 * float(np.mean(np.asarray(model.predict(X) != y)))


def _with_encoder(estimator: Any, X: Any, *, mixed: bool) -> Any:
    from sklearn.pipeline import Pipeline

    from widemargin.tables import table_encoder

    return Pipeline([("encoder", table_encoder(X)), ("model", estimator)]) if mixed else estimator


def _summary(fitted: Any, estimator: Any, X: Any, y: Any) -> dict[str, Any]:
    return {
        "model": type(estimator).__name__,
        "rows": X.shape[0],
        "columns": X.shape[1],
        "features": estimator.n_features_in_,
        "classes": estimator.classes_,
        "epochs": int(np.sum(estimator.n_iter_)),
        "gap": getattr(estimator, "duality_gap_", None),
        "stop_reason": estimator.stop_reason_,
        "converged": estimator.converged_,
        "updates": getattr(estimator, "n_updates_", None),
        "margin": getattr(estimator, "margin_", None),
        "training_error": error_rate(fitted, X, y),
        "test_error": None,
    }


def _print_summary(summary: dict[str, Any]) -> None:
    encoded = summary["features"] != summary["columns"]
    updates, test_error = summary["updates"], summary["test_error"]
    exact = summary["gap"] is not None  # a machine that is solved, not trained by epochs
    print_facts(
        {
            "model": summary["model"],
            "rows": f"{summary['rows']:,}",
            "columns": f"{summary['columns']:,}"
            + (f" ({summary['features']:,} after encoding)" if encoded else ""),
            "classes": listing(summary["classes"]),
            "steps" if exact else "epochs": f"{summary['epochs']:,}, "
            f"stopped: {summary['stop_reason']}",
            "duality gap": number(float(np.sum(summary["gap"]))) if exact else None,
            "updates": None if updates is None else f"{updates:,}",
            "margin ρ": number(summary["margin"]),
            "training error": f"{summary['training_error']:.2f} %",
            "test error": None
            if test_error is None
            else f"{test_error:.2f} % of {summary['test_rows']:,} rows",
            "seconds": f"{summary['seconds']:.2f}",
            "saved to": summary["file"],
        }
    )


@contextlib.contextmanager
def progress_bar(estimator: Any, *, quiet: bool) -> Iterator[None]:
    """Watch the epochs of `estimator` on a terminal; what it prints goes to standard error."""
    with contextlib.ExitStack() as stack:
        if err.is_terminal and not quiet:
            progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("epoch"),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=err,
                transient=True,
            )
            estimator.set_callbacks(EpochBar(stack.enter_context(progress)))
            stack.callback(estimator.set_callbacks)
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield


class EpochBar:
    """scikit-learn callback that moves a bar by one step an epoch."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def setup(self, estimator: Any, context: Any) -> None:
        """Show the bar; the number of epochs is the largest possible."""
        self.task = self.progress.add_task(type(estimator).__name__, total=context.max_subtasks)

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Nothing to do: an epoch counts when it is over."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Count an epoch."""
        if context.task_name in ("epoch", "iteration"):
            self.progress.advance(self.task)

    def teardown(self, estimator: Any, context: Any) -> None:
        """Remove the bar."""
        self.progress.remove_task(self.task)

"""`widemargin train`: a data file in, a model file out."""

import contextlib
import difflib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from widemargin.cli.console import (
    INTERRUPTED,
    JsonOption,
    check_output,
    listing,
    number,
    print_facts,
    print_json,
    say,
)
from widemargin.cli.data import (
    DataArguments,
    FormatOption,
    IndexBaseOption,
    NoHeaderOption,
    named,
    read,
    reader_for,
    remember_index_base,
)
from widemargin.cli.progress import progress_bar
from widemargin.cli.stream import (
    CheckpointOption,
    ChunkRowsOption,
    ClassesOption,
    EpochsOption,
    ResumeOption,
    StatisticsOption,
    Streaming,
    StreamOption,
    train_stream,
)

WORDS = {"true": True, "false": False, "null": None, "none": None}


def train(
    data: DataArguments,
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
    stream: StreamOption = False,
    epochs: EpochsOption = None,
    classes: ClassesOption = None,
    statistics: StatisticsOption = None,
    chunk_rows: ChunkRowsOption = None,
    checkpoint: CheckpointOption = None,
    resume: ResumeOption = False,
) -> None:
    """Train a model on a data file and save it.

    Text becomes indicators, missing numbers the median. Ctrl-C saves the model as it stands.
    """
    streaming = Streaming(epochs, classes, statistics, chunk_rows, checkpoint, resume)
    if not stream:
        streaming.check_unused(data)
    estimator = make_model(model, settings or [], None if stream else time_limit)
    check_output(output, *data, test)
    if test is not None and not test.is_file():
        raise FileNotFoundError(f"{test}: there is no such file")
    reading = {"target": target, "format": format, "no_header": no_header, "index_base": index_base}
    if stream:
        fitted, summary = train_stream(
            estimator, data, output, streaming, reading, time_limit, quiet
        )
    else:
        fitted, summary = _train_on_table(estimator, data[0], output, reading, quiet)
    reading["target"] = summary.pop("target")
    if test is not None:
        X_test, y_test = reader_for(fitted)(test, **reading)
        summary |= {"test_rows": len(y_test), "test_error": error_rate(fitted, X_test, y_test)}
    if json:
        print_json(summary)
    elif not quiet:
        _print_summary(summary)
    if summary["stop_reason"] == "interrupted":
        say(f"interrupted: the model as it stands was saved to {output}", "yellow")
        raise typer.Exit(INTERRUPTED)


def _train_on_table(
    estimator: Any, data: Path, output: Path, reading: Mapping[str, Any], quiet: bool
) -> tuple[Any, dict[str, Any]]:
    """The fitted model, saved, and what to say about it."""
    from widemargin.persistence import save

    table = read(data, **reading)
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
    summary = _summary(fitted, estimator, X, table.y)
    summary |= {"seconds": seconds, "file": str(output), "target": table.target_name}
    return fitted, summary


def make_model(name: str, settings: Sequence[str], time_limit: float | None) -> Any:
    """The model called `name`, its parameters set and checked."""
    from widemargin.cli.models import MODELS

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
    """An integer, a float, true, false, null or integers as 512,512; else a string."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    with contextlib.suppress(ValueError):
        return tuple(int(part) for part in text.split(","))
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


def _per_cent(rate: float | None) -> str | None:
    return None if rate is None else f"{rate:.2f} %"


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
            "training error": _per_cent(summary.get("training_error")),
            "online error": _per_cent(summary.get("online_error")),
            "test error": None
            if test_error is None
            else f"{test_error:.2f} % of {summary['test_rows']:,} rows",
            "seconds": f"{summary['seconds']:.2f}",
            "saved to": summary["file"],
        }
    )

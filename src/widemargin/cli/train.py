"""`widemargin train`: from a data file to a model file."""

import ast
import contextlib
import difflib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from widemargin._runtime.files import is_stream
from widemargin.cli.console import (
    INTERRUPTED_EXIT_CODE,
    JsonOption,
    check_output,
    input_path,
    output_path,
    print_json,
    say,
)
from widemargin.cli.data import (
    DataArguments,
    FeaturesOption,
    FormatOption,
    IndexBaseOption,
    ManyClassesOption,
    NoHeaderOption,
    check_classes,
    named,
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
from widemargin.cli.summary import error_rate, print_summary, summary_of

CONSTANTS = {"true": True, "false": False, "null": None, "none": None}
INTERRUPTED = "interrupted"  # the stop reason after Ctrl-C
MAX_SETTING = 10_000  # characters of a tuple, list or dictionary
# Suffixes that promise a file of another format.
OTHER_FORMATS = {
    *(".pkl", ".pickle", ".p", ".joblib", ".dill", ".onnx", ".pmml", ".pt", ".pth"),
    *(".h5", ".hdf5", ".keras", ".json", ".yaml", ".csv", ".tsv", ".txt", ".parquet"),
    *(".svm", ".npz", ".npy", ".gz", ".zip"),
}


def train(
    data: DataArguments,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Model file to write, as safetensors; - is standard output."
        ),
    ],
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
    n_features: FeaturesOption = None,
    many_classes: ManyClassesOption = False,
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

    Text becomes indicators, and the median replaces missing numbers. Ctrl-C saves the model as it
    stands.
    """
    streaming = Streaming(epochs, classes, statistics, chunk_rows, checkpoint, resume)
    if not stream:
        streaming.check_unused(data)
    estimator = make_model(model, settings or [], None if stream else time_limit)
    output, console = output_path(output, json)
    data = [input_path(path) for path in data]
    test = None if test is None else input_path(test)
    check_output(output, *data, test)
    _check_suffix(output)
    if test is not None and not (test.is_file() or is_stream(test)):
        raise FileNotFoundError(f"{test}: there is no such file; check the name")
    reading: dict[str, Any] = {
        "target": target,
        "format": format,
        "header": not no_header,
        "index_base": index_base,
    }
    width = {"n_features": n_features}
    if stream:
        fitted, summary = train_stream(
            estimator, data, output, streaming, reading | width, time_limit, quiet, many_classes
        )
    else:
        fitted, summary = _train_on_table(
            estimator, data[0], output, reading | width, quiet, many_classes
        )
    reading["target"] = summary.pop("target")
    interrupted = summary["stop_reason"] == INTERRUPTED
    if test is not None and not interrupted:
        X_test, y_test = reader_for(fitted)(test, **reading)
        summary |= {"test_rows": len(y_test), "test_error": error_rate(fitted, X_test, y_test)}
    if json:
        print_json(summary)
    elif not quiet:
        print_summary(summary, console)
    if interrupted:
        say(f"interrupted: the model as it stands was saved to {output}", "yellow")
        raise typer.Exit(INTERRUPTED_EXIT_CODE)


def _check_suffix(output: Path) -> None:
    if output.suffix.lower() in OTHER_FORMATS:
        raise ValueError(
            f"--output {output}: models are written in the safetensors format, not as "
            f"{output.suffix}; name the file {output.with_suffix('.safetensors').name}"
        )


def _train_on_table(
    estimator: Any,
    data: Path,
    output: Path,
    reading: Mapping[str, Any],
    quiet: bool,
    many_classes: bool,
) -> tuple[Any, dict[str, Any]]:
    """Fit and save a model; return it with a summary of the training."""
    from widemargin.persistence import save
    from widemargin.tables import read_table
    from widemargin.training.control import interrupt_flag

    table = read_table(data, **reading)
    if table.y is None:
        raise ValueError(f"{data}: the target column is not known; name it with --target")
    check_classes(np.unique(table.y), len(table.y), table.target_name, many=many_classes)
    X = named(table)
    mixed = X is table.X and hasattr(X, "iloc")
    fitted = _with_encoder(estimator) if mixed else estimator
    start = time.perf_counter()
    # Ctrl-C while the table is encoded ends training after one step.
    with progress_bar(estimator, quiet=quiet), interrupt_flag():
        fitted.fit(X, table.y)
    seconds = time.perf_counter() - start
    remember_index_base(fitted, table)
    save(fitted, output)  # before anything else can go wrong
    interrupted = estimator.stop_reason_ == INTERRUPTED  # whoever stops does not want to wait
    summary = summary_of(
        estimator,
        rows=X.shape[0],
        columns=X.shape[1],
        epochs=int(np.sum(estimator.n_iter_)),
        stop_reason=estimator.stop_reason_,
        training_error=None if interrupted else error_rate(fitted, X, table.y),
        seconds=seconds,
        file=str(output),
        target=table.target_name,
    )
    return fitted, summary


def make_model(name: str, settings: Sequence[str], time_limit: float | None) -> Any:
    """The model called `name` with these settings, which are checked."""
    from widemargin.cli.models import MODELS, new_model

    if name not in MODELS:
        raise ValueError(f"there is no model {name!r}; use one of {', '.join(MODELS)}")
    estimator = new_model(name)
    known = estimator.get_params()
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"--set {setting}: give a parameter and its value: max_iter=50")
        if key not in known:
            close = difflib.get_close_matches(key, known, n=3, cutoff=0.5) or sorted(known)
            raise ValueError(f"{name} has no parameter {key!r}; closest: {', '.join(close)}")
        try:
            estimator.set_params(**{key: parse_value(text)})
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"--set {setting}: {error}; write (50, 50), [1, 2] or text") from None
    if time_limit is not None:
        estimator.set_params(time_limit=time_limit)
    estimator._validate_params()  # before the data are read
    return estimator


def parse_value(text: str) -> Any:
    """The value that a setting stands for.

    An integer, a float, true, false or null; numbers such as 512,512 as a tuple; tuples, lists and
    dictionaries as Python writes them; any other text as it is.

    Examples
    --------
    >>> parse_value("(50, 50)"), parse_value("50,50"), parse_value("[0.5]"), parse_value("auto")
    ((50, 50), (50, 50), [0.5], 'auto')
    """
    if text.lower() in CONSTANTS:
        return CONSTANTS[text.lower()]
    if text.strip().startswith(("(", "[", "{")):
        if len(text) > MAX_SETTING:
            raise ValueError(f"the value has more than {MAX_SETTING} characters")
        return ast.literal_eval(text.strip())
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return tuple(kind(part) for part in text.rstrip(",").split(","))
    return text


def _with_encoder(estimator: Any) -> Any:
    from sklearn.pipeline import Pipeline

    from widemargin.tables import TableEncoder

    return Pipeline([("encoder", TableEncoder()), ("model", estimator)])

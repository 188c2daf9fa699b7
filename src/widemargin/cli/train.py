"""`widemargin train`: from a data file to a model file."""

import math
import time
from pathlib import Path
from typing import Annotated

import typer

from widemargin._runtime.files import is_stream
from widemargin.cli import console as console_module
from widemargin.cli.config import ConfigOption
from widemargin.cli.console import (
    JsonOption,
    check_output,
    input_path,
    output_path,
)
from widemargin.cli.easy import (
    default_output,
)
from widemargin.cli.files import (
    DataArguments,
    DecimalOption,
    EncodingOption,
    FeaturesOption,
    FileOptions,
    FormatOption,
    HeaderOption,
    IndexBaseOption,
    SeparatorOption,
)
from widemargin.cli.stream import (
    CheckpointOption,
    ChunkRowsOption,
    ClassesOption,
    EpochsOption,
    ResumeOption,
    StatisticsOption,
    Streaming,
    StreamOption,
)
from widemargin.cli.training import HELD_OUT, Search, Training, check_suffix

STREAM_MODEL = "margin-perceptron"
SEARCH, ONE = "Search for the best model", "One model"


def train(
    data: DataArguments,
    target: Annotated[
        str | None, typer.Option(help="Target column: its name, or a position such as -1.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Model file to write, as safetensors; - is standard output. By default the name "
            "of the data file, with .safetensors, in the current folder.",
            show_default=False,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds of the whole command, from reading to the report; 300 by default, 0 for "
            "no limit. With --model: of the training alone, without a limit by default.",
            metavar="S",
            show_default=False,
        ),
    ] = None,
    test: Annotated[Path | None, typer.Option(help="Data file to measure the model on.")] = None,
    task: Annotated[
        str | None,
        typer.Option(
            help="classification or regression; by default decided by the target.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="What is best: error, auc, f1, log_loss, rmse, mae, r2, or another scorer of "
            "scikit-learn.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="Column of groups: rows of a group stay together, and it is no input.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    time_column: Annotated[
        str | None,
        typer.Option(
            help="Column of times: the last rows are held out, and it is no input.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Column to leave out; repeatable.", rich_help_panel=SEARCH),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to use although it looks like an identifier; repeatable.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of categories although its values are numbers, such as codes; repeatable.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    holdout: Annotated[
        float,
        typer.Option(
            help="Fraction of the rows that is held out to judge the model, at most 20,000 rows.",
            rich_help_panel=SEARCH,
        ),
    ] = HELD_OUT,
    max_rows: Annotated[
        int | None,
        typer.Option(min=100, help="The most rows to train on.", rich_help_panel=SEARCH),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show the plan, train nothing.", rich_help_panel=SEARCH),
    ] = False,
    resume: ResumeOption = False,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="Train this model instead; widemargin info lists them.",
            rich_help_panel=ONE,
            show_default=False,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Parameter of the model, or of the search (effort=2); repeatable.",
            rich_help_panel=ONE,
        ),
    ] = None,
    many_classes: Annotated[
        bool,
        typer.Option(
            "--many-classes",
            help="With --model: the target holds classes, even if it has many numbers.",
            rich_help_panel=ONE,
        ),
    ] = False,
    format: FormatOption = None,
    separator: SeparatorOption = None,
    header: HeaderOption = None,
    encoding: EncodingOption = None,
    decimal: DecimalOption = None,
    index_base: IndexBaseOption = None,
    n_features: FeaturesOption = None,
    stream: StreamOption = False,
    epochs: EpochsOption = None,
    classes: ClassesOption = None,
    statistics: StatisticsOption = None,
    chunk_rows: ChunkRowsOption = None,
    checkpoint: CheckpointOption = None,
    config: ConfigOption = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress bar, no summary.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Train a model on a data file, measure it on held-out rows, save it and its report.

    Without --model the best model is searched for: columns are understood, classification or
    regression is decided, rows are held out, and a report says what was decided and why. Ctrl-C
    saves the best model so far.
    """
    started = console_module.STARTED or time.perf_counter()
    columns = (drop or [], keep or [], text or [])
    search = Search(task, metric, groups, time_column, *columns, holdout, max_rows, dry_run)
    streaming = Streaming(epochs, classes, statistics, chunk_rows, checkpoint, resume)
    files = FileOptions(format, separator, header, encoding, decimal, index_base)
    data = [input_path(path) for path in data]
    if time_limit is not None and not 0 <= time_limit < math.inf:
        what = "is negative" if time_limit < 0 else "is no number of seconds"
        raise ValueError(f"--time-limit {time_limit:g} {what}; use seconds, or 0 for no limit")
    output, console = output_path(output or default_output(data[0]), json)
    test = None if test is None else input_path(test)
    check_output(output, *data, test)
    check_suffix(output)
    if test is not None and not (test.is_file() or is_stream(test)):
        raise FileNotFoundError(f"{test}: there is no such file; check the name")
    training = Training(
        data, output, target, test, time_limit, settings or [], quiet, json, console
    )
    if model is None and not stream:
        streaming.check_unused(data, resume_too=False)
        if many_classes:
            raise ValueError("--many-classes belongs to --model; use --task classification")
        training.search(search, files, n_features, resume, started)
    else:
        search.check_unused()
        if not stream:
            streaming.check_unused(data)
        training.one(model or STREAM_MODEL, files, n_features, many_classes, streaming, stream)

"""`widemargin train`: from a data file to a model file."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from widemargin._runtime.files import is_stream
from widemargin.cli import console as console_module
from widemargin.cli.config import ConfigOption
from widemargin.cli.console import (
    INTERRUPTED_EXIT_CODE,
    JsonOption,
    check_output,
    input_path,
    output_path,
    print_json,
    say,
)
from widemargin.cli.easy import (
    default_output,
    plan_of,
    print_outcome,
    print_plan,
    report_beside,
    stages,
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
from widemargin.cli.named import INTERRUPTED, train_on_table
from widemargin.cli.settings import make_model, parsed
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
from widemargin.cli.summary import print_summary, scores_of

STREAM_MODEL = "margin-perceptron"
SEARCH, ONE = "Search for the best model", "One model"
# Suffixes that promise a file of another format.
OTHER_FORMATS = {
    *(".pkl", ".pickle", ".p", ".joblib", ".dill", ".onnx", ".pmml", ".pt", ".pth"),
    *(".h5", ".hdf5", ".keras", ".json", ".yaml", ".csv", ".tsv", ".txt", ".parquet"),
    *(".svm", ".npz", ".npy", ".gz", ".zip", ".arrow", ".feather", ".html"),
}


@dataclass(frozen=True)
class Search:
    """The options that only a search has."""

    task: str | None
    metric: str | None
    groups: str | None
    time_column: str | None
    drop: list[str]
    keep: list[str]
    text: list[str]
    holdout: float
    max_rows: int | None
    dry_run: bool

    def check_unused(self) -> None:
        """Refuse these options where a model is named."""
        given = {
            "--task": self.task,
            "--metric": self.metric,
            "--groups": self.groups,
            "--time-column": self.time_column,
            "--drop": self.drop,
            "--keep": self.keep,
            "--text": self.text,
            "--holdout": self.holdout != 0.2,
            "--max-rows": self.max_rows,
            "--dry-run": self.dry_run,
        }
        if used := [name for name, value in given.items() if value]:
            raise ValueError(
                f"{used[0]} belongs to the search for the best model; leave out --model and "
                f"--stream, or {used[0]}"
            )


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
    ] = 0.2,
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
    if time_limit is not None and time_limit < 0:
        raise ValueError(f"--time-limit {time_limit:g} is negative; use seconds, or 0 for no limit")
    output, console = output_path(output or default_output(data[0]), json)
    test = None if test is None else input_path(test)
    check_output(output, *data, test)
    _check_suffix(output)
    if test is not None and not (test.is_file() or is_stream(test)):
        raise FileNotFoundError(f"{test}: there is no such file; check the name")
    command = _Command(data, output, target, test, time_limit, settings or [], quiet, json, console)
    if model is None and not stream:
        streaming.check_unused(data, resume_too=False)
        if many_classes:
            raise ValueError("--many-classes belongs to --model; use --task classification")
        command.search(search, files, n_features, resume, started)
    else:
        search.check_unused()
        if not stream:
            streaming.check_unused(data)
        command.one(model or STREAM_MODEL, files, n_features, many_classes, streaming, stream)


@dataclass(frozen=True)
class _Command:
    """What both ways of training have in common."""

    data: list[Path]
    output: Path
    target: str | None
    test: Path | None
    time_limit: float | None
    settings: list[str]
    quiet: bool
    json: bool
    console: Any

    def search(
        self,
        search: Search,
        files: FileOptions,
        n_features: int | None,
        resume: bool,
        started: float,
    ) -> None:
        """Finds, judges and saves the best model."""
        from widemargin.easy.clock import Clock
        from widemargin.easy.options import DEFAULT_SECONDS, Options
        from widemargin.easy.preparation import prepare
        from widemargin.easy.run import run

        limit = DEFAULT_SECONDS if self.time_limit is None else self.time_limit or None
        report = report_beside(self.output)
        if report is not None:
            check_output(report, *self.data, self.test)
        options = Options(
            data=self.data[0],
            output=self.output,
            report=report,
            target=self.target,
            test=self.test,
            task=search.task,
            metric=search.metric,
            groups=search.groups,
            time_column=search.time_column,
            drop=tuple(search.drop),
            keep=tuple(search.keep),
            text=tuple(search.text),
            holdout=search.holdout,
            time_limit=limit,
            max_rows=search.max_rows,
            settings=parsed(self.settings),
            resume=resume,
            format=files.format,
            index_base=files.index_base,
            n_features=n_features,
            reading=files.reading(),
        )
        clock = Clock(limit, started)
        with stages(quiet=self.quiet, limit=limit) as show:
            if search.dry_run:
                plan = plan_of(prepare(options, clock, show), clock)
            else:
                outcome = run(options, say=show, clock=clock)
        if search.dry_run:
            if self.json:
                print_json(plan)
            else:
                print_plan(plan, self.console)
            return
        if self.json:
            files_written = {"file": self.output, "report_file": outcome.report}
            print_json({**outcome.record.to_dict(), **files_written, "total": outcome.seconds})
        elif not self.quiet:
            print_outcome(outcome, options, self.console)
        if outcome.interrupted:
            self.interrupted("--resume looks for a better one")

    def one(
        self,
        model: str,
        files: FileOptions,
        n_features: int | None,
        many_classes: bool,
        streaming: Streaming,
        stream: bool,
    ) -> None:
        """Trains and saves one model."""
        if self.time_limit == 0:
            raise ValueError("--time-limit 0: with --model there is no limit without the option")
        estimator = make_model(model, self.settings, None if stream else self.time_limit)
        arguments: dict[str, Any] = {"target": self.target, "n_features": n_features}
        if stream:
            fitted, summary = train_stream(
                estimator,
                self.data,
                self.output,
                streaming,
                {**files.of_stream(), **arguments},
                self.time_limit,
                self.quiet,
                many_classes,
            )
        else:
            reading = {**files.arguments(), **arguments}
            fitted, summary = train_on_table(
                estimator, self.data[0], self.output, reading, self.quiet, many_classes
            )
        interrupted = summary["stop_reason"] == INTERRUPTED
        target = summary.pop("target")
        if self.test is not None and not interrupted:
            summary |= self.tested(fitted, target, files)
        if self.json:
            print_json(summary)
        elif not self.quiet:
            print_summary(summary, self.console)
        if interrupted:
            self.interrupted("")

    def tested(self, fitted: Any, target: str | None, files: FileOptions) -> dict[str, Any]:
        """Scores on the test file."""
        from widemargin.cli.data import reader_for

        X, y = reader_for(fitted)(self.test, target, files)
        scores = scores_of(fitted, X, y)
        return {"test_rows": len(y), **{f"test_{name}": value for name, value in scores.items()}}

    def interrupted(self, more: str) -> None:
        """Ends the command as Ctrl-C does, with the model saved."""
        text = f"interrupted: the model as it stands was saved to {self.output}"
        say(f"{text}; {more}" if more else text, "yellow")
        raise typer.Exit(INTERRUPTED_EXIT_CODE)


def _check_suffix(output: Path) -> None:
    if output.suffix.lower() in OTHER_FORMATS:
        raise ValueError(
            f"--output {output}: models are written in the safetensors format, not as "
            f"{output.suffix}; name the file {output.with_suffix('.safetensors').name}"
        )

"""What `widemargin train` does with its options: a search, or one model, and what it prints."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from widemargin.cli.console import INTERRUPTED_EXIT_CODE, check_output, print_json, say
from widemargin.cli.easy import (
    plan_of,
    print_next,
    print_outcome,
    print_plan,
    report_beside,
    stages,
)
from widemargin.cli.files import FileOptions
from widemargin.cli.named import INTERRUPTED, train_on_table
from widemargin.cli.settings import make_model, parsed
from widemargin.cli.stream import Streaming, train_stream
from widemargin.cli.summary import print_summary, scores_of

HELD_OUT = 0.2
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
            "--holdout": self.holdout != HELD_OUT,
            "--max-rows": self.max_rows,
            "--dry-run": self.dry_run,
        }
        if used := [name for name, value in given.items() if value]:
            raise ValueError(
                f"{used[0]} belongs to the search for the best model; leave out --model and "
                f"--stream, or {used[0]}"
            )


@dataclass(frozen=True)
class Training:
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
        with stages(clock, quiet=self.quiet) as show:
            if search.dry_run:
                plan = plan_of(prepare(options, clock, show), clock)
            else:
                outcome = run(options, say=show, clock=clock)
        if resume and not search.dry_run and not outcome.resumed:
            say(f"note: there was no interrupted run of {self.output} to continue")
        if search.dry_run:
            if self.json:
                print_json(plan)
            else:
                print_plan(plan, self.console)
            return
        if self.json:
            paths = {"data": self.data[0], "file": self.output, "report_file": outcome.report}
            print_json({**outcome.record.to_dict(), **paths, "total": outcome.seconds})
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
            print_next(self.output, self.data[0], self.console)
        if interrupted:
            self.interrupted("")

    def tested(self, fitted: Any, target: str | None, files: FileOptions) -> dict[str, Any]:
        """Scores on the test file."""
        from widemargin.cli.data import reader_for

        X, y = reader_for(fitted)(self.test, target, files, every_row=False)
        scores = scores_of(fitted, X, y)
        return {"test_rows": len(y), **{f"test_{name}": value for name, value in scores.items()}}

    def interrupted(self, more: str) -> None:
        """Ends the command as Ctrl-C does, with the model saved."""
        text = f"interrupted: the model as it stands was saved to {self.output}"
        say(f"{text}; {more}" if more else text, "yellow")
        raise typer.Exit(INTERRUPTED_EXIT_CODE)


def check_suffix(output: Path) -> None:
    """Refuse the suffix of another format."""
    if output.suffix.lower() in OTHER_FORMATS:
        raise ValueError(
            f"--output {output}: models are written in the safetensors format, not as "
            f"{output.suffix}; name the file {output.with_suffix('.safetensors').name}"
        )

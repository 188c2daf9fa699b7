"""`widemargin train --stream`: training on data files larger than memory."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from widemargin._runtime.files import is_stream
from widemargin.cli.console import say
from widemargin.cli.data import check_classes, remember_index_base
from widemargin.cli.progress import byte_bar
from widemargin.cli.summary import summary_of

PANEL = "Streaming"

StreamOption = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Read files, folders or patterns in chunks; the data need not fit in memory.",
        rich_help_panel=PANEL,
    ),
]
EpochsOption = Annotated[
    int | None,
    typer.Option(min=1, help="Passes over the data; 1 by default.", rich_help_panel=PANEL),
]
ClassesOption = Annotated[
    str | None,
    typer.Option(
        help="All classes, separated by commas. Without it a first pass finds them.",
        rich_help_panel=PANEL,
    ),
]
StatisticsOption = Annotated[
    str | None,
    typer.Option(
        help="Where means and variances of the inputs come from: running (the default: the rows "
        "so far) or first-pass (a pass before training).",
        rich_help_panel=PANEL,
    ),
]
ChunkRowsOption = Annotated[
    int | None, typer.Option(min=1, help="Rows per chunk.", rich_help_panel=PANEL)
]
CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        help="File that keeps the state after each chunk. By default the name of --output plus "
        ".checkpoint; that file is deleted when training is complete.",
        rich_help_panel=PANEL,
    ),
]
ResumeOption = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue an interrupted run: a search with its finished stages, a stream from its "
        "checkpoint.",
    ),
]


STATISTICS = {"running": "running", "first-pass": "first pass"}  # option -> argument


@dataclass(frozen=True)
class Streaming:
    """The options that only streams have."""

    epochs: int | None
    classes: str | None
    statistics: str | None
    chunk_rows: int | None
    checkpoint: Path | None
    resume: bool

    def check_unused(self, data: Sequence[Path], *, resume_too: bool = True) -> None:
        """Refuse these options, and several files, where --stream was not given."""
        if len(data) > 1:
            raise ValueError(f"{len(data)} data files were given; several need --stream")
        names = ("--epochs", "--classes", "--statistics", "--chunk-rows", "--checkpoint")
        given = [name for name, value in zip(names, astuple(self), strict=False) if value]
        if given or (self.resume and resume_too):
            raise ValueError(f"{(given or ['--resume'])[0]} is an option of streams; add --stream")

    def labels(self) -> np.ndarray | None:
        """The classes: numbers if all of them are numbers, otherwise text."""
        if self.classes is None:
            return None
        words = [word.strip() for word in self.classes.split(",")]
        for kind in (int, float):
            with suppress(ValueError):
                return np.array([kind(word) for word in words])
        return np.array(words)

    def statistics_argument(self) -> str:
        """--statistics as `fit_stream` takes it."""
        if self.statistics is None:
            return "running"
        if self.statistics not in STATISTICS:
            raise ValueError(f"--statistics {self.statistics}: use {' or '.join(STATISTICS)}")
        return STATISTICS[self.statistics]


def train_stream(
    estimator: Any,
    data: Sequence[Path],
    output: Path,
    options: Streaming,
    reading: Mapping[str, Any],
    time_limit: float | None,
    quiet: bool,
    many_classes: bool,
) -> tuple[Any, dict[str, Any]]:
    """Train and save a model; return it with a summary of the training."""
    from widemargin.persistence import save
    from widemargin.streaming import fit_stream, stream

    _check_model(estimator)
    statistics = options.statistics_argument()
    if options.checkpoint is None and is_stream(output):
        raise ValueError(f"{output} is not a file; name a file for the state with --checkpoint")
    checkpoint = options.checkpoint or output.with_name(f"{output.name}.checkpoint")
    if checkpoint.exists() and not options.resume:
        raise FileExistsError(
            f"{checkpoint}: this checkpoint exists; continue from it with --resume, or delete it"
        )
    try:
        with byte_bar(quiet=quiet) as progress:
            source = stream(
                data, classes=options.labels(), chunk_rows=options.chunk_rows, **reading
            )
            source.check_classes = partial(check_classes, name=source.target, many=many_classes)
            outcome = fit_stream(
                estimator,
                source,
                epochs=options.epochs or 1,
                statistics=statistics,
                checkpoint=checkpoint,
                resume=options.resume,
                time_limit=time_limit,
                progress=progress,
            )
    except BaseException:
        if checkpoint.exists():
            say(f"the work so far is in {checkpoint}; --resume continues from it", "yellow")
        raise
    fitted = source.pipeline(estimator)
    remember_index_base(fitted, source)
    save(fitted, output)
    if outcome.reason == "max_iter" and options.checkpoint is None:
        checkpoint.unlink(missing_ok=True)
    elif outcome.reason != "max_iter":
        say(f"--resume continues from {checkpoint}", "yellow")
    summary = summary_of(
        estimator,
        rows=outcome.rows,
        columns=len(source.feature_names) or source.n_features,
        epochs=outcome.epochs,
        stop_reason=outcome.reason,
        online_error=100.0 * estimator.history_[-1]["error"],
        seconds=outcome.seconds,
        file=str(output),
        target=source.target,
    )
    return fitted, summary


def streams(model: type[Any]) -> bool:
    """Whether a model learns from streams: a classifier that is trained chunk by chunk."""
    from sklearn.base import is_classifier

    estimator = model()
    return is_classifier(estimator) and hasattr(estimator, "partial_fit")


def _check_model(estimator: Any) -> None:
    from widemargin.cli.models import MODELS

    if not streams(type(estimator)):
        able = [name for name, cls in MODELS.items() if streams(cls)]
        raise ValueError(
            f"{type(estimator).__name__} needs all data in memory; use one of {', '.join(able)}, "
            "or leave out --stream"
        )

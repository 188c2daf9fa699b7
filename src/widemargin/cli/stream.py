"""`widemargin train --stream`: data files larger than memory."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from widemargin.cli.console import say
from widemargin.cli.data import options_named, remember_index_base
from widemargin.cli.progress import byte_bar

PANEL = "Streaming"

StreamOption = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Read the data in chunks, from files, folders or patterns larger than memory.",
        rich_help_panel=PANEL,
    ),
]
EpochsOption = Annotated[
    int | None,
    typer.Option(min=1, help="Passes over the data (1).", rich_help_panel=PANEL),
]
ClassesOption = Annotated[
    str | None,
    typer.Option(
        help="All classes, with commas; else a first pass finds them.", rich_help_panel=PANEL
    ),
]
StatisticsOption = Annotated[
    str | None,
    typer.Option(
        help="Means and variances of the inputs: running, or of a first-pass.",
        rich_help_panel=PANEL,
    ),
]
ChunkRowsOption = Annotated[
    int | None, typer.Option(min=1, help="Rows of a chunk.", rich_help_panel=PANEL)
]
CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        help="File to keep the state in; by default that of --output with .checkpoint behind it, "
        "until training is complete.",
        rich_help_panel=PANEL,
    ),
]
ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Go on from the checkpoint.", rich_help_panel=PANEL),
]


@dataclass(frozen=True)
class Streaming:
    """The options that only a stream has."""

    epochs: int | None
    classes: str | None
    statistics: str | None
    chunk_rows: int | None
    checkpoint: Path | None
    resume: bool

    def check_unused(self, data: Sequence[Path]) -> None:
        """Refuse them, and more than one file, without --stream."""
        if len(data) > 1:
            raise ValueError(f"{len(data)} data files were given; more than one needs --stream")
        names = ("--epochs", "--classes", "--statistics", "--chunk-rows", "--checkpoint")
        given = [name for name, value in zip(names, astuple(self), strict=False) if value]
        if given or self.resume:
            raise ValueError(f"{(given or ['--resume'])[0]} is for streams; add --stream")

    def labels(self) -> np.ndarray | None:
        """The classes: numbers if all are, else text."""
        if self.classes is None:
            return None
        words = [word.strip() for word in self.classes.split(",")]
        for kind in (int, float):
            with suppress(ValueError):
                return np.array([kind(word) for word in words])
        return np.array(words)


def train_stream(
    estimator: Any,
    data: Sequence[Path],
    output: Path,
    options: Streaming,
    reading: Mapping[str, Any],
    time_limit: float | None,
    quiet: bool,
) -> tuple[Any, dict[str, Any]]:
    """The fitted model, saved, and what to say about it."""
    from widemargin.persistence import save
    from widemargin.streaming import fit_stream, stream

    _check_model(estimator)
    checkpoint = options.checkpoint or output.with_name(f"{output.name}.checkpoint")
    try:
        with options_named(ValueError, FileExistsError), byte_bar(quiet=quiet) as progress:
            source = stream(
                data,
                target=reading["target"],
                format=reading["format"],
                header=not reading["no_header"],
                index_base=reading["index_base"],
                classes=options.labels(),
                chunk_rows=options.chunk_rows,
            )
            outcome = fit_stream(
                estimator,
                source,
                epochs=options.epochs or 1,
                statistics=(options.statistics or "running").replace("-", " "),
                checkpoint=checkpoint,
                resume=options.resume,
                time_limit=time_limit,
                progress=progress,
            )
    except FileExistsError:
        raise
    except BaseException:
        if checkpoint.exists():
            say(f"what was done so far is in {checkpoint}; --resume goes on from it", "yellow")
        raise
    fitted = source.pipeline(estimator)
    remember_index_base(fitted, source)
    save(fitted, output)
    if outcome.reason == "max_iter" and options.checkpoint is None:
        checkpoint.unlink(missing_ok=True)
    elif outcome.reason != "max_iter":
        say(f"--resume goes on from {checkpoint}", "yellow")
    return fitted, _summary(estimator, source, outcome) | {"file": str(output)}


def _check_model(estimator: Any) -> None:
    from widemargin.cli.models import MODELS

    if not hasattr(estimator, "partial_fit"):
        able = [name for name, cls in MODELS.items() if hasattr(cls(), "partial_fit")]
        raise ValueError(
            f"{type(estimator).__name__} needs all data at once; use one of {', '.join(able)}, or "
            "leave out --stream"
        )


def _summary(estimator: Any, source: Any, outcome: Any) -> dict[str, Any]:
    return {
        "model": type(estimator).__name__,
        "rows": outcome.rows,
        "columns": len(source.feature_names) or source.n_features,
        "features": estimator.n_features_in_,
        "classes": estimator.classes_,
        "epochs": outcome.epochs,
        "gap": None,
        "stop_reason": outcome.reason,
        "converged": estimator.converged_,
        "updates": getattr(estimator, "n_updates_", None),
        "margin": getattr(estimator, "margin_", None),
        "online_error": 100.0 * estimator.history_[-1]["error"],
        "test_error": None,
        "seconds": outcome.seconds,
        "target": source.target,
    }

"""`fit_stream`: trains a model on a stream, chunk by chunk, with checkpoints."""

import inspect
import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from widemargin._runtime.files import PathLike
from widemargin.datasets.common import check_count
from widemargin.streaming import models
from widemargin.streaming.checkpoint import Checkpoint, check_new
from widemargin.streaming.chunk import Chunk, Position
from widemargin.streaming.first_pass import FirstPassResult
from widemargin.streaming.source import Stream
from widemargin.training.control import interrupt_flag

__all__ = ["StreamOutcome", "StreamProgress", "fit_stream"]

FIRST_PASS_CHECKPOINT_SECONDS = 10.0  # between two checkpoints of a first pass


@dataclass(frozen=True)
class StreamProgress:
    """How far training has come after a chunk.

    Attributes
    ----------
    phase : {"first pass", "training"}
        The current phase.
    epoch : int
        Number of complete training passes.
    rows : int
        Rows of this phase so far.
    bytes_read, total_bytes : int
        Bytes read so far and bytes in total, over all epochs of this phase.
    """

    phase: str
    epoch: int
    rows: int
    bytes_read: int
    total_bytes: int


@dataclass(frozen=True)
class StreamOutcome:
    """How training ended.

    Attributes
    ----------
    model : estimator
        The model that was given, trained.
    reason : {"max_iter", "interrupted", "time_limit", "callback"}
        Why training ended; "max_iter" means that all epochs are complete.
    epochs, rows : int
        Number of complete passes, and number of rows trained on in all passes.
    seconds : float
        Training time, including that of earlier runs.
    position : Position
        The position that training has reached.
    """

    model: Any
    reason: str
    epochs: int
    rows: int
    seconds: float
    position: Position


def fit_stream(
    model: Any,
    stream: Stream,
    *,
    epochs: int = 1,
    statistics: str = "running",
    checkpoint: PathLike | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 0.0,
    time_limit: float | None = None,
    progress: Callable[[StreamProgress], Any] | None = None,
) -> StreamOutcome:
    """Train a model on a stream with `partial_fit`, one chunk at a time.

    Rows are visited in the order of the files, so the files should be in random order.  If `stream`
    was not told the classes of a classifier or the columns of svmlight files, a first pass finds
    them.

    Parameters
    ----------
    model : estimator
        Any model with `partial_fit`.  A fitted model continues to learn.
    stream : Stream
        The data, from `stream`.
    epochs : int, default=1
        Passes over the stream.  For models of widemargin, each pass is one epoch of the
        learning-rate schedule and one record of `history_`.
    statistics : {"running", "first pass"}, default="running"
        The rows whose mean and variance linear models with ``scaling="standard"`` use: the chunks
        so far, or all rows, which are read once before training.
    checkpoint : str or path, optional
        File that keeps the state, in the format of `widemargin.save`.
    resume : bool, default=False
        Whether to continue from the checkpoint, if it exists.  The result is the same as if
        training had not been interrupted.
    checkpoint_seconds : float, default=0.0
        Shortest time between two checkpoints.  With 0 there is one after each chunk, so at most one
        chunk is lost.
    time_limit : float, optional
        Seconds after which training stops, at the end of a chunk.
    progress : callable, optional
        Called with a `StreamProgress` after each chunk; training stops if it returns True.

    Returns
    -------
    StreamOutcome
        How training ended.  The model is trained in place.

    Raises
    ------
    DataFileError
        If a row cannot be used.  The message names the file and the line or row group.  The model
        and the checkpoint keep the training so far.

    Notes
    -----
    Ctrl-C ends training after the current chunk; a second Ctrl-C ends it at once.

    Examples
    --------
    >>> import pathlib, tempfile, pandas
    >>> from widemargin import MarginPerceptron
    >>> from widemargin.streaming import fit_stream, stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "rows.csv"
    ...     _ = path.write_text("a,b,y\\n" + "1,2,no\\n2,1,yes\\n4,1,yes\\n1,3,no\\n" * 50)
    ...     outcome = fit_stream(MarginPerceptron(), stream(path, target="y"), epochs=3)
    >>> new = pandas.DataFrame({"a": [3.0, 1.0], "b": [1.0, 4.0]})
    >>> outcome.rows, outcome.reason, outcome.model.predict(new).tolist()
    (600, 'max_iter', ['yes', 'no'])
    """
    _check_arguments(model, epochs, statistics, checkpoint, resume)
    if resume and checkpoint is not None and os.path.exists(checkpoint):
        state = Checkpoint.read(checkpoint, model, stream)
    else:
        if checkpoint is not None:
            check_new(checkpoint)
        if statistics == "first pass":
            models.check_statistics(model)
        state = Checkpoint.begin(model, stream, models.epochs_done(model))
    training = _Training(model, stream, state, epochs, checkpoint, checkpoint_seconds, progress)
    deadline = np.inf if time_limit is None else training.started + time_limit
    return training.run(deadline, statistics == "first pass")


def _check_arguments(
    model: Any, epochs: int, statistics: str, checkpoint: PathLike | None, resume: bool
) -> None:
    if not hasattr(model, "partial_fit"):
        raise TypeError(
            f"{type(model).__name__} has no partial_fit and cannot be trained on a stream; use a "
            "model that has one, such as MarginPerceptron, or read the data with read_table"
        )
    check_count("epochs", epochs)
    if statistics not in ("running", "first pass"):
        raise ValueError(f"statistics={statistics!r}; use 'running' or 'first pass'")
    if resume and checkpoint is None:
        raise ValueError("resume=True needs a file to continue from; name it with checkpoint=")


@dataclass
class _Training:
    """The training of one model on one stream."""

    model: Any
    stream: Stream
    state: Checkpoint
    epochs: int
    path: PathLike | None
    seconds_between: float
    progress: Callable[[StreamProgress], Any] | None
    started: float = field(default_factory=time.perf_counter)
    saved_at: float = -np.inf
    names_agree: bool = False  # whether the model has accepted the names of the columns

    def run(self, deadline: float, statistics: bool) -> StreamOutcome:
        self.earlier = self.state.seconds
        self.takes_classes = "classes" in inspect.signature(self.model.partial_fit).parameters
        self.stream.feature_names  # noqa: B018  raises at once if there is no such target
        self.save()  # raises at once if the file cannot be written
        try:
            if self.stream.classes is None and hasattr(self.model, "classes_"):
                self.stream.classes = np.asarray(self.model.classes_)
            if self.state.training:
                self.stream.adopt(self.state.found())
            else:
                self.prepare(statistics)
            reason = self.train(deadline)
        except BaseException:
            if self.state.rows or self.state.facts:
                self.save()
            elif self.path is not None:
                Path(self.path).unlink(missing_ok=True)  # there is no work to keep
            raise
        epochs = self.epochs if reason == "max_iter" else self.state.place.epoch
        models.conclude(
            self.model,
            epochs=self.state.first_epoch + epochs,
            reason=reason,
            seconds=self.state.seconds,
        )
        self.save()
        state = self.state
        return StreamOutcome(self.model, reason, epochs, state.rows, state.seconds, state.place)

    def prepare(self, statistics: bool) -> None:
        """Make a first pass if the classes, columns or statistics are not known."""
        stream, state = self.stream, self.state
        classes = self.takes_classes and stream.classes is None
        if classes or statistics or stream.unknown_columns:
            raw = stream.unknown_columns  # the first pass numbers columns as the files do
            facts = stream.first_pass(
                classes=classes,
                statistics=statistics,
                facts=state.found(),
                start=state.place,
                after_chunk=self.after_first_pass_chunk,
            )
            if statistics:
                first = stream.index_base if raw and stream.index_base else 0
                width = stream.n_features or facts.width
                models.give_statistics(self.model, facts.statistics(first, width))
        state.training = True
        state.move(Position())
        self.save()

    def after_first_pass_chunk(self, facts: FirstPassResult, chunk: Chunk) -> None:
        self.state.facts = vars(facts).copy()
        self.state.move(chunk.stop)
        self.save(not_before=max(FIRST_PASS_CHECKPOINT_SECONDS, self.seconds_between))
        self.report("first pass", facts.rows, chunk, 1)

    def train(self, deadline: float) -> str:
        """Train until the last epoch is complete or something ends it; return the reason."""
        chunks = self.stream.chunks(start=self.state.place, epochs=self.epochs)
        with interrupt_flag(shared=False) as interrupted, closing(chunks):  # type: ignore[type-var]
            for chunk in chunks:
                if not interrupted.is_set():
                    self.learn(chunk)
                    self.save(not_before=self.seconds_between)
                    stopped = self.report("training", self.state.rows, chunk, self.epochs)
                if interrupted.is_set():
                    return "interrupted"
                if time.perf_counter() > deadline:
                    return "time_limit"
                if stopped:
                    return "callback"
        return "max_iter"

    def learn(self, chunk: Chunk) -> None:
        model, state = self.model, self.state
        epoch = state.first_epoch + chunk.start.epoch
        first = state.rows == 0 or chunk.start.epoch > state.place.epoch
        models.before_chunk(model, epoch)
        arguments = {"classes": self.stream.classes} if self.takes_classes else {}
        try:
            with models.nameless(model, self.names_agree) as nameless:
                X = chunk.X if nameless else self.named(chunk.X)
                model.partial_fit(X, chunk.y, **arguments)
            self.names_agree = True
        except ValueError as error:
            raise ValueError(f"{chunk.place}: {error}") from error
        models.after_chunk(model, first=first)
        state.rows += len(chunk.y)
        state.seconds = self.earlier + time.perf_counter() - self.started
        state.move(chunk.stop)

    def named(self, X: Any) -> Any:
        """The inputs with the names of their columns, which the model records."""
        names = self.stream.feature_names
        if not names or self.stream.encoder is not None:
            return X
        try:
            import pandas
        except ImportError:
            return X
        return pandas.DataFrame(X, columns=list(names), copy=False)

    def save(self, not_before: float = 0.0) -> None:
        now = time.perf_counter()
        if self.path is not None and now >= self.saved_at + not_before:
            self.state.write(self.path)
            self.saved_at = now

    def report(self, phase: str, rows: int, chunk: Chunk, epochs: int) -> bool:
        if self.progress is None:
            return False
        total = self.stream.total_bytes * epochs
        done = 0 if phase == "first pass" else chunk.start.epoch
        return bool(self.progress(StreamProgress(phase, done, rows, chunk.bytes_read, total)))

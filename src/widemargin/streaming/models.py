"""The hooks through which a stream talks to a model; see `widemargin.training.streamed`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from widemargin.training.streamed import StreamHooks


def _hooks(model: Any) -> StreamHooks:
    return model if isinstance(model, StreamHooks) else StreamHooks()


def check_statistics(model: Any) -> None:
    """Refuses models that cannot use the statistics of a first pass."""
    if not isinstance(model, StreamHooks):
        raise ValueError(
            "statistics='first pass' is for linear models of widemargin, not "
            f"{type(model).__name__}; use statistics='running'"
        )
    model._check_statistics()


def give_statistics(model: Any, statistics: dict[str, Any]) -> None:
    """Makes an unfitted linear model scale inputs by these statistics from its first chunk on."""
    _hooks(model)._use_statistics(statistics)


@contextmanager
def nameless(model: Any, allowed: bool) -> Iterator[bool]:
    """Lets a model that knows the names of its columns take arrays without warning, if allowed.

    Yields whether it does: otherwise the names of each chunk are compared column by column.
    """
    if not allowed:
        yield False
        return
    with _hooks(model)._without_names() as ignored:
        yield ignored


def epochs_done(model: Any) -> int:
    """Epochs of a model that was trained before."""
    return _hooks(model)._stream_epochs()


def before_chunk(model: Any, epoch: int) -> None:
    """Tells the learning rate's schedule which epoch it is."""
    _hooks(model)._begin_chunk(epoch)


def after_chunk(model: Any, *, first: bool) -> None:
    """Merges the record of a chunk into that of its pass, unless it is the first of the pass."""
    _hooks(model)._end_chunk(first=first)


def conclude(model: Any, *, epochs: int, reason: str, seconds: float) -> None:
    """Sets the attributes by which `fit` says how training ended."""
    _hooks(model)._end_stream(epochs=epochs, reason=reason, seconds=seconds)

"""What a stream asks of a model beyond `partial_fit`.

A pass over a stream is one epoch of the schedule of learning rates and one record of the history,
however many chunks it has.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["StreamHooks", "StreamedModel"]


class StreamHooks:
    """Hooks that do nothing, for models of other packages."""

    def _check_statistics(self) -> None:
        """Raises an error that names the remedy if the model cannot use known statistics."""
        raise ValueError(
            "statistics='first pass' is for linear models with scaling='standard', not "
            f"{type(self).__name__}; use statistics='running'"
        )

    def _use_statistics(self, statistics: dict[str, Any]) -> None:
        """Scales inputs by these mean, variance and weight from the first chunk on."""

    def _stream_epochs(self) -> int:
        """Epochs of training before the stream."""
        return 0

    def _begin_chunk(self, epoch: int) -> None:
        """A chunk of this epoch follows."""

    def _end_chunk(self, *, first: bool) -> None:
        """A chunk was learnt, the first of its epoch or another."""

    def _end_stream(self, *, epochs: int, reason: str, seconds: float) -> None:
        """Training has ended."""

    @contextmanager
    def _without_names(self) -> Iterator[bool]:
        """Inside, the model takes arrays although it knows names of columns; True if it does."""
        yield False


class StreamedModel(StreamHooks):
    """The hooks of models trained by `widemargin.training.loop.train`."""

    history_: list[dict[str, float]]
    feature_names_in_: Any
    _begun: Any
    _epochs_done: int

    def _stream_epochs(self) -> int:
        return int(vars(self).get("_epochs_done", 0))

    def _begin_chunk(self, epoch: int) -> None:
        if "_epochs_done" in vars(self):
            self._epochs_done = epoch

    def _end_chunk(self, *, first: bool) -> None:
        """Merges the record of a chunk into that of its epoch."""
        if first:
            return
        *earlier, total, chunk = self.history_
        rows = total["rows"] + chunk["rows"]
        share = chunk["rows"] / rows
        sums = ("rows", "updates", "seconds")
        merged = chunk | {name: total[name] + chunk[name] for name in sums}
        for name in ("criterion", "error"):
            merged[name] = total[name] + share * (chunk[name] - total[name])
        self.history_ = [*earlier, merged]

    def _end_stream(self, *, epochs: int, reason: str, seconds: float) -> None:
        if self._begun:
            self.n_iter_ = self.best_iter_ = epochs
            self.stop_reason_ = reason
            self.fit_time_ = seconds

    @contextmanager
    def _without_names(self) -> Iterator[bool]:
        known = vars(self).get("feature_names_in_")
        if known is None:
            yield False
            return
        del self.feature_names_in_
        try:
            yield True
        finally:
            self.feature_names_in_ = known

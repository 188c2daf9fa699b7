"""Training on files that are larger than memory: chunks, checkpoints, one pass after the other."""

from widemargin.streaming.checkpoint import Checkpoint
from widemargin.streaming.chunk import Chunk, Position
from widemargin.streaming.opening import stream
from widemargin.streaming.source import Stream
from widemargin.streaming.train import StreamOutcome, StreamProgress, fit_stream

__all__ = [
    "Checkpoint",
    "Chunk",
    "Position",
    "Stream",
    "StreamOutcome",
    "StreamProgress",
    "fit_stream",
    "stream",
]

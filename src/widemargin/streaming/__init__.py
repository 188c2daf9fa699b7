"""Training on files that are larger than memory: chunks, checkpoints, one pass after the other."""

from widemargin.streaming._checkpoint import Checkpoint
from widemargin.streaming._chunk import Chunk, Position
from widemargin.streaming._make import stream
from widemargin.streaming._stream import Stream
from widemargin.streaming._train import StreamOutcome, StreamProgress, fit_stream

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

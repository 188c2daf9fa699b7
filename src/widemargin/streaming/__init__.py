"""Training on files larger than memory: streams of chunks, several passes, checkpoints."""

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

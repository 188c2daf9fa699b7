"""`Checkpoint`: a model and the position in a stream up to which it is trained."""

from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from widemargin._runtime.files import PathLike
from widemargin.persistence import ModelFileError, load, save
from widemargin.streaming.chunk import Position
from widemargin.streaming.first_pass import FirstPassResult
from widemargin.streaming.source import Stream
from widemargin.tables.errors import Argument, ArgumentError
from widemargin.training.model import comparable

__all__ = ["Checkpoint"]

RESUME = Argument("resume", True)


class Checkpoint(BaseEstimator):  # type: ignore[misc]
    """The state of training on a stream; `widemargin.load` reads its file.

    Parameters
    ----------
    model : estimator
        The model trained so far.
    training : bool
        Whether training has begun; False during a first pass.
    position : list of int
        The fields of the `Position` that training, or the first pass, has reached.
    facts : dict or None
        What the first pass has found.
    rows : int
        Rows trained on, over all epochs.
    seconds : float
        Training time.
    first_epoch : int
        Epochs that the model had been trained for before this stream.
    files : list
        Name and size of each file.
    settings : dict
        The settings of the stream.
    """

    def __init__(
        self,
        model: Any = None,
        *,
        training: bool = False,
        position: Any = (0, 0, 0, 0, 0, 0),
        facts: dict[str, Any] | None = None,
        rows: int = 0,
        seconds: float = 0.0,
        first_epoch: int = 0,
        files: Any = (),
        settings: Any = None,
    ) -> None:
        self.model = model
        self.training = training
        self.position = position
        self.facts = facts
        self.rows = rows
        self.seconds = seconds
        self.first_epoch = first_epoch
        self.files = files
        self.settings = settings

    @classmethod
    def begin(cls, model: Any, stream: Stream, first_epoch: int) -> "Checkpoint":
        """The state before the first chunk."""
        files = [[f.name, size] for f, size in zip(stream.files, stream.sizes, strict=True)]
        return cls(model, first_epoch=first_epoch, files=files, settings=stream.settings())

    @property
    def place(self) -> Position:
        """The position."""
        return Position(*self.position)

    def move(self, position: Position) -> None:
        """Set the position."""
        self.position = list(astuple(position))

    def found(self) -> FirstPassResult:
        """What the first pass has found so far."""
        return FirstPassResult(**(self.facts or {}))

    def write(self, path: PathLike) -> None:
        """Write the file, which is complete or absent."""
        try:
            save(self, path)
        except TypeError as error:
            raise TypeError(
                f"checkpoint={str(path)!r} cannot hold this {type(self.model).__name__}: {error}; "
                "or train without a checkpoint"
            ) from error

    @classmethod
    def read(cls, path: PathLike, model: Any, stream: Stream) -> "Checkpoint":
        """The checkpoint in a file, which must belong to this model and this stream."""
        state = load(path)
        if not isinstance(state, cls):
            raise ModelFileError(
                f"{path}: holds a {type(state).__name__}, not a checkpoint; name another file"
            )
        state._check(path)
        state._check_model(path, model)
        state._check_stream(path, stream)
        for name in [name for name in vars(model) if not name.startswith("_skl_")]:
            delattr(model, name)
        vars(model).update(vars(state.model))
        state.model = model
        return state

    def _check(self, path: PathLike) -> None:
        """Refuse values that training never writes."""
        counts = [self.rows, self.first_epoch, *self.position]
        proper = (
            len(self.position) == 6
            and all(type(n) is int and n >= 0 for n in counts)
            and type(self.training) is bool
            and type(self.seconds) is float
            and type(self.settings) is dict
            and (self.facts is None or self.facts.keys() == asdict(FirstPassResult()).keys())
            and all(type(f) is list and len(f) == 2 for f in self.files)
        )
        if not proper or self.place.file >= max(1, len(self.files)):
            raise ModelFileError(f"{path}: not a valid checkpoint; delete it and start again")

    def _check_model(self, path: PathLike, model: Any) -> None:
        if type(self.model) is not type(model):
            raise ValueError(
                f"{path}: is a checkpoint of a {type(self.model).__name__}, but the model is a "
                f"{type(model).__name__}; use the same model, or name another checkpoint"
            )
        saved, now = (m.get_params(deep=False) for m in (self.model, model))
        for name in now:
            if comparable(saved[name]) != comparable(now[name]):
                raise ValueError(
                    f"{path}: has {name}={saved[name]!r}, but the model has {name}={now[name]!r}; "
                    "use the same model, or name another checkpoint"
                )

    def _check_stream(self, path: PathLike, stream: Stream) -> None:
        now = stream.settings()
        for name, value in now.items():
            if self.settings.get(name) != value:
                raise ArgumentError(
                    f"{path}: the stream had ",
                    Argument(name, self.settings.get(name)),
                    ", but now it has ",
                    Argument(name, value),
                    "; use the same settings, or start again without ",
                    RESUME,
                )
        names = [file.name for file in stream.files]
        if [name for name, _ in self.files] != names:
            raise ValueError(
                f"{path}: the stream had {len(self.files)} files, {_few(self.files)}, but now it "
                f"has {len(names)}; use the same files in the same order, or start again"
            )
        # Files that were read completely must not change; a later one may have been repaired.
        read = len(names) if self.place.epoch else self.place.file
        for (name, size), found in zip(self.files[:read], stream.sizes, strict=False):
            if size != found:
                raise ArgumentError(
                    f"{path}: {name} had {size} bytes when it was read, but now has {found}; start "
                    "again without ",
                    RESUME,
                )
        self.files = [[f.name, s] for f, s in zip(stream.files, stream.sizes, strict=True)]


def _few(files: Any) -> str:
    return ", ".join(str(name) for name, _ in files[:3]) + (", ..." if len(files) > 3 else "")


def check_new(path: PathLike) -> None:
    """Refuse to overwrite a checkpoint from which the user did not ask to continue."""
    if Path(path).exists():
        raise FileExistsError(
            f"{path}: this checkpoint exists; continue from it with {RESUME}, or delete it"
        )

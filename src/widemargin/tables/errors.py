"""Errors about files and the arguments they are read with, in words that any interface can use.

The Python functions and the command line have the same options under different names:
``header=False`` is ``--no-header``.  A message therefore keeps each argument it names as an
`Argument`, and the command line spells these in its own way.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_NO_VALUE = object()


@dataclass(frozen=True)
class Argument:
    """An argument that a message names, with or without a value.

    Examples
    --------
    >>> str(Argument("header", False)), str(Argument("format"))
    ('header=False', 'format=')
    """

    name: str
    value: Any = _NO_VALUE

    @property
    def has_value(self) -> bool:
        """Whether the message also gives a value."""
        return self.value is not _NO_VALUE

    def __str__(self) -> str:
        return f"{self.name}={self.value!r}" if self.has_value else f"{self.name}="


class ArgumentError(ValueError):
    """An argument, or a file read with it, cannot be used.

    Parameters
    ----------
    *parts : str or Argument
        The message in pieces.

    Examples
    --------
    >>> error = ArgumentError("the first line is data; use ", Argument("header", False))
    >>> str(error)
    'the first line is data; use header=False'
    >>> error.spelled(lambda argument: "--no-header")
    'the first line is data; use --no-header'
    """

    def __init__(self, *parts: str | Argument) -> None:
        super().__init__("".join(map(str, parts)))
        self.parts = parts

    def spelled(self, spell: Callable[[Argument], str]) -> str:
        """The message with each argument as `spell` writes it."""
        return "".join(p if isinstance(p, str) else spell(p) for p in self.parts)


class DataFileError(ArgumentError):
    """A data file cannot be used as it is.

    The message names the file, the place in it and the remedy.
    """

"""Warnings that name the user's line, however deep inside the package they are raised."""

import sys
import warnings
from types import FrameType

__all__ = ["warn_caller"]

_PACKAGE = __name__.partition(".")[0]
# scikit-learn decorates every fit and every transform.
_WRAPPERS = frozenset({"contextlib", "sklearn.base", "sklearn.utils._set_output"})


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn as if from the first line outside this package.

    Parameters
    ----------
    message : str
        What happened, and what to do about it.
    category : type
        The class of the warning.
    """
    frame: FrameType | None = sys._getframe(1)
    level = 2  # of the function that calls this one
    while frame is not None and frame.f_back is not None and _inside(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _inside(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__", ""))
    return module in _WRAPPERS or module.partition(".")[0] == _PACKAGE

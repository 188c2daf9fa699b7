"""Warnings of models and of scikit-learn, which a run says in its own words."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning

__all__ = ["quiet"]


@contextmanager
def quiet() -> Iterator[None]:
    """Within it, nothing warns of fits, targets or columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        yield

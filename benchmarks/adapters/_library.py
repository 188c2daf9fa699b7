"""What all libraries share: a name, whether it is installed, and the inputs that it reads."""

import importlib
from abc import ABC
from typing import Any

import numpy as np
import scipy.sparse as sp


class Library(ABC):
    """A library. `formats` are the inputs that it reads without conversion, best guess first."""

    name: str
    module: str
    formats: tuple[str, ...] = ("dense float32", "CSR float32")
    threaded: bool = True

    def missing(self) -> str | None:
        """Why this library cannot take part, or None."""
        try:
            importlib.import_module(self.module)
        except (ImportError, OSError) as error:  # OSError: a shared library cannot be loaded
            return str(error)
        return None


def convert(X: Any, form: str) -> Any:
    """`X` as "dense float32", "CSR float64", ..."""
    layout, dtype = form.split()
    if layout == "CSR":
        return sp.csr_matrix(X, dtype=dtype)
    return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, dtype=dtype)

"""Frames as outputs of transformers, by `set_output` of scikit-learn; Arrow tables among them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils._set_output import ADAPTERS_MANAGER, _get_output_config

__all__ = ["ArrowTables", "wants_frame"]


def wants_frame(transformer: Any) -> bool:
    """Whether `transform` gives a frame, by `set_output` or the configuration of scikit-learn."""
    return bool(_get_output_config("transform", transformer)["dense"] != "default")


class ArrowTables:
    """Lets `set_output(transform="pyarrow")` of any transformer give Arrow tables.

    scikit-learn knows frames by the package of their class.

    Examples
    --------
    >>> import pyarrow
    >>> from widemargin import GradientMetric
    >>> table = pyarrow.table({"a": [0.0, 1.0, 2.0, 3.0], "b": [3.0, 1.0, 2.0, 0.0]})
    >>> metric = GradientMetric().set_output(transform="pyarrow").fit(table, [0, 0, 1, 1])
    >>> isinstance(metric.transform(table), pyarrow.Table)
    True
    """

    container_lib = "pyarrow"

    def create_container(
        self, X_output: Any, X_original: Any, columns: Any, inplace: bool = True
    ) -> Any:
        """The output as a table with these columns, a list or a function that makes one."""
        import pyarrow

        if callable(columns):
            try:
                columns = columns()
            except Exception:  # as for the other frames: without names, columns are numbered
                columns = None
        if isinstance(X_output, pyarrow.Table):
            return X_output if columns is None else self.rename_columns(X_output, columns)
        values = X_output.to_numpy() if hasattr(X_output, "to_numpy") else np.asarray(X_output)
        names = [f"x{j}" for j in range(values.shape[1])] if columns is None else columns
        arrays = [pyarrow.array(column) for column in values.T]
        return pyarrow.Table.from_arrays(arrays, names=[str(name) for name in names])

    def is_supported_container(self, X: Any) -> bool:
        """Whether it is a table of Arrow."""
        import pyarrow

        return isinstance(X, pyarrow.Table)

    def rename_columns(self, X: Any, columns: Any) -> Any:
        """The table with other names."""
        return X.rename_columns([str(name) for name in columns])

    def hstack(self, Xs: Sequence[Any]) -> Any:
        """The columns of several tables, side by side."""
        import pyarrow

        names = [name for X in Xs for name in X.column_names]
        return pyarrow.Table.from_arrays([c for X in Xs for c in X.columns], names=names)


ADAPTERS_MANAGER.register(ArrowTables())

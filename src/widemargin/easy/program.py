"""The training of a run as a program in Python, for its report."""

from collections.abc import Sequence
from typing import Any

from widemargin.easy.data import Data
from widemargin.easy.options import Options
from widemargin.report.record import Column
from widemargin.tabular import TabularClassifier, TabularRegressor

__all__ = ["program"]


def program(
    options: Options, data: Data, columns: Sequence[Column], model: Any, dropped: Sequence[str]
) -> str:
    """Lines that read the file as the run did and fit the same model to all of its rows.

    Parameters
    ----------
    options : Options
        Those of the run.
    data : Data
        Its rows.
    columns : sequence of Column
        What was understood of each column.
    model : estimator
        What was trained. Only a tabular model is a program.
    dropped : sequence of str
        The columns that are no inputs.

    Returns
    -------
    str
        The program; "" if there is none.
    """
    if not isinstance(model, (TabularClassifier, TabularRegressor)):
        return ""
    cls = type(model).__name__
    inputs = _inputs(options, data, columns, dropped)
    folds = ["# The run kept groups, or the order of time: pass cv= with folds that do."]
    return "\n".join(
        [
            *(["import pandas"] if any("pandas." in line for line in inputs) else []),
            f"from widemargin import {cls}, save",
            "from widemargin.tables import read_table",
            "",
            *inputs,
            *(folds if data.special else []),
            f"model = {cls}({_arguments(options, model)}).fit(X, y)",
            f"save(model, {str(options.output)!r})",
        ]
    )


def _inputs(
    options: Options, data: Data, columns: Sequence[Column], dropped: Sequence[str]
) -> list[str]:
    """Lines that make X and y."""
    if data.columns is None:
        given: dict[str, Any] = {"format": options.format, "index_base": data.index_base}
        given |= {"n_features": options.n_features}
        lines = [_call(options, given), "X, y = table.X, table.y"]
        if data.named:
            lines += ["X = pandas.DataFrame(X, columns=list(table.feature_names))"]
            lines += [f"X = X.drop(columns={list(dropped)!r})"] if dropped else []
        return lines
    reading = options.reading
    given = {
        "target": data.target,
        "format": options.format,
        "separator": reading.separator,
        "header": reading.header,
        "encoding": reading.encoding,
        "decimal": reading.decimal,
        "text_columns": list(data.codes),
        "columns": list(data.names),
        "missing_target": None if data.present is None else "drop",
    }
    lines = [_call(options, given), "X, y = table.X, table.y"]
    days = [c.name for c in columns if c.kind == "date" and c.name in data.names]
    lines += [f"X[{name!r}] = pandas.to_datetime(X[{name!r}], unit='D')" for name in days]
    if codes := [name for name in data.codes if name in data.names]:
        lines.append(f"X = X.astype(dict.fromkeys({codes!r}, 'category'))")
    return lines


def _call(options: Options, given: dict[str, Any]) -> str:
    named = "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)
    return f"table = read_table({str(options.data)!r}{named})"


def _arguments(options: Options, model: Any) -> str:
    found = dict(sorted(options.settings.items()))
    for name in ("scoring", "time_limit"):
        if (value := getattr(model, name)) is not None:
            found[name] = float(f"{value:.3g}") if isinstance(value, float) else value
    return ", ".join(f"{name}={value!r}" for name, value in found.items())

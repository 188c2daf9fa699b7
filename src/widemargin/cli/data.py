"""Data files as models take them: named columns for training, the same columns for prediction."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.cli.console import say
from widemargin.cli.files import FileOptions

INDEX_BASE_ATTRIBUTE = "svmlight_index_base_"  # of models trained on svmlight files

# A numeric target with more values than this is taken for a quantity, not for classes; so is one
# with more than FEW_VALUES of which each occurs in few rows.
MANY_VALUES, FEW_VALUES, ROWS_PER_VALUE = 100, 20, 5


def check_classes(values: Any, rows: int, name: str | None, *, many: bool) -> None:
    """Refuse a target that looks like a quantity, for models that predict classes."""
    if values.dtype.kind not in "iuf":
        return
    count = len(values)
    fractions = values[values != np.round(values)]
    if fractions.size:
        what = f"{count:,} different numbers, such as {fractions[0]:g}"
    elif many or count <= FEW_VALUES or (count <= MANY_VALUES and rows >= ROWS_PER_VALUE * count):
        return
    else:
        what = f"{count:,} different numbers in {rows:,} rows"
    accept = "" if fractions.size else "; if they are classes, add --many-classes"
    raise ValueError(
        f"the target {name!r} holds {what}, and this model predicts classes. To predict a number, "
        f"use a regressor, such as --model tabular-regressor or linear-svr{accept}"
    )


def check_values(y: Any, name: str | None) -> Any:
    """The target of a regressor as floats; text is refused."""
    if y.dtype.kind in "iuf":
        return y.astype(np.float64)
    raise ValueError(
        f"the target {name!r} holds text, such as {str(y[0])!r}, and this model predicts numbers; "
        "use a classifier, such as --model tabular-classifier"
    )


def named(table: Any) -> Any:
    """The inputs, as a DataFrame if their names are known, so that the model records the names."""
    if not table.feature_names or hasattr(table.X, "iloc"):
        return table.X
    import pandas

    return pandas.DataFrame(table.X, columns=list(table.feature_names), copy=False)


def reader_for(model: Any) -> Callable[..., tuple[Any, Any]]:
    """Function that reads a file for `model`; it returns the inputs and the target."""
    from widemargin.easy.saved import record_of
    from widemargin.tables import DataFileError, read_table, text_columns
    from widemargin.tables.errors import Argument
    from widemargin.tables.models import date_columns

    text, dates, record = text_columns(model), set(date_columns(model)), record_of(model)
    order = [column.name for column in record.columns] if record else []
    trained = [str(name) for name in getattr(model, "feature_names_in_", ())]
    known, columns = order or trained, _read_columns(model, text, order, trained)

    def inputs(
        path: Path, target: str | None, files: FileOptions, *, every_row: bool = True
    ) -> tuple[Any, Any]:
        base = files.index_base
        base = getattr(model, INDEX_BASE_ATTRIBUTE, None) if base is None else base
        table = read_table(
            path,
            target=target,
            text_columns=text,
            known=known,
            columns=columns,
            missing_target="error" if every_row else "drop",
            n_features=getattr(model, "n_features_in_", None),
            **replace(files, index_base=base).arguments(),
        )
        if target is not None and table.target_name in trained:
            raise DataFileError(
                f"{path}: column {table.target_name!r} is an input of the model; name another "
                "column with ",
                Argument("target"),
            )
        if table.left_out:
            say(f"note: {path}: {table.left_out:,} rows without a target are left out")
        if base is None and table.index_base == 1:
            _warn_of_index_base(table.X, path)
        if record is not None:
            table = _without_target(table, order, record.target)
        return _matched(model, table, path, text, dates), table.y

    return inputs


def _read_columns(
    model: Any, text: list[str] | None, order: list[str], trained: list[str]
) -> list[str] | None:
    """The columns that the model looks at; None: all, if columns are known by their places."""
    from widemargin.tables.models import needed_columns

    if not trained or (order and order == _bare_names(len(order))):
        return None
    return trained if text is None else needed_columns(model)


def _bare_names(count: int) -> list[str]:
    """What columns of a file without a header are called."""
    return [f"c{i}" for i in range(count)]


def _without_target(table: Any, order: list[str], target: str) -> Any:
    """Columns of a file without header and target get the names that they had in training."""
    inputs = [name for name in order if name != target]
    bare = _bare_names(len(order))
    if order != bare or list(table.feature_names) != bare[:-1] or table.y is not None:
        return table
    return replace(table, feature_names=tuple(inputs), X=_renamed(table.X, inputs))


def _renamed(X: Any, names: list[str]) -> Any:
    return X.set_axis(names, axis=1) if hasattr(X, "iloc") else X


def remember_index_base(model: Any, table: Any) -> None:
    """Record on the model where the columns of its svmlight file start; `save` keeps it."""
    if table.index_base is not None:
        setattr(model, INDEX_BASE_ATTRIBUTE, table.index_base)


def _warn_of_index_base(X: Any, path: Path) -> None:
    """Warn that columns were taken to start at 1, unless only that fits the width of the model."""
    if X.nnz and X.indices.max() + 1 < X.shape[1]:
        say(
            f"warning: {path}: columns are taken to start at 1, but starting at 0 would also fit "
            "the model; choose with --index-base",
            "yellow",
        )


def _matched(model: Any, table: Any, path: Path, text: list[str] | None, dates: set[str]) -> Any:
    """The columns that the model was trained on, found by name, in its order."""
    from widemargin.tables import DataFileError
    from widemargin.tables.models import needed_columns

    trained = list(getattr(model, "feature_names_in_", ()))
    if not trained or not (table.feature_names or table.others):
        if hasattr(table.X, "iloc") and text is None:
            raise DataFileError(
                f"{path}: has text or missing values; the model was trained on numbers only"
            )
        return table.X
    frame = named(table)
    present = [name for name in trained if name in frame.columns]
    needed = set(trained if text is None else needed_columns(model))
    if absent := [name for name in trained if name in needed and name not in frame.columns]:
        raise DataFileError(
            f"{path}: lacks {_columns(absent)} of the model; the file has "
            f"{_columns([*frame.columns, *table.others])}"
        )
    numbers = [name for name in present if name in needed and name not in (text or ())]
    words = [name for name in numbers if frame[name].dtype.kind not in "fiu" and name not in dates]
    if text is not None:  # the encoder takes single words in columns of numbers for missing
        words = [name for name in words if not _any_number(frame[name])]
    if words:
        raise DataFileError(
            f"{path}: text in {_columns(words)}, where the model was trained on numbers; write "
            "numbers, or leave the values empty"
        )
    if text is None and (gaps := [name for name in numbers if frame[name].isna().any()]):
        raise DataFileError(
            f"{path}: missing values in {_columns(gaps)}, where the training table had none; "
            "fill them in, or train on a table that has missing values there"
        )
    return frame[present]


def _any_number(column: Any) -> bool:
    import pandas

    return bool(pandas.to_numeric(column, errors="coerce").notna().any())


def _columns(names: Any) -> str:
    shown = ", ".join(repr(str(name)) for name in list(names)[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"column{'s' if len(names) > 1 else ''} {shown}{more}"

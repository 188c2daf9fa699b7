"""Data files as models take them: named columns for training, the same columns for prediction."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from widemargin.cli.console import say

INDEX_BASE_ATTRIBUTE = "svmlight_index_base_"  # of models trained on svmlight files

DataArgument = Annotated[
    Path,
    typer.Argument(
        help="Data file: .csv, .tsv, .parquet, .svm or .npz; - is standard input.",
        show_default=False,
    ),
]
DataArguments = Annotated[
    list[Path],
    typer.Argument(
        help="Data file: .csv, .tsv, .parquet, .svm or .npz; - is standard input. Several files "
        "need --stream.",
        show_default=False,
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of a file with another suffix: csv, tsv, parquet, svmlight or npz. Standard "
        "input is csv without it.",
    ),
]
NoHeaderOption = Annotated[
    bool, typer.Option("--no-header", help="The first line of a CSV file is data.")
]
IndexBaseOption = Annotated[
    int | None,
    typer.Option(
        "--index-base", min=0, max=1, help="Number of the first column of an svmlight file: 0 or 1."
    ),
]


FeaturesOption = Annotated[
    int | None,
    typer.Option(
        "--n-features",
        min=1,
        help="Number of columns of an svmlight file; by default its largest column number.",
    ),
]
ManyClassesOption = Annotated[
    bool,
    typer.Option("--many-classes", help="The target holds classes, even if it has many numbers."),
]

# A numeric target with more values than this is taken for a quantity, not for classes; so is one
# with more than FEW_VALUES of which each occurs in few rows.
MANY_VALUES, FEW_VALUES, ROWS_PER_VALUE = 100, 20, 5


def check_classes(values: Any, rows: int, name: str | None, *, many: bool) -> None:
    """Refuse a target that looks like a quantity, because all models are classifiers."""
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
        f"the target {name!r} holds {what}, and these models predict classes. To predict a number, "
        f"use a regressor in Python, such as LinearSVR or MLPRegressor{accept}"
    )


def named(table: Any) -> Any:
    """The inputs, as a DataFrame if their names are known, so that the model records the names."""
    if not table.feature_names or hasattr(table.X, "iloc"):
        return table.X
    import pandas

    return pandas.DataFrame(table.X, columns=list(table.feature_names), copy=False)


def reader_for(model: Any) -> Callable[..., tuple[Any, Any]]:
    """Function that reads a file for `model`; it returns the inputs and the target."""
    from widemargin.tables import read_table, text_columns

    text = text_columns(model)

    def inputs(
        path: Path,
        target: str | None,
        format: str | None,
        header: bool,
        index_base: int | None,
    ) -> tuple[Any, Any]:
        known = getattr(model, INDEX_BASE_ATTRIBUTE, None) if index_base is None else index_base
        table = read_table(
            path,
            target=target,
            format=format,
            header=header,
            text_columns=text,
            n_features=model.n_features_in_,
            index_base=known,
        )
        if known is None and table.index_base == 1:
            _warn_of_index_base(table.X, path)
        return _matched(model, table, path, text), table.y

    return inputs


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


def _matched(model: Any, table: Any, path: Path, text: list[str] | None) -> Any:
    """The columns that the model was trained on, found by name, in its order."""
    from widemargin.tables import DataFileError
    from widemargin.tables.models import needed_columns

    trained = list(getattr(model, "feature_names_in_", ()))
    if not trained or not table.feature_names:
        if hasattr(table.X, "iloc"):
            raise DataFileError(
                f"{path}: has text or missing values; the model was trained on numbers only"
            )
        return table.X
    frame = named(table)
    present = [name for name in trained if name in frame.columns]
    needed = set(trained if text is None else needed_columns(model))
    if absent := [name for name in trained if name in needed and name not in frame.columns]:
        raise DataFileError(
            f"{path}: lacks {_columns(absent)} of the model; the file has {_columns(frame.columns)}"
        )
    numbers = [name for name in present if name in needed and name not in (text or ())]
    if words := [name for name in numbers if frame[name].dtype.kind not in "fiu"]:
        raise DataFileError(
            f"{path}: text in {_columns(words)}, where the model was trained on numbers"
        )
    if text is None and (gaps := [name for name in numbers if frame[name].isna().any()]):
        raise DataFileError(
            f"{path}: missing values in {_columns(gaps)}, where the training table had none; "
            "fill them in, or train on a table that has missing values there"
        )
    return frame[present]


def _columns(names: Any) -> str:
    shown = ", ".join(repr(str(name)) for name in list(names)[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"column{'s' if len(names) > 1 else ''} {shown}{more}"

"""Data files as models take them: named columns for training, the same columns for prediction."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from widemargin.cli.console import say

INDEX_BASE = "svmlight_index_base_"  # attribute of models trained on svmlight files

DataArgument = Annotated[
    Path, typer.Argument(help="Data file: .csv, .tsv, .parquet, .svm or .npz.", show_default=False)
]
DataArguments = Annotated[
    list[Path],
    typer.Argument(
        help="Data file: .csv, .tsv, .parquet, .svm or .npz; more than one with --stream.",
        show_default=False,
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", help="Format of a file whose suffix does not tell it: csv, tsv, ..."),
]
NoHeaderOption = Annotated[
    bool, typer.Option("--no-header", help="The first line of the CSV file is data.")
]
IndexBaseOption = Annotated[
    int | None,
    typer.Option(
        "--index-base", min=0, max=1, help="Number of the first column of an svmlight file: 0 or 1."
    ),
]

# How the command line calls what the messages of `read_table` and `stream` speak of.
OPTIONS = {
    "header=False": "--no-header",
    "set format=": "use --format",
    "set index_base=": "use --index-base ",
    "index_base=": "--index-base ",
    "name every class in classes=": "name every class with --classes",
    "or give classes=": "or use --classes",
    "resume=True": "--resume",
    "without resume": "without --resume",
}


@contextmanager
def options_named(*errors: type[Exception]) -> Iterator[None]:
    """Errors of these kinds name the options of the command line, not the arguments of Python."""
    try:
        yield
    except errors as error:
        message = str(error)
        for python, option in OPTIONS.items():
            message = message.replace(python, option)
        raise (type(error) if len(error.args) == 1 else ValueError)(message) from error


def read(path: Path, *, no_header: bool, **options: Any) -> Any:
    """`read_table`, its messages naming the options of the command line."""
    from widemargin.tables import DataFileError, read_table

    with options_named(DataFileError):
        return read_table(path, header=not no_header, **options)


def named(table: Any) -> Any:
    """The inputs as a DataFrame if their names are known, so that the model remembers them."""
    if not table.feature_names or hasattr(table.X, "iloc"):
        return table.X
    import pandas

    return pandas.DataFrame(table.X, columns=list(table.feature_names), copy=False)


def reader_for(model: Any) -> Callable[..., tuple[Any, Any]]:
    """Function (path, target, format, no_header, index_base) that returns the inputs, and y."""
    from widemargin.tables import text_columns

    text = text_columns(model)

    def inputs(
        path: Path,
        target: str | None,
        format: str | None,
        no_header: bool,
        index_base: int | None,
    ) -> tuple[Any, Any]:
        known = getattr(model, INDEX_BASE, None) if index_base is None else index_base
        table = read(
            path,
            target=target,
            format=format,
            no_header=no_header,
            text_columns=text,
            n_features=model.n_features_in_,
            index_base=known,
        )
        if known is None and table.index_base == 1:
            _warn_of_index_base(table.X, path)
        return _matched(model, table, path, text), table.y

    return inputs


def remember_index_base(model: Any, table: Any) -> None:
    """Note on the model how its svmlight file counts the columns; `save` keeps it."""
    if table.index_base is not None:
        setattr(model, INDEX_BASE, table.index_base)


def _warn_of_index_base(X: Any, path: Path) -> None:
    """Say that columns were taken to start at 1, unless only that fits the width of the model."""
    if X.nnz and X.indices.max() + 1 < X.shape[1]:
        say(
            f"warning: {path}: columns are taken to start at 1, but would fit the model from 0 "
            "too; say which with --index-base",
            "yellow",
        )


def _matched(model: Any, table: Any, path: Path, text: list[str] | None) -> Any:
    """The columns that the model was trained on, by name, in its order."""
    from widemargin.tables import DataFileError

    trained = list(getattr(model, "feature_names_in_", ()))
    if not trained or not table.feature_names:
        if hasattr(table.X, "iloc"):
            raise DataFileError(
                f"{path}: has text or missing values; the model was trained on numbers alone"
            )
        return table.X
    frame = named(table)
    present = [name for name in trained if name in frame.columns]
    needed = set(trained) if text is None else _encoded_columns(model)
    if absent := [name for name in trained if name in needed and name not in frame.columns]:
        raise DataFileError(
            f"{path}: lacks {_columns(absent)} of the model; the file has {_columns(frame.columns)}"
        )
    numbers = [name for name in present if name in needed and name not in (text or ())]
    if words := [name for name in numbers if frame[name].dtype.kind not in "fiu"]:
        raise DataFileError(f"{path}: {_columns(words)} hold text; the model knows numbers there")
    if text is None and (gaps := [name for name in numbers if frame[name].isna().any()]):
        raise DataFileError(
            f"{path}: {_columns(gaps)} have missing values, which the training table had not; "
            "fill them in, or train with rows that have such gaps"
        )
    return frame[present]


def _encoded_columns(model: Any) -> set[str]:
    encoder = model[0]
    return {name for _, _, columns in encoder.transformers for name in columns}


def _columns(names: Any) -> str:
    shown = ", ".join(repr(str(name)) for name in list(names)[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"column{'s' if len(names) > 1 else ''} {shown}{more}"

"""`widemargin predict`: from a model file and a data file to a file of predictions."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from widemargin.cli.config import ConfigOption
from widemargin.cli.console import (
    JsonOption,
    check_output,
    err,
    input_path,
    number,
    output_path,
    print_facts,
    print_json,
)
from widemargin.cli.data import reader_for
from widemargin.cli.files import (
    DataArgument,
    DecimalOption,
    EncodingOption,
    FileOptions,
    FormatOption,
    HeaderOption,
    IndexBaseOption,
    SeparatorOption,
)
from widemargin.cli.summary import scores_of

COVERAGE = 0.9

ModelArgument = Annotated[
    Path, typer.Argument(help="Model file written by train.", show_default=False)
]


def predict(
    model: ModelArgument,
    data: DataArgument,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="File to write: .csv, .tsv, .parquet, .arrow or .npz; - is standard output, as "
            "CSV.",
        ),
    ],
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add the probability of each class.")
    ] = False,
    intervals: Annotated[
        bool,
        typer.Option("--intervals", help="Add the ends of an interval for each predicted value."),
    ] = False,
    coverage: Annotated[
        float | None,
        typer.Option(
            help="With --intervals: the fraction of rows whose value is inside, 0.9 by default.",
            show_default=False,
        ),
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Add the decision values f(x).")] = False,
    keep_columns: Annotated[
        bool, typer.Option("--keep-columns", help="Copy the columns of the data file too.")
    ] = False,
    target: Annotated[
        str | None, typer.Option(help="Target column, to measure the error on this file.")
    ] = None,
    format: FormatOption = None,
    separator: SeparatorOption = None,
    header: HeaderOption = None,
    encoding: EncodingOption = None,
    decimal: DecimalOption = None,
    index_base: IndexBaseOption = None,
    config: ConfigOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary.")] = False,
    json: JsonOption = False,
) -> None:
    """Predict the classes or values of the rows of a data file.

    Columns are found by their names, in any order; other columns, such as a target, are ignored.
    """
    from widemargin.persistence import load
    from widemargin.tables import write_predictions
    from widemargin.tables.formats import regular_file

    if coverage is not None and not intervals:
        raise ValueError(f"--coverage {coverage:g} needs --intervals")
    output, console = output_path(output, json)
    data = input_path(data)
    check_output(output, model, data)
    fitted = predictor(model, load(model))
    files = FileOptions(format, separator, header, encoding, decimal, index_base)
    files = files.of(data)
    with regular_file(data) as file:
        X, y = reader_for(fitted)(file, target, files)
        columns = _originals(fitted, file, files) if keep_columns else {}
    found = _predictions(fitted, X, model)
    found |= _probabilities(fitted, X, model) if probabilities else {}
    found |= (
        _intervals(fitted, X, model, COVERAGE if coverage is None else coverage)
        if intervals
        else {}
    )
    found |= _scores(fitted, X, model) if scores else {}
    if twice := [name for name in found if name in columns]:
        raise ValueError(
            f"{data}: has a column {twice[0]!r} of its own; rename it, or leave out --keep-columns"
        )
    measured = {} if target is None else scores_of(fitted, X, y)
    write_predictions(output, {**columns, **found})
    if json:
        print_json(
            {"rows": X.shape[0], **_counted(found, fitted), "error": None, **measured}
            | {"file": output}
        )
    elif not quiet:
        _print(found, fitted, measured, None if console is err else output, console)


def predictor(path: Path, fitted: Any) -> Any:
    """The model of a file, which must be a fitted classifier or regressor."""
    from sklearn.base import is_classifier, is_regressor
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    last = fitted[-1] if hasattr(fitted, "steps") else fitted
    able = hasattr(fitted, "predict") and (is_classifier(last) or is_regressor(last))
    try:
        check_is_fitted(last)
    except (NotFittedError, TypeError):
        able = False
    if not able:
        raise ValueError(
            f"{path}: holds a {type(last).__name__}, which is not a fitted classifier or "
            "regressor; name a model file that train has written"
        )
    return fitted


def _originals(model: Any, file: Path, files: FileOptions) -> dict[str, Any]:
    from widemargin.easy.saved import record_of
    from widemargin.tables.originals import original_columns
    from widemargin.tables.raw import Reading

    record = record_of(model)
    names = getattr(model, "feature_names_in_", ())
    known = [column.name for column in record.columns] if record else [str(name) for name in names]
    reading = Reading(files.separator, files.header, files.encoding, files.decimal, known=known)
    return dict(original_columns(file, files.format, reading))


def _predictions(model: Any, X: Any, path: Path) -> dict[str, Any]:
    return {"prediction": np.asarray(model.predict(X)).ravel()}


def _probabilities(model: Any, X: Any, path: Path) -> dict[str, Any]:
    """One column per class."""
    if not hasattr(model, "predict_proba"):
        more = "" if hasattr(model, "classes_") else ", because it predicts values: use --intervals"
        raise ValueError(
            f"{path}: the model has no probabilities{more}"
            + ("" if more else "; use --scores, or train without --model")
        )
    values = np.asarray(model.predict_proba(X))
    return {f"probability_{name}": values[:, k] for k, name in enumerate(model.classes_)}


def _intervals(model: Any, X: Any, path: Path, coverage: float) -> dict[str, Any]:
    """The ends of an interval for each value."""
    if not hasattr(model, "predict_interval"):
        remedy = (
            "use --probabilities"
            if hasattr(model, "classes_")
            else "train without --model, or with --model tabular-regressor"
        )
        raise ValueError(f"{path}: the model has no intervals; {remedy}")
    if not 0.0 < coverage < 1.0:
        raise ValueError(f"--coverage {coverage:g} is not between 0 and 1; use 0.9")
    ends = np.asarray(model.predict_interval(X, coverage))
    return {"lower": ends[:, 0], "upper": ends[:, 1]}


def _scores(model: Any, X: Any, path: Path) -> dict[str, Any]:
    """f(x): one column for two classes (positive means the second), else one column per class."""
    if not hasattr(model, "decision_function"):
        raise ValueError(f"{path}: the model predicts values and has no scores; leave out --scores")
    values = np.asarray(model.decision_function(X))
    if values.ndim == 1:
        return {"score": values}
    return {f"score_{name}": values[:, k] for k, name in enumerate(model.classes_)}


def _counted(columns: dict[str, Any], model: Any) -> dict[str, Any]:
    """Rows of each predicted class, or the range of the predicted values."""
    found = columns["prediction"]
    if not hasattr(model, "classes_"):
        return {"mean": np.mean(found), "min": np.min(found), "max": np.max(found)}
    classes, counts = np.unique(found, return_counts=True)
    return {"classes": dict(zip(classes.tolist(), counts.tolist(), strict=True))}


def _print(
    columns: dict[str, Any], model: Any, measured: dict[str, Any], output: Path | None, console: Any
) -> None:
    facts = _counted(columns, model)
    if counted := facts.get("classes"):
        largest = sorted(counted.items(), key=lambda item: -item[1])[:8]
        shown = ", ".join(f"{name}: {count:,}" for name, count in largest)
        shown += ", …" if len(counted) > 8 else ""
    else:
        shown = f"{number(facts['min'])} to {number(facts['max'])}, mean {number(facts['mean'])}"
    error = measured.get("error")
    print_facts(
        {
            "rows": f"{len(columns['prediction']):,}",
            "predicted": shown,
            "error": None if error is None else f"{error:.2f} %",
            "R²": number(measured.get("r2")),
            "RMSE": number(measured.get("rmse")),
            "saved to": output,
        },
        console=console,
    )

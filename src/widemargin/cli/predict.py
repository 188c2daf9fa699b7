"""`widemargin predict`: from a model file and a data file to a file of predictions."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from widemargin.cli.console import (
    JsonOption,
    check_output,
    err,
    input_path,
    output_path,
    print_facts,
    print_json,
)
from widemargin.cli.data import (
    DataArgument,
    FormatOption,
    IndexBaseOption,
    NoHeaderOption,
    reader_for,
)
from widemargin.cli.summary import error_rate

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
            help="File to write: .csv, .tsv, .parquet or .npz; - is standard output, as CSV.",
        ),
    ],
    scores: Annotated[bool, typer.Option("--scores", help="Add the decision values f(x).")] = False,
    target: Annotated[
        str | None, typer.Option(help="Target column, to measure the error on this file.")
    ] = None,
    format: FormatOption = None,
    no_header: NoHeaderOption = False,
    index_base: IndexBaseOption = None,
    json: JsonOption = False,
) -> None:
    """Predict the classes of the rows of a data file.

    Columns are found by their names; other columns, such as a target, are ignored.
    """
    from widemargin.persistence import load
    from widemargin.tables import write_predictions

    output, console = output_path(output, json)
    data = input_path(data)
    check_output(output, model, data)
    fitted = load(model)
    if not hasattr(fitted, "predict") or not hasattr(fitted, "classes_"):
        raise ValueError(
            f"{model}: holds a {type(fitted).__name__}, which is not a fitted classifier"
        )
    X, y = reader_for(fitted)(data, target, format, not no_header, index_base)
    columns = {"prediction": fitted.predict(X)} | (_scores(fitted, X) if scores else {})
    rate = None if target is None else error_rate(fitted, X, y)
    write_predictions(output, columns)

    classes, counts = np.unique(columns["prediction"], return_counts=True)
    counted = dict(zip(classes.tolist(), counts.tolist(), strict=True))
    if json:
        print_json({"rows": X.shape[0], "classes": counted, "error": rate, "file": output})
        return
    largest = sorted(counted.items(), key=lambda item: -item[1])[:8]
    print_facts(
        {
            "rows": f"{X.shape[0]:,}",
            "predicted": ", ".join(f"{name}: {count:,}" for name, count in largest)
            + (", …" if len(counted) > 8 else ""),
            "error": None if rate is None else f"{rate:.2f} %",
            "saved to": None if console is err else output,
        },
        console=console,
    )


def _scores(model: Any, X: Any) -> dict[str, Any]:
    """f(x): one column for two classes (positive means the second), else one column per class."""
    values = np.asarray(model.decision_function(X))
    if values.ndim == 1:
        return {"score": values}
    return {f"score_{name}": values[:, k] for k, name in enumerate(model.classes_)}

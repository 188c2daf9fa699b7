"""`widemargin evaluate`: what a model is worth on the rows of a file, alone or beside another."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from widemargin._runtime.text import visible
from widemargin.cli.config import ConfigOption
from widemargin.cli.console import JsonOption, input_path, out, print_facts, print_json
from widemargin.cli.data import reader_for
from widemargin.cli.easy import amount, measure
from widemargin.cli.experiments import table_of
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
from widemargin.cli.predict import ModelArgument, predictor
from widemargin.cli.summary import as_classes

MOST_CLASSES = 12  # of a confusion matrix on a terminal


def evaluate(
    model: ModelArgument,
    data: DataArgument,
    target: Annotated[
        str | None,
        typer.Option(
            help="Column of true classes or values; by default that of the training.",
            show_default=False,
        ),
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(help="Another model file: is one better, or can the difference be chance?"),
    ] = None,
    format: FormatOption = None,
    separator: SeparatorOption = None,
    header: HeaderOption = None,
    encoding: EncodingOption = None,
    decimal: DecimalOption = None,
    index_base: IndexBaseOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Measure a model on a data file: metrics with 95 % intervals, confusion matrix.

    With --compare, both models are measured on the same rows, with McNemar's test for classes and
    a paired test for values.
    """
    from widemargin.tables.formats import regular_file

    files = FileOptions(format, separator, header, encoding, decimal, index_base)
    paths = [model] if compare is None else [model, compare]
    fitted = [_loaded(path) for path in paths]
    target = target or next(filter(None, map(_target_of, fitted)), None)
    data = input_path(data)
    files = files.of(data)
    with regular_file(data) as file:
        pairs = [_rows(one, file, target, files) for one in fitted]
    found = [
        _evaluated(path, one, X, y) for path, one, (X, y) in zip(paths, fitted, pairs, strict=True)
    ]
    for one, measured in zip(fitted, found, strict=True):
        measured["notes"] += _known_rows(one, data)
    test = None
    if compare is not None:
        test = compared(fitted, pairs, [one["task"] for one in found])
    if json:
        result: dict[str, Any] = {"model": model, **found[0]}
        if test is not None:
            result |= {"compared": {"model": compare, **found[1]}, "test": test}
        print_json(result)
        return
    _print(paths, found, test)


def _loaded(path: Path) -> Any:
    from widemargin.persistence import load

    return predictor(path, load(path))


def _rows(model: Any, file: Path, target: str | None, files: FileOptions) -> tuple[Any, Any]:
    X, y = reader_for(model)(file, target, files, every_row=False)
    if y is None:
        raise ValueError(f"{file}: the column of true values is not known; name it with --target")
    return X, as_classes(model, y) if hasattr(model, "classes_") else y


def _target_of(model: Any) -> str | None:
    """The target of the training, if the model remembers it and files have names."""
    from widemargin.easy.saved import record_of

    record = record_of(model)
    named = getattr(model, "feature_names_in_", None) is not None
    return record.target if record is not None and named else None


def _known_rows(model: Any, data: Path) -> list[str]:
    """A warning if the rows may be those that the model was trained on."""
    from widemargin.easy.saved import record_of

    record = record_of(model)
    if record is None or record.file != data.name:
        return []
    return [
        f"the model was trained on a file called {data.name}: on the rows of its training these "
        "numbers are too good; its report has those of the held-out rows"
    ]


def _evaluated(path: Path, model: Any, X: Any, y: Any) -> dict[str, Any]:
    from widemargin.report import evaluate as evaluation

    task = "classification" if hasattr(model, "classes_") else "regression"
    if task == "regression" and y.dtype.kind not in "biuf":
        raise ValueError(
            f"{path}: the model predicts numbers, but the target holds text, such as "
            f"{str(y[0])!r}; name another column with --target"
        )
    if task == "classification" and not np.isin(y, model.classes_).any():
        raise ValueError(
            f"{path}: the target holds none of the model's classes, "
            f"{', '.join(map(str, model.classes_[:8]))}; name another column with --target"
        )
    return dict(evaluation(model, X, y, task=task))


def compared(models: list[Any], pairs: list[tuple[Any, Any]], tasks: list[str]) -> dict[str, Any]:
    """The test of two models on the same rows."""
    from widemargin.theory import mcnemar, paired_losses

    if tasks[0] != tasks[1]:
        raise ValueError("--compare: one model predicts classes and the other values")
    first, second = (
        np.asarray(m.predict(X)).ravel() for m, (X, _) in zip(models, pairs, strict=True)
    )
    y, other = (pair[1] for pair in pairs)  # the same values, as numbers or as text
    if tasks[0] == "classification":
        classes = mcnemar(np.zeros(len(y), dtype=bool), first != y, second != other)
        return {
            "test": "McNemar",
            "only_first_wrong": classes.only_first,
            "only_second_wrong": classes.only_second,
            "p_value": classes.p_value,
            "better": classes.better,
        }
    values = paired_losses((first - y) ** 2, (second - y) ** 2)
    return {
        "test": "paired squared errors",
        "difference": values.difference,
        "low": values.low,
        "high": values.high,
        "p_value": values.p_value,
        "better": values.better,
    }


def _print(paths: list[Path], found: list[dict[str, Any]], test: Any) -> None:
    from widemargin.report.evaluation import METRICS

    first = found[0]
    out.print(visible(f"{paths[0]}: {first['rows']:,} rows"), style="bold", soft_wrap=True)
    facts = {}
    for name, one in first["metrics"].items():
        label, text = METRICS[name], measure(one, METRICS[name].form)
        if len(found) > 1 and name in found[1]["metrics"]:
            text += f"; the other {amount(found[1]['metrics'][name]['value'], label.form)}"
        facts[label.named(first.get("classes", ()))] = text
    print_facts(facts)
    for warning in first["notes"]:
        out.print(visible(f"warning: {warning}"), style="yellow")
    for reason in (*first["cuts"], *first.get("absent", {}).values()):
        out.print(visible(f"note: {reason}"))
    if "confusion" in first:
        _print_confusion(first["confusion"])
    if test is not None:
        out.print()
        out.print(visible(_said(test, paths)), soft_wrap=True)


def _print_confusion(confusion: Mapping[str, Any]) -> None:
    classes, counts = confusion["classes"], confusion["counts"]
    out.print()
    if len(classes) > MOST_CLASSES:
        out.print(f"{len(classes)} classes: the confusion matrix is in --json and in the report")
        return
    out.print("true class (rows), predicted class (columns)")
    table = table_of("", ["true"], *map(visible, classes))
    for name, row in zip(classes, counts, strict=True):
        table.add_row(visible(name), *(f"{count:,.0f}" for count in row))
    out.print(table)


def _said(test: Mapping[str, Any], paths: list[Path]) -> str:
    chance = f"p = {test['p_value']:.2g}"
    if test["test"] == "McNemar":
        text = (
            f"{test['only_first_wrong']:,} rows only the first model gets wrong, "
            f"{test['only_second_wrong']:,} only the other ({chance}, McNemar)"
        )
    else:
        text = (
            f"mean squared error of the first minus that of the other: {test['difference']:.4g} "
            f"({test['low']:.4g} to {test['high']:.4g}, {chance})"
        )
    if test["p_value"] >= 0.05 or test["better"] == "neither":
        return f"{text}: the difference can be chance"
    return f"{text}: {paths[0] if test['better'] == 'first' else paths[1]} is better"

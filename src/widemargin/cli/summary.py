"""What commands report of models: how well they predict, how training ended."""

from typing import Any

import numpy as np
from rich.console import Console

from widemargin.cli.console import listing, number, print_facts


def summary_of(estimator: Any, **facts: Any) -> dict[str, Any]:
    """Facts about a fitted model, completed by those that only the caller knows."""
    return {
        "model": type(estimator).__name__,
        "features": estimator.n_features_in_,
        "classes": getattr(estimator, "classes_", None),
        "gap": getattr(estimator, "duality_gap_", None),
        "converged": estimator.converged_,
        "updates": getattr(estimator, "n_updates_", None) or None,  # 0: nothing is counted
        "geometric_margin": getattr(estimator, "geometric_margin_", None),
        "test_error": None,
    } | facts


def scores_of(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """ "error" in percent for classes; "rmse" and "r2" for values."""
    if hasattr(model, "classes_"):
        return {"error": error_rate(model, X, y)}
    if y.dtype.kind not in "biuf":
        raise ValueError(
            f"the target holds text, such as {str(y[0])!r}, and the model predicts numbers; name "
            "the column of the true values with --target"
        )
    errors = np.asarray(model.predict(X)).ravel() - y
    spread = float(np.var(y))
    mean = float(np.mean(errors**2))
    return {"rmse": mean**0.5, "r2": 1.0 - mean / spread if spread > 0 else None}


def error_rate(model: Any, X: Any, y: Any) -> float:
    """Percentage of the rows that `model` classifies wrongly."""
    y, classes = as_classes(model, y), model.classes_
    if not np.isin(y, classes).any():
        raise ValueError(
            f"the target holds {listing(np.unique(y))} and none of the model's classes, "
            f"{listing(classes)}"
        )
    return 100.0 * float(np.mean(np.asarray(model.predict(X) != y)))


def as_classes(model: Any, y: Any) -> Any:
    """The target as text, if that is what the classes of the model are."""
    text = np.asarray(model.classes_).dtype.kind == "U"
    return y.astype(str) if text and y.dtype.kind != "U" else y


def print_summary(summary: dict[str, Any], console: Console) -> None:
    """Print a summary in two columns."""
    encoded = summary["features"] != summary["columns"]
    updates, classes, epochs = summary["updates"], summary["classes"], summary["epochs"]
    exact = summary["gap"] is not None  # a machine that is solved, not trained by epochs
    ended = f"stopped: {summary['stop_reason']}"
    print_facts(
        {
            "model": summary["model"],
            "rows": f"{summary['rows']:,}",
            "columns": f"{summary['columns']:,}"
            + (f" ({summary['features']:,} after encoding)" if encoded else ""),
            "classes": None if classes is None else listing(classes),
            "steps" if exact else "epochs": None if epochs is None else f"{epochs:,}, {ended}",
            "search": ended if epochs is None else None,
            "duality gap": number(float(np.sum(summary["gap"]))) if exact else None,
            "updates": None if updates is None else f"{updates:,}",
            "margin ρ": number(summary["geometric_margin"]),
            "training error": _percent(summary.get("training_error")),
            "training R²": number(summary.get("training_r2")),
            "online error": _percent(summary.get("online_error")),
            "test error": _of_rows(_percent(summary.get("test_error")), summary),
            "test R²": _of_rows(number(summary.get("test_r2")), summary),
            "test RMSE": number(summary.get("test_rmse")),
            "seconds": f"{summary['seconds']:.2f}",
            "saved to": f"{summary['file']} (safetensors)",
        },
        console=console,
    )


def _of_rows(value: str | None, summary: dict[str, Any]) -> str | None:
    return None if value is None else f"{value} of {summary['test_rows']:,} rows"


def _percent(rate: float | None) -> str | None:
    return None if rate is None else f"{rate:.2f} %"

"""What `widemargin train` reports when training has ended."""

from typing import Any

import numpy as np
from rich.console import Console

from widemargin.cli.console import listing, number, print_facts


def summary_of(estimator: Any, **facts: Any) -> dict[str, Any]:
    """Facts about a fitted model, completed by those that only the caller knows."""
    return {
        "model": type(estimator).__name__,
        "features": estimator.n_features_in_,
        "classes": estimator.classes_,
        "gap": getattr(estimator, "duality_gap_", None),
        "converged": estimator.converged_,
        "updates": getattr(estimator, "n_updates_", None) or None,  # 0: nothing is counted
        "geometric_margin": getattr(estimator, "geometric_margin_", None),
        "test_error": None,
    } | facts


def error_rate(model: Any, X: Any, y: Any) -> float:
    """Percentage of the rows that `model` classifies wrongly."""
    classes = model.classes_
    if not np.isin(y, classes).any():
        raise ValueError(
            f"the target holds {listing(np.unique(y))} and none of the model's classes, "
            f"{listing(classes)}"
        )
    return 100.0 * float(np.mean(np.asarray(model.predict(X) != y)))


def print_summary(summary: dict[str, Any], console: Console) -> None:
    """Print a summary in two columns."""
    encoded = summary["features"] != summary["columns"]
    updates, test_error = summary["updates"], summary["test_error"]
    exact = summary["gap"] is not None  # a machine that is solved, not trained by epochs
    print_facts(
        {
            "model": summary["model"],
            "rows": f"{summary['rows']:,}",
            "columns": f"{summary['columns']:,}"
            + (f" ({summary['features']:,} after encoding)" if encoded else ""),
            "classes": listing(summary["classes"]),
            "steps" if exact else "epochs": f"{summary['epochs']:,}, "
            f"stopped: {summary['stop_reason']}",
            "duality gap": number(float(np.sum(summary["gap"]))) if exact else None,
            "updates": None if updates is None else f"{updates:,}",
            "margin ρ": number(summary["geometric_margin"]),
            "training error": _percent(summary.get("training_error")),
            "online error": _percent(summary.get("online_error")),
            "test error": None
            if test_error is None
            else f"{test_error:.2f} % of {summary['test_rows']:,} rows",
            "seconds": f"{summary['seconds']:.2f}",
            "saved to": f"{summary['file']} (safetensors)",
        },
        console=console,
    )


def _percent(rate: float | None) -> str | None:
    return None if rate is None else f"{rate:.2f} %"

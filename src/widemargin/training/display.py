"""What the HTML display of a fitted model says about its training, without any computation."""

from html import escape
from typing import Any

import numpy as np

__all__ = ["CertificateDisplay", "fit_facts"]

VERIFIED = "widemargin.analysis.certificate(model, X, y) computes it again from the rows"

TABLE = """
<div class="estimator-table">
    <details open>
        <summary>Certificate</summary>
        <table class="parameters-table"><tbody>
        {rows}
        </tbody></table>
    </details>
</div>
"""
ROW = '<tr class="default"><td class="param">{}</td><td>{}</td></tr>'


class CertificateDisplay:
    """Adds a certificate to the HTML display of scikit-learn; it stands before `BaseEstimator`."""

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        # scikit-learn asks for the table of fitted attributes here, also of a step of a pipeline.
        found = super()._get_fitted_attr_html(doc_link)  # type: ignore[misc]
        return _WithFacts(found, fit_facts(self))


class _WithFacts:
    """A table of fitted attributes, below a table of facts."""

    def __init__(self, attributes: Any, facts: dict[str, str]) -> None:
        self.attributes, self.facts = attributes, facts

    def __len__(self) -> int:
        return len(self.attributes)

    def _repr_html_inner(self) -> str:
        rows = [ROW.format(escape(name), escape(text)) for name, text in self.facts.items()]
        table = TABLE.format(rows="\n".join(rows)) if rows else ""
        return table + str(self.attributes._repr_html_inner())


def fit_facts(model: Any) -> dict[str, str]:
    """How the training of a fitted model ended, in words; empty for others.

    It reads attributes only, so it takes no time, whatever the size of the model.

    Examples
    --------
    >>> from widemargin import SVC
    >>> facts = fit_facts(SVC().fit([[0.0], [1.0]], [0, 1]))
    >>> facts["training"], facts["support vectors"], facts["margin"]
    ('converged', '2 of 2 rows', '1.43')
    >>> fit_facts(SVC())
    {}
    """
    reason = getattr(model, "stop_reason_", None)
    if reason is None:
        return {}
    ended = "converged" if getattr(model, "converged_", False) else f"ended by {reason}"
    facts = {"training": ended, **_optimum(model)}
    support, shape = (getattr(model, name, None) for name in ("support_", "shape_fit_"))
    if support is not None:
        of = "" if shape is None else f" of {shape[0]:,} rows"
        facts["support vectors"] = f"{len(support):,}{of}"
    margin = getattr(model, "geometric_margin_", None)
    if margin is not None:
        facts["margin"] = f"{float(np.min(margin)):.3g}"
    loss, baseline = (getattr(model, name, None) for name in ("loss_", "baseline_loss_"))
    if baseline is not None:
        facts["loss of unseen rows"] = f"{loss:.4g}, of a constant {baseline:.4g}"
    seconds = getattr(model, "fit_time_", None)
    if seconds is not None:
        facts["seconds"] = f"{seconds:.3g}"
    return facts | {"check": VERIFIED}


def _optimum(model: Any) -> dict[str, str]:
    """Between which objectives the optimum lies; of several problems their sums."""
    names = ("dual_objective_", "primal_objective_", "duality_gap_")
    found = [value for name in names if (value := getattr(model, name, None)) is not None]
    if len(found) < len(names):
        return {}
    dual, primal, gap = (float(np.sum(value)) for value in found)
    return {"optimum": f"between {dual:.6g} and {primal:.6g}, a gap of {gap:.2g}"}

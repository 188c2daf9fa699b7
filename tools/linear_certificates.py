"""Fits random linear machines and checks their certificates in exact arithmetic.

``python -m tools.linear_certificates --count 1000 --seed 0`` draws problems: inputs of any scale
and offset, weights, duplicates, all losses, intercepts and solvers. P is computed from `coef_` and
`intercept_`, D from the β of the fit, both in rational numbers without any rounding. Complaints are
a machine that says `converged_` although the gap exceeds `tol` times P, a `dual_objective_` that is
no lower bound, numbers that are not finite, a missing warning, and every exception but ValueError.
"""

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from tools.exact_gap import MulticlassMachine, ScaledInputs, SingleMachine
from widemargin import LinearSVC, LinearSVR
from widemargin.inputs.scaling import Scaling
from widemargin.linear_svm import linear_svm_path

INTERCEPTS = ({"fit_intercept": False}, {"intercept_scaling": None}, {"intercept_scaling": 1.0})
SMALL_SLACK = 1e-14  # of a reported number, which is rounded once


@dataclass
class Case:
    """One problem: the examples, and the machine that is fitted."""

    X: Any
    y: Any
    weights: Any
    options: dict[str, Any]
    labels: bool
    Cs: list[float] = field(default_factory=list)  # more than one: a path

    def model(self) -> Any:
        """The machine, not fitted yet."""
        return (LinearSVC if self.labels else LinearSVR)(warm_start=True, **self.options)

    def fitted(self) -> list[Any]:
        """The machines of all C."""
        if not self.Cs:
            return [self.model().fit(self.X, self.y, sample_weight=self.weights)]
        path = linear_svm_path(
            self.X, self.y, self.Cs, estimator=self.model(), sample_weight=self.weights
        )
        return list(path.models)


# ------------------------------------------------------------------------------------ problems


def draw(rng: np.random.Generator) -> Case:
    """A random problem."""
    n, d = int(rng.integers(5, 81)), int(rng.integers(1, 11))
    labels = bool(rng.random() < 0.6)
    X = _inputs(rng, n, d)
    y = _targets(rng, X, labels)
    options = {
        "C": 10.0 ** rng.uniform(-6, 12),
        "tol": 10.0 ** rng.uniform(-10, -1),
        "scaling": rng.choice([None, None, "standard", "minmax"]),
        "dual": [True, False, "auto", "auto"][rng.integers(4)],
        **INTERCEPTS[rng.integers(len(INTERCEPTS))],
    }
    if labels:
        options["loss"] = str(rng.choice(["hinge", "squared_hinge"]))
        if rng.random() < 0.25:
            options |= {"multi_class": "crammer_singer", "dual": True}
    else:
        options["loss"] = str(rng.choice(["epsilon_insensitive", "squared_epsilon_insensitive"]))
        options["epsilon"] = float(rng.choice([0.0, 0.1]) * np.abs(y).mean())
    Cs = list(options["C"] * np.array([1.0, 3.0, 10.0])) if rng.random() < 0.1 else []
    return Case(_container(rng, X), y, _weights(rng, y, labels), options, labels, Cs)


def _inputs(rng: np.random.Generator, n: int, d: int) -> Any:
    X = rng.normal(size=(n, d))
    X[rng.random((n, d)) < rng.choice([0.0, 0.0, 0.5])] = 0.0
    X *= 10.0 ** rng.uniform(-3, 3)
    if rng.random() < 0.3:  # columns of very different scales
        X *= 10.0 ** rng.uniform(-30, 30, size=d)
    elif rng.random() < 0.3:
        X *= 10.0 ** rng.uniform(-30, 30)
    if rng.random() < 0.3:  # offsets, as of times and identifiers
        shifted = rng.random(d) < 0.5
        X[:, shifted] += 10.0 ** rng.uniform(0, 18, size=shifted.sum())
    X[:, rng.random(d) < 0.1] = rng.choice([0.0, 1.0, -3.0, 1.7e18])
    X[rng.random(n) < rng.choice([0.0, 0.3])] = X[0]
    return X


def _targets(rng: np.random.Generator, X: Any, labels: bool) -> Any:
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    f = Z @ rng.normal(size=X.shape[1]) + rng.choice([0.0, 0.3, 2.0]) * rng.normal(size=len(X))
    if not labels:
        return (f + rng.choice([0.0, 10.0])) * 10.0 ** rng.uniform(-6, 6)
    classes = int(rng.choice([2, 2, 3, 4]))
    y = np.digitize(f, np.quantile(f, np.linspace(0, 1, classes + 1)[1:-1]))
    y[:classes] = np.arange(classes)
    return y


def _weights(rng: np.random.Generator, y: Any, labels: bool) -> Any:
    kind = rng.integers(3)
    if kind == 0:
        return None
    weights = np.ones(len(y)) if kind == 1 else 10.0 ** rng.uniform(-3, 3, size=len(y))
    weights[4:][rng.random(len(y) - 4) < 0.3] = 0.0  # the first four show all classes
    return weights


def _container(rng: np.random.Generator, X: Any) -> Any:
    X = X.astype(np.float32) if rng.random() < 0.3 else X
    return csr_array(X) if rng.random() < 0.3 else X


# ----------------------------------------------------------------------------------- complaints


def complaints(case: Case) -> Iterator[tuple[str, str]]:
    """Why each fit stopped, and what is wrong with it, if anything."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            models = case.fitted()
        except ValueError as error:
            yield "refused", "" if "too large" in str(error) else repr(error)
            return
        except Exception as error:  # every other one is a defect
            yield "exception", repr(error)
            return
    told = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    stray = [w for w in caught if issubclass(w.category, RuntimeWarning)]
    for model in models:
        wrong = list(_wrong(case, model))
        if stray:
            wrong.append(f"warning: {stray[0].message}")
        if not model.converged_ and not any("relative duality gap" in text for text in told):
            wrong.append("no warning with the remaining gap")
        yield model.stop_reason_, "; ".join(wrong)


def _wrong(case: Case, model: Any) -> Iterator[str]:
    numbers = ("coef_", "intercept_", "primal_objective_", "dual_objective_", "duality_gap_")
    for name in numbers:
        if not np.all(np.isfinite(getattr(model, name))):
            yield f"{name} is not finite"
            return
    if model.converged_ != (model.stop_reason_ == "tol"):
        yield "converged_ and stop_reason_ differ"
    for number, machine in enumerate(_machines(case, model)):
        primal, dual = machine.primal(), machine.dual()
        reported = np.ravel(model.dual_objective_)[number]
        if model.converged_ and primal - dual > type(primal)(model.tol) * primal:
            yield f"false certificate: gap/P = {float((primal - dual) / primal):.3g}"
        if reported > max(0.0, float(dual)) * (1.0 + SMALL_SLACK):
            yield f"dual_objective_ {reported:.6g} is no bound: {float(dual):.6g}"


def _machines(case: Case, model: Any) -> Iterator[Any]:
    """The problems of a fit, with the weights and β that solve them."""
    X, y, weights = case.X, case.y, case.weights
    if weights is not None:
        rows = np.flatnonzero(weights)
        X, y, weights = X[rows], y[rows], weights[rows]
    c = np.full(X.shape[0], float(model.C)) if weights is None else model.C * weights
    scaling = Scaling.measured(model.scaling, X, weights=weights)
    inputs = ScaledInputs(X.toarray() if hasattr(X, "toarray") else X, *scaling.core_arguments)
    s = 0.0 if not model.fit_intercept else model.intercept_scaling
    r = np.inf if s is None else s**2
    _, betas, _, _ = model._last_solution
    coef, intercept = np.atleast_2d(model.coef_), np.ravel(model.intercept_)
    if case.options.get("multi_class") == "crammer_singer":
        codes = np.searchsorted(model.classes_, y)
        yield MulticlassMachine(inputs, codes, c, r, coef, intercept, betas[0])
        return
    targets = [y]
    if case.labels:
        positive = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
        targets = [np.where(y == one, 1.0, -1.0) for one in positive]
    for target, w, b, beta in zip(targets, coef, intercept, betas, strict=True):
        tube = None if case.labels else float(model.epsilon)
        squared = model.loss.startswith("squared")
        yield SingleMachine(inputs, target, c, r, w, b, beta, tube, squared)


def main() -> int:
    """Run the cases, print how many stopped for which reason, and every complaint."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="how many problems")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first one")
    options = parser.parse_args()
    reasons: Counter[str] = Counter()
    failed = 0
    for seed in range(options.seed, options.seed + options.count):
        for reason, wrong in complaints(draw(np.random.default_rng(seed))):
            reasons[reason] += 1
            if wrong:
                failed += 1
                print(f"seed {seed}: {wrong}", flush=True)
    print(f"{options.count} problems, {sum(reasons.values())} fits: {dict(reasons)}")
    print(f"complaints: {failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

r"""The dual problem of a fitted kernel machine, computed again from the rows and the coefficients.

`svm.problem` has the problem (5.6)-(5.8). Its solution is read back from `dual_coef_` and
`intercept_`, f is computed from them in float64, and nothing is taken from what `fit` noted down
about the optimum.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from widemargin._typing import FloatArray
from widemargin.analysis.hyperplane import AT_BOUND
from widemargin.analysis.planes import nu_factor, scaled_intercepts
from widemargin.analysis.subject import Subject
from widemargin.svm.problem import Problem, certify

__all__ = ["KernelSolution", "kernel_solutions"]

ROUNDING = 1e-7  # relative, of sums of coefficients


@dataclass(frozen=True, eq=False)
class KernelSolution:
    """β of one problem with its biases, and what is known of f.

    Attributes
    ----------
    problem : Problem
        The problem of all its examples.
    beta : ndarray
        β of all its variables.
    part : Problem
        The same problem, of the examples whose f was computed.
    part_beta, f : ndarray
        Their β and :math:`f = \\sum_m \\beta_m k(x, x_m)`.
    biases : ndarray
        One bias per group, from `intercept_`.
    """

    problem: Problem
    beta: FloatArray
    part: Problem
    part_beta: FloatArray
    f: FloatArray
    biases: FloatArray

    @property
    def whole(self) -> bool:
        return len(self.part.z) == len(self.problem.z)

    @property
    def residuals(self) -> FloatArray:
        """r = z (v − b): the slack of each variable where positive (5.3), (5.4)."""
        v = -(self.part.of_variables(self.f) + self.part.s)
        return np.asarray(self.part.z * (v - self.part.of_groups(self.biases)))

    @property
    def violation(self) -> float:
        """By how much a condition (3.29) is missed: α < U needs r ≤ 0, and α > 0 needs r ≥ 0."""
        r, alpha = self.residuals, np.abs(self.part_beta)
        below = alpha < self.part.upper * (1.0 - AT_BOUND)
        grows, shrinks = r[below], -r[alpha > 0]
        return max(0.0, float(grows.max(initial=0.0)), float(shrinks.max(initial=0.0)))

    @property
    def primal(self) -> float:
        """P at these weights and biases (5.2); slack within the tolerance of hard margins is 0."""
        r = np.maximum(0.0, self.residuals)
        upper = np.where(np.isinf(self.problem.upper), 0.0, self.problem.upper)
        slack = float(upper @ r) + float(self.biases @ self.problem.sums)
        return 0.5 * self.squared_norm + slack

    @property
    def dual(self) -> float:
        """D = −J of these coefficients (5.6)."""
        return -0.5 * self.squared_norm - float(self.problem.s @ self.beta)

    @property
    def squared_norm(self) -> float:
        return float(self.problem.coefficients(self.beta) @ self.f)

    @property
    def allowed_gap(self) -> float:
        """What the gap is at most if no condition is missed by more than 1: Σ U, or Σ α."""
        return float(
            np.where(np.isinf(self.problem.upper), np.abs(self.beta), self.problem.upper).sum()
        )

    @property
    def infeasibility(self) -> tuple[float, float]:
        """How far β is outside its bounds, and its sums from what they must be; relative."""
        upper, total = self.problem.upper, float(np.abs(self.beta).sum())
        alpha = self.problem.z * self.beta
        outside = np.maximum(-alpha, alpha - upper).max(initial=0.0)
        largest = float(upper[np.isfinite(upper)].max(initial=0.0)) or 1.0
        groups = range(len(self.problem.sums))
        missing = np.array([self.beta[self.problem.group == g].sum() for g in groups])
        missing = missing - self.problem.sums
        if self.problem.kind == "nu_svr" and missing[0] < 0 < missing[1]:
            missing = np.array([missing.sum()])  # of a closed tube: α and α* may grow together
        return float(outside) / largest, float(np.abs(missing).max()) / max(total, 1e-300)

    @property
    def feasible(self) -> bool:
        return max(self.infeasibility) <= ROUNDING


def kernel_solutions(subject: Subject) -> list[KernelSolution]:
    """The problems of a fitted machine and what it made of them; empty if rows do not fit."""
    model = copy(subject.model)
    model._double_precision = True
    if model.shape_fit_[0] != subject.count or np.any(model.support_ >= subject.count):
        return []
    weights = model._weights(subject.X, subject.y, subject.sample_weight)
    targets = model._targets(subject.y)
    every = np.arange(subject.count) if weights is None else np.flatnonzero(weights)
    tasks = model._tasks(targets, weights, every)
    coefs = model._earlier_coefficients(targets, tasks)
    outputs = np.full((subject.count, len(tasks)), np.nan)
    checked = np.intersect1d(subject.rows, every)
    outputs[checked] = model._outputs(model._check_inputs(_safe_indexing(subject.X, checked)))
    return [
        _solution(task.problem, coef, f[task.ids], b)
        for task, coef, f, b in zip(tasks, coefs, outputs.T, scaled_intercepts(model), strict=True)
    ]


def _solution(problem: Problem, coef: FloatArray, output: FloatArray, b: float) -> KernelSolution:
    factor = nu_factor(problem, np.abs(coef)) if problem.kind == "nu_svc" else 1.0
    beta = factor * coef
    if len(problem.z) == 2 * len(coef):  # α then α*, of which one is 0
        beta = np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
    known = problem.of_variables(np.isfinite(output).astype(float)) > 0
    names = ("z", "s", "upper", "group", "initial")
    part = replace(problem, **{name: getattr(problem, name)[known] for name in names})
    part_beta, f = beta[known], factor * (output[np.isfinite(output)] - b)
    biases = np.full(len(problem.sums), factor * b)
    if len(biases) == 2:
        found = certify(part, part_beta, f).biases
        half = 0.5 * float(found[0] - found[1])
        if problem.kind == "nu_svc" and half < 0:  # the margins are at ±1 of the outputs
            half = -factor
        elif problem.kind == "nu_svr" and np.abs(beta).sum() < np.abs(problem.sums).sum() * (
            1.0 - ROUNDING
        ):
            half = 0.0  # the tube is closed
        biases = biases + np.array([half, -half])
    return KernelSolution(problem, beta, part, part_beta, f, biases)


def worst(values: Any) -> tuple[int, float]:
    """The number and the value of the largest."""
    values = np.asarray(list(values), dtype=float)
    place = int(np.argmax(values))
    return place, float(values[place])


def names(subject: Subject, count: int) -> Iterator[str]:
    """What the problems of a fit are called."""
    planes = subject.planes if hasattr(subject.model, "classes_") else []
    for k in range(count):
        yield planes[k].name if len(planes) == count else f"problem {k + 1}"

r"""The problem of a fitted linear machine: P at its weights, and a dual bound computed again.

:math:`D(\beta) \le P^* \le P(w, b)`. β is `dual_coef_` where the model keeps it; otherwise the dual
is solved again from the rows. With :math:`\hat w = \sum_l \beta_l \hat x_l`,

.. math:: P(w, b) - D(\beta) = \tfrac12 \|w - \hat w\|^2 + \text{terms} \ge 0,

where the terms vanish if the conditions of complementarity hold, so the gap bounds both.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin._typing import FloatArray
from widemargin.analysis.subject import Subject
from widemargin.inputs.scaling import Scaling
from widemargin.linear_svm.inputs import LinearInputs
from widemargin.linear_svm.machine import LinearMachine
from widemargin.linear_svm.multiclass_problem import MulticlassProblem
from widemargin.linear_svm.problem import Certificate, LinearProblem, Problem
from widemargin.linear_svm.solve import LinearOptions, solve_linear
from widemargin.linear_svm.verification import verified
from widemargin.training.control import Control, interrupt_flag

__all__ = ["LinearSolution", "linear_solutions"]

BOUND_TOLERANCE = 1e-4  # relative gap of the bound that is computed for a stochastic machine


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """(w, b) of one problem as the model has it, and a feasible β."""

    problem: Problem
    certificate: Certificate  # P of the model's weights, D of β, both safe from rounding
    recorded_beta: bool  # whether β is the model's own

    @property
    def primal(self) -> float:
        return self.certificate.primal

    @property
    def dual(self) -> float:
        return self.certificate.dual

    @property
    def relative_gap(self) -> float:
        return self.problem.relative(self.certificate.gap, self.certificate.primal)

    @property
    def stationarity(self) -> float:
        """‖w − Σ β x̂‖ relative to ‖w‖ (3.28)."""
        expansion = self.problem.inputs.combine(self.certificate.beta)
        size = float(np.linalg.norm(self.certificate.w)) or 1.0
        return float(np.linalg.norm(self.certificate.w - expansion)) / size

    def support(self) -> tuple[int, int]:
        """Support vectors that are free, and those at their bound."""
        beta = np.abs(self.certificate.beta)
        if beta.ndim == 2:  # of many classes: the β of the own class
            beta = beta.max(axis=1)
        squared = bool(getattr(self.problem, "squared", False))
        at_bound = np.zeros(len(beta), bool) if squared else beta >= self.problem.c * (1 - 1e-9)
        at_bound &= beta > 0
        return int(np.sum((beta > 0) & ~at_bound)), int(np.sum(at_bound))


def linear_solutions(subject: Subject) -> list[LinearSolution]:
    """The problems of a linear machine or an `SGDSVC`, at the model's weights."""
    model = subject.model
    if isinstance(model, LinearMachine):
        problems, points = _of_machine(subject)
        options = model._options()
    else:
        problems, points = _of_stochastic(subject)
        options = LinearOptions(tol=BOUND_TOLERANCE)
    found = []
    for k, (problem, (w, b)) in enumerate(zip(problems, points, strict=True)):
        beta = _recorded_beta(subject, k, problem)
        known = beta is not None
        if beta is None:
            with interrupt_flag() as interrupted:
                control = Control("certificate", interrupted)
                beta = solve_linear(problem, options, control).certificate.beta
        given = Certificate(0.0, 0.0, w, b, problem.within(beta))
        found.append(
            LinearSolution(problem, verified(problem, given, options.tol).certificate, known)
        )
    return found


def _of_machine(subject: Subject) -> tuple[list[Problem], list[tuple[FloatArray, Any]]]:
    model, X = subject.model, subject.model._check_inputs(subject.X)
    y = subject.y if subject.classification else np.asarray(subject.y, dtype=np.float64)
    parts = model._problem_set(X, y, subject.weights, None)
    coef, b = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    if isinstance(parts.problems[0], MulticlassProblem):
        if len(coef) == 1:  # one output for two classes: their weights are opposite
            coef, b = np.vstack([-coef, coef]) / 2, np.hstack([-b, b]) / 2
        return list(parts.problems), [parts.inputs.scaled(coef, b)]
    points = [parts.inputs.scaled(coef[k], b[k]) for k in range(len(coef))]
    return list(parts.problems), points


def _of_stochastic(subject: Subject) -> tuple[list[Problem], list[tuple[FloatArray, Any]]]:
    """(8.15) of an `SGDSVC` as the problem of a linear SVM with C = 1/(μL)."""
    model = subject.model
    kept = np.arange(subject.count) if subject.weights is None else np.flatnonzero(subject.weights)
    X = model._map_features(model._check_X(subject.X))[kept]
    scaling = Scaling.from_dict(model._state.get("kind", model.scaling), model._state)
    inputs = LinearInputs(X, scaling)
    ones = np.ones(len(kept)) if subject.weights is None else subject.weights[kept]
    free = np.inf if model.fit_intercept else 0.0
    problems, points = [], []
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    for k, name in enumerate(classes):
        target = np.where(np.asarray(subject.y)[kept] == name, 1.0, -1.0)
        c = ones / (model.mu * len(kept))
        problems.append(LinearProblem(inputs, target, c, 0.0, True, False, free))
        points.append(inputs.scaled(model.coef_[k], model.intercept_[k]))
    return problems, points  # type: ignore[return-value]


def _recorded_beta(subject: Subject, k: int, problem: Problem) -> FloatArray | None:
    """β of the examples of a problem from `support_` and `dual_coef_`, if the model has them."""
    model = subject.model
    coef, support = getattr(model, "dual_coef_", None), getattr(model, "support_", None)
    if coef is None or support is None or len(problem.shape) > 1:
        return None
    if np.max(support, initial=-1) >= subject.count:
        return None
    beta = np.zeros(subject.count)
    beta[support] = np.atleast_2d(coef)[k]
    return beta if subject.weights is None else beta[subject.weights > 0]

"""Lines about kernel machines: their dual problem, its solution and their support vectors."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from widemargin.analysis.feature_space import kernel_is_positive_definite
from widemargin.analysis.kernel_solution import (
    ROUNDING,
    KernelSolution,
    kernel_solutions,
    names,
    worst,
)
from widemargin.analysis.report import Outcome, check, decided, inapplicable, number
from widemargin.analysis.subject import Subject
from widemargin.perceptrons.dual_classifier import DualClassifier
from widemargin.svm import NuSVC, NuSVR, OneClassSVM
from widemargin.svm.machine import KernelMachine

EIGENVALUE_ROWS = 500  # of whose matrix all eigenvalues are computed
RECORDED = 1e-4  # relative, by which a recorded objective may differ: solvers work in float32
SLACK = 1.05  # times tol: what else rounding and the place of the bias may add
OTHER_ROWS = "X does not have the rows that the machine was trained on"


def _solutions(subject: Subject) -> list[KernelSolution]:
    found: list[KernelSolution] = subject.once(kernel_solutions)
    return found


def _among(subject: Subject, place: int, count: int) -> str:
    """Which of several problems is the worst."""
    return "" if count == 1 else f" (worst of {count}: {list(names(subject, count))[place]})"


@check("dual variables", "(3.31), (5.8)", KernelMachine)
def feasible(subject: Subject) -> Outcome:
    """0 ≤ α ≤ U, and the sums that the intercept asks for."""
    solutions = _solutions(subject)
    if not solutions:
        return inapplicable(OTHER_ROWS)
    outside, sums = (max(pair) for pair in zip(*(s.infeasibility for s in solutions), strict=True))
    text = (
        f"outside their bounds by {number(outside)} C, sums wrong by {number(sums)} of their size"
    )
    if max(outside, sums) <= ROUNDING:
        text = "the bounds 0 ≤ α ≤ U and the sums of y α hold up to rounding"
    return decided(max(outside, sums) <= ROUNDING, text, outside=outside, sums=sums)


@check("w is an expansion", "(3.32)", (KernelMachine, DualClassifier))
def expansion(subject: Subject) -> Outcome:
    """The support vectors are the training rows that `support_` names."""
    model = subject.model
    if model.kernel == "precomputed":
        return inapplicable("a precomputed kernel keeps the numbers of its support vectors alone")
    support = model.support_
    if np.any(support < 0) or np.any(support >= subject.count):
        return inapplicable(OTHER_ROWS)
    rows, vectors = _safe_indexing(subject.X, support), model.support_vectors_
    rows, vectors = (A.toarray() if sp.issparse(A) else np.asarray(A) for A in (rows, vectors))
    same = rows.shape == vectors.shape
    moved = np.any(rows != vectors, axis=tuple(range(1, rows.ndim))) if same else np.ones(1)
    count = int(np.count_nonzero(moved))
    text = f"w is a sum over {number(len(support))} rows of X"
    if count:
        text = f"{number(count)} of {number(len(support))} support vectors are not rows of X"
    return decided(not count, text, n_support=len(support), n_moved=count)


@check("KKT conditions", "(3.27)-(3.29), (5.30)", KernelMachine)
def kkt(subject: Subject) -> Outcome:
    """The largest violation, at the stored coefficients and intercept."""
    solutions, tol = _solutions(subject), float(subject.model.tol)
    if not solutions:
        return inapplicable(OTHER_ROWS)
    place, violation = worst(s.violation for s in solutions)
    good = violation <= SLACK * tol
    text = f"the largest violation is {number(violation)}, tol={number(tol)}"
    text += _among(subject, place, len(solutions))
    if subject.sampled:
        text += f", on {number(len(subject.rows))} rows drawn from {number(subject.count)}"
    if not good and not subject.model.converged_:
        text += f"; the fit stopped early (stop_reason_={subject.model.stop_reason_!r})"
    return decided(good, text, violation=violation, tol=tol)


@check("primal and dual", "(3.25), (3.30), (5.2), (5.6)", KernelMachine)
def gap(subject: Subject) -> Outcome:
    """D ≤ optimum ≤ P, recomputed; the gap is at most tol times Σ U if the conditions hold."""
    solutions = _solutions(subject)
    if not solutions:
        return inapplicable(OTHER_ROWS)
    if subject.sampled:
        return inapplicable(subject.all_rows)
    if subject.model.kernel == "sigmoid":
        return inapplicable("sigmoid is not positive definite, so that D is no lower bound")
    primal, dual = (np.array([getattr(s, name) for s in solutions]) for name in ("primal", "dual"))
    allowed = SLACK * float(subject.model.tol) * np.array([s.allowed_gap for s in solutions])
    rounding = 1e-9 * (np.abs(primal) + np.abs(dual) + 1e-300)
    left = primal - dual
    good = (left <= allowed + rounding) & (left >= -rounding)
    place, _ = worst(np.where(good, left, left + np.inf))
    P, D = float(primal[place]), float(dual[place])
    text = f"P = {number(P)}, D = {number(D)}, gap {number(P - D)}"
    text += f" ≤ tol Σ U = {number(allowed[place])}" if good.all() else " is not what tol allows"
    text += _among(subject, place, len(solutions))
    return decided(good.all(), text, primal=P, dual=D, gap=P - D)


@check("recorded optimum", "dual_objective_", KernelMachine)
def recorded(subject: Subject) -> Outcome:
    """What `fit` noted down is what the coefficients give."""
    solutions = _solutions(subject)
    if not solutions or subject.sampled:
        return inapplicable(OTHER_ROWS if not solutions else subject.all_rows)
    noted = np.atleast_1d(subject.model.dual_objective_)
    if not np.all(np.isfinite(noted)) or len(noted) != len(solutions):
        return inapplicable("the objective was not measured in fit")
    dual = np.array([s.dual for s in solutions])
    sizes = [s.squared_norm + abs(s.dual) + 1e-300 for s in solutions]
    place, most = worst(np.abs(dual - noted) / np.array(sizes))
    good = most <= RECORDED
    text = f"dual_objective_ {number(noted[place])}, recomputed {number(dual[place])}"
    return decided(good, text + _among(subject, place, len(solutions)), difference=most)


@check("support vectors", "(3.31), Figure 3.5", KernelMachine)
def support_vectors(subject: Subject) -> Outcome:
    """Free support vectors lie on the margin, those at bound within it."""
    solutions = _solutions(subject)
    if not solutions:
        return inapplicable(OTHER_ROWS)
    free = bound = off = 0
    for solution in solutions:
        alpha, upper = np.abs(solution.beta), solution.problem.upper
        at_bound = (alpha > 0) & (alpha >= upper * (1.0 - ROUNDING))
        free, bound = free + int(np.sum((alpha > 0) & ~at_bound)), bound + int(np.sum(at_bound))
        part = np.abs(solution.part_beta)
        between = (part > 0) & (part < solution.part.upper * (1.0 - ROUNDING))
        misplaced = np.abs(solution.residuals) > SLACK * subject.model.tol
        off += int(np.sum(between & misplaced))
    text = f"{number(free)} free, on the margin, and {number(bound)} at bound"
    if len(solutions) > 1:
        text += f", summed over {len(solutions)} problems"
    if off:
        text = f"{number(off)} of {number(free)} free support vectors are not on the margin"
    return decided(not off, text, free=free, at_bound=bound, misplaced=off)


@check("margin", "Schölkopf et al. 2001", OneClassSVM)
def distance_of_origin(subject: Subject) -> Outcome:
    """ρ/‖w‖, the distance between the hyperplane and the origin of feature space."""
    solutions = _solutions(subject)
    if not solutions or subject.sampled:
        return inapplicable(OTHER_ROWS if not solutions else subject.all_rows)
    (solution,) = solutions
    norm = float(np.sqrt(max(0.0, solution.squared_norm)))
    distance = -float(solution.biases[0]) / norm if norm > 0 else np.inf
    text = f"the hyperplane is {number(distance)} from the origin; ‖w‖ = {number(norm)}"
    return decided(distance > 0, text, distance=distance, norm=norm)


@check(
    "nu", "Schölkopf et al. 2000, Proposition 5; 2001, Proposition 3", (NuSVC, NuSVR, OneClassSVM)
)
def nu_property(subject: Subject) -> Outcome:
    """At most a fraction ν are margin errors, and at least a fraction ν support vectors."""
    solutions = _solutions(subject)
    if not solutions or subject.sampled:
        return inapplicable(OTHER_ROWS if not solutions else subject.all_rows)
    nu, tol, good, worst_pair = float(subject.model.nu), float(subject.model.tol), True, (0.0, 1.0)
    for solution in solutions:
        problem = solution.problem
        unit = problem.upper / problem.upper.sum() * (2 if len(problem.z) > problem.examples else 1)
        outside = float(unit @ (solution.residuals > SLACK * tol))
        support = float(unit @ (np.abs(solution.beta) > 0))
        good = good and outside <= nu * (1 + ROUNDING) and support >= nu * (1 - ROUNDING)
        worst_pair = max(worst_pair[0], outside), min(worst_pair[1], support)
    outside, support = worst_pair
    text = f"fraction of margin errors {number(outside)} ≤ nu={number(nu)} ≤ "
    text += f"fraction of support vectors {number(support)}"
    if not good:
        text = (
            f"margin errors {number(outside)}, nu={number(nu)}, support vectors {number(support)}"
        )
    return decided(good, text, nu=nu, margin_errors=outside, support=support)


@check("kernel", "Theorem 3.3 (Mercer)", (KernelMachine, DualClassifier))
def kernel(subject: Subject) -> Outcome:
    """The matrix of the kernel on some rows has no negative eigenvalue."""
    space: Any = subject.space
    count = min(EIGENVALUE_ROWS, len(space.inputs))
    chosen = np.linspace(0, len(space.inputs) - 1, count).astype(int)
    some = space.inputs[chosen]
    found = kernel_is_positive_definite("precomputed", space.kernel(some, some))
    text = f"smallest eigenvalue {number(found.smallest)} of {number(count)} rows"
    text += f", rounding {number(found.tolerance)}"
    values = {"smallest": found.smallest, "tolerance": found.tolerance}
    return decided(found, text if found else f"not positive definite: {text}", **values)

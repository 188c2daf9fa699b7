r"""The dual variables of a solved machine, and the machine that they make: w = Σ β x̂.

A solver ends with a point (w, b) and a β whose costs are within `tol` of each other. The point is
usually a mean over some epochs, so that Σ β x̂ is near w but not equal to it. And the interior-point
method leaves every β a little away from its bound. Both are mended here. Which examples are at a
bound is known by then, and the others satisfy linear equations:

.. math::
    y_l f(x_l) = 1 \;\; (0 < |\beta_l| < c_l), \qquad\text{or}\qquad
    \beta_l = 2 c_l (y_l - f(x_l)) \;\; (y_l f(x_l) < 1)

for the hinge and for its square. What they give is taken only if its verified gap is at most `tol`.
"""

from collections.abc import Iterator

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from widemargin._typing import FloatArray, IntArray
from widemargin.linear_svm.problem import Certificate, LinearProblem, Problem
from widemargin.linear_svm.verification import verified

__all__ = ["agreeing"]

MAX_EQUATIONS = 1000  # that are solved: their cost grows with the third power
MAX_NEWTON_STEPS = 8  # in which the sets of examples at bounds may change
MAX_INPUTS = 1 << 22  # of the examples on the margin, as float64
MAX_OPERATIONS = float(1 << 28)  # for a matrix of the columns, unless a solver had one too

Intercept = FloatArray | float


def agreeing(problem: Problem, best: Certificate, tol: float) -> tuple[Certificate, bool]:
    """A certificate within `tol` whose (w, b) is the machine that its β makes, if one is found.

    Otherwise the best point, which is at most √(2 gap) away from Σ β x̂, with a β that has as many
    zeros as possible. The second value is whether they agree. Regressions keep their point.
    """
    if isinstance(problem, LinearProblem) and not problem.labels:
        return best, True
    tried = []
    for beta, b in _candidates(problem, best):
        tried.append(beta)
        w, b = _machine(problem, beta, b)
        found = verified(problem, best._replace(beta=beta, w=w, b=b), tol).certificate
        if problem.relative(found.gap, found.primal) <= tol:
            return found, True
    for beta in tried[:-1]:
        found = verified(problem, best._replace(beta=beta), tol).certificate
        if problem.relative(found.gap, found.primal) <= tol:
            return found, False
    return best, False


def _machine(problem: Problem, beta: FloatArray, b: Intercept) -> tuple[FloatArray, Intercept]:
    """(w, b) that β makes; a free b is not determined by it, so that it is given."""
    if problem.intercept < np.inf:
        b = problem.intercept * beta.sum(axis=0)
    return problem.inputs.combine(beta), b


def _candidates(problem: Problem, best: Certificate) -> Iterator[tuple[FloatArray, Intercept]]:
    """Feasible β to try, each with an intercept, and the cheapest first; the last is that given."""
    if isinstance(problem, LinearProblem):
        (f,) = problem.inputs.outputs([(best.w, best.b)])
        yield problem.feasible(_at_bounds(problem, best.beta, f)), best.b
        refined = _squared_equations if problem.squared else _hinge_equations
        with np.errstate(all="ignore"):
            found = refined(problem, best, f)
        if found is not None and np.all(np.isfinite(found[0])) and np.isfinite(found[1]):
            yield problem.feasible(found[0]), found[1]
    yield best.beta, best.b


def _at_bounds(problem: LinearProblem, beta: FloatArray, f: FloatArray) -> FloatArray:
    """β = 0 where an example is further beyond its margin than β is from 0, in units of c.

    Likewise β = ±c where an example is more inside the margin than β is from there. At a solution
    one of the two distances is 0, and D rises on the way to the right bound.
    """
    unit = 2.0 * problem.c if problem.squared else problem.c
    wanted = problem.target * beta / unit + 1.0 - problem.target * f
    beta = np.where(wanted <= 0.0, 0.0, beta)
    return beta if problem.squared else np.where(wanted >= 1.0, problem.target * unit, beta)


def _hinge_equations(
    problem: LinearProblem, best: Certificate, f: FloatArray
) -> tuple[FloatArray, Intercept] | None:
    """β that puts the examples between their bounds on the margin, and b.

    Which examples these are follows from the last β and f. Of all β the one with the smallest gap
    is returned.
    """
    beta, b, before = best.beta, best.b, None
    found, least = None, np.inf
    for _ in range(MAX_NEWTON_STEPS):
        wanted = problem.target * beta / problem.c + 1.0 - problem.target * f
        free = np.flatnonzero((wanted > 0.0) & (wanted < 1.0))
        beta = _at_bounds(problem, beta, f)
        if before is not None and np.array_equal(free, before):
            break
        if not 0 < len(free) < MAX_EQUATIONS or len(free) * problem.inputs.width > MAX_INPUTS:
            break
        beta, b = _on_margin(problem, beta, b, free)
        near = problem.feasible(beta)
        w, _ = machine = _machine(problem, near, b)
        gap = problem.point(*machine).cost - problem.dual(near, w)
        if gap < least:
            found, least = (near, b), gap
        (f,) = problem.inputs.outputs([_machine(problem, beta, b)])
        before = free
    return found


def _on_margin(
    problem: LinearProblem, beta: FloatArray, b: Intercept, free: IntArray
) -> tuple[FloatArray, Intercept]:
    """β changed for these examples only, so that f = y there; of many changes the smallest."""
    inputs, n, open_ = problem.inputs, len(free), problem.intercept == np.inf
    x = inputs.centred(inputs.X[free], np.arange(inputs.width), np.float64)
    w, b = _machine(problem, beta, b)
    matrix, short = np.zeros((n + open_, n + open_)), np.empty(n + open_)
    matrix[:n, :n] = x @ x.T + (0.0 if open_ else problem.intercept)
    matrix[n:, :n] = matrix[:n, n:] = 1.0
    short[:n], short[n:] = problem.target[free] - (x @ w + b), -beta.sum()
    change = lstsq(matrix, short, check_finite=False)[0]
    beta = beta.copy()
    beta[free] += change[:n]
    return beta, b + change[n:].sum()


def _squared_equations(
    problem: LinearProblem, best: Certificate, f: FloatArray
) -> tuple[FloatArray, Intercept] | None:
    """The machine of the examples inside the margin, by steps of Newton's method."""
    inputs = problem.inputs
    costly = float(inputs.count) * inputs.width**2 > MAX_OPERATIONS
    if inputs.width >= MAX_EQUATIONS or (costly and not inputs.has_design):
        return None
    design = inputs.design(1.0 if problem.intercept > 0 else 0.0)
    penalty = np.ones(design.columns)
    if problem.intercept > 0:
        penalty[-1] = 1.0 / problem.intercept
    for _ in range(MAX_NEWTON_STEPS):
        inside = problem.target * f < 1.0
        weight = 2.0 * problem.c * inside
        matrix = design.gram(weight)
        matrix[np.diag_indices_from(matrix)] += penalty
        try:
            factor = cho_factor(matrix, check_finite=False)
        except LinAlgError:
            return None
        v = cho_solve(factor, design.combine(weight * problem.target), check_finite=False)
        f = design.outputs(v)
        if np.array_equal(inside, problem.target * f < 1.0):
            break
    short = problem.target - f
    return np.where(problem.target * f < 1.0, 2.0 * problem.c * short, 0.0), float(v[-1])

"""Recomputes a certificate from the weights as they are stored, and bounds its rounding errors.

A solver updates w and f(x), and its sums cancel where inputs are far from the origin or C is large.
So before a fit calls itself converged, P and D are computed from the stored weights and from β, and
their errors are bounded. A sum of n terms has an error of at most n u times the sum of their sizes,
u being the rounding of the arithmetic; the errors of f(x) and of w = Σ β x̂ then bound those of P
and D. If float64 cannot decide, the same is done in long double.
"""

from typing import NamedTuple

import numpy as np

from widemargin.linear_svm.problem import Certificate, Problem
from widemargin.linear_svm.sums import DoubleSums, LongSums, Sums

__all__ = ["Verified", "verified"]

MORE_ROUNDINGS = 8  # beside one per term of a sum


class Verified(NamedTuple):
    """A certificate recomputed: its bound is so low that rounding cannot have raised it."""

    certificate: Certificate
    error: float  # of the gap, in float64


@np.errstate(over="ignore", invalid="ignore")
def verified(problem: Problem, certificate: Certificate, tol: float) -> Verified:
    """Recompute P and D, and lower D by the errors of both.

    Parameters
    ----------
    problem : Problem
        The problem.
    certificate : Certificate
        Its (w, b) and its β are taken; P and D are computed again. The β that is returned is the
        feasible one next to it, whose D this is.
    tol : float
        The relative gap wanted: long double is used only if float64 cannot tell whether it is
        reached.
    """
    certificate = certificate._replace(beta=problem.feasible(certificate.beta))
    found, error = _evaluated(problem, certificate, DoubleSums(problem.inputs), tol)
    reached = found.gap <= tol * found.primal
    refuted = found.gap - 2.0 * error > tol * found.primal
    if not reached and not refuted:
        found, _ = _evaluated(problem, certificate, LongSums(problem.inputs), tol)
    return Verified(found, error)


def _evaluated(
    problem: Problem, certificate: Certificate, sums: Sums, tol: float
) -> tuple[Certificate, float]:
    primal, primal_error = _primal(problem, certificate, sums)
    dual, dual_error = _dual(problem, certificate, sums)
    error = dual_error + (1.0 + tol) * primal_error  # tol of a cost that may be lower
    error = error if np.isfinite(error) else np.inf
    least = dual - error if dual > error else 0.0  # which is D of β = 0
    return certificate._replace(primal=primal or primal_error, dual=least), error


def _primal(problem: Problem, certificate: Certificate, sums: Sums) -> tuple[float, float]:
    """P of the weights as they are stored, and by how much it may be too low."""
    inputs = problem.inputs
    each = (inputs.width + MORE_ROUNDINGS) * sums.rounding
    coef, intercept = inputs.raw(certificate.w, certificate.b)
    f, size = sums.outputs(coef, intercept)
    w, b = inputs.scaled(np.asarray(coef, sums.dtype), np.asarray(intercept, sums.dtype))
    added = np.where(size > 0.0, np.abs(np.atleast_2d(f)).max(axis=0), 0.0)  # w·x + b, rounded
    errors = each * size + 2.0 * sums.rounding * (added + problem.slack_terms(f))
    value = problem.cost(w, b, f, np.zeros_like(size))
    error = problem.cost(w, b, f, errors.astype(np.float64)) - value
    error += (inputs.count + inputs.width + MORE_ROUNDINGS) * sums.rounding * value
    if inputs.mean is not None and 0.0 < problem.intercept < np.inf:
        shift = each * (np.abs(intercept) + np.abs(coef) @ np.abs(inputs.mean))
        error += float(np.sum(shift * (np.abs(b) + shift))) / problem.intercept
    return float(value), float(error)


def _dual(problem: Problem, certificate: Certificate, sums: Sums) -> tuple[float, float]:
    """D of a feasible β, and by how much it may be too high."""
    each = (problem.inputs.count + MORE_ROUNDINGS) * sums.rounding
    beta, left = problem.settled(np.asarray(certificate.beta, sums.dtype))
    w, pull, square = sums.combine(beta)
    terms, slope = problem.dual_terms(beta)
    total = float(np.abs(beta).sum())
    error = each * (pull + each * square + terms)
    if 0.0 < problem.intercept < np.inf:
        columns = float(np.abs(beta.sum(axis=0)).sum())
        error += problem.intercept * each * total * (columns + each * total)
        slope += problem.intercept * columns
    # β is feasible up to rounding; what is left moves along a path through all outputs at most
    left = (left + each * total) * np.size(beta[0])
    furthest, longest = sums.furthest(w)
    error += left * (slope + 2.0 * furthest + left * longest**2)
    return float(problem.dual(beta, w)), error

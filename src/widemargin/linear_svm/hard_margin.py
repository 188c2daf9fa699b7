r"""Hard margins of linear machines, C = ∞: no example may be inside the margin.

.. math:: \min_{w, b} \; \tfrac12 \|w\|^2 + \tfrac1{2r} b^2 \quad\text{with}\quad
          y_l (w \cdot \hat x_l + b) \ge 1

Its dual is that of the hinge without upper bounds, so that every β of a finite C bounds it, and so
does every multiple:

.. math:: \max_t D(t\beta) = \frac{(\sum_l |\beta_l|)^2}{2 Q}, \qquad
          Q = \Bigl\|\sum_l \beta_l \hat x_l\Bigr\|^2 + r \Bigl(\sum_l \beta_l\Bigr)^2

The machine of a finite C is multiplied until its nearest example is on the margin, which gives a
cost of this problem. C grows until the two meet: it need not exceed the largest multiplier. If the
classes cannot be separated, the bound grows without end instead. No margin is wider than
:math:`2/\sqrt{2D}`; when that is less than a millionth of the longest example, the fit raises an
error.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from widemargin._typing import FloatArray
from widemargin.linear_svm.interior_point import PathPoint
from widemargin.linear_svm.problem import Certificate, LinearProblem
from widemargin.linear_svm.solve import LinearOptions, LinearSolution, solve_linear
from widemargin.linear_svm.verification import verified
from widemargin.training.control import Control, Watcher
from widemargin.training.separable import NotSeparableError

__all__ = ["HardProblem", "solve_hard_margin"]

SMALLEST_MARGIN = 1e-6  # that counts as one, relative to the longest example
GROWTH = 100.0  # of C, from one machine to the next
FIRST_C = 100.0  # relative to 1 / mean ‖x̂‖²
MAX_ROUNDS = 20


@dataclass(eq=False)
class HardProblem(LinearProblem):
    """A problem of labels without upper bounds: c is infinite.

    P(w, b) is the cost of the smallest multiple of (w, b) that has no example inside its margin;
    infinite if there is none.
    """

    def cost(self, w: FloatArray, b: float, f: FloatArray, error: FloatArray) -> float:
        least = float((self.target * f - error).min())
        return 0.5 * float(self._penalty(w, b, w, b)) / least**2 if least > 0.0 else np.inf

    def primal(self, w: FloatArray, b: float, f: FloatArray) -> float:
        return self.cost(w, b, f, np.zeros(len(f)))

    def bounds_of(self, c: float) -> LinearProblem:
        """The problem of the hinge with a finite C."""
        every = np.full(self.inputs.count, c)
        return LinearProblem(self.inputs, self.target, every, 0.0, True, False, self.intercept)

    def separation(self, found: Certificate, tol: float) -> Certificate:
        """A machine of finite C, multiplied so that no example is inside its margin.

        β is multiplied by the same number, so that it still makes w. If the classes are not
        separated, the machine stays as it is, and its cost is infinite.
        """
        (f,) = self.inputs.outputs([(found.w, found.b)])
        b, least = found.b, float((self.target * f).min())
        if self.intercept == np.inf:
            shift = -0.5 * float(f[self.target > 0].min() + f[self.target < 0].max())
            b, least = b + shift, float((self.target * (f + shift)).min())
        if not least > 0.0:
            return found._replace(primal=np.inf, dual=self.best_bound(found.beta))
        scaled = found._replace(w=found.w / least, b=b / least, beta=found.beta / least)
        return verified(self, scaled, tol).certificate

    def best_bound(self, beta: FloatArray) -> float:
        """The largest D of a multiple of β."""
        beta = self.feasible(beta)
        w, total, size = self.inputs.combine(beta), float(beta.sum()), float(np.abs(beta).sum())
        square = float(w @ w) + (self.intercept * total**2 if self.intercept < np.inf else 0.0)
        return 0.5 * size**2 / square if square > 0.0 else (np.inf if size > 0.0 else 0.0)


def solve_hard_margin(
    problem: HardProblem,
    options: LinearOptions,
    control: Control,
    *,
    number: int = 0,
    start: Certificate | None = None,
    path_point: PathPoint | None = None,
    watcher: Watcher | None = None,
) -> LinearSolution:
    """Minimise P until the relative gap is at most tol; the arguments are those of `solve_linear`.

    Raises
    ------
    NotSeparableError
        If no margin is wider than rounding.
    """
    norms = problem.inputs.training.norms
    longest, C = float(np.sqrt(max(norms.max(), 0.0))), FIRST_C / max(float(norms.mean()), 1e-300)
    machine: Certificate | None = None
    if start is not None and np.any(start.beta):
        machine, C = start, max(C, 2.0 * float(np.abs(start.beta).max()))
    iterations, point = 0, PathPoint(next_ratio=GROWTH)
    for _ in range(MAX_ROUNDS):
        soft, left = problem.bounds_of(C), replace(options, max_iter=options.max_iter - iterations)
        begin: Any = None if machine is None else soft.resume(*machine[4:], *machine[2:4], 1.0)
        found = solve_linear(
            soft, left, control, number=number, start=begin, path_point=point, watcher=watcher
        )
        iterations += found.iterations
        end = problem.separation(found.certificate, options.tol)
        result = LinearSolution(end, found.solver, iterations, found.reason)
        apart, reached = np.isfinite(end.primal), end.gap <= options.tol * end.primal
        if apart and reached:
            result.reason = "tol"
            return result
        if found.reason not in ("tol", "rounding") or (apart and found.reason == "rounding"):
            return result
        bound = 2.0 / np.sqrt(max(2.0 * end.dual, 1e-300))
        if not apart and (bound <= SMALLEST_MARGIN * longest or found.reason == "rounding"):
            raise NotSeparableError(number, float(bound))
        if iterations >= options.max_iter:
            result.reason = "max_iter"
            return result
        machine, C = found.certificate, GROWTH * C
    result.reason = "rounding"
    return result

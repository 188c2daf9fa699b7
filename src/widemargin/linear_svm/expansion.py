r"""The dual variables of a solved machine, with those at a bound exactly there.

The interior-point method leaves every β a little away from its bounds. An example is a support
vector if its β is not 0, so those that belong to a bound are moved there, as long as the verified
gap stays within `tol`. The point (w, b) does not change. It is near the machine that β makes:
½ ‖w − Σ β x̂‖² is a part of the duality gap.
"""

import numpy as np

from widemargin._typing import FloatArray
from widemargin.linear_svm.problem import Certificate, LinearProblem, Problem
from widemargin.linear_svm.verification import verified

__all__ = ["with_bounds"]


def with_bounds(problem: Problem, best: Certificate, tol: float) -> Certificate:
    """The certificate with β at its bounds, if its gap is still at most `tol`.

    Only β of labels are shown to users, so those of a regression stay as they are.
    """
    if not isinstance(problem, LinearProblem) or not problem.labels:
        return best
    beta = problem.feasible(_at_bounds(problem, best))
    found = verified(problem, best._replace(beta=beta), tol).certificate
    return found if problem.relative(found.gap, found.primal) <= tol else best


def _at_bounds(problem: LinearProblem, best: Certificate) -> FloatArray:
    """β = 0 where an example is further beyond its margin than β is from 0, in units of c.

    Likewise β = ±c where an example is more inside the margin than β is from there. At a solution
    one of the two distances is 0, and D rises on the way to the right bound.
    """
    (f,) = problem.inputs.outputs([(best.w, best.b)])
    unit = 2.0 * problem.c if problem.squared else problem.c
    wanted = problem.target * best.beta / unit + 1.0 - problem.target * f
    beta = np.where(wanted <= 0.0, 0.0, best.beta)
    return beta if problem.squared else np.where(wanted >= 1.0, problem.target * unit, beta)

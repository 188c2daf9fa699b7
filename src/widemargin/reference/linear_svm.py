r"""Linear support vector machines in NumPy: objectives, certificates and exact solutions.

With :math:`f_i = w \cdot x_i + b` and a weight :math:`c_i` for each example,

.. math::

    \min_{w,b}\; P &= \tfrac12\|w\|^2 + \frac{b^2}{2s^2} + \sum_i c_i\, \ell_i(f_i), \\
    \max_\beta\; D &= t \cdot \beta - \epsilon\|\beta\|_1
        - \tfrac12\Big\|\sum_i\beta_i x_i\Big\|^2 - \frac{s^2}{2}\Big(\sum_i\beta_i\Big)^2
        - \Big[\sum_i \frac{\beta_i^2}{4c_i}\text{ if squared}\Big].

s is ``intercept_scaling``: with ∞ the intercept is free and :math:`\sum_i\beta_i = 0`, with 0 there
is no intercept. t are labels ±1, with ε = 0, or targets. docs/linear-svms.md derives the formulas.

===============================  =======================  ===========
loss                             ℓ                        β
===============================  =======================  ===========
``hinge``                        max(0, 1 − t f)          0 ≤ t β ≤ c
``squared_hinge``                its square               0 ≤ t β
``epsilon_insensitive``          max(0, abs(f − t) − ε)   −c ≤ β ≤ c
``squared_epsilon_insensitive``  its square               any
===============================  =======================  ===========
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widemargin._typing import FloatArray
from widemargin.reference.interior_point import interior_point

__all__ = ["LOSSES", "Certificate", "LinearProblem", "Solution", "augmented", "certificate"]
__all__ += ["dual", "feasible", "primal", "solve"]

LOSSES = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive")
ROUNDING = 1e-12  # of a sum that should be 0, relative to its terms


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """Examples, labels ±1 or targets t, weights c = C × class weight × sample weight."""

    X: FloatArray
    t: FloatArray
    c: FloatArray
    loss: str = "hinge"
    epsilon: float = 0.0
    intercept_scaling: float = np.inf

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise ValueError(f"loss={self.loss!r}; use one of {', '.join(LOSSES)}")
        if self.loss.endswith("hinge") and self.epsilon:
            raise ValueError(f"epsilon={self.epsilon!r}, but {self.loss} has no tube; use 0")

    @property
    def squared(self) -> bool:
        return self.loss.startswith("squared")

    @property
    def upper(self) -> FloatArray:
        """The largest |β|; 0 for examples without weight."""
        return np.where(self.c > 0, np.inf, 0.0) if self.squared else self.c

    @property
    def box(self) -> tuple[FloatArray, FloatArray]:
        if self.loss.endswith("hinge"):
            return np.where(self.t < 0, -self.upper, 0.0), np.where(self.t > 0, self.upper, 0.0)
        return -self.upper, self.upper


class Certificate(NamedTuple):
    """P of (w, b), D of β, and P − D, by which P exceeds the optimum at most."""

    primal: float
    dual: float
    gap: float


class Solution(NamedTuple):
    """The optimum: weights, intercept, β, and their certificate."""

    w: FloatArray
    b: float
    beta: FloatArray
    certificate: Certificate


def primal(problem: LinearProblem, w: FloatArray, b: float) -> float:
    """P(w, b)."""
    f, s = problem.X @ w + b, problem.intercept_scaling
    if problem.loss.endswith("hinge"):
        xi = np.maximum(0.0, 1.0 - problem.t * f)
    else:
        xi = np.maximum(0.0, np.abs(f - problem.t) - problem.epsilon)
    decay = w @ w + ((b / s) ** 2 if b else 0.0)
    return float(0.5 * decay + problem.c @ (xi**2 if problem.squared else xi))


def dual(problem: LinearProblem, beta: FloatArray) -> float:
    """D(β): a lower bound of P for every β that is `feasible`; −∞ for others."""
    (low, high), total, s = problem.box, beta.sum(), problem.intercept_scaling
    if np.any((beta < low) | (beta > high)):
        return -np.inf
    if s == np.inf and abs(total) > ROUNDING * np.abs(beta).sum():
        return -np.inf
    w = problem.X.T @ beta
    value = problem.t @ beta - problem.epsilon * np.abs(beta).sum() - 0.5 * w @ w
    if s < np.inf:
        value -= 0.5 * (s * total) ** 2
    if problem.squared:
        some = problem.c > 0
        value -= np.sum(beta[some] ** 2 / (4 * problem.c[some]))
    return float(value)


def feasible(problem: LinearProblem, beta: FloatArray) -> FloatArray:
    """Move any β to where D is a bound: clip it, and if the intercept is free make its sum 0.

    The sign with the larger sum is lowered: its free variables (between 0 and the bound) first,
    each in proportion to its size, then those at the bound.
    """
    beta = np.clip(beta, *problem.box)
    if problem.intercept_scaling < np.inf:
        return beta
    size, more = np.abs(beta), beta * beta.sum() > 0
    bound = more & (size >= problem.upper)
    free, less = more & ~bound, size[beta * beta.sum() < 0].sum()
    for losers, kept in ((free, max(0.0, less - size[bound].sum())), (bound, less)):
        if size[losers].sum() > kept:
            beta[losers] *= kept / size[losers].sum()
    return beta


def certificate(problem: LinearProblem, w: FloatArray, b: float, beta: FloatArray) -> Certificate:
    """P(w, b), D of the feasible β next to the given one, and the gap between them.

    Examples
    --------
    >>> X, t = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    >>> problem = LinearProblem(X, t, c=np.ones(2))
    >>> certificate(problem, w=np.array([1.0]), b=0.0, beta=np.array([0.7, -0.5]))
    Certificate(primal=0.5, dual=0.5, gap=0.0)
    """
    P, D = primal(problem, w, b), dual(problem, feasible(problem, beta))
    return Certificate(P, D, P - D)


def augmented(X: FloatArray, s: float) -> tuple[FloatArray, FloatArray]:
    """The inputs, with a 1 for the intercept if there is one, and the penalty of each weight."""
    one, penalty = (np.ones((len(X), 1)), [1 / s**2]) if s > 0 else (np.ones((len(X), 0)), [])
    return np.hstack([X, one]), np.concatenate([np.ones(X.shape[1]), penalty])


def solve(problem: LinearProblem, tol: float = 1e-12) -> Solution:
    """The optimum of a few hundred examples: gap <= tol · P, or as small as rounding allows.

    Examples
    --------
    >>> X, t = np.array([[1.0], [3.0], [0.0]]), np.array([1.0, 1.0, -1.0])
    >>> w, b, beta, proof = solve(LinearProblem(X, t, c=np.full(3, 10.0)))
    >>> w.round(6), round(b, 6), beta.round(6), proof.gap < 1e-9
    (array([2.]), -1.0, array([ 2.,  0., -2.]), True)
    """
    X, t, s = problem.X, problem.t, problem.intercept_scaling
    L, d = X.shape
    nothing = primal(problem, np.zeros(d), 0.0)
    best = Solution(np.zeros(d), 0.0, np.zeros(L), Certificate(nothing, 0.0, nothing))
    if nothing == 0:
        return best
    # One α >= 0 per side z of an example: ξ >= z (t − f) − ε, and β = Σ z α.
    z = [t] if problem.loss.endswith("hinge") else [np.ones(L), -np.ones(L)]
    some = np.tile(problem.c > 0, len(z))
    side = np.concatenate(z)[some]
    t, c = (np.tile(values, len(z))[some] for values in (t, problem.c))
    inputs, decay = augmented(X, s)
    R = side[:, None] * np.tile(inputs, (len(z), 1))[some]
    h = side * t - problem.epsilon
    if problem.squared:  # c ξ² <= P(0) at the optimum, so that α = 2 c ξ is less than this
        upper, D = 3 * np.sqrt(c * nothing), 1 / (2 * c)
    else:
        upper, D = c, np.zeros(len(c))
    for u, alpha in interior_point(R[:, None], h[:, None], upper, D, decay):
        beta = np.zeros(len(some))
        beta[some] = side * alpha[:, 0]
        beta = feasible(problem, beta.reshape(len(z), L).sum(axis=0))
        w, b = u[:d], float(u[d]) if s > 0 else 0.0
        proof = certificate(problem, w, b, beta)
        if proof.gap < best.certificate.gap:
            best = Solution(w, b, beta, proof)
        if proof.gap <= tol * proof.primal:
            break
    return best

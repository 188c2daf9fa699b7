r"""A primal-dual interior-point method for linear support vector machines with few columns.

Each example has one or two sides: f(x) should not fall short of t − ε (σ = 1), or not exceed t + ε
(σ = −1). With m = σ(f(x) − t) + ε, a solution has numbers α, s, ξ ≥ 0 per side with

.. math::
    s = m + q \alpha + \xi, \qquad \alpha s = 0, \qquad (c - \alpha)\, \xi = 0, \qquad
    R v = \sum \sigma \alpha \, x

where v = (w, b), x ends with a 1, and R is diagonal: 1, and 1/r for the intercept. Both products
are set to μ > 0 instead, and Newton's method follows μ to 0 (Mehrotra's predictor and corrector;
Ferris and Munson, 2002, for these problems). Eliminating α, s and ξ leaves a system with the matrix
:math:`R + \sum \theta x x^T`. An iteration costs one pass of L·d² operations, and about twenty
iterations are enough for any C.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from widemargin._typing import FloatArray
from widemargin.linear_svm.problem import Certificate, LinearProblem

__all__ = ["PathPoint", "interior_point"]

STEP_TO_BOUND = 0.995  # a step goes this fraction of the way to the nearest bound
SHORTEST_STEP = 1e-12  # below this, rounding leaves no progress
PATH_POINT_GAP = 10.0  # gap of the iterate kept for the next C, relative to the shift to that C
DIAGONAL_SHIFTS = (0.0, 1e-14, 1e-13, 1e-12)  # tried before the matrix counts as indefinite
MAX_READY = 10  # iterates whose products say that tol is reached; then rounding spoils certificates
CERTIFY_FROM = 3.0  # iterates are certified once their gap is below this multiple of tol


@dataclass
class PathPoint:
    r"""An iterate of one problem, from which the problem of the next C of a path starts.

    With α times τ = C'/C, all products grow by τ, and only :math:`R v = \sum \sigma \alpha x`
    no longer holds: it is off by (τ − 1) w, which is a gap of ½ (τ − 1)² ‖w‖². The iterate whose
    products are about as large is the right one. Closer to the bounds, steps would be short.
    An iteration may leap past it; so α, s and ξ are set again for products of at least that size.
    """

    iterate: tuple[FloatArray, ...] | None = None  # v, α, s, ξ
    c: FloatArray | None = None  # of its problem
    next_ratio: float = 1.0  # τ of the next problem


class _Iterate:
    """v, and α, s and ξ of each side of each example."""

    def __init__(self, problem: LinearProblem, start: PathPoint | None, tol: float) -> None:
        self.problem = problem
        self.design = problem.inputs.design(1.0 if problem.intercept > 0 else 0.0)
        self.orthogonal = False  # whether normal equations were too inaccurate
        if problem.labels:
            self.sign = np.sign(problem.target)[None]
            self.margin = np.ones_like(self.sign)
        else:
            self.sign = np.array([[1.0], [-1.0]]) * np.ones_like(problem.target)
            self.margin = self.sign * problem.target - problem.epsilon
        self.penalty = np.ones(self.design.columns)  # R
        if problem.intercept > 0:
            self.penalty[-1] = 1.0 / problem.intercept
        self.bounded = not problem.squared
        if start is None or start.iterate is None or start.c is None:
            self.v = np.zeros(self.design.columns)
            self.f = self.design.outputs(self.v)
            size = float(np.abs(self.margin).mean()) or 1.0  # the size of s; that of α is c
            self._centre(problem.c * (size if self.bounded else size**2))
        else:
            self.v, alpha, self.s, self.xi = start.iterate
            self.alpha, ratio = alpha * (problem.c / start.c), float(np.max(problem.c / start.c))
            self.f = self.design.outputs(self.v)
            moved = max(ratio * self.shift(ratio), tol * self.cost)
            total = max(self.products, PATH_POINT_GAP * moved)
            pairs = (2 if self.bounded else 1) * (problem.c * np.ones_like(alpha)).sum()
            self._centre(problem.c * (total / pairs))

    @property
    def cost(self) -> float:
        return float(self.problem.primal(self.v[:-1], self.b, self.f))

    @property
    def b(self) -> float:
        return float(self.v[-1]) if self.problem.intercept > 0 else 0.0

    def _centre(self, mu: FloatArray) -> None:
        """Set α, s and ξ so that their products are μ, given f."""
        m, c, q = self.sign * self.f - self.margin, self.problem.c, self.problem.ridge
        if self.bounded:
            self.alpha = 2 * mu * c / (m * c + 2 * mu + np.hypot(m * c, 2 * mu))
            self.xi = mu / (c - self.alpha)
        else:
            root = np.sqrt(m**2 + 4 * q * mu)
            self.alpha = np.where(m > 0, 2 * mu / (m + root), (root - m) / (2 * q))
            self.xi = np.zeros_like(self.alpha)
        self.s = mu / self.alpha

    @property
    def point(self) -> tuple[FloatArray, ...]:
        return self.v, self.alpha, self.s, self.xi

    @property
    def beta(self) -> FloatArray:
        return np.asarray((self.sign * self.alpha).sum(axis=0))

    @property
    def products(self) -> float:
        """The sum of all products, which is the duality gap once the equations hold."""
        total = float((self.alpha * self.s).sum())
        return total + float((self.xi * self.room).sum()) if self.bounded else total

    def shift(self, ratio: float) -> float:
        """The gap that follows from multiplying C by this ratio, in the units of `products`."""
        w = self.v[:-1]
        return 0.5 * (ratio - 1.0) ** 2 * float(w @ w) / ratio

    def _products_after(self, t: float, alpha: FloatArray, s: FloatArray, xi: FloatArray) -> float:
        total = float(((self.alpha + t * alpha) * (self.s + t * s)).sum())
        if self.bounded:
            total += float(((self.xi + t * xi) * (self.room - t * alpha)).sum())
        return total

    @property
    def room(self) -> FloatArray:
        return self.problem.c - self.alpha

    def advance(self) -> bool:
        """One iteration; False if rounding leaves no progress, with either kind of factors."""
        if self._step():
            return True
        if self.orthogonal:
            return False
        self.orthogonal = True
        return self._step()

    @np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore")
    def _step(self) -> bool:
        """One predictor and one corrector step; False if there is no progress."""
        q, total = self.problem.ridge, self.products
        if not 0.0 < total < np.inf:
            return False
        count = (2 if self.bounded else 1) * self.alpha.size
        lacking = self.margin - self.sign * self.f - q * self.alpha - self.xi + self.s
        missing = self.design.combine(self.beta) - self.penalty * self.v
        stiffness = q + self.s / self.alpha
        if self.bounded:
            stiffness = stiffness + self.xi / self.room
        theta = 1.0 / stiffness
        factor = self._factor(theta.sum(axis=0))

        def direction(lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, ...]:
            """The direction in which α s and ξ (c − α) change by these."""
            rho = lacking + lower / self.alpha
            if self.bounded:
                rho = rho - upper / self.room
            weighted = (self.sign * theta * rho).sum(axis=0)
            v = cho_solve(factor, missing + self.design.combine(weighted), check_finite=False)
            f = self.design.outputs(v)
            alpha = theta * (rho - self.sign * f)
            s = (lower - self.s * alpha) / self.alpha
            xi = (upper + self.xi * alpha) / self.room if self.bounded else np.zeros_like(s)
            return v, f, alpha, s, xi

        none = np.zeros_like(self.alpha)
        upper = -self.xi * self.room if self.bounded else none
        _, _, alpha, s, xi = direction(-self.alpha * self.s, upper)
        t = self._furthest(alpha, s, xi)
        goal = (self._products_after(t, alpha, s, xi) / total) ** 3 * total / count  # μ

        def corrected(part: float) -> tuple[float, tuple[FloatArray, ...]]:
            upper = goal - self.xi * self.room + part * alpha * xi if self.bounded else none
            step = direction(goal - self.alpha * self.s - part * alpha * s, upper)
            return self._furthest(*step[2:]), step

        predicted = t
        t, step = corrected(1.0)
        if not self._products_after(t, *step[2:]) < total:  # it could cycle: correct less
            t, step = corrected(predicted**2)
        if not t > SHORTEST_STEP or not np.all(np.isfinite(step[0])):
            return False
        self.v = self.v + t * step[0]
        self.f = self.f + t * step[1]
        self.alpha = self.alpha + t * step[2]
        self.s = self.s + t * step[3]
        self.xi = self.xi + t * step[4]
        return True

    def certify(self) -> Certificate:
        """The bound of β made feasible, and the best point near v and near Σ β x̂."""
        beta = self.problem.feasible(self.beta)
        w, b = self.problem.inputs.combine(beta), self.b
        return self.problem.certify(beta, w, self.problem.best_near((w, b), (self.v[:-1], b)))

    def _furthest(self, alpha: FloatArray, s: FloatArray, xi: FloatArray) -> float:
        """The longest step, at most 1, that leaves all variables positive."""
        pairs = [(self.alpha, alpha), (self.s, s)]
        if self.bounded:
            pairs += [(self.xi, xi), (self.room, -alpha)]
        with np.errstate(divide="ignore", invalid="ignore"):
            least = min(float(np.where(d < 0, -z / d, np.inf).min()) for z, d in pairs)
        return min(1.0, STEP_TO_BOUND * least)

    def _factor(self, theta: FloatArray) -> tuple[FloatArray, bool]:
        """A triangular factor of R + Σ θ x xᵀ: Cholesky's, or if rounding forbids it, from QR."""
        if not self.orthogonal:
            matrix = self.design.gram(theta)
            matrix[np.diag_indices_from(matrix)] += self.penalty
            diagonal = matrix.diagonal().copy()
            for shift in DIAGONAL_SHIFTS:
                matrix[np.diag_indices_from(matrix)] = (1.0 + shift) * diagonal
                with suppress(LinAlgError):
                    factor: tuple[FloatArray, bool] = cho_factor(matrix, check_finite=False)
                    return factor
            self.orthogonal = True
        return self.design.triangle(theta, self.penalty), False


def interior_point(
    problem: LinearProblem,
    tol: float,
    path_point: PathPoint | None = None,
    last: Callable[..., bool] = lambda more=1: False,
) -> Iterator[Certificate | None]:
    """Iterate towards the solution, with a certificate of some iterates.

    Parameters
    ----------
    problem : LinearProblem
        The problem.
    tol : float
        The relative gap wanted; iterates are certified when they come near it.
    path_point : PathPoint, optional
        Where to start, and where to leave an iterate for the next problem of a path.
    last : callable
        Whether the fit ends after this iteration, so that a certificate is due.

    Yields
    ------
    Certificate or None
        After each iteration. Iterations end only when rounding leaves no progress.
    """
    iterate, wanted = _Iterate(problem, path_point, tol), CERTIFY_FROM * tol
    left, ready = path_point is None, 0
    while ready < MAX_READY and iterate.advance():
        relative = problem.relative(iterate.products, iterate.cost)
        if path_point is not None and not left:
            path_point.iterate, path_point.c = iterate.point, problem.c
            left = iterate.products <= PATH_POINT_GAP * iterate.shift(path_point.next_ratio)
        if relative > wanted:
            yield iterate.certify() if last() else None
            continue
        wanted = 0.9 * relative
        ready += relative <= tol
        yield iterate.certify()
    yield iterate.certify()

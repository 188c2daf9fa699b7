r"""Crammer and Singer's support vector machine of K classes in NumPy, exact and certified.

With :math:`f_k(x) = w_k \cdot x + b_k` and classes :math:`y_i \in \{0, \dots, K-1\}`,

.. math::

    \min_{W,b}\; P &= \sum_k \Big(\tfrac12\|w_k\|^2 + \frac{b_k^2}{2s^2}\Big)
        + \sum_i c_i \max_k \big([k \ne y_i] + f_k(x_i) - f_{y_i}(x_i)\big), \\
    \max_B\; D &= \sum_i B_{i y_i} - \tfrac12 \sum_k \Big\|\sum_i B_{ik} x_i\Big\|^2
        - \frac{s^2}{2} \sum_k \Big(\sum_i B_{ik}\Big)^2

where :math:`B_{ik} \le 0` for :math:`k \ne y_i`, each row of B has sum 0, and
:math:`B_{i y_i} \le c_i`. s is as in `widemargin.reference.linear_svm`: with ∞ each column has
sum 0 too.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widemargin._typing import FloatArray, IntArray
from widemargin.reference.interior_point import interior_point
from widemargin.reference.linear_svm import ROUNDING, Certificate, augmented

__all__ = ["CrammerSingerProblem", "CrammerSingerSolution", "circulation"]
__all__ += ["crammer_singer_certificate", "crammer_singer_dual", "crammer_singer_feasible"]
__all__ += ["crammer_singer_primal", "solve_crammer_singer"]


@dataclass(frozen=True, eq=False)
class CrammerSingerProblem:
    """Examples, their classes 0 … K − 1, weights c = C × class weight × sample weight."""

    X: FloatArray
    y: IntArray
    c: FloatArray
    K: int
    intercept_scaling: float = np.inf

    def __post_init__(self) -> None:
        absent = np.bincount(self.y, weights=self.c, minlength=self.K) == 0
        if self.intercept_scaling == np.inf and absent.any():
            raise ValueError(
                f"class {np.argmax(absent)} has no weight: the lower its free intercept, the "
                "better; leave it out or use intercept_scaling < inf"
            )

    @property
    def own(self) -> FloatArray:
        """1 at the class of each example, else 0."""
        return np.eye(self.K)[self.y]


class CrammerSingerSolution(NamedTuple):
    """The optimum: W of shape (K, d), K intercepts of mean 0 if free, B of shape (L, K)."""

    w: FloatArray
    b: FloatArray
    beta: FloatArray
    certificate: Certificate


def crammer_singer_primal(problem: CrammerSingerProblem, w: FloatArray, b: FloatArray) -> float:
    """P(W, b)."""
    f = problem.X @ w.T + b
    own = np.take_along_axis(f, problem.y[:, None], axis=1)
    loss = np.max(1.0 - problem.own + f - own, axis=1)
    decay = np.sum(w**2) + (np.sum((b / problem.intercept_scaling) ** 2) if np.any(b) else 0.0)
    return float(0.5 * decay + problem.c @ loss)


def crammer_singer_dual(problem: CrammerSingerProblem, beta: FloatArray) -> float:
    """D(B): a lower bound of P where B is `crammer_singer_feasible`, −∞ elsewhere."""
    own, s = problem.own > 0, problem.intercept_scaling
    rounding = ROUNDING * np.abs(beta).sum()
    columns = beta.sum(axis=0)
    outside = np.any(beta[~own] > 0) or np.any(beta[own] > problem.c * (1 + ROUNDING))
    if outside or np.abs(beta.sum(axis=1)).max() > rounding:
        return -np.inf
    if s == np.inf and np.abs(columns).max() > rounding:
        return -np.inf
    penalty = (s * columns) @ (s * columns) if s < np.inf else 0.0
    return float(beta[own].sum() - 0.5 * np.sum((beta.T @ problem.X) ** 2) - 0.5 * penalty)


def crammer_singer_feasible(problem: CrammerSingerProblem, beta: FloatArray) -> FloatArray:
    r"""Move any B to where D is a bound, using its entries outside the own classes.

    :math:`\alpha_{im} = \max(0, -B_{im})` is scaled down to :math:`\sum_m \alpha_{im} \le c_i`. If
    the intercepts are free, α is also lowered until each column sums to 0 (`circulation`).
    """
    alpha = np.where(problem.own > 0, 0.0, np.maximum(0.0, -beta))
    total = alpha.sum(axis=1)
    high = total > problem.c
    alpha[high] *= (problem.c[high] / total[high])[:, None]
    if problem.intercept_scaling == np.inf:
        A = problem.own.T @ alpha  # from the own class k to the class m, over the examples of k
        alpha *= np.divide(circulation(A), A, out=np.zeros_like(A), where=A > 0)[problem.y]
    beta = problem.own * alpha.sum(axis=1)[:, None] - alpha
    return beta


def circulation(A: FloatArray) -> FloatArray:
    """Lower a flow from class to class until as much enters each class as leaves it.

    A flow is made of cycles, which are kept, and of paths that end somewhere, which are not.

    Examples
    --------
    >>> circulation(np.array([[0.0, 3.0, 0.0], [0.0, 0.0, 2.0], [1.0, 1.0, 0.0]]))
    array([[0., 1., 0.],
           [0., 0., 2.],
           [1., 1., 0.]])
    """
    rest, kept = A.copy(), np.zeros_like(A)
    while rest.any():
        walk = [int(np.argmax(rest.sum(axis=1)))]
        while rest[walk[-1]].any() and (after := int(np.argmax(rest[walk[-1]]))) not in walk:
            walk.append(after)
        if not rest[walk[-1]].any():  # nothing leaves this class, so nothing may enter it
            rest[:, walk[-1]] = 0.0
            continue
        cycle = walk[walk.index(after) :]
        steps = cycle, [*cycle[1:], cycle[0]]  # from, to
        least = rest[steps].min()
        rest[steps] -= least
        kept[steps] += least
    return kept


def crammer_singer_certificate(
    problem: CrammerSingerProblem, w: FloatArray, b: FloatArray, beta: FloatArray
) -> Certificate:
    """P(W, b), D of the feasible B next to the given one, the gap."""
    P = crammer_singer_primal(problem, w, b)
    D = crammer_singer_dual(problem, crammer_singer_feasible(problem, beta))
    return Certificate(P, D, P - D)


def solve_crammer_singer(
    problem: CrammerSingerProblem, tol: float = 1e-12
) -> CrammerSingerSolution:
    """The optimum, for a few hundred examples times classes, as `solve` finds it.

    Examples
    --------
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]), np.arange(3)
    >>> problem = CrammerSingerProblem(X, y, c=np.ones(3), K=3, intercept_scaling=0.0)
    >>> w, b, beta, proof = solve_crammer_singer(problem)
    >>> w.round(3), proof.gap < 1e-9
    (array([[ 0.667, -0.333],
           [-0.333,  0.667],
           [-0.333, -0.333]]), True)
    """
    y, K, s = problem.y, problem.K, problem.intercept_scaling
    (L, d), some = problem.X.shape, problem.c > 0
    w, b, beta = np.zeros((K, d)), np.zeros(K), np.zeros((L, K))
    nothing = crammer_singer_primal(problem, w, b)
    best = CrammerSingerSolution(w, b, beta, Certificate(nothing, 0.0, nothing))
    if nothing == 0:
        return best
    # α_im for the classes m other than y_i: ξ_i >= 1 − (w_y − w_m)·x_i
    inputs, decay = augmented(problem.X[some], s)
    others = np.array([np.delete(np.arange(K), k) for k in y[some]])
    R = np.einsum("imk,id->imkd", problem.own[some][:, None] - np.eye(K)[others], inputs)
    R, decay = R.reshape(*others.shape, -1), np.tile(decay, K)
    if s == np.inf:  # only differences of intercepts count: the last one is 0
        R, decay = R[:, :, :-1], decay[:-1]
    n = len(R)
    for u, alpha in interior_point(R, np.ones((n, K - 1)), problem.c[some], np.zeros(n), decay):
        u = np.append(u, 0.0) if s == np.inf else u
        w, b = u.reshape(K, -1)[:, :d], u.reshape(K, -1)[:, d] if s > 0 else np.zeros(K)
        b = b - b.mean() if s == np.inf else b
        full = np.zeros((n, K))
        np.put_along_axis(full, others, -alpha, axis=1)
        beta = np.zeros((L, K))
        beta[some] = full
        beta = crammer_singer_feasible(problem, beta)
        proof = crammer_singer_certificate(problem, w, b, beta)
        if proof.gap < best.certificate.gap:
            best = CrammerSingerSolution(w, b, beta, proof)
        if proof.gap <= tol * proof.primal:
            break
    return best

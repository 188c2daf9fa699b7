r"""The quadratic programme behind linear support vector machines, by an interior point method.

Each example i has variables :math:`\alpha_{im} \ge 0`, m = 1 … M, that share a bound:

.. math::

    \max_\alpha\; h \cdot \alpha - \tfrac12 \sum_i D_i \sum_m \alpha_{im}^2
        - \tfrac12 \sum_k \Delta_k u_k^2, \qquad
    \Delta_k u_k = \sum_{im} \alpha_{im} R_{imk}, \qquad \sum_m \alpha_{im} \le U_i.

:math:`\Delta_k = 0` makes the sum of its column a constraint. The optimum is where

.. math::

    p = R u + D\alpha + q - h \ge 0, \qquad q \ge 0, \qquad p_{im} \alpha_{im} = 0, \qquad
    q_i s_i = 0 \quad\text{with}\quad s_i = U_i - \sum_m \alpha_{im},

q being the losses. The method follows Newton's direction for these equations with the products
equal to μ instead of 0, μ falling to 0 as fast as a first direction allows (Mehrotra, 1992).
Ferris and Munson (2002) reduce the linear system of each step to one of the size of u. Here the
whole system is solved, which is slower but accurate to the end.
"""

from collections.abc import Iterator

import numpy as np

from widemargin._typing import FloatArray

__all__ = ["interior_point"]


def interior_point(
    R: FloatArray,
    h: FloatArray,
    upper: FloatArray,
    D: FloatArray,
    decay: FloatArray,
    max_iter: int = 60,
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the iterates (u, α); the caller decides when to stop.

    R has the shape (examples, M, size of u), h and α (examples, M), `upper` and D (examples,);
    `decay` is Δ.

    Examples
    --------
    >>> R, h = np.array([[[2.0]]]), np.array([[1.0]])  # maximise α − 2α² for α <= 1
    >>> *_, (u, alpha) = interior_point(R, h, np.ones(1), np.zeros(1), np.ones(1), 12)
    >>> u.round(9), alpha.round(9)
    (array([0.5]), array([[0.25]]))
    """
    (n, m), rows = h.shape, R.reshape(h.size, -1)
    u, s, q = np.zeros(len(decay)), upper / 2, 1.0 + np.abs(h).max(axis=1)
    alpha = np.tile(s[:, None] / m, m)
    p = D[:, None] * alpha + q[:, None] - h
    E, zero = np.kron(np.eye(n), np.ones((m, 1))), np.zeros((n, len(u)))  # E q: q of each α
    system = np.block(
        [[np.eye(len(u)), -rows.T, zero.T], [rows, np.eye(h.size), E], [zero, -E.T, np.eye(n)]]
    )
    corner = np.diag_indices(len(system))

    def direction(at: FloatArray, sq: FloatArray) -> tuple[FloatArray, ...]:
        """Newton's, to where p α and q s are smaller by `at` and `sq`."""
        right = np.concatenate([-r_u, (-r_p - at / alpha).ravel(), -sq / q])
        du, da, dq = np.split(np.linalg.solve(system, right), [len(u), len(u) + h.size])
        da = da.reshape(n, m)
        return du, da, -da.sum(axis=1), -(at + p * da) / alpha, dq

    def longest(*moves: FloatArray) -> float:
        """The longest step, at most 1, that leaves α, s, p and q positive."""
        x, dx = (np.concatenate([a.ravel() for a in x]) for x in ((alpha, s, p, q), moves))
        return float(np.min(-x[dx < 0] / dx[dx < 0], initial=1.0))

    for _ in range(max_iter):
        r_u = decay * u - alpha.ravel() @ rows
        r_p = R @ u + D[:, None] * alpha + q[:, None] - h - p
        system[corner] = np.concatenate([decay, (p / alpha + D[:, None]).ravel(), s / q])
        try:
            _, *d = direction(p * alpha, q * s)
            step, now = longest(*d), np.sum(p * alpha) + q @ s
            new = [x + step * dx for x, dx in zip((alpha, s, p, q), d, strict=True)]
            mu = (np.sum(new[2] * new[0]) + new[3] @ new[1]) ** 3 / now**2 / (h.size + n)
            at, sq = p * alpha + step**2 * d[2] * d[0], q * s + step**2 * d[3] * d[1]
            du, da, ds, dp, dq = direction(at - mu, sq - mu)
        except np.linalg.LinAlgError:  # rounding allows no further step
            return
        step = 0.995 * longest(da, ds, dp, dq)
        u, alpha, s = u + step * du, alpha + step * da, s + step * ds
        p, q = p + step * dp, q + step * dq
        yield u, alpha

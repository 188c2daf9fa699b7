r"""The problem of Crammer and Singer's machine of K classes, its dual, and their gap.

.. math::
    P(W, b) = \sum_k \Bigl(\tfrac12 \|w_k\|^2 + \tfrac{1}{2r} b_k^2\Bigr)
    + \sum_l c_l \max_k \bigl([k \ne y_l] + f_k(x_l) - f_{y_l}(x_l)\bigr), \qquad
    D(\beta) = \sum_l \beta_{l y_l} - \tfrac12 \sum_k \|w_k\|^2
    - \tfrac r2 \sum_k \Bigl(\sum_l \beta_{lk}\Bigr)^2

with :math:`w_k = \sum_l \beta_{lk} \hat x_l`. β is positive, up to c, only for the example's own
class, and each row of β sums to 0. Free intercepts (r infinite) turn the last term into the
condition that each column sums to 0 too. :math:`p_l = c_l e_{y_l} - \beta_l` distributes c over the
classes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin._typing import FloatArray
from widemargin.linear_svm.circulation import circulation
from widemargin.linear_svm.inputs import LinearInputs
from widemargin.linear_svm.problem import Problem

__all__ = ["MulticlassProblem"]

COLUMN_ROUNDING = 1e-12  # of the column sums, relative to Σ|β|
BALANCING_ROUNDS = 4  # at most, until the columns sum to 0 up to rounding


@dataclass(eq=False)
class MulticlassProblem(Problem):
    """Examples, classes and costs; see the module.

    Parameters
    ----------
    inputs : LinearInputs
        The examples.
    y : ndarray of shape (n_samples,)
        Their classes 0 … K − 1, as int32.
    c : ndarray of shape (n_samples,)
        Costs > 0 of the examples.
    classes : int
        K.
    intercept : float
        r: 0 without intercepts, infinite for free ones.
    """

    inputs: LinearInputs
    y: NDArray[np.int32]
    c: FloatArray
    classes: int
    intercept: float

    @property
    def outputs(self) -> tuple[int, ...]:
        return (self.classes,)

    def primal(self, w: FloatArray, b: FloatArray, f: FloatArray) -> float:
        own, g = (self.y, np.arange(len(self.y))), f.copy()
        g[own] -= 1.0
        value = 0.5 * float(np.sum(w * w)) + float(self.c @ (g.max(axis=0) - g[own]))
        return value + (0.5 * float(b @ b) / self.intercept if 0 < self.intercept < np.inf else 0.0)

    def dual(self, beta: FloatArray, w: FloatArray) -> float:
        own = beta[np.arange(len(beta)), self.y]
        value = float(own.sum() - 0.5 * np.sum(w * w))
        if 0 < self.intercept < np.inf:
            value -= 0.5 * self.intercept * float(np.sum(beta.sum(axis=0) ** 2))
        return value

    def cost(self, w: FloatArray, b: FloatArray, f: FloatArray, error: FloatArray) -> float:
        own, others = (self.y, np.arange(len(self.y))), f.copy()
        others[own] = -np.inf
        losses = np.maximum(0.0, 1.0 + others.max(axis=0) - f[own] + 2.0 * error)
        value = 0.5 * float(np.sum(w * w)) + float(self.c @ losses)
        return value + (0.5 * float(b @ b) / self.intercept if 0 < self.intercept < np.inf else 0.0)

    def within(self, beta: FloatArray) -> FloatArray:
        """β with the other classes of a row scaled down to c; the own class has minus their sum."""
        alpha = np.maximum(0.0, -beta)
        alpha[np.arange(len(alpha)), self.y] = 0.0
        total = alpha.sum(axis=1)
        high = total > self.c
        alpha[high] *= (self.c[high] / total[high])[:, None]
        return self._from_alpha(alpha, total)

    def _from_alpha(self, alpha: FloatArray, total: FloatArray) -> FloatArray:
        beta = np.negative(alpha, out=alpha)
        beta[np.arange(len(beta)), self.y] = np.minimum(total, self.c)  # up to rounding
        return beta

    def feasible(self, beta: FloatArray) -> FloatArray:
        """Balance the columns if intercepts are free; the rows are within their bounds already."""
        for _ in range(BALANCING_ROUNDS if self.intercept == np.inf else 0):
            columns = beta.sum(axis=0)
            if np.abs(columns).max() <= COLUMN_ROUNDING * np.abs(beta).sum():
                return beta
            moved = self._moved(beta, columns)
            if moved is None:
                return self._lowered(beta)
            beta = moved
        return beta

    def _moved(self, beta: FloatArray, columns: FloatArray) -> FloatArray | None:
        r"""Balance the columns by moving examples that are between their bounds, if these suffice.

        At the optimum, all classes among which an example divides c have equal slopes, so moving c
        between them costs next to nothing. With
        :math:`\Delta p_l = (\text{diag}\, p_l - p_l p_l^T / c_l) \lambda` rows keep their sums, and
        examples with a single class stay as they are.
        """
        p = -beta
        p[np.arange(len(p)), self.y] += self.c
        free = np.flatnonzero(np.count_nonzero(p > 0, axis=1) > 1)
        p, y, c = p[free], self.y[free], self.c[free, None]
        flow = np.diag(p.sum(axis=0)) - p.T @ (p / c)
        shift = np.linalg.lstsq(flow, columns, rcond=1e-13)[0]
        factor = shift - (p / c) @ shift[:, None]
        left = np.abs(flow @ shift - columns).max()
        if left > 0.01 * np.abs(columns).max() or factor.min(initial=0.0) < -1.0:
            return None
        p *= 1.0 + factor
        p[np.arange(len(p)), y] = 0.0
        fixed = beta.copy()
        fixed[free] = -p
        fixed[free, y] = np.minimum(p.sum(axis=1), self.c[free])
        return fixed

    def _lowered(self, beta: FloatArray) -> FloatArray:
        """Balance the columns by lowering β along paths from class to class."""
        alpha = np.maximum(0.0, -beta)
        flow = np.zeros((self.classes, self.classes))
        np.add.at(flow, self.y, alpha)
        kept = np.divide(circulation(flow), flow, out=np.zeros_like(flow), where=flow > 0)
        alpha *= kept[self.y]
        return self._from_alpha(alpha, alpha.sum(axis=1))

    def slack_terms(self, f: FloatArray) -> FloatArray:
        return np.asarray(1.0 + 2.0 * np.abs(f).max(axis=0))

    def settled(self, beta: FloatArray) -> tuple[FloatArray, float]:
        """Set the own class to minus the sum of the others; columns stay as they are."""
        beta = self.within(beta)
        left = float(np.abs(beta.sum(axis=0)).sum()) if self.intercept == np.inf else 0.0
        return beta, left

    def dual_terms(self, beta: FloatArray) -> tuple[float, float]:
        return 0.5 * float(np.abs(beta).sum()), 1.0

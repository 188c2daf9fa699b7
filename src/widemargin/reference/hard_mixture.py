r"""Hard mixtures of experts in NumPy, as short as in Chapter 6, for reading and checks.

There are L examples, K experts and C outputs: gates `g` of shape (L, K), outputs of the experts `f`
of shape (L, K, C). A partition holds the expert of each example. Probabilities that may underflow
are logarithms: ``log_p[l, k]`` is log P(y | x, k) of the correct class, ``log_density[l, k]`` is
log P(x | k).
"""

from typing import NamedTuple

import numpy as np

from widemargin._typing import FloatArray, IntArray

__all__ = [
    "SMALLEST",
    "Gaussians",
    "assign",
    "bayes",
    "criterion",
    "em_step",
    "fit_logistic",
    "hard_criterion",
    "log_softmax",
    "logistic",
    "mistakes",
    "mixture",
    "negative_log_likelihood",
    "posterior",
]

SMALLEST = 1e-37  # a smaller likelihood counts as this, with derivative 0


def mixture(g: FloatArray, f: FloatArray) -> FloatArray:
    r"""(6.1), :math:`\sum_k g_k f_k`, one row per example.

    Examples
    --------
    >>> mixture(np.array([[0.25, 0.75]]), np.array([[[1.0], [-1.0]]]))
    array([[-0.5]])
    """
    return np.asarray(np.einsum("lk,lkc->lc", g, f))


def log_softmax(z: FloatArray) -> FloatArray:
    r"""log g of the scores z of a gater, :math:`g_k = e^{z_k} / \sum_j e^{z_j}`.

    Examples
    --------
    >>> np.exp(log_softmax(np.array([[0.0, np.log(3)], [1e4, 0.0]])))
    array([[0.25, 0.75],
           [1.  , 0.  ]])
    """
    z = z - z.max(1, keepdims=True)
    return np.asarray(z - np.log(np.exp(z).sum(1, keepdims=True)))


def bayes(log_density: FloatArray, prior: FloatArray) -> FloatArray:
    r"""(6.4), log P(k | x): gates from one density per expert.

    Examples
    --------
    >>> np.exp(bayes(np.log([[0.1, 0.3]]), np.array([0.5, 0.5])))
    array([[0.25, 0.75]])
    """
    return log_softmax(log_density + np.log(prior))


def posterior(log_g: FloatArray, log_p: FloatArray) -> FloatArray:
    r"""(6.5), log P(k | x, y): the gates when the class is known.

    Examples
    --------
    >>> np.exp(posterior(np.log([[0.5, 0.5]]), np.log([[0.2, 0.6]])))
    array([[0.25, 0.75]])
    """
    return log_softmax(log_g + log_p)


def assign(scores: FloatArray) -> IntArray:
    """Step 4 of Algorithm 6.1, step 5 of 6.2: a balanced partition.

    In turn, each example is assigned to the expert with the largest score among those with fewer
    than L/K + 1 examples. The first of equal scores wins.

    Examples
    --------
    >>> assign(np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]]))
    array([0, 0, 0, 1])
    """
    L, K = scores.shape
    partition, sizes = np.empty(L, dtype=np.int64), np.zeros(K, dtype=np.int64)
    for l, preferred in enumerate(np.argsort(-scores, axis=1, kind="stable")):
        k = next(k for k in preferred if sizes[k] < L // K + 1)
        partition[l] = k
        sizes[k] += 1
    return partition


def hard_criterion(log_joint: FloatArray, partition: IntArray) -> float:
    r""":math:`-\sum_l \log P(\cdot_l, k_l)` of each example's own expert.

    - :math:`J_{6.1}` with ``log_joint = log_p + log_g``, P(y | x, k) P(k | x);
    - :math:`J_{6.2}` (6.6) with ``log_joint = log_p + log_density + log(prior)``.

    Examples
    --------
    >>> joint = np.log([[0.5, 0.25], [0.125, 0.25]])
    >>> round(hard_criterion(joint, np.array([0, 1])), 4)
    2.0794
    """
    return -float(np.sum(log_joint[np.arange(len(partition)), partition]))


def negative_log_likelihood(log_joint: FloatArray) -> float:
    r""":math:`-\sum_l \log \sum_k P(\cdot_l, k)`, which `hard_criterion` bounds from above.

    :math:`\mathcal{L}_1 = -\sum \log P(y | x)` or :math:`\mathcal{L}_2 = -\sum \log P(y, x)` (6.7),
    for the same ``log_joint`` as there.

    Examples
    --------
    >>> round(negative_log_likelihood(np.log([[0.5, 0.25], [0.125, 0.25]])), 4)
    1.2685
    """
    return -float(np.logaddexp.reduce(log_joint, axis=1).sum())


def criterion(
    name: str, y: FloatArray, f: FloatArray, z: FloatArray, scale: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    r"""A global criterion of a mixture with :math:`g = \mathrm{softmax}\, z`: Q and dQ/dz.

    With :math:`m = \sum_k g_k f_k`:

    - ``"tanh_mse"``: :math:`Q = \frac12 \sum_c (y_c - \tanh m_c)^2`,
    - ``"mse"``: :math:`Q = \frac12 \sum_c s_c (y_c - m_c)^2`, s = `scale` or 1,
    - ``"likelihood"``: :math:`Q = -\log m`, with :math:`f_k` = P(y | x, k), C = 1; `y` is not used.

    .. math:: \frac{\partial Q}{\partial z_k}
              = g_k \sum_c \frac{\partial Q}{\partial m_c} (f_{kc} - m_c),
              \qquad \text{for the likelihood } g_k - h_k, \quad h_k = g_k f_k / m

    h is the posterior P(k | x, y).

    Examples
    --------
    >>> f, z = np.array([[[1.0], [-1.0]]]), np.zeros((1, 2))
    >>> criterion("mse", np.array([[1.0]]), f, z)
    (array([0.5]), array([[-0.5,  0.5]]))
    """
    g = np.exp(log_softmax(z))
    m = mixture(g, f)
    s = np.ones(f.shape[2]) if scale is None else scale
    if name == "likelihood":
        Q = -np.log(np.maximum(m, SMALLEST)).sum(1)
        slope = np.where(m > SMALLEST, -1 / np.maximum(m, SMALLEST), 0.0)
    elif name == "mse":
        Q, slope = 0.5 * (y - m) ** 2 @ s, s * (m - y)
    else:
        t = np.tanh(m)
        Q, slope = 0.5 * ((y - t) ** 2).sum(1), (t - y) * (1 - t**2)
    return Q, g * np.einsum("lc,lkc->lk", slope, f - m[:, None, :])


def mistakes(
    name: str, y: FloatArray, m: FloatArray, scale: FloatArray | None = None
) -> FloatArray:
    r"""The error of each example, for outputs m of the mixture.

    - likelihood: 1 where P(y | x) ≤ 1/2, which is a wrong class if there are two;
    - with `scale`: :math:`\sum_c s_c (y_c - m_c)^2`;
    - otherwise 1 where the sign (C = 1) or the largest output differs from that of y.

    Examples
    --------
    >>> mistakes("tanh_mse", np.array([[1.0], [-1.0]]), np.array([[0.3], [0.1]]))
    array([0., 1.])
    """
    if name == "likelihood":
        wrong = m[:, 0] <= 0.5
    elif scale is not None:
        return np.asarray((y - m) ** 2 @ scale)
    elif m.shape[1] == 1:
        wrong = (m[:, 0] > 0) != (y[:, 0] > 0)
    else:
        wrong = m.argmax(1) != y.argmax(1)
    return wrong.astype(float)


def logistic(f: FloatArray, y: FloatArray, a: float, w: float) -> FloatArray:
    r"""log P(y | x) from the output f(x) of a machine: a logistic function (Platt 1999).

    .. math:: P(y \mid x) = \frac{1}{1 + e^{y (a - w f(x))}}

    The thesis, before (6.10), has a − y w f instead. Then the two probabilities add up to one only
    for a = 0. For y = 1 both formulas agree.

    Examples
    --------
    >>> np.exp(logistic(np.array([0.0, 0.0]), np.array([1.0, -1.0]), np.log(3), 1.0))
    array([0.25, 0.75])
    """
    return -np.logaddexp(0.0, y * (a - w * f))


def fit_logistic(f: FloatArray, y: FloatArray, *, steps: int = 50) -> tuple[float, float]:
    r"""a and w that minimise :math:`-\sum_l \log P(y_l | x_l)` (6.10), by Newton's method.

    They are finite only if the outputs do not separate the classes.

    Examples
    --------
    >>> f, y = np.array([-2.0, -1.0, 1.0, -1.0, 1.0, 2.0]), np.array([-1.0, -1, -1, 1, 1, 1])
    >>> a, w = fit_logistic(f, y)
    >>> abs(a) < 1e-12, round(w, 3)
    (True, 0.756)
    """
    F, theta = np.column_stack([-np.ones_like(f), f]), np.zeros(2)  # w f - a = F theta
    for _ in range(steps):
        p = 0.5 + 0.5 * np.tanh(F @ theta / 2)
        gradient = F.T @ (p - (y > 0))
        step = np.linalg.solve((F.T * (p * (1 - p))) @ F, gradient)
        before = -logistic(f, y, *theta).sum()
        while -logistic(f, y, *(theta - step)).sum() > before and np.abs(step).max() > 1e-12:
            step = step / 2
        theta = theta - step
    return float(theta[0]), float(theta[1])


class Gaussians(NamedTuple):
    r"""A density :math:`P(x) = \sum_n P(n)\, N(x; \mu_n, \Sigma_n)` (6.6.1).

    Weights of shape (N,) and means of shape (N, d). Variances of shape (N, d) are the diagonals of
    Σ, those of shape (N, d, d) are the whole matrices.
    """

    weights: FloatArray
    means: FloatArray
    variances: FloatArray

    def log_joint(self, X: FloatArray) -> FloatArray:
        """log P(x, n), of shape (L, N)."""
        if self.variances.ndim == 3:
            found = [
                -0.5 * (np.einsum("ld,de,le->l", X - m, np.linalg.inv(S), X - m))
                - 0.5 * np.linalg.slogdet(2 * np.pi * S)[1]
                for m, S in zip(self.means, self.variances, strict=True)
            ]
            return np.asarray(np.column_stack(found) + np.log(self.weights))
        distances = (X[:, None, :] - self.means) ** 2 / self.variances
        normal = -0.5 * (distances + np.log(2 * np.pi * self.variances)).sum(2)
        return np.asarray(normal + np.log(self.weights))

    def log_density(self, X: FloatArray) -> FloatArray:
        """log P(x)."""
        return np.asarray(np.logaddexp.reduce(self.log_joint(X), axis=1))


def em_step(
    gaussians: Gaussians, X: FloatArray, weights: FloatArray | None = None, floor: float = 0.0
) -> Gaussians:
    r"""One step of EM (Dempster et al. 1977), which never lowers the likelihood of the examples.

    `floor` is added to variances, as `reg_covar` of scikit-learn; with it, the likelihood may fall.
    Covariance matrices stay whole matrices.

    Examples
    --------
    >>> X = np.array([[-1.0], [-3.0], [2.0], [2.0]])
    >>> two = Gaussians(np.ones(2) / 2, np.array([[-5.0], [5.0]]), np.ones((2, 1)))
    >>> em_step(two, X).means.round(3).ravel()
    array([-2.,  2.])
    """
    r = np.exp(log_softmax(gaussians.log_joint(X)))  # E: P(n | x)
    if weights is not None:
        r = r * weights[:, None]
    total = r.sum(0)[:, None]  # M: weighted frequencies, means, variances
    means = r.T @ X / total
    centred = X[:, None, :] - means
    if gaussians.variances.ndim == 3:
        variances = np.einsum("ln,lnd,lne->nde", r, centred, centred) / total[:, :, None]
        return Gaussians(total[:, 0] / r.sum(), means, variances + floor * np.eye(X.shape[1]))
    variances = np.einsum("ln,lnd->nd", r, centred**2) / total
    return Gaussians(total[:, 0] / r.sum(), means, variances + floor)

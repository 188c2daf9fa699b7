r"""Probabilities from the scores of classifiers: Platt's sigmoid and pairwise coupling.

Two classes, with scores f (Platt 2000):

.. math:: P(y = 1 \mid f) = \frac{1}{1 + e^{A f + B}}

A and B are fitted on scores of models that did not see the example (`out_of_fold`). K classes
have one sigmoid per pair, :math:`r_{ij} \approx P(i \mid i \text{ or } j)`, and `couple` combines
them into one distribution.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import check_random_state

from widemargin._typing import ArrayLike, FloatArray, IntArray

__all__ = ["couple", "fit_sigmoid", "folds_of", "out_of_fold", "sigmoid"]

MIN_PROBABILITY = 1e-7  # of a class against another, as in LIBSVM
MIN_SLOPE = 1e-6  # the smallest max |A f| of a sigmoid without intercept
CONSTANT_SPREAD = 1e-12  # scores that differ by less, relative to the largest, are the same
ZERO_SCORE = 1e-200  # scores up to this size count as zero
MAX_ITER, MAX_HALVINGS = 200, 60
ELEMENTS_PER_BLOCK = 1 << 20  # of the matrices that are solved at a time

ABOVE_HALF, BELOW_HALF = float(np.nextafter(0.5, 1)), float(np.nextafter(0.5, 0))


def fit_sigmoid(
    scores: ArrayLike,
    positive: ArrayLike,
    weights: ArrayLike = None,
    *,
    intercept: bool,
    smooth: bool = True,
) -> tuple[float, float]:
    r"""A and B of :math:`p = 1/(1 + e^{A f + B})` by maximum likelihood.

    .. math:: \min_{A, B} \; -\sum_l w_l \, [t_l \log p_l + (1 - t_l) \log(1 - p_l)], \qquad
              t_l = \frac{N_+ + 1}{N_+ + 2} \text{ if positive, else } \frac{1}{N_- + 2}

    with :math:`N_\pm` the weights of the two classes. A weight of 2 means an example given twice,
    a weight of 0 an example left out. As 0 < t < 1, the minimum is finite even when the scores
    separate the classes. Newton's method with backtracking finds it (Lin, Lin and Weng, 2007).

    The thesis minimises the plain likelihood (6.10), with :math:`t_l = 1` if positive, else 0. Its
    w and a are −A and B. That minimum is finite only if the classes overlap.

    Parameters
    ----------
    scores : array-like of shape (n,)
        f of each example, preferably from models that did not see it.
    positive : array-like of shape (n,)
        Whether the example is of the positive class.
    weights : array-like of shape (n,), optional
        Weights ≥ 0.
    intercept : bool
        Whether to fit B. If not, B = 0 and A < 0, so that p > 1/2 exactly when f > 0.
    smooth : bool, default=True
        Whether t is smoothed as above (Platt 2000). False fits (6.10), and is refused if the scores
        separate the classes.

    Returns
    -------
    A, B : float
        With negative A the probability grows with the score.

    Notes
    -----
    Scores that rank the classes the wrong way round ask for A > 0, which an intercept allows.
    Without one, A > 0 would contradict the sign of f, and the best A ≤ 0 is zero: the scores carry
    no information. A is then the slope with max |A f| = 1e-6, so that p is 1/2 to six digits and
    still on the side of f.

    Constant scores give A = 0 with an intercept: p is the mean of t.

    Examples
    --------
    >>> A, B = fit_sigmoid([-2, -1, 1, 2], [False, False, True, True], intercept=False)
    >>> sigmoid([-1, 0, 1], A, B).round(2)
    array([0.34, 0.5 , 0.66])

    With few examples, smoothing makes the probabilities less extreme:

    >>> f, y = [-2, -1, 1, -1, 1, 2], [False, False, False, True, True, True]
    >>> for smooth in (True, False):
    ...     print(sigmoid([-1, 0, 1], *fit_sigmoid(f, y, intercept=True, smooth=smooth)).round(2))
    [0.4 0.5 0.6]
    [0.32 0.5  0.68]
    """
    f = np.asarray(scores, dtype=np.float64)
    y = np.asarray(positive, dtype=bool)
    w = np.ones_like(f) if weights is None else np.asarray(weights, dtype=np.float64)
    f, y, w = f[w > 0], y[w > 0], w[w > 0]
    n_pos, n_neg = w[y].sum(), w[~y].sum()
    if smooth:
        t = np.where(y, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))
    else:
        _require_overlap(f, y, intercept=intercept)
        t = y.astype(np.float64)
    w = w / ((n_pos + n_neg) or 1.0)

    # u = A f + B = a (f / scale - shift) + b, centred and at most 1 for any scores
    scale = float(np.abs(f).max(initial=0.0))
    f, scale = (f / scale, scale) if scale > ZERO_SCORE else (0 * f, 1.0)
    if not intercept:
        a = _newton(f[:, None], t, w, np.zeros(1))[0] if np.any(f) else 0.0
        return float(min(a, -MIN_SLOPE) / scale), 0.0

    prior = w @ t if len(f) else 0.5
    b = float(np.log((1 - prior) / prior))
    shift = float(w @ f)
    spread = float(np.abs(f - shift).max(initial=0.0))
    if spread <= CONSTANT_SPREAD:
        return 0.0, b
    centred = (f - shift) / spread
    a, b = _newton(np.column_stack([centred, np.ones_like(f)]), t, w, np.array([0.0, b]))
    return float(a / spread / scale), float(b - a * shift / spread)


def _require_overlap(f: FloatArray, y: NDArray[np.bool_], *, intercept: bool) -> None:
    """Refuses scores for which the likelihood (6.10) has no maximum."""
    f_pos, f_neg = f[y], f[~y]
    if intercept:  # equal scores have A = 0
        one_class = len(f_pos) == 0 or len(f_neg) == 0
        apart = one_class or min(f_pos.max() - f_neg.min(), f_neg.max() - f_pos.min()) <= 0
        separated = apart and (one_class or np.ptp(f) > 0)
    else:
        signed = np.where(y, f, -f)
        separated = bool(np.all(signed >= 0) and np.any(signed > 0))
    if separated:
        raise ValueError(
            "the scores separate the classes, so the likelihood (6.10) has no maximum; use "
            "smooth=True, whose targets are inside 0 and 1"
        )


def _newton(F: FloatArray, t: FloatArray, w: FloatArray, theta: FloatArray) -> FloatArray:
    r"""The minimum of :math:`L = \sum_l w_l [\log(1 + e^{u_l}) - (1 - t_l) u_l]`, u = F θ.

    Gradient :math:`F^T w (t - p)`, Hessian :math:`F^T \mathrm{diag}(w p (1 - p)) F`.
    """

    def loss(theta: FloatArray) -> float:
        u = F @ theta
        return float(w @ (np.logaddexp(0, u) - (1 - t) * u))

    value = loss(theta)
    for _ in range(MAX_ITER):
        u = F @ theta
        p, q = expit(-u), expit(u)
        gradient = F.T @ (w * (t - p))
        hessian = (F.T * (w * p * q)) @ F
        hessian[np.diag_indices_from(hessian)] *= 1 + 1e-12
        hessian[np.diag_indices_from(hessian)] += 1e-100
        step = -np.linalg.solve(hessian, gradient)
        decrement = float(-gradient @ step)  # twice the expected decrease
        if decrement <= 1e-24:
            break
        if decrement < 1e-10:  # rounding hides the decrease, and full steps converge from here
            theta = theta + step
            continue
        for _ in range(MAX_HALVINGS):
            trial = loss(theta + step)
            if trial <= value - 1e-4 * decrement:
                break
            step, decrement = step / 2, decrement / 2
        else:
            break
        theta, value = theta + step, trial
    return theta


def sigmoid(scores: ArrayLike, A: ArrayLike, B: ArrayLike) -> FloatArray:
    r""":math:`p = 1/(1 + e^{A f + B})`, rounded so that p > 1/2 exactly when A f + B < 0.

    Parameters
    ----------
    scores : array-like
        f, of any shape; one column per sigmoid if there are several.
    A, B : float or array-like of shape (n_sigmoids,)
        What `fit_sigmoid` found.

    Returns
    -------
    ndarray
        p, of the shape of the scores.

    Examples
    --------
    >>> sigmoid([-1e6, 0.0, 1e-20, 1e6], -1.0, 0.0) > 0.5
    array([False, False,  True,  True])
    """
    f, A, B = (np.asarray(x, dtype=np.float64) for x in (scores, A, B))
    with np.errstate(over="ignore", under="ignore"):
        u = A * f + B
        p = expit(-u)
    side = np.where(B == 0, np.sign(A) * np.sign(f), np.sign(u))  # A f may underflow
    p = np.where(side < 0, np.maximum(p, ABOVE_HALF), p)
    return np.asarray(np.where(side > 0, np.minimum(p, BELOW_HALF), p))


def couple(pairwise: ArrayLike) -> FloatArray:
    r"""Probabilities of K classes from those of their pairs (Wu, Lin and Weng 2004, method 2).

    .. math:: \min_p \sum_i \sum_{j \ne i} (r_{ji} p_i - r_{ij} p_j)^2
              \quad \text{s.t.} \quad \sum_i p_i = 1

    that is ½ pᵀQp with :math:`Q_{ii} = \sum_{j \ne i} r_{ji}^2`, :math:`Q_{ij} = -r_{ji} r_{ij}`.
    At the minimum Qp is a multiple of e = (1, …, 1), hence so is (Q + eeᵀ) p; that matrix is
    positive definite, and p ≥ 0 holds by itself.

    Parameters
    ----------
    pairwise : array-like of shape (n, K (K − 1) / 2)
        :math:`r_{ij} = P(i \mid i \text{ or } j)`, the pairs i < j in the order (0, 1), (0, 2),
        …, (K − 2, K − 1). Clipped to [1e-7, 1 − 1e-7], as LIBSVM does.

    Returns
    -------
    ndarray of shape (n, K)
        p, whose rows sum to 1. LIBSVM finds it to two or three digits, by iteration.

    Examples
    --------
    >>> p = [0.6, 0.3, 0.1]
    >>> r = [p[i] / (p[i] + p[j]) for i, j in [(0, 1), (0, 2), (1, 2)]]
    >>> couple([r]).round(6)
    array([[0.6, 0.3, 0.1]])
    """
    r_pairs = np.asarray(pairwise, dtype=np.float64)
    r_pairs = np.clip(r_pairs, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    n, pairs = r_pairs.shape
    K = round((1 + (1 + 8 * pairs) ** 0.5) / 2)
    if pairs == 0 or pairs != K * (K - 1) // 2:
        raise ValueError(f"{pairs} columns are not the pairs of a number of classes")
    if K == 2:  # the exact minimum
        return np.column_stack([r_pairs, 1 - r_pairs])
    i, j = np.triu_indices(K, 1)
    diagonal = np.arange(K)
    p = np.empty((n, K))
    rows = max(1, ELEMENTS_PER_BLOCK // K**2)
    for first in range(0, n, rows):
        block = r_pairs[first : first + rows]
        r = np.zeros((len(block), K, K))
        r[:, i, j], r[:, j, i] = block, 1 - block
        Q = -r * r.transpose(0, 2, 1)
        Q[:, diagonal, diagonal] = (r**2).sum(axis=1)
        p[first : first + rows] = np.linalg.solve(Q + 1, np.ones((1, K, 1)))[..., 0]
    p = np.maximum(p, 0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def out_of_fold(
    fit_decision: Callable[[IntArray, IntArray], ArrayLike],
    y_codes: ArrayLike,
    weights: ArrayLike = None,
    *,
    n_splits: int = 5,
    random_state: Any = None,
) -> FloatArray:
    """The score of every example by a model that did not see it.

    The members of each class are shuffled and dealt to the folds in turn. A class with fewer
    members than folds is missing from some test sets, but from no training set if it has two or
    more members. The only member of a class is in every training set and is scored by a model that
    saw it: without it there would be no such class to score.

    Examples of weight zero are in no training set, and they do not change the folds of the others.

    Parameters
    ----------
    fit_decision : callable
        ``fit_decision(train, test)`` trains on the examples `train` and returns the scores of the
        examples `test`, an array of shape (n_test,) or (n_test, n_outputs). Both are sorted.
    y_codes : array-like of shape (n,)
        The class of each example.
    weights : array-like of shape (n,), optional
        Weights ≥ 0; only whether they are zero matters here.
    n_splits : int, default=5
        The number of folds; empty ones are left out.
    random_state : int, RandomState or None, default=None
        The seed of the folds; None means 0.

    Returns
    -------
    ndarray of shape (n,) or (n, n_outputs)
        The scores.

    Examples
    --------
    >>> y = np.array([0, 0, 1, 1, 1])
    >>> out_of_fold(lambda train, test: np.full(len(test), len(train)), y, n_splits=5)
    array([4., 4., 4., 4., 4.])
    """
    scores = None
    for train, test in folds_of(y_codes, weights, n_splits=n_splits, random_state=random_state):
        result = np.asarray(fit_decision(train, test), dtype=np.float64)
        if scores is None:
            scores = np.empty((len(np.asarray(y_codes)), *result.shape[1:]))
        scores[test] = result
    assert scores is not None, "no examples"
    return scores


def folds_of(
    y_codes: ArrayLike,
    weights: ArrayLike = None,
    *,
    n_splits: int = 5,
    random_state: Any = None,
) -> list[tuple[IntArray, IntArray]]:
    """The examples to train on and those to score, sorted, of each fold of `out_of_fold`.

    Examples
    --------
    >>> [(len(train), len(test)) for train, test in folds_of(np.array([0, 0, 1, 1]), n_splits=2)]
    [(2, 2), (2, 2)]
    """
    if n_splits < 2:
        raise ValueError(f"n_splits={n_splits} leaves nothing to train on; use at least 2")
    y = np.asarray(y_codes)
    present = np.ones(len(y), dtype=bool) if weights is None else np.asarray(weights) > 0
    always = np.zeros(len(y), dtype=bool)  # in every training set
    fold = np.zeros(len(y), dtype=np.int64)
    generator = check_random_state(0 if random_state is None else random_state)
    dealt = 0
    for code in np.unique(y[present]):
        members = np.flatnonzero(present & (y == code))
        if len(members) == 1:
            always[members] = True
            continue
        fold[generator.permutation(members)] = (dealt + np.arange(len(members))) % n_splits
        dealt += len(members)
    return [
        (np.flatnonzero(present & (always | (fold != k))), np.flatnonzero(fold == k))
        for k in np.unique(fold)
    ]

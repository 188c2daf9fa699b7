r"""A weighted mean of models, chosen greedily (Caruana et al. 2004).

Beginning with nothing, the model whose addition makes the mean of predictions best is added, again
and again; a model may be added several times. The mean with the lowest loss on the way is kept:

.. math:: \hat p_t = \frac{1}{t} \sum_{s \le t} p_{m_s}, \qquad
          m_{t+1} = \arg\min_m \; L\!\left(\frac{t\, \hat p_t + p_m}{t + 1}\right)

The predictions must come from models that did not see the examples.
"""

from collections.abc import Callable, Sequence

import numpy as np

from widemargin._typing import FloatArray, IntArray

__all__ = ["greedy_weights", "weighted_mean"]

ROUNDS = 40
LEAST_GAIN = 1e-9  # of the loss, relative: a longer sum that gains less is not worth a model


def greedy_weights(
    predictions: Sequence[FloatArray],
    loss: Callable[[FloatArray], float],
    *,
    rounds: int = ROUNDS,
    max_models: int | None = None,
    costs: FloatArray | None = None,
    max_cost: float = np.inf,
) -> FloatArray:
    """Weights ≥ 0 of the models, which sum to 1.

    Parameters
    ----------
    predictions : sequence of ndarray
        What each model predicts for the same examples.
    loss : callable
        The loss of a mean of predictions; lower is better.
    rounds : int
        The most additions.
    max_models : int, optional
        The most models with a weight.
    costs : ndarray of shape (n_models,), optional
        What predictions of each model cost.
    max_cost : float
        The most that those with a weight may cost together; the cheapest model is always allowed.

    Examples
    --------
    >>> y = np.array([0.0, 1.0, 2.0])
    >>> squared = lambda p: float(np.mean((p - y) ** 2))
    >>> greedy_weights([y + 1.0, y - 1.0, y + 3.0], squared)
    array([0.5, 0.5, 0. ])
    """
    prices = np.zeros(len(predictions)) if costs is None else costs
    most = len(predictions) if max_models is None else max_models

    def fits(model: int, counts: IntArray) -> bool:
        """Whether a model may be added to those that have a weight."""
        if not counts.any() and prices[model] == prices.min():
            return True
        together = prices[model] + prices[counts > 0].sum()
        return bool(np.count_nonzero(counts) < most and together <= max_cost)

    counts = np.zeros(len(predictions), dtype=np.int64)
    total = np.zeros_like(predictions[0])
    best, best_loss = counts.copy(), np.inf
    for taken in range(rounds):
        allowed = [m for m in range(len(predictions)) if counts[m] or fits(m, counts)]
        losses = [loss((total + predictions[m]) / (taken + 1)) for m in allowed]
        chosen = allowed[int(np.argmin(losses))]
        counts[chosen] += 1
        total += predictions[chosen]
        if min(losses) < best_loss - LEAST_GAIN * abs(best_loss if taken else 0.0):
            best, best_loss = counts.copy(), min(losses)
    return np.asarray(best / best.sum())


def weighted_mean(predictions: Sequence[FloatArray], weights: FloatArray) -> FloatArray:
    """The mean of predictions with these weights.

    Examples
    --------
    >>> weighted_mean([np.array([1.0, 2.0]), np.array([3.0, 2.0])], np.array([0.25, 0.75]))
    array([2.5, 2. ])
    """
    return np.asarray(sum(w * p for w, p in zip(weights, predictions, strict=True)))

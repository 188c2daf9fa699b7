r"""Probabilities from the outputs of machines, with two parameters per machine.

Two classes have Platt's sigmoid of the output, with a slope and an intercept. Machines for pairs of
classes, with outputs :math:`f_{ij}`, have

.. math:: p_i \propto \exp\Big( \frac{2 b}{K - 1} \sum_{j \ne i} \log \sigma(a f_{ij}) \Big)

where :math:`f_{ji} = -f_{ij}`: a is the slope of each pair, b how much the pairs tell together.
Outputs per class have :math:`p_i \propto e^{b f_i}`. The parameters maximise the likelihood of
examples that the machines did not see.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_expit, log_softmax, softmax

from widemargin._typing import FloatArray, IntArray
from widemargin.training.probability import fit_sigmoid, sigmoid

__all__ = ["Calibration", "log_loss", "sharpened", "temperature"]

MOST_OUTPUTS = 1_000_000  # numbers that a search for two parameters looks at
MOST_EVALUATIONS = 60
LEAST_PROBABILITY = 1e-12  # that a loss takes the logarithm of
RANGE = (-6.0, 6.0)  # of the logarithms of slopes


class Calibration(NamedTuple):
    """How the outputs of a machine become probabilities."""

    kind: str  # of the outputs: "binary", "classes" or "pairs"
    first: float
    second: float

    @classmethod
    def fitted(
        cls,
        kind: str,
        outputs: FloatArray,
        codes: IntArray,
        weights: FloatArray | None,
        n_classes: int,
    ) -> "Calibration":
        """The parameters of highest likelihood, from outputs of shape (n, n_outputs)."""
        if kind == "binary":
            A, B = fit_sigmoid(outputs[:, 0], codes == 1, weights, intercept=True)
            return cls(kind, min(A, 0.0), B)
        few = max(1, MOST_OUTPUTS // outputs.shape[1])
        some = np.linspace(0, len(codes) - 1, min(few, len(codes))).astype(np.int64)
        outputs, codes = outputs[some], codes[some]
        weights = None if weights is None else weights[some]

        def loss(logarithms: FloatArray) -> float:
            a, b = np.exp(np.clip(logarithms, *RANGE))
            logits = cls(kind, float(a), float(b))._logits(outputs, n_classes)
            own = log_softmax(logits, axis=1)[np.arange(len(codes)), codes]
            return -float(np.average(own, weights=weights))

        if kind == "classes":
            found = minimize_scalar(lambda b: loss(np.array([0.0, b])), bounds=RANGE)
            return cls(kind, 1.0, float(np.exp(found.x)))
        options = {"maxfev": MOST_EVALUATIONS, "xatol": 0.02, "fatol": 1e-5}
        found = minimize(loss, np.array([0.5, 0.5]), method="Nelder-Mead", options=options)
        a, b = np.exp(np.clip(found.x, *RANGE))
        return cls(kind, float(a), float(b))

    def probabilities(self, outputs: FloatArray, n_classes: int) -> FloatArray:
        """Probabilities of shape (n, n_classes)."""
        if self.kind == "binary":
            p = sigmoid(outputs[:, 0], self.first, self.second)
            return np.column_stack([1.0 - p, p])
        return np.asarray(softmax(self._logits(outputs, n_classes), axis=1))

    def _logits(self, outputs: FloatArray, n_classes: int) -> FloatArray:
        if self.kind == "classes":
            return self.second * outputs
        first, second = np.triu_indices(n_classes, 1)
        scaled = self.first * outputs
        sums = np.zeros((n_classes, len(outputs)))
        np.add.at(sums, first, log_expit(scaled).T)
        np.add.at(sums, second, log_expit(-scaled).T)
        return (2.0 * self.second / (n_classes - 1)) * sums.T


def log_loss(p: FloatArray, codes: IntArray, weights: FloatArray | None = None) -> float:
    """The mean of −log p of the true class.

    Examples
    --------
    >>> round(log_loss(np.array([[0.5, 0.5], [0.2, 0.8]]), np.array([0, 1])), 3)
    0.458
    """
    own = np.maximum(p[np.arange(len(codes)), codes], LEAST_PROBABILITY)
    return -float(np.average(np.log(own), weights=weights))


def sharpened(p: FloatArray, power: float, least: float = 0.0) -> FloatArray:
    """Probabilities proportional to a power of others: above 1 they become more certain.

    A share `least` of the result is the same for all classes: n examples without an error do not
    show that errors are rarer than about 1/n.

    Examples
    --------
    >>> sharpened(np.array([[0.25, 0.75]]), 2.0)
    array([[0.1, 0.9]])
    """
    found = softmax(power * np.log(np.maximum(p, LEAST_PROBABILITY)), axis=1)
    return np.asarray((1.0 - least) * found + least / p.shape[1])


def temperature(p: FloatArray, codes: IntArray, weights: FloatArray | None = None) -> float:
    """The power that makes probabilities most likely; means of several models are too careful.

    Examples
    --------
    >>> p = np.array([[0.7, 0.3]] * 10)
    >>> power = temperature(p, np.array([0] * 8 + [1] * 2))
    >>> sharpened(p, power)[0].round(2)
    array([0.8, 0.2])
    """
    found = minimize_scalar(
        lambda logarithm: log_loss(sharpened(p, float(np.exp(logarithm))), codes, weights),
        bounds=(-1.0, 1.0),
    )
    return float(np.exp(found.x))

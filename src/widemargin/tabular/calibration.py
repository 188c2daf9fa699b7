r"""Probabilities from the outputs of machines, with two parameters per machine.

Two classes have Platt's sigmoid of the output, with a slope and an intercept. Machines for pairs of
classes, with outputs :math:`f_{ij}`, have

.. math:: p_i \propto \exp\Big( \frac{2 b}{K - 1} \sum_{j \ne i} \log \sigma(a f_{ij}) \Big)

where :math:`f_{ji} = -f_{ij}`: a is the slope of each pair, b how much the pairs tell together.
Outputs per class have :math:`p_i \propto e^{b f_i}`. The parameters maximise the likelihood of
examples that the machines did not see.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.utils import gen_batches

from widemargin._typing import FloatArray, IntArray
from widemargin.training.probability import fit_sigmoid, sigmoid
from widemargin.training.time_limit import current_limit

__all__ = ["Calibration", "log_loss", "sharpened", "temperature"]

MOST_OUTPUTS = 1_000_000  # numbers that a search for two parameters looks at
HURRIED_OUTPUTS = 200_000  # the same with a time limit: it cannot be cut off
PART_OUTPUTS = 100_000  # numbers of pairs that become probabilities at once, in the cache
LEAST_PROBABILITY = 1e-12  # that a loss takes the logarithm of
RANGE = (-6.0, 6.0)  # of the logarithms of slopes
FIRST_GUESS = (0.5, 0.5)
MOST_ITERATIONS = 20


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
        most = HURRIED_OUTPUTS if current_limit().finite else MOST_OUTPUTS
        few = max(1, most // outputs.shape[1])
        some = np.linspace(0, len(codes) - 1, min(few, len(codes))).astype(np.int64)
        outputs, codes = outputs[some], codes[some]
        weights = None if weights is None else weights[some]
        if kind == "classes":

            def loss(logarithm: float) -> float:
                own = log_softmax(np.exp(logarithm) * outputs, axis=1)
                return -float(np.average(own[np.arange(len(codes)), codes], weights=weights))

            return cls(kind, 1.0, float(np.exp(minimize_scalar(loss, bounds=RANGE).x)))
        shares = np.full(len(codes), 1.0) if weights is None else weights
        pairs = _PairLikelihood(outputs, codes, shares / shares.sum(), n_classes)
        options = {"ftol": 1e-6, "maxiter": MOST_ITERATIONS}  # a and b may do nearly the same
        found = minimize(
            pairs, FIRST_GUESS, jac=True, method="L-BFGS-B", bounds=[RANGE, RANGE], options=options
        )
        a, b = np.exp(found.x)
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
        pairs, sums = _Pairs.of(n_classes), np.empty((len(outputs), n_classes))
        for part in gen_batches(len(outputs), max(1, PART_OUTPUTS // outputs.shape[1])):
            sums[part], _ = _class_sums(self.first * outputs[part], pairs)
        return (2.0 * self.second / (n_classes - 1)) * sums


@dataclass(frozen=True, eq=False)
class _PairLikelihood:
    """Minus the log likelihood of (log a, log b), with its gradient."""

    outputs: FloatArray  # f_ij, of shape (n, n_pairs)
    codes: IntArray
    shares: FloatArray  # weights of the examples, with the sum 1
    n_classes: int

    def __call__(self, logarithms: FloatArray) -> tuple[float, FloatArray]:
        a, b = np.exp(logarithms)
        scale, pairs = 2.0 * b / (self.n_classes - 1), _Pairs.of(self.n_classes)
        scaled = a * self.outputs
        sums, away = _class_sums(scaled, pairs)
        log_p = log_softmax(scale * sums, axis=1)
        own = np.arange(len(self.codes)), self.codes
        residual = np.exp(log_p)  # p_i − 1 for the true class, p_i for others
        residual[own] -= 1.0
        residual *= self.shares[:, None]
        # d log σ(s) / d log a = s σ(−s), and for the other class of the pair, −s: −s σ(s)
        first, second = residual[:, pairs.first], residual[:, pairs.second]
        in_a = np.sum(scaled * (first * away - second * (1.0 - away)))
        gradient = scale * np.array([in_a, np.sum(residual * sums)])
        return -float(self.shares @ log_p[own]), gradient


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The two classes of each pair."""

    first: IntArray
    second: IntArray
    n_classes: int

    @classmethod
    def of(cls, n_classes: int) -> "_Pairs":
        return cls(*np.triu_indices(n_classes, 1), n_classes)

    def sums(self, values: FloatArray, classes: IntArray) -> FloatArray:
        """Of values of shape (n, n_pairs), the sums over the pairs with the same class here."""
        count = len(classes)
        members = (np.ones(count), (np.arange(count), classes))
        return np.asarray(values @ sp.csr_array(members, shape=(count, self.n_classes)))


def _class_sums(scaled: FloatArray, pairs: _Pairs) -> tuple[FloatArray, FloatArray]:
    """The sum of log σ(±s) over the pairs of each class, and σ(−s) of each pair.

    One exponential serves all: log σ(s) = min(s, 0) − log(1 + e^−|s|), log σ(−s) = log σ(s) − s.
    """
    small = np.exp(-np.abs(scaled))
    log_sigma = np.minimum(scaled, 0.0) - np.log(1.0 + small)
    sums = pairs.sums(log_sigma, pairs.first) + pairs.sums(log_sigma - scaled, pairs.second)
    return sums, np.where(scaled >= 0.0, small, 1.0) / (1.0 + small)


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

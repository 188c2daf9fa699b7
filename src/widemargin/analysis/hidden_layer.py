r"""A margin network as support vector machines (thesis, Theorem 8.4).

If a network is a minimum of (8.28), its output layer :math:`(w, b)` is the SVM of the hidden
outputs :math:`\Phi(x_l)`, with multipliers α that also satisfy (8.30):

.. math:: \nu v_n = w_n \sum_l y_l \alpha_l\, h'(v_n \cdot x_l + a_n)\, x_l, \qquad
          \sum_l y_l \alpha_l\, h'(v_n \cdot x_l + a_n) = 0

With HardTanh, :math:`h' = 1` for :math:`|z| \le 1` and 0 elsewhere. Then unit n is the SVM of its
*local* examples, those with :math:`|v_n \cdot x_l + a_n| \le 1`, and of the constraints (8.32)

.. math:: y_l w_n (v_n \cdot x_l + a_n) \ge
          \beta - y_l \Bigl[b + \sum_{m \ne n} w_m h(v_m \cdot x_l + a_m)\Bigr] - \xi_l

Two things keep a trained network from it. Training stops before a minimum. And a minimum may have
examples at a kink, :math:`|z| = 1`, where h' = 1 is a convention and the condition for a minimum
has some number between 0 and 1 in its place.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import lsq_linear

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.analysis.hidden_layer_results import HiddenLayerSVM, OutputSVM, UnitSVM
from widemargin.analysis.local_svm import LocalMachine, solve_local
from widemargin.analysis.margin_network import MarginNetwork, margin_network

__all__ = ["hidden_layer_svm"]

STRAIGHT = ("hard_tanh", "relu", "identity")  # h(z) = z where h'(z) = 1, and h' = 0 elsewhere
NO_SUPPORT = 1e-6  # of its bound: a multiplier that counts as 0


def hidden_layer_svm(
    model: object,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    *,
    mu: float | None = None,
    nu: float | None = None,
    units: Sequence[int] | None = None,
    width: float = 0.01,
    tol: float = 0.01,
) -> HiddenLayerSVM:
    r"""The output layer and the hidden units of a margin network as SVMs (Theorem 8.4).

    Parameters
    ----------
    model : MLPClassifier or SimpleMLPClassifier
        Fitted on two classes: a network with ``loss="margin"`` and one hidden layer, or one
        committee. In the Simple MLP all :math:`w_n = 1` (8.6), only b is an output parameter, and
        μ = ν = 0.
    X, y : array-like
        The examples it was trained on.
    sample_weight : array-like of shape (n_samples,), optional
        Their weights in `fit`.
    mu, nu : float, optional
        The weight decays of (8.10); by default those of the model for a training set of this size.
    units : sequence of int, optional
        The hidden units to examine; by default all.
    width : float, default=0.01
        Examples with :math:`|\beta - y f(x)|` up to `width` β count as on the margin, where α may
        be any number between its bounds; those with \||z| − 1| up to `width` count as at a kink.
        At a minimum these distances are 0. After training by stochastic gradient they are not.
    tol : float, default=0.01
        The relative residual up to which a statement is said to hold.

    Returns
    -------
    HiddenLayerSVM

    Notes
    -----
    α is the choice of multipliers with the shortest gradient of the Lagrangian by all parameters.
    The multipliers of the SVM of the hidden outputs alone will not do: a minimum of (8.28) may have
    more examples on the margin than the output layer has parameters, and then they are not unique.

    Local SVMs are solved for HardTanh, ReLU and identity; for other transfer functions only (8.7)
    and (8.30) are checked.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import MLPClassifier
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = MLPClassifier((6,), activation="hard_tanh", loss="margin", solver="lbfgs",
    ...                       dtype="float64", tol=1e-9, max_iter=2000, random_state=0).fit(X, y)
    >>> found = hidden_layer_svm(model, X, y)
    >>> found.output_holds
    True
    """
    network = margin_network(model, X, y, sample_weight, mu, nu)
    count = len(network.w)
    chosen = list(range(count)) if units is None else [int(unit) for unit in units]
    if any(not 0 <= unit < count for unit in chosen):
        raise ValueError(f"units={units!r} names a unit outside 0..{count - 1}")
    alpha, gradient = network.multipliers(width)
    return HiddenLayerSVM(
        n_examples=len(network.y),
        margin=network.beta,
        mu=network.mu,
        nu=network.nu,
        objective=network.objective,
        gradient=gradient,
        alpha=alpha,
        output=_output(network, alpha),
        units=[_unit(network, alpha, unit, width) for unit in chosen],
        tol=tol,
    )


def _relative(part: float, whole: float) -> float:
    if part == 0.0:
        return 0.0
    return part / whole if whole > 0.0 else np.inf


def _output(network: MarginNetwork, alpha: FloatArray) -> OutputSVM:
    """(8.7) for Φ; in the Simple MLP, w = 1 is fixed, and its part of y f moves into p."""
    w, y, c, beta = network.w, network.y, network.c, network.beta
    loss = float(c @ np.maximum(0.0, network.slack))
    pull = y * alpha
    norm = float(np.linalg.norm(w))
    if network.fixed_output:
        p = beta - y * (network.hidden @ w)
        machine = LocalMachine(w[:0], network.b, alpha, loss, loss)
        if not network.fixed_bias:
            machine = solve_local(network.hidden[:, :0], y, p, c, 0.0)
        cost, svm_norm, left = loss, norm, 0.0
    else:
        p = np.full(len(y), beta)
        machine = solve_local(network.hidden, y, p, c, network.mu, start=alpha)
        cost, svm_norm = loss + 0.5 * network.mu * norm**2, float(np.linalg.norm(machine.v))
        left = float(np.linalg.norm(network.mu * w - pull @ network.hidden))
    terms = float(alpha @ np.linalg.norm(network.hidden, axis=1))
    with np.errstate(divide="ignore"):
        margins = 2.0 * beta / np.array([norm, svm_norm])
    return OutputSVM(
        cost=cost,
        optimum=min(cost, machine.cost),
        bound=machine.bound,
        margin=float(margins[0]),
        svm_margin=float(margins[1]),
        n_support=int(np.sum(alpha > NO_SUPPORT * c)),
        residual=_relative(left, network.mu * norm or terms),
        imbalance=_relative(left, terms),
        bias_residual=0.0 if network.fixed_bias else _relative(abs(pull.sum()), alpha.sum()),
    )


def _unit(network: MarginNetwork, alpha: FloatArray, unit: int, width: float) -> UnitSVM:
    """(8.30) for one unit, and its local SVM."""
    X, nu, slope = network.X, network.nu, network.slopes[:, unit]
    w, v = float(network.w[unit]), network.V[:, unit]
    pull = w * network.y * alpha * slope
    left = nu * v - pull @ X
    terms = float(np.abs(pull) @ np.linalg.norm(X, axis=1))
    size = nu * float(np.linalg.norm(v)) if nu else terms
    is_support = alpha > NO_SUPPORT * network.c
    kinks = np.flatnonzero(network.near_kinks(unit, width) & is_support)
    support = np.flatnonzero(is_support & (slope > 0.0))
    unit_svm = UnitSVM(
        unit=unit,
        n_local=int(np.count_nonzero(slope)),
        n_at_kink=len(kinks),
        support=support,
        coef=pull[support] / (nu or 1.0),
        residual=_relative(float(np.linalg.norm(left)), size),
        imbalance=_relative(float(np.linalg.norm(left)), terms),
        kink_residual=_relative(_least(network, alpha, unit, kinks, left), size),
        bias_residual=_relative(abs(float(pull.sum())), float(np.abs(pull).sum())),
    )
    return _with_local_svm(network, alpha, unit_svm, width)


def _least(
    network: MarginNetwork, alpha: FloatArray, unit: int, kinks: IntArray, left: FloatArray
) -> float:
    """The norm of νv − Σ if h' of these examples may be any number in [0, 1]."""
    if not len(kinks):
        return float(np.linalg.norm(left))
    pull = network.w[unit] * network.y[kinks] * alpha[kinks]
    terms = network.X[kinks].T * pull
    goal = left + terms @ network.slopes[kinks, unit]
    solved = lsq_linear(terms, goal, bounds=(0.0, 1.0))
    return float(np.linalg.norm(goal - terms @ solved.x))


def _with_local_svm(
    network: MarginNetwork, alpha: FloatArray, found: UnitSVM, width: float
) -> UnitSVM:
    """The local SVM on the examples with h' = 1: the constraints (8.32), divided by |w_n|."""
    if network.transfer not in STRAIGHT:
        return found
    unit = found.unit
    w, v, a = float(network.w[unit]), network.V[:, unit], float(network.a[unit])
    own = np.flatnonzero(network.slopes[:, unit])
    decay = 0.5 * network.nu * float(v @ v)
    if w == 0.0 or not len(own):
        return replace(found, cost=decay, optimum=0.0, bound=0.0)
    X, y, c = network.X[own], np.sign(w) * network.y[own], abs(w) * network.c[own]
    z = X @ v + a
    p = network.slack[own] / abs(w) + y * z
    machine = solve_local(X, y, p, c, network.nu, start=abs(w) * alpha[own])
    cost = decay + float(c @ np.maximum(0.0, p - y * z))
    outside = y * (X @ machine.v + machine.a) - p > width * network.beta / abs(w)
    return replace(
        found,
        cost=cost,
        optimum=min(cost, machine.cost),
        bound=machine.bound,
        n_lost=int(np.sum(outside & np.isin(own, found.support))),
    )

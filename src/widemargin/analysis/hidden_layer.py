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
examples at a kink, :math:`|z| = 1`, of which (8.30) as printed knows nothing: there a number between
0 and 1 takes the place of h'.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import lsq_linear

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.analysis.local_svm import LocalMachine, solve_local
from widemargin.analysis.margin_network import MarginNetwork, margin_network

__all__ = ["HiddenLayerSVM", "OutputSVM", "UnitSVM", "hidden_layer_svm"]

STRAIGHT = ("hard_tanh", "relu", "identity")  # h(z) = z where h'(z) = 1, and h' = 0 elsewhere
NO_SUPPORT = 1e-6  # of its bound: a multiplier that counts as 0
WORST_SHOWN = 5  # units that the text names


@dataclass(frozen=True, eq=False)
class OutputSVM:
    """The output layer beside the SVM of the hidden outputs (8.7).

    Attributes
    ----------
    cost, optimum, bound : float
        The cost (8.3) of (w, b), that of the SVM, and a lower bound of every cost.
    margin, svm_margin : float
        2β/‖w‖ in the space of the hidden outputs, of the network and of the SVM.
    n_support : int
        Examples with α > 0.
    residual : float
        ‖μw − Σ α y Φ‖ relative to ‖μw‖; 0 for a Simple MLP, which does not train w.
    bias_residual : float
        :math:`|\\sum_l \\alpha_l y_l|` relative to Σ α.
    """

    cost: float
    optimum: float
    bound: float
    margin: float
    svm_margin: float
    n_support: int
    residual: float
    bias_residual: float

    @property
    def excess(self) -> float:
        """How far the cost is above the optimum, at most."""
        return max(0.0, self.cost - self.bound)


@dataclass(frozen=True, eq=False)
class UnitSVM:
    """A hidden unit beside its local SVM (8.30), (8.32).

    Attributes
    ----------
    unit : int
        n.
    n_local : int
        Examples with h' > 0; for HardTanh those with |z| ≤ 1.
    n_at_kink : int
        Support vectors near |z| = 1.
    support, coef : ndarray
        The local support vectors, and their coefficients :math:`w_n y_l \\alpha_l h' / \\nu` in
        v_n; without ν, the same without the division.
    residual : float
        ‖νv_n − Σ‖ relative to ‖νv_n‖; without ν, relative to the sum of the norms of its terms.
    kink_residual : float
        The same if h' may be any number in [0, 1] for examples near a kink.
    bias_residual : float
        :math:`|\\sum_l y_l \\alpha_l h'|` relative to :math:`\\sum_l \\alpha_l h'`.
    cost, optimum, bound : float
        The cost of (v_n, a_n) in the local SVM, that of its solution, and a lower bound. NaN if h
        is not straight.
    n_lost : int
        Global support vectors among the local examples that are outside the margin of the local
        SVM's solution. The theorem says 0.
    """

    unit: int
    n_local: int
    n_at_kink: int
    support: IntArray
    coef: FloatArray
    residual: float
    kink_residual: float
    bias_residual: float
    cost: float = np.nan
    optimum: float = np.nan
    bound: float = np.nan
    n_lost: int = 0

    @property
    def excess(self) -> float:
        """How far the cost is above the optimum, at most."""
        return float(np.maximum(0.0, self.cost - self.bound))


@dataclass(frozen=True, eq=False)
class HiddenLayerSVM:
    """Theorem 8.4 at the point that training reached; printing it gives the text form.

    Attributes
    ----------
    n_examples : int
        L.
    margin, mu, nu : float
        β, and the weight decays of the output layer and of the units.
    objective : float
        J of (8.28).
    gradient : float
        The norm of the shortest gradient of the Lagrangian, which is 0 at a minimum without kinks.
    alpha : ndarray of shape (n_examples,)
        The multipliers.
    output : OutputSVM
    units : list of UnitSVM
    tol : float
        The relative residual and excess up to which the text says that a statement holds.
    """

    n_examples: int
    margin: float
    mu: float
    nu: float
    objective: float
    gradient: float
    alpha: FloatArray = field(repr=False)
    output: OutputSVM
    units: list[UnitSVM] = field(repr=False)
    tol: float

    def unit_holds(self, unit: UnitSVM) -> bool:
        """Whether both equations of (8.30) hold for a unit, as printed."""
        return max(unit.residual, unit.bias_residual) <= self.tol

    @property
    def output_holds(self) -> bool:
        """Whether the output layer is an optimal SVM."""
        return self.output.excess <= self.tol * self.objective

    @property
    def holds(self) -> bool:
        """Whether the output layer is an SVM and (8.30) holds for every unit."""
        return self.output_holds and all(map(self.unit_holds, self.units))

    def __str__(self) -> str:
        output, units = self.output, self.units
        say = {True: "holds", False: "does not hold"}
        lines = [
            f"Theorem 8.4 on {self.n_examples} examples: J = {self.objective:.6g}, "
            f"shortest gradient {self.gradient:.2g}",
            f"output layer as the SVM of the hidden outputs (8.3): {say[self.output_holds]}",
            f"  cost {output.cost:.6g}, optimum {output.optimum:.6g}; margin {output.margin:.4g}, "
            f"of the SVM {output.svm_margin:.4g}; {output.n_support} support vectors",
            f"  residuals of (8.7): {output.residual:.2g} (w), {output.bias_residual:.2g} (b)",
        ]
        if units:
            failed = [unit for unit in units if not self.unit_holds(unit)]
            lines += [
                f"equations (8.30): hold for {len(units) - len(failed)} of {len(units)} units",
                *map(self._why, sorted(failed, key=lambda unit: -unit.residual)[:WORST_SHOWN]),
            ]
            if len(failed) > WORST_SHOWN:
                lines.append(f"  and {len(failed) - WORST_SHOWN} more")
        solved = [unit for unit in units if not np.isnan(unit.cost)]
        if solved:
            excess = [unit.excess / self.objective for unit in solved]
            optimal = sum(value <= self.tol for value in excess)
            lost = sum(unit.n_lost for unit in solved)
            lines += [
                f"local SVMs (8.32): {optimal} of {len(solved)} units are optimal; "
                f"largest excess {max(excess):.2g} of J",
                f"global support vectors that are local ones: all but {lost} of "
                f"{sum(len(unit.support) for unit in solved)}",
            ]
        return "\n".join(lines)

    def _why(self, unit: UnitSVM) -> str:
        text = (
            f"  unit {unit.unit}: (8.30) does not hold: residuals {unit.residual:.2g} (v), "
            f"{unit.bias_residual:.2g} (a)"
        )
        if unit.n_at_kink:
            text += f"; {unit.kink_residual:.2g} if h' is free at {unit.n_at_kink} kinks"
        return text


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
        cost, svm_norm, residual = loss, norm, 0.0
    else:
        p = np.full(len(y), beta)
        machine = solve_local(network.hidden, y, p, c, network.mu, start=alpha)
        cost, svm_norm = loss + 0.5 * network.mu * norm**2, float(np.linalg.norm(machine.v))
        left = float(np.linalg.norm(network.mu * w - pull @ network.hidden))
        terms = alpha @ np.linalg.norm(network.hidden, axis=1)
        residual = _relative(left, network.mu * norm if network.mu else float(terms))
    with np.errstate(divide="ignore"):
        margins = 2.0 * beta / np.array([norm, svm_norm])
    return OutputSVM(
        cost=cost,
        optimum=min(cost, machine.cost),
        bound=machine.bound,
        margin=float(margins[0]),
        svm_margin=float(margins[1]),
        n_support=int(np.sum(alpha > NO_SUPPORT * c)),
        residual=residual,
        bias_residual=0.0 if network.fixed_bias else _relative(abs(pull.sum()), alpha.sum()),
    )


def _unit(network: MarginNetwork, alpha: FloatArray, unit: int, width: float) -> UnitSVM:
    """(8.30) for one unit, and its local SVM."""
    X, nu, slope = network.X, network.nu, network.slopes[:, unit]
    w, v = float(network.w[unit]), network.V[:, unit]
    pull = w * network.y * alpha * slope
    left = nu * v - pull @ X
    size = nu * float(np.linalg.norm(v)) if nu else np.abs(pull) @ np.linalg.norm(X, axis=1)
    is_support = alpha > NO_SUPPORT * network.c
    kinks = np.flatnonzero(network.near_kinks(unit, width) & is_support)
    support = np.flatnonzero(is_support & (slope > 0.0))
    found = {
        "n_local": int(np.count_nonzero(slope)),
        "n_at_kink": len(kinks),
        "support": support,
        "coef": pull[support] / (nu or 1.0),
        "residual": _relative(float(np.linalg.norm(left)), float(size)),
        "kink_residual": _relative(_least(network, alpha, unit, kinks, left), float(size)),
        "bias_residual": _relative(abs(float(pull.sum())), float(np.abs(pull).sum())),
    }
    if network.transfer in STRAIGHT:
        found |= _local(network, alpha, unit, support, width)
    return UnitSVM(unit, **found)


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


def _local(
    network: MarginNetwork, alpha: FloatArray, unit: int, support: IntArray, width: float
) -> dict[str, float | int]:
    """The local SVM on the examples with h' = 1: the constraints (8.32), divided by |w_n|."""
    w, v, a = float(network.w[unit]), network.V[:, unit], float(network.a[unit])
    own = np.flatnonzero(network.slopes[:, unit])
    X, y, c = network.X[own], np.sign(w) * network.y[own], abs(w) * network.c[own]
    decay = 0.5 * network.nu * float(v @ v)
    if w == 0.0 or not len(own):
        return {"cost": decay, "optimum": 0.0, "bound": 0.0}
    z = X @ v + a
    p = network.slack[own] / abs(w) + y * z
    machine = solve_local(X, y, p, c, network.nu, start=alpha[own] * abs(w))
    cost = decay + float(c @ np.maximum(0.0, p - y * z))
    outside = y * (X @ machine.v + machine.a) - p > width * network.beta / abs(w)
    return {
        "cost": cost,
        "optimum": min(cost, machine.cost),
        "bound": machine.bound,
        "n_lost": int(np.sum(outside & np.isin(own, support))),
    }

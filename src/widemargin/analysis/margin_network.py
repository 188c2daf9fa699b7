r"""A network with the margin criterion as an optimisation problem (thesis, 8.5 and 8.6).

.. math:: J = \frac\mu2 \|w\|^2 + \frac\nu2 \sum_n \|v_n\|^2
          + \sum_l c_l\, |\beta - y_l f(x_l)|_+, \qquad
          f(x) = b + \sum_n w_n\, h(v_n \cdot x + a_n)

with costs :math:`c_l = 1/L`. (8.28) is the case β = 1. In the Simple MLP (8.34) the output weights
are fixed at 1 and nothing decays.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.analysis.hessian import _second_derivative
from widemargin.inputs.scaling import scaled
from widemargin.mlp import MLPClassifier, SimpleMLPClassifier
from widemargin.training.model import Examples

__all__ = ["MarginNetwork", "margin_network"]

Mask = NDArray[np.bool_]
SMALL_STEP = 1e-15  # relative, of the squared residual: it falls no more


@dataclass(eq=False)
class MarginNetwork:
    """A fitted network, the examples as its first layer sees them, and what it minimises."""

    X: FloatArray
    y: FloatArray  # ±1
    c: FloatArray  # cost of each example; their sum is 1
    V: FloatArray  # v_n in columns
    a: FloatArray
    w: FloatArray
    b: float
    transfer: str
    beta: float
    mu: float
    nu: float
    fixed_output: bool = False  # whether w = 1 is not trained
    fixed_bias: bool = False

    @cached_property
    def sums(self) -> FloatArray:
        """v_n · x_l + a_n, one column per unit."""
        return np.asarray(self.X @ self.V + self.a)

    @cached_property
    def hidden(self) -> FloatArray:
        """Φ(x_l): h of the sums."""
        return _second_derivative(self.transfer, self.sums)[0]

    @cached_property
    def slopes(self) -> FloatArray:
        """h' of the sums; at the kinks of HardTanh it is 1 (8.5.2)."""
        if self.transfer == "hard_tanh":
            return (np.abs(self.sums) <= 1.0).astype(float)
        return _second_derivative(self.transfer, self.sums)[1]

    @cached_property
    def slack(self) -> FloatArray:
        """β − y f(x): positive within the margin."""
        return np.asarray(self.beta - self.y * (self.hidden @ self.w + self.b))

    @property
    def objective(self) -> float:
        """J."""
        decay = self.mu * float(self.w @ self.w) + self.nu * float(np.sum(self.V**2))
        return 0.5 * decay + float(self.c @ np.maximum(0.0, self.slack))

    def near_kinks(self, unit: int, width: float) -> Mask:
        """Examples at most this far from a kink of the transfer function of a unit."""
        z = self.sums[:, unit]
        if self.transfer == "hard_tanh":
            return np.asarray(np.abs(np.abs(z) - 1.0) <= width)
        return np.asarray((np.abs(z) <= width) & (self.transfer == "relu"))

    # ------------------------------------------------------------------------------- multipliers

    def gradient(self, alpha: FloatArray) -> tuple[FloatArray, float, FloatArray, FloatArray]:
        """Derivatives of the Lagrangian by w, b, V and a; (8.7) and (8.30) say that they are 0."""
        pull = self.y * alpha
        moved = self.slopes * self.w * pull[:, None]
        by_w = np.zeros(0) if self.fixed_output else self.mu * self.w - pull @ self.hidden
        by_b = 0.0 if self.fixed_bias else -float(pull.sum())
        return by_w, by_b, self.nu * self.V - self.X.T @ moved, -moved.sum(axis=0)

    def multipliers(self, width: float) -> tuple[FloatArray, float]:
        r"""The multipliers α nearest to the KKT conditions, and the norm of what is left.

        :math:`\alpha_l = c_l` within the margin and 0 outside it. An example whose slack is at most
        `width` β in size may have any value between, and all these values together are those of
        the shortest gradient.
        """
        alpha = np.where(self.slack > 0.0, self.c, 0.0)
        free = np.flatnonzero(np.abs(self.slack) <= width * self.beta)
        if len(free):
            alpha[free] = 0.0
            some = replace(self, X=self.X[free], y=self.y[free], c=self.c[free])
            alpha[free] = some._shortest(*self.gradient(alpha))
        parts = self.gradient(alpha)
        return alpha, float(np.sqrt(sum(np.sum(np.square(part)) for part in parts)))

    def _shortest(self, by_w: FloatArray, by_b: float, by_V: FloatArray, by_a: FloatArray) -> Any:
        """The α of these examples that leave the least of a given gradient.

        With g_l the derivatives of y f(x_l), ‖gradient − Σ α_l g_l‖² needs only inner products.
        """
        moved = self.slopes * self.w
        gram = (self.X @ self.X.T + 1.0) * (moved @ moved.T) + (not self.fixed_bias)
        along = np.einsum("ln,ln->l", moved, self.X @ by_V + by_a) + by_b
        if not self.fixed_output:
            gram, along = gram + self.hidden @ self.hidden.T, along + self.hidden @ by_w
        gram = gram * np.outer(self.y * self.c, self.y * self.c)  # of α/c, which is in [0, 1]
        along = self.y * self.c * along
        size = max(float(np.diagonal(gram).max()), np.finfo(float).tiny)

        def squared(share: FloatArray) -> tuple[float, FloatArray]:
            product = gram @ share
            return (0.5 * product - along) @ share / size, (product - along) / size

        found = minimize(
            squared,
            np.full(len(self.y), 0.5),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * len(self.y),
            options={"maxiter": 2000, "maxfun": 4000, "ftol": SMALL_STEP, "gtol": 0.0},
        )
        return found.x * self.c


# ------------------------------------------------------------------------------------ fitted models


def margin_network(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike,
    mu: float | None,
    nu: float | None,
) -> MarginNetwork:
    """What a fitted model minimised on these examples; μ and ν are those of the model if None."""
    if not isinstance(model, (MLPClassifier, SimpleMLPClassifier)):
        raise TypeError(
            f"model is a {type(model).__name__}; Theorem 8.4 is about an MLPClassifier with "
            "loss='margin' or a SimpleMLPClassifier"
        )
    check_is_fitted(model)
    if len(model.classes_) != 2:
        raise ValueError(
            f"the model has {len(model.classes_)} classes; Theorem 8.4 is about one output, so "
            "use two classes"
        )
    X, y = model._check_X(X, y)
    examples = model._examples(X, y, sample_weight, split=False)
    examples.online = False
    if isinstance(model, SimpleMLPClassifier):
        return _of_committee(model, examples, mu, nu)
    return _of_network(model, examples, mu, nu)


def _costs(examples: Examples) -> FloatArray:
    rows = examples.X.shape[0]
    weights = np.ones(rows) if examples.weights is None else examples.weights
    return np.asarray(weights / weights.sum())


def _dense(X: ArrayLike) -> FloatArray:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def _of_network(
    model: MLPClassifier, examples: Examples, mu: float | None, nu: float | None
) -> MarginNetwork:
    if model.loss != "margin" or model.n_layers_ != 3:
        raise ValueError(
            f"the model has loss={model.loss!r} and {model.n_layers_ - 2} hidden layers; Theorem "
            "8.4 needs loss='margin' and one, such as hidden_layer_sizes=(50,)"
        )
    if mu is None or nu is None:
        if model.solver == "adamw":
            raise ValueError(
                "solver='adamw' shrinks weights beside the gradient, so it does not minimise "
                "(8.10); use another solver, or give both mu and nu"
            )
        decays = model._objective_decays(examples)
        nu, mu = (
            given if given is not None else d for given, d in zip((nu, mu), decays, strict=True)
        )
    inputs = _dense(examples.X)
    if model.scaling is not None:
        inputs = scaled(inputs, model.feature_offset_, model.feature_scale_)
    (V, w), (a, b) = model.coefs_, model.intercepts_
    return MarginNetwork(
        inputs,
        examples.y,
        _costs(examples),
        V.astype(float),
        a.astype(float),
        w[:, 0].astype(float),
        float(b[0]),
        model._transfer,
        float(model.margin),
        mu,
        nu,
    )


def _of_committee(
    model: SimpleMLPClassifier, examples: Examples, mu: float | None, nu: float | None
) -> MarginNetwork:
    if len(model.coefs_[0]) != 1:
        raise ValueError(
            f"the model is the mean of {len(model.coefs_[0])} committees; Theorem 8.4 is about "
            "one, so use n_committees=1"
        )
    if mu:
        raise ValueError(f"mu={mu!r} has no meaning: the Simple MLP has no output weights to decay")
    state = model._committee_state()
    inputs = scaled(_dense(model._encoded(examples.X)), state.scaling.offset, state.scaling.scale)
    V, a, b = (values[0, 0] for values in state.layers())
    return MarginNetwork(
        inputs,
        examples.y,
        _costs(examples),
        V.astype(float),
        a.astype(float),
        np.ones(len(a)),
        float(b),
        "hard_tanh",
        model._trained_margin(),
        0.0,
        0.0 if nu is None else nu,
        fixed_output=True,
        fixed_bias=not model.fit_intercept,
    )

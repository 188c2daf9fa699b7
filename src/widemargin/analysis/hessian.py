r"""The Hessian of a network, in blocks (thesis, Chapter 7).

With parameters :math:`\theta = (\theta_1, \dots, \theta_M)`, one block per hidden unit or per
expert, the Hessian of the mean criterion (7.9) has the blocks

.. math:: H^{i,j} = \frac1L \sum_l Q''_l\,
          \frac{\partial f}{\partial \theta_i} \frac{\partial f}{\partial \theta_j}^T
          + [i = j]\; \frac1L \sum_l Q'_l\, \frac{\partial^2 f}{\partial \theta_i^2}

where Q' and Q'' are derivatives of the criterion with respect to the output. If the blocks outside
the diagonal vanish, the cost near θ is a sum of functions of one block each (7.8), and blocks can
be trained independently. :math:`Q''` decides: it is 1 for the squared error (7.12),
:math:`P(y|x) P(-y|x)` for the cross-entropy, :math:`(1 - z^2)(1 + 2zy - 3z^2)` after a tanh (7.15),
and 0 for the margin criterion, whose blocks outside the diagonal are exactly zero. In a mixture of
experts, gates that are nearly 0 or 1 make the products small (7.10).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.utils.validation import check_is_fitted

from widemargin import criteria
from widemargin._typing import ArrayLike, FloatArray
from widemargin.mixtures import MixtureOfExpertsClassifier
from widemargin.mlp import MLPClassifier
from widemargin.mlp.classifier import LOSSES

__all__ = ["BlockHessian", "expert_hessian", "unit_hessian"]

#: Criteria of a mixture of outputs (3.18).
SQUARES: dict[str, criteria.Criterion] = {"mse": criteria.MSE(), "tanh_mse": criteria.TanhMSE()}
EXACT_PARAMETERS = 300  # of a block, up to which its norm is computed from the matrix


class Blocks(ABC):
    """First and second derivatives of outputs, by the parameters of each block."""

    count: int

    @abstractmethod
    def size(self, i: int) -> int:
        """The number of parameters of a block."""

    @abstractmethod
    def times(self, i: int, v: FloatArray) -> FloatArray:
        """∂f/∂θ_i · v, one value per example."""

    @abstractmethod
    def transposed(self, i: int, r: FloatArray) -> FloatArray:
        """Σ_l r_l ∂f/∂θ_i."""

    @abstractmethod
    def curved(self, i: int, r: FloatArray, v: FloatArray) -> FloatArray:
        """Σ_l r_l ∂²f/∂θ_i² · v."""


@dataclass(eq=False)
class BlockHessian:
    """The Hessian of a mean criterion, as blocks that are computed when they are asked for."""

    blocks: Blocks
    slopes: FloatArray  # Q' of each example, times its weight
    curvatures: FloatArray  # Q''

    def __len__(self) -> int:
        return self.blocks.count

    def product(self, i: int, j: int, v: ArrayLike) -> FloatArray:
        """The product of block (i, j) with a vector; the block itself is not formed."""
        v = np.asarray(v, dtype=float)
        found = self.blocks.transposed(i, self.curvatures * self.blocks.times(j, v))
        if i == j:
            found = found + self.blocks.curved(i, self.slopes, v)
        return found

    def block(self, i: int, j: int) -> FloatArray:
        """Block (i, j) as a matrix."""
        columns = [self.product(i, j, e) for e in np.eye(self.blocks.size(j))]
        return np.column_stack(columns)

    def norms(self, method: str = "auto") -> FloatArray:
        """The spectral norm of each block: its largest singular value.

        The thesis says that it is the largest eigenvalue. A block on the diagonal may have a
        negative eigenvalue that is larger in size, and one of two experts is not symmetric.

        Parameters
        ----------
        method : {"auto", "exact", "lanczos"}, default="auto"
            "exact" forms each block. "lanczos" needs only products with vectors. "auto" forms
            blocks of up to 300 parameters.

        Returns
        -------
        ndarray of shape (n_blocks, n_blocks)
        """
        if method not in ("auto", "exact", "lanczos"):
            raise ValueError(f"method={method!r} must be 'auto', 'exact' or 'lanczos'")
        found = np.zeros((len(self), len(self)))
        for i in range(len(self)):
            for j in range(i + 1):
                found[i, j] = found[j, i] = self._norm(i, j, method)
        return found

    def _norm(self, i: int, j: int, method: str) -> float:
        if i != j and not np.any(self.curvatures):
            return 0.0  # a criterion of straight lines
        shape = self.blocks.size(i), self.blocks.size(j)
        small = max(shape) <= EXACT_PARAMETERS and method == "auto"
        if method == "exact" or small or min(shape) < 3:
            return float(np.linalg.norm(self.block(i, j), 2))
        operator = LinearOperator(
            shape,
            matvec=lambda v: self.product(i, j, np.ravel(v)),
            rmatvec=lambda v: self.product(j, i, np.ravel(v)),
            dtype=float,
        )
        first = np.random.default_rng(0).normal(size=min(shape))
        return float(svds(operator, k=1, v0=first, return_singular_vectors=False)[0])

    def interaction(self, steps: Sequence[ArrayLike]) -> float:
        r"""What the split (7.8) leaves out for these steps of the blocks.

        :math:`\frac12 \sum_{i \ne j} \delta_i^T H^{i,j} \delta_j` (the thesis prints
        :math:`H^{i,i}` and θ_i twice).
        """
        pairs = ((i, j) for i in range(len(self)) for j in range(len(self)) if i != j)
        products = (np.dot(steps[i], self.product(i, j, steps[j])) for i, j in pairs)
        return 0.5 * float(sum(products))

    def interaction_bound(self, steps: Sequence[ArrayLike], norms: ArrayLike = None) -> float:
        r"""The bound on its size: :math:`\frac12 \sum_{i \ne j} \|H^{i,j}\| \|δ_i\| \|δ_j\|`.

        Parameters
        ----------
        steps : sequence of ndarray
            One step per block.
        norms : ndarray, optional
            What `norms` returned.
        """
        lengths = np.array([np.linalg.norm(step) for step in steps])
        sizes = np.array(self.norms() if norms is None else norms, dtype=float)
        np.fill_diagonal(sizes, 0.0)
        return 0.5 * float(lengths @ sizes @ lengths)


# ----------------------------------------------------------------------------- one hidden layer


def _second_derivative(transfer: str, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """h, h' and h'' of a transfer function; at kinks as in training, h'' = 0."""
    if transfer == "sigmoid":
        s = 0.5 + 0.5 * np.tanh(z / 2)
        return s, s * (1 - s), s * (1 - s) * (1 - 2 * s)
    if transfer in ("tanh", "slanted_tanh"):
        t, slant = np.tanh(z), 0.01 if transfer == "slanted_tanh" else 0.0
        return t + slant * z, 1 - t**2 + slant, -2 * t * (1 - t**2)
    if transfer == "hard_tanh":
        return np.clip(z, -1, 1), (np.abs(z) <= 1).astype(float), np.zeros_like(z)
    if transfer == "relu":
        return np.maximum(z, 0), (z > 0).astype(float), np.zeros_like(z)
    return z, np.ones_like(z), np.zeros_like(z)


class UnitBlocks(Blocks):
    """One block per hidden unit: v_n and its bias. f = Σ_n w_n h(v_n · x + c_n) + b."""

    def __init__(self, X: FloatArray, V: FloatArray, w: FloatArray, transfer: str) -> None:
        """X has a last column of ones; V of shape (n_inputs + 1, N) holds the biases there."""
        self.X, self.count = X, len(w)
        _, slope, bend = _second_derivative(transfer, X @ V)
        self.slope, self.bend = slope * w, bend * w

    def size(self, i: int) -> int:
        return int(self.X.shape[1])

    def times(self, i: int, v: FloatArray) -> FloatArray:
        return np.asarray(self.slope[:, i] * (self.X @ v))

    def transposed(self, i: int, r: FloatArray) -> FloatArray:
        return np.asarray((r * self.slope[:, i]) @ self.X)

    def curved(self, i: int, r: FloatArray, v: FloatArray) -> FloatArray:
        return np.asarray((r * self.bend[:, i] * (self.X @ v)) @ self.X)


class ExpertBlocks(Blocks):
    """One block per expert k of Σ_k g_k (Σ_n w_kn h(v_kn · x) + b_k): V with biases, w and b."""

    def __init__(
        self,
        X: FloatArray,
        gates: FloatArray,
        V: Sequence[FloatArray],
        w: Sequence[FloatArray],
        transfer: str,
    ) -> None:
        """X and each V are as in `UnitBlocks`."""
        self.X, self.gates, self.w, self.count = X, gates, w, len(w)
        self.layers = [_second_derivative(transfer, X @ first) for first in V]

    def size(self, i: int) -> int:
        return int(len(self.w[i]) * (self.X.shape[1] + 1) + 1)

    def _parts(self, i: int, v: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """X times the part of v that belongs to V, the part of w, and that of b."""
        units = len(self.w[i])
        first = v[: -units - 1].reshape(self.X.shape[1], units)
        return self.X @ first, v[-units - 1 : -1], float(v[-1])

    def times(self, i: int, v: FloatArray) -> FloatArray:
        value, slope, _ = self.layers[i]
        moved, w, b = self._parts(i, v)
        return np.asarray(self.gates[:, i] * ((slope * moved) @ self.w[i] + value @ w + b))

    def transposed(self, i: int, r: FloatArray) -> FloatArray:
        value, slope, _ = self.layers[i]
        r = r * self.gates[:, i]
        first = self.X.T @ (r[:, None] * slope * self.w[i])
        return np.concatenate([first.ravel(), r @ value, [r.sum()]])

    def curved(self, i: int, r: FloatArray, v: FloatArray) -> FloatArray:
        _, slope, bend = self.layers[i]
        moved, w, _ = self._parts(i, v)
        r = (r * self.gates[:, i])[:, None]
        first = self.X.T @ (r * (bend * self.w[i] * moved + slope * w))
        return np.concatenate([first.ravel(), np.sum(r * slope * moved, axis=0), [0.0]])


def _derivatives(
    criterion: criteria.Criterion, z: FloatArray, f: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Q' and Q'' over the number of examples."""
    return criterion.derivative(z, f) / len(f), criterion.second_derivative(z, f) / len(f)


def _with_ones(X: FloatArray) -> FloatArray:
    return np.column_stack([X, np.ones(len(X))])


def _signs(model: Any, y: ArrayLike) -> FloatArray:
    """±1 of the classes of a fitted model with two classes."""
    if len(model.classes_) != 2:
        raise ValueError(
            f"the model has {len(model.classes_)} classes; the Hessian of Chapter 7 is that of one "
            "output, so use two classes"
        )
    return np.where(np.ravel(y) == model.classes_[1], 1.0, -1.0)


def unit_hessian(model: MLPClassifier, X: ArrayLike, y: ArrayLike) -> BlockHessian:
    r"""The Hessian of an MLP by its hidden units: (7.9), (7.12), (7.15), and 8.5 for margins.

    A block holds the weights and the bias of one hidden unit, for scaled inputs. Weight decay,
    which adds a constant to the diagonal, is left out.

    Parameters
    ----------
    model : MLPClassifier
        Fitted, with one hidden layer and two classes, and any `loss`.
    X : array-like of shape (n_samples, n_features)
        The examples; a single one gives the "instantaneous" Hessian.
    y : array-like of shape (n_samples,)
        Their classes.

    Returns
    -------
    BlockHessian

    Examples
    --------
    With the margin criterion, hidden units do not interact; with the squared error they do:

    >>> import numpy as np
    >>> from widemargin import MLPClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> for loss in ("margin", "squared_error"):
    ...     model = MLPClassifier((4,), loss=loss, max_iter=5, tol=0.0, random_state=0).fit(X, y)
    ...     norms = unit_hessian(model, X, y).norms()
    ...     print(loss, bool(norms[0, 1] > 0))
    margin False
    squared_error True
    """
    check_is_fitted(model)
    if model.n_layers_ != 3:
        raise ValueError(
            f"the model has {model.n_layers_ - 2} hidden layers; unit_hessian needs one, such as "
            "hidden_layer_sizes=(50,)"
        )
    z = _signs(model, y)
    inputs = model._check_X(X)
    f = model._outputs(inputs)[:, 0]
    inputs = np.asarray(inputs.toarray() if hasattr(inputs, "toarray") else inputs, dtype=float)
    if model.scaling is not None:
        inputs = (inputs - model.feature_offset_) / model.feature_scale_
    V = np.vstack([model.coefs_[0], model.intercepts_[0]]).astype(float)
    blocks = UnitBlocks(_with_ones(inputs), V, model.coefs_[1][:, 0].astype(float), model._transfer)
    return BlockHessian(blocks, *_derivatives(LOSSES[model.loss](model.margin), z, f))


def expert_hessian(model: MixtureOfExpertsClassifier, X: ArrayLike, y: ArrayLike) -> BlockHessian:
    r"""The Hessian of a soft mixture by its experts (7.10).

    A block holds all weights of one expert. The gater is not a block. With ``criterion="mse"``,
    blocks outside the diagonal are those of (7.10), averaged over the examples; ``"tanh_mse"``
    multiplies each example by the factor of (7.15).

    Parameters
    ----------
    model : MixtureOfExpertsClassifier
        Fitted with ``criterion="mse"`` or ``"tanh_mse"`` and hidden units, on two classes.
    X, y : array-like
        The examples.

    Returns
    -------
    BlockHessian
    """
    check_is_fitted(model)
    z = _signs(model, y)
    mixture = model._mixture()
    layout = mixture.layout
    if model.criterion not in SQUARES or layout.given or not layout.hidden:
        raise ValueError(
            "expert_hessian needs a mixture of networks with hidden units and criterion='mse' or "
            "'tanh_mse': MixtureOfExpertsClassifier(criterion='mse', n_units=10)"
        )
    inputs = model._check_X(X)
    gates = mixture.gates(inputs)
    inputs = np.asarray(inputs.toarray() if hasattr(inputs, "toarray") else inputs, dtype=float)
    offset, scale = mixture.statistics
    weights = layout.views(mixture.parameters.astype(float))
    first = np.vstack([weights["first"], weights["first_bias"]])[:, : layout.expert_columns]
    V = np.split(first, layout.experts, axis=1)
    w = list(weights["experts"][:, :, 0])
    blocks = ExpertBlocks(_with_ones((inputs - offset) / scale), gates, V, w, layout.transfer)
    outputs = [
        value @ w[k] + weights["experts_bias"][k, 0]
        for k, (value, _, _) in enumerate(blocks.layers)
    ]
    f = np.sum(gates * np.column_stack(outputs), axis=1)
    return BlockHessian(blocks, *_derivatives(SQUARES[model.criterion], z, f))

r"""Threshold logic units (McCulloch and Pitts, 1943; Fleuret, lecture 3.1).

A unit has Boolean inputs and a Boolean output, :math:`f(x) = 1_{\{w \cdot x + b \ge 0\}}`. It is
not trained: its weights are its definition.

==================  ======  ==========
``or``              w = 1   b = −0.5
``and`` of n        w = 1   b = 0.5 − n
``not``             w = −1  b = 0.5
==================  ======  ==========

Composed, units make any Boolean function.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ThresholdNetwork", "ThresholdUnit"]

Boolean = NDArray[np.bool_]


def _boolean(X: ArrayLike) -> Boolean:
    """Rows of Boolean inputs, given as 0 and 1 or as False and True."""
    x = np.asarray(X)
    if x.ndim != 2:
        raise ValueError(f"X has {x.ndim} dimensions; give one row per example")
    if not np.all((x == 0) | (x == 1)):
        raise ValueError("X holds values other than 0 and 1; a threshold unit is Boolean")
    return x.astype(bool)


class ThresholdUnit:
    r"""A McCulloch-Pitts unit, :math:`f(x) = 1_{\{w \cdot x + b \ge 0\}}` on Boolean inputs.

    Parameters
    ----------
    weights : float or sequence of float
        One weight for all inputs, as in the original unit, or one per input.
    bias : float
        b.

    Examples
    --------
    >>> and_, or_, not_ = ThresholdUnit.and_(), ThresholdUnit.or_(), ThresholdUnit.not_()
    >>> and_(True, False), or_(True, False), not_(True)
    (False, True, False)

    Units compose: ``xor(u, v) = (u or v) and not (u and v)``.

    >>> u, v = ThresholdNetwork.inputs(2)
    >>> xor = (u | v) & ~(u & v)
    >>> [xor(a, b) for a in (0, 1) for b in (0, 1)]
    [False, True, True, False]
    """

    def __init__(self, weights: float | Sequence[float], bias: float) -> None:
        self.weights = np.asarray(weights, dtype=float)
        self.bias = float(bias)

    @classmethod
    def or_(cls) -> "ThresholdUnit":
        """1 when any input is 1."""
        return cls(1.0, -0.5)

    @classmethod
    def and_(cls, n_inputs: int = 2) -> "ThresholdUnit":
        """1 when all `n_inputs` inputs are 1."""
        return cls(1.0, 0.5 - n_inputs)

    @classmethod
    def not_(cls) -> "ThresholdUnit":
        """1 when its one input is 0."""
        return cls(-1.0, 0.5)

    def predict(self, X: ArrayLike) -> Boolean:
        """The output for every row of Boolean inputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_inputs)
            Values 0 and 1, or False and True.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            The unit's outputs.
        """
        x = _boolean(X)
        if self.weights.ndim and self.weights.shape != (x.shape[1],):
            raise ValueError(f"X has {x.shape[1]} columns; the unit has {len(self.weights)} inputs")
        result: Boolean = (x * self.weights).sum(axis=1) + self.bias >= 0
        return result

    def __call__(self, *inputs: bool | int) -> bool:
        return bool(self.predict(np.array([inputs]))[0])

    def __repr__(self) -> str:
        return f"ThresholdUnit(weights={self.weights.tolist()}, bias={self.bias})"


class ThresholdNetwork:
    """A Boolean function built from threshold units.

    Made from inputs with ``&``, ``|`` and ``~``, or from a table with `from_truth_table`.

    Parameters
    ----------
    evaluate : callable
        Boolean inputs of shape (n_samples, n_inputs) to outputs of shape (n_samples,).
    n_inputs : int
        The number of inputs.
    n_units : int, default=0
        The number of units it is made of.

    Examples
    --------
    >>> majority = ThresholdNetwork.from_truth_table([0, 0, 0, 1, 0, 1, 1, 1])
    >>> majority(1, 0, 1), majority.n_inputs
    (True, 3)
    """

    def __init__(
        self, evaluate: Callable[[Boolean], Boolean], n_inputs: int, n_units: int = 0
    ) -> None:
        self._evaluate = evaluate
        self.n_inputs = n_inputs
        self.n_units = n_units

    @classmethod
    def inputs(cls, n_inputs: int) -> list["ThresholdNetwork"]:
        """The networks that return one input each, from which others are built."""
        return [cls(lambda x, i=i: x[:, i], n_inputs) for i in range(n_inputs)]  # type: ignore[misc]

    @classmethod
    def from_truth_table(cls, table: Sequence[bool | int]) -> "ThresholdNetwork":
        """The function whose outputs are listed for the inputs 0…00, 0…01, …, 1…11.

        An `or` over the rows that are 1, each an `and` of inputs and negated inputs. This takes at
        most one unit per row, one per negation and one on top.
        """
        n_inputs = (len(table) - 1).bit_length()
        if n_inputs < 1 or len(table) != 2**n_inputs:
            raise ValueError(f"table has {len(table)} entries; a truth table has 2, 4, 8, 16, …")
        inputs = cls.inputs(n_inputs)
        negated = [~x for x in inputs]
        terms = [
            cls._apply(
                ThresholdUnit.and_(n_inputs),
                [
                    (x if row >> (n_inputs - 1 - i) & 1 else n)
                    for i, (x, n) in enumerate(zip(inputs, negated, strict=True))
                ],
            )
            for row, value in enumerate(table)
            if value
        ]
        if not terms:  # an `or` of nothing: the unit that never fires
            return cls._apply(ThresholdUnit(0.0, -0.5), inputs)
        return cls._apply(ThresholdUnit.or_(), terms)

    @classmethod
    def _apply(cls, unit: ThresholdUnit, parts: list["ThresholdNetwork"]) -> "ThresholdNetwork":
        if len({part.n_inputs for part in parts}) > 1:
            raise ValueError(
                "networks over different numbers of inputs cannot be composed; make all inputs "
                "with one call of ThresholdNetwork.inputs"
            )

        def evaluate(x: Boolean) -> Boolean:
            return unit.predict(np.column_stack([part._evaluate(x) for part in parts]))

        return cls(evaluate, parts[0].n_inputs, 1 + sum(part.n_units for part in parts))

    def __and__(self, other: "ThresholdNetwork") -> "ThresholdNetwork":
        return self._apply(ThresholdUnit.and_(), [self, other])

    def __or__(self, other: "ThresholdNetwork") -> "ThresholdNetwork":
        return self._apply(ThresholdUnit.or_(), [self, other])

    def __invert__(self) -> "ThresholdNetwork":
        return self._apply(ThresholdUnit.not_(), [self])

    def predict(self, X: ArrayLike) -> Boolean:
        """The output for every row of Boolean inputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_inputs)
            Values 0 and 1, or False and True.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            The network's outputs.
        """
        x = _boolean(X)
        if x.shape[1] != self.n_inputs:
            raise ValueError(f"X has {x.shape[1]} columns; the network has {self.n_inputs} inputs")
        return self._evaluate(x)

    def __call__(self, *inputs: bool | int) -> bool:
        return bool(self.predict(np.array([inputs]))[0])

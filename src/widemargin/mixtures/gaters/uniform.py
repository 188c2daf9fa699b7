"""The uniform gater: the baseline, which weighs all experts equally."""

from typing import ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.mixtures.gaters.gater import Gater, check_partition
from widemargin.training.model import all_or_nothing

__all__ = ["UniformGater"]


class UniformGater(Gater):
    r"""Weighs all experts equally, :math:`g_k(x) = 1/K`: the baseline of Table 6.1.

    No example changes its expert, so a mixture with this gater stops after one iteration.

    Parameters
    ----------
    None.

    Attributes
    ----------
    n_experts_ : int
        The number of experts, K.

    Examples
    --------
    >>> from widemargin.mixtures import UniformGater
    >>> UniformGater().fit([[0.0], [1.0]], partition=[0, 1]).gates([[7.0]])
    array([[0.5, 0.5]])
    """

    local: ClassVar[bool] = True
    reassigns: ClassVar[bool] = False

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def fit(
        self,
        X: ArrayLike,
        *,
        outputs: ArrayLike = None,
        targets: ArrayLike = None,
        partition: ArrayLike = None,
        criterion: str = "tanh_mse",
        sample_weight: ArrayLike = None,
    ) -> Self:
        """Determines the number of experts; see `Gater.fit`."""
        X = self._inputs(X, reset=True)
        if partition is None and outputs is None:
            raise ValueError("partition and outputs are missing: the number of experts is unknown")
        if partition is None:
            self.n_experts_ = np.shape(outputs)[1]
        else:
            _, self.n_experts_ = check_partition(X, partition, outputs)
        return self

    def log_gates(self, X: ArrayLike) -> FloatArray:
        """−log K; see `Gater.log_gates`."""
        check_is_fitted(self)
        return np.full((self._inputs(X).shape[0], self.n_experts_), -np.log(self.n_experts_))

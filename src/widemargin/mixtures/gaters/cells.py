"""Cells: a division of the inputs by their nearest centre, found before any expert is trained."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import _fit_context
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.labels import example_weights
from widemargin.mixtures.gaters.gater import Gater, check_partition
from widemargin.training.model import all_or_nothing

__all__ = ["CellGater", "find_clusters"]

DISTANCES_PER_CALL = 1 << 22  # in memory at once
CLOSEST = 1e-12  # of the largest distance: closer to a centre makes no difference


def find_clusters(X: ArrayLike, n_experts: int, random: ArrayLike) -> MiniBatchKMeans:
    """One cluster per expert, by k-means."""
    return MiniBatchKMeans(n_experts, n_init=1, random_state=random).fit(X)


class CellGater(Gater):
    r"""Weighs experts by the distances :math:`d_k` of their cells' centres.

    .. math:: g_k(x) = \frac{d_k(x)^{-p}}{\sum_j d_j(x)^{-p}}

    The cells are those of k-means, found before the experts are trained. Near a border, two experts
    are mixed; elsewhere one expert decides. With an `overlap` the examples near a border train both
    experts. No example changes its cell, so a mixture with this gater stops after one iteration.
    The experts' outputs are not needed for training, which makes it the fastest gater; cells suit
    inputs whose distances mean something, such as those of a `GradientMetric`.

    Parameters
    ----------
    distance_power : float, default=20.0
        p: the larger, the narrower the borders where experts are mixed.
    overlap : float, default=0.1
        An example also trains the experts whose centres are at most 1 + `overlap` times as far as
        the nearest one.
    random_state : int, RandomState or None, default=None
        Seeds k-means.

    Attributes
    ----------
    n_experts_ : int
        The number of experts, K.
    centres_ : ndarray of shape (n_experts, n_features)
        The centres of the cells.

    See Also
    --------
    MLPGater : Trained on outputs of the experts.
    GaussianGater : Trained on the examples of each expert.

    Examples
    --------
    >>> from widemargin.mixtures import CellGater
    >>> gater = CellGater(distance_power=2).fit([[-1.0], [1.0]], partition=[0, 1])
    >>> gater.gates([[0.0], [0.5]])
    array([[0.5, 0.5],
           [0.1, 0.9]])
    """

    local: ClassVar[bool] = True
    reassigns: ClassVar[bool] = False
    divides: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "distance_power": [Interval(Real, 0, None, closed="neither")],
        "overlap": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        distance_power: float = 20.0,
        *,
        overlap: float = 0.1,
        random_state: ArrayLike = None,
    ) -> None:
        self.distance_power = distance_power
        self.overlap = overlap
        self.random_state = random_state

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
        """Takes the means of the subsets of a given partition as centres; see `Gater.fit`."""
        partition, self.n_experts_ = check_partition(X, partition, outputs)
        weights = example_weights(X, None, sample_weight, None, None)
        X = self._inputs(X, reset=True)
        counts = np.ones(X.shape[0]) if weights is None else weights
        totals = np.bincount(partition, counts, self.n_experts_)
        if not np.all(totals > 0):
            raise ValueError(f"expert {np.argmin(totals)} has no examples in the partition")
        self.centres_ = np.stack(
            [counts[rows] @ X[rows] / totals[k] for k, rows in enumerate(_subsets(partition))]
        )
        return self

    def divide(self, X: ArrayLike, n_experts: int) -> IntArray:
        """Find cells by k-means: fits the gater and returns the cell of each example.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        n_experts : int
            How many cells to look for. Cells without examples are left out.

        Returns
        -------
        ndarray of shape (n_samples,)
            The nearest centre.
        """
        self._validate_params()
        X = self._inputs(X, reset=True)
        clusters = find_clusters(X, n_experts, self.random_state)
        self.centres_ = np.asarray(clusters.cluster_centers_, dtype=np.float64)
        nearest = np.concatenate([d.argmin(axis=1) for d in self._distances(X)])
        used, partition = np.unique(nearest, return_inverse=True)
        self.centres_, self.n_experts_ = self.centres_[used], len(used)
        return np.asarray(partition, dtype=np.int64)

    def neighbours(self, X: ArrayLike, partition: ArrayLike) -> list[IntArray]:
        """The examples of other cells that train each expert too.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        partition : array-like of shape (n_samples,)
            The cell of each example.

        Returns
        -------
        list of ndarray
            Row numbers, for each expert.
        """
        check_is_fitted(self)
        X, first = self._inputs(X), 0
        found: list[list[IntArray]] = [[] for _ in range(self.n_experts_)]
        for distances in self._distances(X):
            near = distances <= (1.0 + self.overlap) * distances.min(axis=1, keepdims=True)
            own = np.asarray(partition)[first : first + len(near)]
            near[np.arange(len(near)), own] = False
            for k in range(self.n_experts_):
                found[k].append(first + np.flatnonzero(near[:, k]))
            first += len(near)
        return [np.concatenate(parts) for parts in found]

    def log_gates(self, X: ArrayLike) -> FloatArray:
        """−p log d, normalised; see `Gater.log_gates`."""
        check_is_fitted(self)
        parts = []
        for distances in self._distances(self._inputs(X)):
            closest = CLOSEST * distances.max(axis=1, keepdims=True) + np.finfo(float).tiny
            logs = np.log(np.maximum(distances, closest))
            parts.append(log_softmax(-self.distance_power * logs, axis=1))
        return np.concatenate(parts)

    def _distances(self, X: ArrayLike) -> Any:
        """To all centres, for some examples at a time."""
        rows = max(1, DISTANCES_PER_CALL // len(self.centres_))
        for some in gen_batches(X.shape[0], rows):
            yield np.asarray(euclidean_distances(X[some], self.centres_), dtype=np.float64)


def _subsets(partition: IntArray) -> list[IntArray]:
    return [np.flatnonzero(partition == k) for k in range(int(partition.max()) + 1)]

"""The local gater of hard mixtures: one density per expert (Algorithm 6.2)."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.labels import example_weights
from widemargin.inputs.scaling import SCALING_CONSTRAINT, Scaling
from widemargin.inputs.threads import thread_count
from widemargin.mixtures.gaters.gater import Gater, check_partition
from widemargin.mixtures.gaters.gaussians import Components, fit_components, log_sums
from widemargin.training.estimators import all_or_nothing

__all__ = ["GaussianGater"]

DENSITIES_PER_CALL = 1 << 20  # numbers in memory at once


class GaussianGater(Gater):
    r"""A mixture of Gaussians per expert, and Bayes' rule.

    .. math:: P(x | k) = \sum_n P(n | k)\, N(x; \mu_{kn}, \Sigma_{kn}), \qquad
              g_k(x) = P(k | x) = \frac{P(x | k)\, P(k)}{\sum_j P(x | j)\, P(j)} \qquad (6.4)

    with diagonal Σ by default. Each density is trained by EM on the examples of its expert alone.
    So the densities are trained in parallel, in time linear in the number of examples. The priors
    are :math:`P(k) = |D_k|/L`.

    Parameters
    ----------
    n_components : int, default=10
        Gaussians per expert; fewer for an expert with fewer examples.
    covariance_type : {"diag", "spherical", "full"}, default="diag"
        Whether each input has its own variance ("diag"), all share one, or Σ is any covariance
        matrix, as in 6.6.1 ("full"). With d inputs, "full" has d (d + 1)/2 parameters per Gaussian
        and takes d times as long.
    max_iter : int, default=100
        The largest number of EM steps per fit.
    tol : float, default=0.001
        EM stops when the mean log-likelihood of an expert's examples changes by less.
    reg_covar : float, default=0.001
        Added to the variances of scaled inputs.
    scaling : {"standard", "minmax"} or None, default="standard"
        How inputs are scaled: to mean 0 and variance 1, to the range 0..1, or not at all. The
        statistics are those of the examples of all experts, so that their densities are comparable.
    warm_start : bool, default=True
        Whether `fit` resumes from the last densities if the numbers of experts and inputs are the
        same.
    random_state : int, RandomState or None, default=None
        Seeds the first Gaussians.
    n_jobs : int or None, default=None
        How many densities are trained in parallel at most. None uses all CPUs, but one thread
        inside a joblib worker. The result does not depend on it.

    Attributes
    ----------
    n_experts_ : int
        The number of experts, K.
    priors_ : ndarray of shape (n_experts,)
        P(k).
    sizes_ : ndarray of shape (n_experts,)
        The number of Gaussians of each expert.
    weights_ : ndarray of shape (n_gaussians,)
        P(n | k) of the Gaussians of all experts, in the order of the experts.
    means_, variances_ : ndarray of shape (n_gaussians, n_features)
        Their parameters, for scaled inputs.
    covariances_ : ndarray of shape (n_gaussians, n_features, n_features)
        Their covariance matrices, with ``covariance_type="full"`` only.
    feature_offset_, feature_scale_ : ndarray of shape (n_features,)
        What is subtracted from inputs, and what they are then divided by. ``scaling=None``
        subtracts the mean for accuracy and divides by 1, which changes no gate.

    See Also
    --------
    MLPGater : Trained on outputs of the experts; slower and more accurate.

    Notes
    -----
    Weights of examples affect the priors and the scaling. Densities ignore them, except that
    examples of weight 0 are left out.

    References
    ----------
    R. Collobert, *Large Scale Machine Learning*, 2004, 6.3.2 and 6.6.1.

    Examples
    --------
    >>> from widemargin.mixtures import GaussianGater
    >>> X = [[-3.0], [-2.0], [-1.0], [1.0], [2.0], [3.0]]
    >>> gater = GaussianGater(n_components=1).fit(X, partition=[0, 0, 0, 1, 1, 1])
    >>> gater.gates([[-2.0], [0.0], [2.0]]).round(2)
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """

    local: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions({"diag", "spherical", "full"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "reg_covar": [Interval(Real, 0, None, closed="neither")],
        "scaling": SCALING_CONSTRAINT,
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        covariance_type: str = "diag",
        max_iter: int = 100,
        tol: float = 1e-3,
        reg_covar: float = 1e-3,
        scaling: str | None = "standard",
        warm_start: bool = True,
        random_state: ArrayLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.max_iter = max_iter
        self.tol = tol
        self.reg_covar = reg_covar
        self.scaling = scaling
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def fit(
        self,
        X: ArrayLike,
        *,
        outputs: ArrayLike = None,
        targets: ArrayLike = None,
        partition: ArrayLike = None,
        criterion: str = "likelihood",
        sample_weight: ArrayLike = None,
    ) -> Self:
        """Trains the density of every expert on its examples of the partition.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        outputs : array-like of shape (n_samples, n_experts, n_outputs), optional
            Used only for the number of experts.
        targets : array-like, optional
            Not used.
        partition : array-like of shape (n_samples,)
            The expert to whose subset each example belongs. An expert without examples has gates
            of 0.
        criterion : str, optional
            Not used.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0.

        Returns
        -------
        self
            The fitted gater.
        """
        partition, n_experts = check_partition(X, partition, outputs)
        weights = example_weights(X, None, sample_weight, None, None)
        resume = self.warm_start and self._can_resume(X, n_experts)
        X = self._inputs(X, reset=not resume)
        if weights is None:
            weights = np.ones(X.shape[0])
        if not resume:
            kind = self.scaling or "standard"
            self._keep_scaling(Scaling.measured(kind, X, np.flatnonzero(weights), weights))
        starts = self._experts() if resume else [None] * n_experts
        subsets = [np.flatnonzero((partition == k) & (weights > 0)) for k in range(n_experts)]
        found = self._train(X, subsets, starts)
        return self._keep(found, np.bincount(partition, weights, n_experts) / weights.sum())

    def log_density(self, X: ArrayLike) -> FloatArray:
        """log P(x | k) of scaled inputs.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_experts)
            Logarithms of densities; −∞ for an expert that had no examples.
        """
        check_is_fitted(self)
        X = self._inputs(X)
        rows_per_call = max(1, DENSITIES_PER_CALL // (len(self.weights_) + X.shape[1]))
        log_joint = self._gaussians().log_joint()

        def densities(first: int) -> FloatArray:
            x = self._scaled(X[first : first + rows_per_call])
            return log_sums(log_joint(x), self.sizes_)

        with threadpool_limits(1, user_api="blas"):
            found = Parallel(self._threads(), require="sharedmem")(
                delayed(densities)(first) for first in range(0, X.shape[0], rows_per_call)
            )
        return np.concatenate(found)

    def log_gates(self, X: ArrayLike) -> FloatArray:
        """log P(k | x), by Bayes' rule (6.4).

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_experts)
            Logarithms of weights.
        """
        return np.asarray(log_softmax(self.log_joint(X), axis=1))

    def log_joint(self, X: ArrayLike) -> FloatArray:
        """log P(x, k) = log P(x | k) P(k) of scaled inputs; see `Gater.log_joint`."""
        density = self.log_density(X)
        with np.errstate(divide="ignore"):
            return np.asarray(density + np.log(self.priors_))

    # ----------------------------------------------------------------------------- helpers

    def _keep_scaling(self, statistics: Scaling) -> None:
        """Offset and scale of all examples, and the variances of scaled inputs.

        Inputs are always shifted towards 0, which keeps sums of squares accurate.
        """
        kind = self.scaling or "standard"
        scaling = replace(statistics, kind=kind, divide=self.scaling is not None)
        self.feature_offset_, self.feature_scale_ = scaling.offset, scaling.scale
        self._spread = scaling.variance / self.feature_scale_**2 + self.reg_covar

    def _scaled(self, rows: ArrayLike) -> FloatArray:
        dense = rows.toarray() if sp.issparse(rows) else rows
        return np.asarray((dense - self.feature_offset_) / self.feature_scale_)

    def _experts(self) -> list[Components]:
        """The Gaussians of each expert."""
        ends = np.cumsum(self.sizes_)
        parts = [slice(end - n, end) for n, end in zip(self.sizes_, ends, strict=True)]
        return [Components(*(array[part] for array in self._gaussians())) for part in parts]

    def _gaussians(self) -> Components:
        """The Gaussians of all experts."""
        variances = getattr(self, "covariances_", self.variances_)
        return Components(self.weights_, self.means_, variances)

    def _train(
        self, X: ArrayLike, subsets: list[IntArray], starts: Sequence[Components | None]
    ) -> list[Components]:
        seeds = self._seeds(len(subsets))
        with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
            warnings.simplefilter("ignore", ConvergenceWarning)  # the next fit continues
            found = Parallel(self._threads(), prefer="threads")(
                delayed(self._density)(X[rows], start, seed)
                for rows, start, seed in zip(subsets, starts, seeds, strict=True)
            )
        return list(found)

    def _seeds(self, n_experts: int) -> IntArray:
        random = check_random_state(self.random_state)
        return np.asarray(random.randint(2**31 - 1, size=n_experts))

    def _density(self, X: ArrayLike, start: Components | None, seed: int) -> Components:
        """The Gaussians of one expert, trained on its examples."""
        names = ("n_components", "covariance_type", "max_iter", "tol", "reg_covar")
        options = {name: getattr(self, name) for name in names} | {"random_state": int(seed)}
        return fit_components(self._scaled(X), start, self._spread, options)

    def _keep(self, found: list[Components], priors: FloatArray) -> Self:
        """Keeps the Gaussians of all experts."""
        self.n_experts_, self.priors_ = len(found), priors
        self.sizes_ = np.array([len(one.weights) for one in found])
        self.weights_, self.means_, variances = (
            np.concatenate(arrays) for arrays in zip(*found, strict=True)
        )
        self.__dict__.pop("covariances_", None)
        if variances.ndim == 3:
            self.covariances_ = variances
            variances = np.diagonal(variances, axis1=1, axis2=2).copy()
        self.variances_ = variances
        return self

    def _threads(self) -> int:
        return thread_count(self.n_jobs)

"""Hard mixtures of experts for regression, on a cluster."""

from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.dask.data import Statistics
from widemargin.dask.mixture import ClusterMixture
from widemargin.mixtures.hard import regressor as local

__all__ = ["HardMixtureRegressor"]


class HardMixtureRegressor(ClusterMixture, local.HardMixtureRegressor):
    r"""Hard mixture of experts for regression, for examples spread over a cluster.

    The algorithm is that of `HardMixtureClassifier`. The parameters are those of the local mixture,
    except two. There is no `tune`, which needs regions of the data and all validation examples in
    one place: tune a local mixture on a sample, and use its `best_params_`. There is no `n_jobs`:
    each thread of a worker runs one task.

    Parameters
    ----------
    expert : estimator, default=None
        A regressor; None means `SVR` with C = 10 s and ε = 0.1 s, where s is the standard
        deviation of y, and a γ that is chosen on the largest chunk. Models with `partial_fit` and
        `warm_start`, such as `MLPRegressor`, resume from the last iteration.
    gater : {"mlp", "local", "uniform"}, gater or estimator, default="mlp"
        As in `HardMixtureClassifier`.
    n_experts : int or "auto", default="auto"
        The number of experts, K. "auto" gives each expert about 2,000 examples.
    max_iter : int, default=3
        Iterations of the outer loop. Training stops early if no example changes its expert.
    criterion : {"auto", "mse"}, default="auto"
        What the gater minimises: the squared error, relative to the variance of the targets.
    first_partition : {"random", "kmeans"}, default="random"
        How the first subsets are chosen: at random, or as clusters of k-means, which sees at most
        100,000 examples.
    balance : float or None, default=1.0
        An expert may have at most `balance` · L/K + 1 examples. None removes the limit.
    reassign : {"auto", "gates", "posterior"}, default="auto"
        Which expert an example prefers: the one with the largest gate, or the one with the largest
        posterior P(k | x, y). "auto" follows the gater's algorithm.
    gater_rows : int or None, default=None
        How many examples train a global gater at most; each iteration draws new ones, the
        same fraction from each block. None uses all; unlike locally this is the default, because
        the workers share the work.
    gate_tolerance : float, default=0.001
        A prediction skips the experts with the smallest gates, as long as their gates add up to
        at most this.
    scaling : {"standard", "minmax"} or None, default="minmax"
        How inputs are scaled for experts and gater: "minmax" to the range 0..1, "standard" to mean
        0 and variance 1, None not at all. Inputs that are mostly zero are only divided, so that
        sparse inputs stay sparse.
    early_stopping : bool, default=False
        Whether to keep the iteration with the lowest error on validation examples, and to stop
        when this error has not fallen by `tol` for `n_iter_no_change` iterations.
    validation_fraction : float, default=0.1
        The fraction of each block held out for validation, unless `fit` gets `X_val`.
    n_iter_no_change : int, default=3
        How many iterations without progress to wait.
    tol : float or None, default=None
        By how much the criterion, or the validation error, must fall to count as progress. None
        never stops for lack of progress.
    time_limit : float or None, default=None
        Seconds after which no further iteration begins, nor one that would not end in time.
        Experts have shares of the time; the gater is not cut off.
    warm_start : bool, default=False
        Whether `fit` resumes with more iterations. The examples are first assigned again, by the
        last experts and gater. With an int as `random_state` and the same chunks, two fits of two
        iterations give the same result as one fit of four.
    verbose : int, default=0
        Whether to print one line per iteration.
    random_state : int, RandomState or None, default=None
        Seeds the first partition, the experts and the gater. With the same chunks, the result does
        not depend on the number of workers, nor on which worker computed what.
    client : distributed.Client or None, default=None
        The cluster. None uses the default client if there is one, else a `LocalCluster` for this
        fit.

    Attributes
    ----------
    experts_ : list of estimators
        The experts.
    expert_params_ : dict
        C and γ of the experts, if `expert` is None.
    gater_ : gater
        The gater, for scaled inputs.
    n_experts_ : int
        The number of experts, K.
    feature_offset_, feature_scale_ : ndarray of shape (n_features,)
        What is subtracted from inputs, and what they are then divided by.
    subset_sizes_ : ndarray of shape (n_experts,)
        How many examples each expert was trained on.
    history_ : list of dict
        One record per iteration, as in the local mixture.
    n_iter_, best_iter_ : int
        The number of iterations, and the iteration that was kept.
    stop_reason_ : str
        "no_update", "tol", "early_stopping", "max_iter", "time_limit", "interrupted", "callback",
        "cluster_lost".
    converged_ : bool
        Whether a stopping rule was met: "no_update", "tol" or "early_stopping".
    fit_time_ : float
        Seconds of training.

    See Also
    --------
    HardMixtureClassifier : The algorithm, and notes on blocks and memory.
    widemargin.HardMixtureRegressor : For data in memory; what `to_local` returns.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from widemargin import SVR
    >>> from widemargin.mixtures import MLPGater
    >>> from widemargin.dask import HardMixtureRegressor
    >>> X = da.linspace(-1, 1, 400, chunks=100)[:, None]
    >>> y, gater = abs(X[:, 0]), MLPGater((), learning_rate=0.1)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     mixture = HardMixtureRegressor(
    ...         SVR(kernel="linear"), gater, n_experts=2, max_iter=10, random_state=0
    ...     ).fit(X, y)
    ...     print(mixture.score(X, y) > 0.9)
    True
    """

    _local: ClassVar[type] = local.HardMixtureRegressor
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **local.HardMixtureRegressor._parameter_constraints,
        "client": "no_validation",
    }

    def __init__(
        self,
        expert: Any = None,
        gater: Any = "mlp",
        *,
        n_experts: int | str = "auto",
        max_iter: int = 3,
        criterion: str = "auto",
        first_partition: str = "random",
        balance: float | None = 1.0,
        reassign: str = "auto",
        gater_rows: int | None = None,
        gate_tolerance: float = 1e-3,
        scaling: str | None = "minmax",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        tol: float | None = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: ArrayLike = None,
        client: Any = None,
    ) -> None:
        self.expert = expert
        self.gater = gater
        self.n_experts = n_experts
        self.max_iter = max_iter
        self.criterion = criterion
        self.first_partition = first_partition
        self.balance = balance
        self.reassign = reassign
        self.gater_rows = gater_rows
        self.gate_tolerance = gate_tolerance
        self.scaling = scaling
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.client = client

    def predict(self, X: Any) -> Any:
        """The values f(x).

        Parameters
        ----------
        X : collection of Dask, or array-like, of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        dask.array.Array or ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions; lazy for a collection of Dask.
        """
        check_is_fitted(self)
        return self._apply("predict", X, None if self._flat_targets else self.n_outputs_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², the fraction of the variance of y that the predictions explain.

        Parameters
        ----------
        X : collection of Dask, or array-like, of shape (n_samples, n_features)
            The examples.
        y : collection of Dask, or array-like
            The targets.
        sample_weight : collection of Dask, or array-like, optional
            Weights.

        Returns
        -------
        float
            R².
        """
        return self._score(r2_score, X, y, sample_weight)

    # ----------------------------------------------------------------------------- helpers

    def _take_statistics(
        self, statistics: Statistics, *, flat: bool, resume: bool
    ) -> FloatArray | None:
        assert statistics.targets is not None
        variance = statistics.targets.variance
        shape = (1,) if flat else (1, len(variance))
        self._take_targets(np.empty(shape), resume=resume)
        return 1.0 / (len(variance) * np.where(variance > 0, variance, 1.0))

"""Hard mixtures of experts for regression, on a cluster."""

from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.dask.data import Facts
from widemargin.dask.mixture import ClusterMixture
from widemargin.mixtures.hard import regressor as hard_regression

__all__ = ["HardMixtureRegressor"]


class HardMixtureRegressor(ClusterMixture, hard_regression.HardMixtureRegressor):
    r"""Hard mixture of experts for regression: as `HardMixtureClassifier`, for values.

    Parameters
    ----------
    expert : estimator, default=None
        A regressor. None: `SVR`. Models with `partial_fit` and `warm_start`, as `MLPRegressor`,
        go on from the last iteration.
    gater : {"mlp", "local", "uniform"}, gater or estimator, default="mlp"
        As in `HardMixtureClassifier`.
    n_experts : int or "auto", default="auto"
        K. "auto": as many as give each about 2,000 examples.
    n_iter : int, default=5
        Iterations of the outer loop. Training ends before if no example changes its expert.
    criterion : {"auto", "mse"}, default="auto"
        What the gater minimises, as in the local mixture.
    capacity : float or None, default=1.0
        An expert may have `capacity` · L/K + 1 examples. None: any number.
    reassign : {"auto", "gates", "posterior"}, default="auto"
        What an example prefers: the expert with the largest gate, or posterior P(k | x, y).
        "auto": as the algorithm of the gater.
    gater_rows : int or None, default=None
        The most examples that train a global gater, drawn anew in each iteration, from each block
        its part. None: all.
    gate_tolerance : float, default=0.001
        A prediction does not ask experts whose gates add up to no more than this.
    scale : {"minmax", "standard"} or None, default="minmax"
        How inputs are scaled before experts and gater see them.
    early_stopping : bool, default=False
        Whether to return the iteration with the lowest error on validation examples, and to stop
        when it has not fallen by `tol` for `n_iter_no_change` iterations.
    validation_fraction : float, default=0.1
        The part of each block held out for that.
    n_iter_no_change : int, default=3
        How many iterations without progress to wait.
    tol : float or None, default=None
        What counts as progress of the criterion, or of the validation error. None: never stop for
        that.
    time_limit : float or None, default=None
        Seconds after which no further iteration begins.
    verbose : int, default=0
        Whether to print a line an iteration.
    random_state : int, RandomState or None, default=None
        Seeds the first partition, experts and gater. With the same chunks the result does not
        depend on the number of workers, nor on which of them did what.
    client : distributed.Client or None, default=None
        The cluster. None: the default client if there is one, else a `LocalCluster` for this fit.

    Attributes
    ----------
    experts_ : list of estimators
        The experts.
    gater_ : gater
        The gater, for scaled inputs.
    n_experts_ : int
        K.
    subset_sizes_ : ndarray of shape (n_experts,)
        The examples that each expert was trained on.
    history_ : list of dict
        One record an iteration, as in the local mixture.
    n_iter_, best_iter_ : int
        Iterations run, and the one that was kept.
    stop_reason_ : str
        "no_update", "tol", "early_stopping", "max_iter", "time_limit", "interrupted", "callback",
        "cluster_lost".
    converged_ : bool
        Whether training ended by its own rule.
    fit_time_ : float
        Seconds of training.

    See Also
    --------
    HardMixtureClassifier : How it is done.
    widemargin.HardMixtureRegressor : For data in memory; what `to_local` returns.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from widemargin import SVR
    >>> from widemargin.mixtures import MLPGater
    >>> from widemargin.dask import HardMixtureRegressor
    >>> X = da.linspace(-1, 1, 400, chunks=100)[:, None]
    >>> y, gater = abs(X[:, 0]), MLPGater((), learning_rate_init=0.1)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     mixture = HardMixtureRegressor(
    ...         SVR(kernel="linear"), gater, n_experts=2, n_iter=10, random_state=0
    ...     ).fit(X, y)
    ...     print(mixture.score(X, y) > 0.9)
    True
    """

    _local: ClassVar[type] = hard_regression.HardMixtureRegressor
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **hard_regression.HardMixtureRegressor._parameter_constraints,
        "client": "no_validation",
    }

    def __init__(
        self,
        expert: Any = None,
        gater: Any = "mlp",
        *,
        n_experts: int | str = "auto",
        n_iter: int = 5,
        criterion: str = "auto",
        capacity: float | None = 1.0,
        reassign: str = "auto",
        gater_rows: int | None = None,
        gate_tolerance: float = 1e-3,
        scale: str | None = "minmax",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        tol: float | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
        random_state: ArrayLike = None,
        client: Any = None,
    ) -> None:
        self.expert = expert
        self.gater = gater
        self.n_experts = n_experts
        self.n_iter = n_iter
        self.criterion = criterion
        self.capacity = capacity
        self.reassign = reassign
        self.gater_rows = gater_rows
        self.gate_tolerance = gate_tolerance
        self.scale = scale
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.time_limit = time_limit
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
        """R², the part of the variance of y that the predictions explain.

        Parameters
        ----------
        X : collection of Dask, or array-like, of shape (n_samples, n_features)
            The examples.
        y : collection of Dask, or array-like
            What is right.
        sample_weight : collection of Dask, or array-like, optional
            Weights.

        Returns
        -------
        float
            R².
        """
        return self._score(r2_score, X, y, sample_weight)

    # ----------------------------------------------------------------------------- helpers

    def _take_facts(self, facts: Facts, *, flat: bool) -> FloatArray | None:
        assert facts.targets is not None
        variance = facts.targets.variance
        self.n_outputs_, self._flat_targets = len(variance), flat
        return 1.0 / (len(variance) * np.where(variance > 0, variance, 1.0))

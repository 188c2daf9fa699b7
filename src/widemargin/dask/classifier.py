"""Hard mixtures of experts for classification, on a cluster."""

from typing import Any, ClassVar

from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.dask.data import Statistics
from widemargin.dask.mixture import ClusterMixture
from widemargin.mixtures.hard import classifier as local

__all__ = ["HardMixtureClassifier"]


class HardMixtureClassifier(ClusterMixture, local.HardMixtureClassifier):
    r"""Hard mixture of experts for examples spread over a cluster.

    Works as `widemargin.HardMixtureClassifier`, on arrays and dataframes of Dask that may be larger
    than the memory of any worker. The examples stay on the workers. In each iteration

    1. a shuffle brings the examples of each expert together, and workers train the experts;
    2. copies of the gater visit the examples of their worker, and are averaged after each epoch;
       the densities of ``gater="local"`` are trained with the experts;
    3. workers assign each example to the expert with the largest gate, among those with room. The
       room of an expert is divided among the blocks by how many of their examples prefer it.

    The loss of a worker does not change the result: Dask repeats its tasks.

    The parameters are those of the local mixture, except two. There is no `tune`, which needs
    regions of the data and all validation examples in one place: tune a local mixture on a sample,
    and use its `best_params_`. There is no `n_jobs`: each thread of a worker runs one task.

    Parameters
    ----------
    expert : estimator, default=None
        A classifier with `decision_function` or `predict_proba`; None means ``SVC(C=10)`` with a
        γ that is chosen on the largest chunk. Models with `partial_fit` and `warm_start`, such as
        `MLPClassifier`, resume from the last iteration.
    gater : {"mlp", "local", "uniform"}, gater or estimator, default="mlp"
        "mlp" is `MLPGater`, "local" is `GaussianGater`, "uniform" is `UniformGater`. Alternatively
        a gater with other parameters, or a classifier with `predict_proba`. Gaters of other classes
        are trained on one worker: limit `gater_rows`.
    n_experts : int or "auto", default="auto"
        The number of experts, K. "auto" gives each expert about 2,000 examples.
    max_iter : int, default=3
        Iterations of the outer loop. Training stops early if no example changes its expert.
    criterion : {"auto", "tanh_mse", "likelihood"}, default="auto"
        What the gater minimises: the squared error of tanh f(x), or −log P(y | x), as in the local
        mixture.
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
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; experts must accept `sample_weight`.
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
        The experts. Their classes are indices into `classes_`.
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
    classes_ : ndarray
        The classes.
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
    widemargin.HardMixtureClassifier : For data in memory; what `to_local` returns.

    Notes
    -----
    Each chunk of X becomes a block of examples. An iteration has about blocks × experts tasks. A
    few thousand are fine, so use blocks of tens of thousands of rows. Blocks should resemble each
    other: shuffle sorted data. Every worker needs memory for all experts, the examples of one
    expert, and a few blocks with the experts' outputs.

    Methods that take X return lazy Dask arrays for Dask collections.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from widemargin import SVC
    >>> from widemargin.mixtures import MLPGater
    >>> from widemargin.dask import HardMixtureClassifier
    >>> from widemargin.datasets import make_toy_mixture
    >>> X, y = (da.from_array(part, chunks=500) for part in make_toy_mixture(2000, random_state=0))
    >>> gater = MLPGater((), learning_rate=0.1)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     mixture = HardMixtureClassifier(
    ...         SVC(kernel="linear"), gater, n_experts=2, random_state=0, client=client
    ...     ).fit(X, y)
    ...     print(mixture.score(X, y) > 0.9)
    True
    >>> type(mixture.to_local())
    <class 'widemargin.mixtures.hard.classifier.HardMixtureClassifier'>
    """

    _local: ClassVar[type] = local.HardMixtureClassifier
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **local.HardMixtureClassifier._parameter_constraints,
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
        class_weight: ArrayLike = None,
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
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.client = client

    def decision_function(self, X: Any) -> Any:
        """f(x): positive for the second class, or one score per class if there are more.

        Parameters
        ----------
        X : collection of Dask, or array-like, of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        dask.array.Array or ndarray of shape (n_samples,) or (n_samples, n_classes)
            The scores; lazy for a collection of Dask.
        """
        check_is_fitted(self)
        count = len(self.classes_)
        return self._apply("decision_function", X, count if count > 2 else None)

    def predict(self, X: Any) -> Any:
        """The class of each example.

        Parameters
        ----------
        X : collection of Dask, or array-like, of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        dask.array.Array or ndarray of shape (n_samples,)
            Their classes; lazy for a collection of Dask.
        """
        check_is_fitted(self)
        return self._apply("predict", X, None, self.classes_.dtype)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The fraction of examples that are classified correctly.

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
            The accuracy.
        """
        return self._score(accuracy_score, X, y, sample_weight)

    # ----------------------------------------------------------------------------- helpers

    def _take_statistics(
        self, statistics: Statistics, *, flat: bool, resume: bool
    ) -> FloatArray | None:
        self._take_targets(statistics.classes, resume=resume)
        return None

    def _probabilities(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._apply("predict_proba", X, len(self.classes_))

    def _log_probabilities(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._apply("predict_log_proba", X, len(self.classes_))

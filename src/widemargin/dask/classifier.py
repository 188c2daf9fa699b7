"""Hard mixtures of experts for classification, on a cluster."""

from typing import Any, ClassVar

from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.dask.data import Facts
from widemargin.dask.mixture import ClusterMixture
from widemargin.mixtures.hard import classifier as hard

__all__ = ["HardMixtureClassifier"]


class HardMixtureClassifier(ClusterMixture, hard.HardMixtureClassifier):
    r"""Hard mixture of experts for examples that are spread over a cluster.

    As `widemargin.HardMixtureClassifier`, for arrays and dataframes of Dask that may be larger
    than the memory of any worker. The examples stay on the workers. In each iteration

    1. a shuffle brings the examples of each expert together, and workers train the experts;
    2. copies of the gater go over the examples of their worker, and are averaged after each epoch;
       the densities of ``gater="local"`` are trained with the experts;
    3. workers give each example to the expert that the gater believes most, among those with room:
       that of an expert is shared among the blocks by what their examples want.

    A worker that is lost changes nothing in the result: Dask repeats what it did.

    Parameters
    ----------
    expert : estimator, default=None
        A classifier with `decision_function` or `predict_proba`. None: `SVC`. Models with
        `partial_fit` and `warm_start`, as `MLPClassifier`, go on from the last iteration.
    gater : {"mlp", "local", "uniform"}, gater or estimator, default="mlp"
        "mlp": `MLPGater`; "local": `GaussianGater`; "uniform": `UniformGater`; or a gater with
        other parameters. Other gaters and classifiers are trained on one worker: set `gater_rows`.
    n_experts : int or "auto", default="auto"
        K. "auto": as many as give each about 2,000 examples.
    n_iter : int, default=5
        Iterations of the outer loop. Training ends before if no example changes its expert.
    criterion : {"auto", "tanh_mse", "likelihood"}, default="auto"
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
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, for experts that take `sample_weight`.
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
        The experts. Their classes are the numbers of those in `classes_`.
    gater_ : gater
        The gater, for scaled inputs.
    n_experts_ : int
        K.
    subset_sizes_ : ndarray of shape (n_experts,)
        The examples that each expert was trained on.
    classes_ : ndarray
        The classes.
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
    widemargin.HardMixtureClassifier : For data in memory; what `to_local` returns.

    Notes
    -----
    A block of examples is a chunk of X. An iteration has about blocks × experts tasks: a few
    thousand are fine, so use blocks of some ten thousand rows or more. Blocks should be alike:
    shuffle data that are sorted. Every worker must be able to hold all experts, the examples of
    one expert, and some blocks with what the experts say of them.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from widemargin import SVC
    >>> from widemargin.mixtures import MLPGater
    >>> from widemargin.dask import HardMixtureClassifier
    >>> from widemargin.datasets import make_toy_mixture
    >>> X, y = (da.from_array(part, chunks=500) for part in make_toy_mixture(2000, random_state=0))
    >>> gater = MLPGater((), learning_rate_init=0.1)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     mixture = HardMixtureClassifier(
    ...         SVC(kernel="linear"), gater, n_experts=2, random_state=0, client=client
    ...     ).fit(X, y)
    ...     print(mixture.score(X, y) > 0.9)
    True
    >>> type(mixture.to_local())
    <class 'widemargin.mixtures.hard.classifier.HardMixtureClassifier'>
    """

    _local: ClassVar[type] = hard.HardMixtureClassifier
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **hard.HardMixtureClassifier._parameter_constraints,
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
        class_weight: ArrayLike = None,
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
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.client = client

    def decision_function(self, X: Any) -> Any:
        """f(x): positive for the second class, or one score a class when there are more.

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

    @available_if(hard._gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """P(y | x) (6.2), for experts with probabilities.

        Parameters
        ----------
        X : collection of Dask, or array-like, of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        dask.array.Array or ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`; lazy for a collection of Dask.
        """
        check_is_fitted(self)
        return self._apply("predict_proba", X, len(self.classes_))

    @available_if(hard._gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : collection of Dask, or array-like, of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        dask.array.Array or ndarray of shape (n_samples, n_classes)
            Logarithms of probabilities.
        """
        check_is_fitted(self)
        return self._apply("predict_log_proba", X, len(self.classes_))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The part of examples that are classified right.

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
            The accuracy.
        """
        return self._score(accuracy_score, X, y, sample_weight)

    # ----------------------------------------------------------------------------- helpers

    def _take_facts(self, facts: Facts, *, flat: bool) -> FloatArray | None:
        self._take_targets(facts.classes, resume=False)
        return None

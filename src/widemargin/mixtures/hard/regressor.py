"""Hard mixtures of experts for regression (thesis 6.3.3)."""

from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.labels import target_moments
from widemargin.mixtures.gaters.gater import Gater
from widemargin.mixtures.hard.model import MIXTURE_CONSTRAINTS, HardMixture, without_epochs
from widemargin.mixtures.hard.targets import Goal
from widemargin.svm.svr import SVR
from widemargin.training.estimators import IterativeRegressor
from widemargin.training.model import Examples

__all__ = ["HardMixtureRegressor"]


class HardMixtureRegressor(HardMixture, IterativeRegressor):
    r"""Hard mixture of experts for regression (6.3.3): as `HardMixtureClassifier`, for values.

    Parameters
    ----------
    expert : estimator, default=None
        A regressor. None: `SVR`. Models with `partial_fit` and `warm_start`, as `MLPRegressor`,
        go on from the last iteration; others are trained anew.
    gater : {"mlp", "local", "uniform"}, gater or estimator, default="mlp"
        "mlp": `MLPGater`, trained on the output of the mixture with the experts fixed (Algorithm
        6.1). "local": `GaussianGater`, a density for each expert and Bayes' rule (Algorithm 6.2).
        "uniform": `UniformGater`, the baseline. Or a gater with other parameters, as
        ``MLPGater((500,))``; or a classifier with `predict_proba`, which learns to name the best
        expert.
    n_experts : int or "auto", default="auto"
        K. "auto": as many as give each about 2,000 examples.
    n_iter : int, default=5
        Iterations of the outer loop. Training ends before if no example changes its expert.
    criterion : {"auto", "mse"}, default="auto"
        What the gater minimises: the squared error, in variances of the targets.
    first_partition : {"random", "kmeans"}, default="random"
        The first subsets: random, as published, or the clusters of k-means. Clusters make the
        first iteration better and often the last one worse.
    capacity : float or None, default=1.0
        An expert may have `capacity` · L/K + 1 examples. None: any number, and then the bound of
        Notes cannot grow by a re-assignment.
    reassign : {"auto", "gates", "posterior"}, default="auto"
        What an example prefers: the expert with the largest gate g(x), as in Algorithm 6.1, or
        with the largest posterior P(k | x, y), which knows the target, as in 6.2. "auto": as the
        algorithm of the gater. Without probabilities it is the gate.
    gater_rows : int or None, default=100_000
        The most examples that train a global gater, drawn anew in each iteration; None: all. What
        every expert says of each of them takes most of the time, which is therefore linear in the
        number of examples beyond so many, and quadratic without this limit.
    gate_tolerance : float, default=0.001
        A prediction does not ask experts whose gates add up to no more than this: it differs by
        at most `gate_tolerance` times the largest output of these. 0: all are asked.
    tune : {"validation"} or None, default=None
        Whether to choose, by the error on validation examples and in half of `time_limit`: C and γ
        of kernel machines that have them at their defaults, and the size of the gater if it is
        named "mlp" or "local". What was tried is in `tuning_`. Also ends training by the validation
        error, as `early_stopping`.
    scale : {"minmax", "standard"} or None, default="minmax"
        How inputs are scaled before experts and gater see them: to 0..1, which suits Gaussian
        kernels on tables with indicators, to variance 1, or not at all. Sparse inputs keep their
        zeros.
    early_stopping : bool, default=False
        Whether to return the iteration with the lowest error on validation examples, and to stop
        when it has not fallen by `tol` for `n_iter_no_change` iterations.
    validation_fraction : float, default=0.1
        The part of the training set held out for that, unless `fit` gets `X_val`.
    n_iter_no_change : int, default=3
        How many iterations without progress to wait.
    tol : float or None, default=None
        What counts as progress of the criterion, or of the validation error. None: never stop for
        that.
    time_limit : float or None, default=None
        Seconds after which training stops. Experts of the first iteration are always trained; a
        later one that is not complete keeps the experts of the one before.
    warm_start : bool, default=False
        Whether `fit` goes on with more iterations, on the same examples. With an int as
        `random_state` two fits of two iterations are the same as one of four.
    n_jobs : int or None, default=None
        Experts at the same time, in threads; None: all CPUs. Any backend of joblib can be chosen
        around `fit`, as ``with joblib.parallel_config("loky")``. The result does not depend on it.
    verbose : int, default=0
        Whether to print a line an iteration.
    random_state : int, RandomState or None, default=None
        Seeds the first partition, experts and gater.

    Attributes
    ----------
    experts_ : list of estimators
        The experts.
    gater_ : gater
        The gater, for scaled inputs.
    n_experts_ : int
        K.
    partition_ : ndarray of shape (n_samples,)
        The expert whose training set each example was in; −1 for those held out.
    history_ : list of dict
        One record an iteration: ``updates``, the examples that change their expert next,
        ``criterion`` and ``error`` of the mixture on the training set (of `gater_rows`), validation
        error, ``bound`` (J) and ``negative_log_likelihood`` where there are probabilities, and the
        seconds of experts, outputs, gater and assignment.
    tuning_ : list of dict
        With `tune`: the part, parameters, validation error and seconds of each trial. Experts were
        tried alone, on regions of the data.
    best_params_ : dict
        With `tune`: the expert and the gater that were chosen.
    n_iter_, best_iter_ : int
        Iterations run, and the one that was kept.
    stop_reason_ : str
        "no_update", "tol", "early_stopping", "max_iter", "time_limit", "interrupted", "callback".
    converged_ : bool
        Whether training ended by its own rule.
    fit_time_ : float
        Seconds of training.

    See Also
    --------
    HardMixtureClassifier : The algorithm.
    MixtureOfExpertsRegressor : The soft mixture.

    Notes
    -----
    With ``gater="local"`` the targets have a Gaussian density about each expert's prediction, with
    the variance of the errors on its own subset: examples go to the expert with the largest
    P(k | x, y).

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVR, HardMixtureRegressor
    >>> from widemargin.mixtures import MLPGater
    >>> X = np.linspace(-1, 1, 400)[:, None]
    >>> y = np.abs(X[:, 0])
    >>> line, gater = SVR(kernel="linear"), MLPGater((), learning_rate_init=0.1)
    >>> mixture = HardMixtureRegressor(line, gater, n_experts=2, n_iter=10, random_state=0)
    >>> line.fit(X, y).score(X, y) < 0.1 < 0.9 < mixture.fit(X, y).score(X, y)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **without_epochs(IterativeRegressor._parameter_constraints),
        **MIXTURE_CONSTRAINTS,
        "criterion": [StrOptions({"auto", "mse"})],
    }

    def __init__(
        self,
        expert: Any = None,
        gater: Any = "mlp",
        *,
        n_experts: int | str = "auto",
        n_iter: int = 5,
        criterion: str = "auto",
        first_partition: str = "random",
        capacity: float | None = 1.0,
        reassign: str = "auto",
        gater_rows: int | None = 100_000,
        gate_tolerance: float = 1e-3,
        tune: str | None = None,
        scale: str | None = "minmax",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        tol: float | None = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: ArrayLike = None,
    ) -> None:
        self.expert = expert
        self.gater = gater
        self.n_experts = n_experts
        self.n_iter = n_iter
        self.criterion = criterion
        self.first_partition = first_partition
        self.capacity = capacity
        self.reassign = reassign
        self.gater_rows = gater_rows
        self.gate_tolerance = gate_tolerance
        self.tune = tune
        self.scale = scale
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    # ----------------------------------------------------------------------------- helpers

    def _scores(self, X: ArrayLike) -> FloatArray:
        return self._mixture(X)

    def _default_expert(self) -> Any:
        return SVR()

    def _kind(self, expert: Any, gater: Gater) -> str:
        return "value"

    def _goal(self, kind: str, examples: Examples) -> Goal:
        _, variance = target_moments(examples.y, examples.order, examples.weights)
        return Goal(kind, 0, examples.y, 1.0 / (len(variance) * variance))

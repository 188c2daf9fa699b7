"""Hard mixtures of experts for regression (thesis 6.3.3)."""

from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.labels import target_moments
from widemargin.mixtures.gaters.gater import Gater
from widemargin.mixtures.hard.model import HARD_CONSTRAINTS, HardMixture
from widemargin.mixtures.hard.targets import Targets
from widemargin.mixtures.hard.tuning import DEFAULT_C
from widemargin.svm.svr import SVR
from widemargin.training.estimators import IterativeRegressor
from widemargin.training.model import Examples

__all__ = ["HardMixtureRegressor"]

DEFAULT_TUBE = 0.1  # ε of experts that are not given, in units of the targets' spread


class HardMixtureRegressor(HardMixture, IterativeRegressor):
    r"""Hard mixture of experts for regression (6.3.3).

    The algorithm is that of `HardMixtureClassifier`.

    Parameters
    ----------
    expert : estimator, default=None
        A regressor; None means `SVR` with C = 10 s and ε = 0.1 s, where s is the standard
        deviation of y, and a γ that `fit` chooses as in `HardMixtureClassifier`. Models with
        `partial_fit` and `warm_start`, such as `MLPRegressor`, resume from the last iteration;
        others are trained from scratch.
    gater : {"mlp", "local", "cells", "uniform"}, gater or estimator, default="mlp"
        "mlp" is `MLPGater`, trained on the output of the mixture with the experts fixed (Algorithm
        6.1). "local" is `GaussianGater`, a density per expert and Bayes' rule (Algorithm 6.2).
        "cells" is `CellGater`: cells of k-means, whose experts need no training of a gater; then
        `first_partition` and `balance` do not apply. "uniform" is `UniformGater`, the baseline.
        Alternatively a gater with other parameters,
        such as ``MLPGater((500,))``, or a classifier with `predict_proba`, which learns to predict
        the best expert.
    n_experts : int or "auto", default="auto"
        The number of experts, K. "auto" gives each expert about 2,000 examples.
    max_iter : int, default=3
        Iterations of the outer loop. Training stops early if no example changes its expert.
    criterion : {"auto", "mse"}, default="auto"
        What the gater minimises: the squared error, relative to the variance of the targets.
    first_partition : {"random", "kmeans"}, default="random"
        How the first subsets are chosen: at random, as published, or as clusters of k-means.
        Starting from clusters helps the first iteration and often hurts the last.
    balance : float or None, default=1.0
        An expert may have at most `balance` · L/K + 1 examples. None removes the limit.
    reassign : {"auto", "gates", "posterior"}, default="auto"
        Which expert an example prefers: the one with the largest gate g(x), as in Algorithm 6.1,
        or the one with the largest posterior P(k | x, y), which knows the target, as in Algorithm
        6.2. "auto" follows the gater's algorithm. Without probabilities, gates are used.
    gater_rows : int or None, default=100_000
        How many examples train a global gater at most; each iteration draws new ones.
        None uses all. The experts' outputs for these examples take most of the time, which
        without this limit grows with the square of the number of examples.
    gate_tolerance : float, default=0.001
        A prediction skips the experts with the smallest gates, as long as their gates add up to
        at most this. It changes by at most `gate_tolerance` times the largest skipped output. 0
        skips none.
    tune : {"validation"} or None, default=None
        Whether to choose parameters by the validation error, within half of `time_limit`: C and γ
        of kernel machines where they have their defaults, and the size of the gater if it is given
        as "mlp" or "local". `tuning_` lists the trials. Training then also stops by the validation
        error, as with `early_stopping`.
    scaling : {"standard", "minmax"} or None, default="minmax"
        How inputs are scaled for experts and gater: "minmax" to the range 0..1, which suits
        Gaussian kernels on tables with indicators, "standard" to mean 0 and variance 1, None not
        at all. Inputs that are mostly zero are only divided, so that sparse inputs stay sparse.
    early_stopping : bool, default=False
        Whether to keep the iteration with the lowest error on validation examples, and to stop
        when this error has not fallen by `tol` for `n_iter_no_change` iterations.
    validation_fraction : float, default=0.1
        The fraction of the training set held out for validation, unless `fit` gets `X_val`.
    n_iter_no_change : int, default=3
        How many iterations without progress to wait.
    tol : float or None, default=None
        By how much the criterion, or the validation error, must fall to count as progress. None
        never stops for lack of progress.
    time_limit : float or None, default=None
        Seconds after which training stops. Experts, their outputs and the gater have shares of the
        time; experts and gaters of other packages cannot be stopped. An iteration that would not
        end in time is not begun.
    warm_start : bool, default=False
        Whether `fit` resumes with more iterations, on the same examples. With an int as
        `random_state`, two fits of two iterations give the same result as one fit of four.
    n_jobs : int or None, default=None
        How many experts are trained in parallel, in threads. None uses all CPUs. Another joblib
        backend can be chosen around `fit`, as ``with joblib.parallel_config("loky")``. The result
        does not depend on it.
    verbose : int, default=0
        Whether to print one line per iteration.
    random_state : int, RandomState or None, default=None
        Seeds the first partition, the experts and the gater.

    Attributes
    ----------
    experts_ : list of estimators
        The experts.
    gater_ : gater
        The gater, for scaled inputs.
    n_experts_ : int
        The number of experts, K.
    expert_params_ : dict
        C and γ of the experts, if `expert` is None.
    feature_offset_, feature_scale_ : ndarray of shape (n_features,)
        What is subtracted from inputs, and what they are then divided by.
    partition_ : ndarray of shape (n_samples,)
        The expert that was trained on each example; −1 for examples held out.
    history_ : list of dict
        One record per iteration: ``updates``, the number of examples that change their expert;
        ``criterion`` and ``error`` of the mixture on the training set (on `gater_rows` of it);
        criterion and error on validation examples; ``bound`` (J) and
        ``negative_log_likelihood`` if experts have probabilities; and the seconds of experts,
        outputs, gater and assignment.
    tuning_ : list of dict
        With `tune`: part, parameters, validation error and seconds of each trial. Experts are
        tried alone, on regions of the data.
    best_params_ : dict
        With `tune`: the expert and the gater that were chosen.
    n_iter_, best_iter_ : int
        The number of iterations, and the iteration that was kept.
    stop_reason_ : str
        "no_update", "tol", "early_stopping", "max_iter", "time_limit", "interrupted", "callback".
    converged_ : bool
        Whether a stopping rule was met: "no_update", "tol" or "early_stopping".
    fit_time_ : float
        Seconds of training.

    See Also
    --------
    HardMixtureClassifier : The algorithm.
    MixtureOfExpertsRegressor : The soft mixture.
    widemargin.dask.HardMixtureRegressor : For data spread over a cluster.

    Notes
    -----
    With ``gater="local"``, each expert has a Gaussian density around its prediction, whose variance
    is that of its errors on its own subset. Examples move to the expert with the largest
    posterior P(k | x, y).

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVR, HardMixtureRegressor
    >>> from widemargin.mixtures import MLPGater
    >>> X = np.linspace(-1, 1, 400)[:, None]
    >>> y = np.abs(X[:, 0])
    >>> line, gater = SVR(kernel="linear"), MLPGater((), learning_rate=0.1)
    >>> mixture = HardMixtureRegressor(line, gater, n_experts=2, max_iter=10, random_state=0)
    >>> line.fit(X, y).score(X, y) < 0.1 < 0.9 < mixture.fit(X, y).score(X, y)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **HARD_CONSTRAINTS,
        "criterion": [StrOptions({"auto", "mse"})],
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
        gater_rows: int | None = 100_000,
        gate_tolerance: float = 1e-3,
        tune: str | None = None,
        scaling: str | None = "minmax",
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
        self.max_iter = max_iter
        self.criterion = criterion
        self.first_partition = first_partition
        self.balance = balance
        self.reassign = reassign
        self.gater_rows = gater_rows
        self.gate_tolerance = gate_tolerance
        self.tune = tune
        self.scaling = scaling
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

    def _default_expert(self, spread: float = 1.0) -> Any:
        return SVR(C=DEFAULT_C * spread, epsilon=DEFAULT_TUBE * spread)

    def _output_kind(self, expert: Any, gater: Gater) -> str:
        return "value"

    def _targets(self, output_kind: str, examples: Examples) -> Targets:
        _, variance = target_moments(examples.y, examples.order, examples.weights)
        return Targets(output_kind, 0, examples.y, 1.0 / (len(variance) * variance))

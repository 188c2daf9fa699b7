r"""Hard mixtures of experts for classification: divide and conquer (thesis, Chapter 6).

.. math:: f(x) = \sum_k g_k(x) f_k(x), \qquad \sum_k g_k(x) = 1 \qquad (6.1)

Each expert is trained only on a subset of the examples. The gater weighs the experts for each
input, and decides to which subset an example belongs in the next iteration. With subsets of a fixed
size, the experts' training time is linear in the number of examples, and they are trained in
parallel.
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.mixtures.gaters.gater import Gater
from widemargin.mixtures.hard.model import HARD_CONSTRAINTS, HardMixture
from widemargin.mixtures.hard.targets import Targets
from widemargin.mixtures.hard.tuning import DEFAULT_C
from widemargin.svm.svc import SVC
from widemargin.training.estimators import IterativeClassifier
from widemargin.training.model import Examples
from widemargin.training.outputs import ProbabilityMixin

__all__ = ["HardMixtureClassifier"]


class HardMixtureClassifier(ProbabilityMixin, HardMixture, IterativeClassifier):
    r"""Hard mixture of experts for classification.

    Starts from a partition of the L examples into K subsets and repeats:

    1. train each expert on its subset, all in parallel;
    2. with the experts fixed, train the gater to minimise the criterion of the mixture (6.1);
    3. assign each example to the expert with the largest gate, among those with fewer than
       L/K + 1 examples.

    Parameters
    ----------
    expert : estimator, default=None
        A classifier with `decision_function` or `predict_proba`; None means ``SVC(C=10)`` with a
        γ that `fit` chooses (see Notes). Models with `partial_fit` and `warm_start`, such as
        `MLPClassifier` and `SimpleMLPClassifier`, resume from the last iteration; others are
        trained from scratch.
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
    criterion : {"auto", "tanh_mse", "likelihood"}, default="auto"
        What the gater minimises: "tanh_mse", the squared error of tanh f(x), for experts with
        margins, or "likelihood", −log P(y | x), for experts with probabilities. Experts without
        probabilities then get Platt's sigmoid (6.10). "auto" is "likelihood" for experts with
        `predict_proba` and for the local gater.
    first_partition : {"random", "kmeans"}, default="random"
        How the first subsets are chosen: at random, as published, or as clusters of k-means.
        Starting from clusters helps the first iteration and often hurts the last.
    balance : float or None, default=1.0
        An expert may have at most `balance` · L/K + 1 examples. None removes the limit; a
        reassignment then never raises the bound of Notes.
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
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; experts must accept `sample_weight`.
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
        The experts. Their classes are indices into `classes_`. An expert whose subset has a
        single class always predicts it.
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
    classes_ : ndarray
        The classes.
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
    MixtureOfExpertsClassifier : The soft mixture, whose experts all see all examples.
    widemargin.dask.HardMixtureClassifier : For data spread over a cluster.

    Notes
    -----
    Without an `expert`, γ is chosen on eight regions of the data, balls around examples that hold
    1,000 training examples each: a third as many other examples, in the same balls, count the
    errors. The search starts at four times γ = "scale" and follows the falling errors, in factors
    of four and then of two. It takes about as long as training ten experts, and at most a tenth
    of `time_limit`.

    With probabilities, let :math:`J = -\sum_l \log P(y_l, k_l | x_l)`, where :math:`k_l` is the
    expert to whose subset example l belongs. J is an upper bound of the negative log-likelihood of
    the mixture. Training an expert or a local gater to its optimum never raises J, nor does
    ``reassign="posterior"`` with ``balance=None``. A global gater minimises the negative
    log-likelihood itself. For margins there is no such theory.

    References
    ----------
    R. Collobert, *Large Scale Machine Learning*, 2004, Chapter 6; R. Collobert, S. Bengio and
    Y. Bengio, *A parallel mixture of SVMs for very large scale problems*, 2002.

    Examples
    --------
    Two linear experts and a linear gater separate what no single line can (6.5.1):

    >>> from widemargin import SVC, HardMixtureClassifier
    >>> from widemargin.mixtures import MLPGater
    >>> from widemargin.datasets import make_toy_mixture
    >>> X, y = make_toy_mixture(2000, random_state=0)
    >>> gater = MLPGater((), learning_rate=0.1)
    >>> mixture = HardMixtureClassifier(SVC(kernel="linear"), gater, n_experts=2, random_state=0)
    >>> SVC(kernel="linear").fit(X, y).score(X, y) < 0.8 < 0.9 < mixture.fit(X, y).score(X, y)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "class_weight": IterativeClassifier._parameter_constraints["class_weight"],
        **HARD_CONSTRAINTS,
        "criterion": [StrOptions({"auto", "tanh_mse", "likelihood"})],
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
        class_weight: ArrayLike = None,
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
        self.class_weight = class_weight
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
        if self._output_format[0] != "probability":
            return self._mixture(X)
        p = self._normalized_mixture(X)
        return p[:, 1:] - p[:, :1] if p.shape[1] == 2 else p

    def _require_probabilities(self) -> None:
        kind = self._output_kind(self._expert_template(), self._unseeded_gater(self.gater))
        if kind != "probability":
            raise AttributeError(
                "the mixture's experts have margins, not probabilities; use experts with "
                "predict_proba, criterion='likelihood' or gater='local'"
            )

    def _probabilities(self, X: ArrayLike) -> FloatArray:
        """P(y | x) = Σ_k P(k | x) P(y | x, k) (6.2)."""
        check_is_fitted(self)
        return self._normalized_mixture(self._check_X(X))

    def _normalized_mixture(self, X: ArrayLike) -> FloatArray:
        """Probabilities of validated inputs; normalised, because experts may be skipped."""
        p = self._mixture(X)
        return np.asarray(p / p.sum(1, keepdims=True))

    def _default_expert(self, spread: float = 1.0) -> Any:
        several = hasattr(self, "classes_") and len(self.classes_) > 2
        return SVC(C=DEFAULT_C, multi_class="ovr" if several else "ovo")

    def _output_kind(self, expert: Any, gater: Gater) -> str:
        if self.criterion != "auto":
            return "probability" if self.criterion == "likelihood" else "margin"
        by_posteriors = gater.local and gater.reassigns  # Algorithm 6.2 needs P(y | x, k)
        return "probability" if by_posteriors or hasattr(expert, "predict_proba") else "margin"

    def _targets(self, output_kind: str, examples: Examples) -> Targets:
        return Targets(output_kind, len(self.classes_), examples.y)

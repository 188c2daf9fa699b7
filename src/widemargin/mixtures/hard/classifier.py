r"""Hard mixtures of experts for classification: divide and conquer (thesis, Chapter 6).

.. math:: f(x) = \sum_k g_k(x) f_k(x), \qquad \sum_k g_k(x) = 1 \qquad (6.1)

Each expert is trained on a subset of the examples only, and the gater decides both what the experts
are worth for an input and which subset an example belongs to in the next iteration. With subsets of
a fixed size the time of the experts is linear in the number of examples, and they are trained in
parallel.
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.mixtures.gaters.gater import Gater, UniformGater
from widemargin.mixtures.hard.model import MIXTURE_CONSTRAINTS, HardMixture, without_epochs
from widemargin.mixtures.hard.targets import Goal
from widemargin.svm.svc import SVC
from widemargin.training.estimators import IterativeClassifier
from widemargin.training.model import Examples

__all__ = ["HardMixtureClassifier"]


def _gives_probabilities(model: "HardMixtureClassifier") -> bool:
    if model._kind(model._expert_template(), model._unseeded_gater(model.gater)) != "probability":
        raise AttributeError(
            "the mixture's experts say margins, not probabilities; use experts with "
            "predict_proba, criterion='likelihood' or gater='local'"
        )
    return True


class HardMixtureClassifier(HardMixture, IterativeClassifier):
    r"""Hard mixture of experts for classification.

    Repeats, from a first partition of the L examples into K subsets:

    1. train each expert on its subset, all in parallel;
    2. with the experts fixed, train the gater so that the mixture (6.1) is right;
    3. give each example to the expert that the gater believes most for it, among those with fewer
       than L/K + 1 examples.

    Parameters
    ----------
    expert : estimator, default=None
        A classifier with `decision_function` or `predict_proba`. None: `SVC`. Models with
        `partial_fit` and `warm_start`, as `MLPClassifier` and `SimpleMLPClassifier`, go on from
        the last iteration; others are trained anew.
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
    criterion : {"auto", "tanh_mse", "likelihood"}, default="auto"
        What the gater minimises: the squared error of tanh f(x), for experts with margins, or
        −log P(y | x), for experts with probabilities; those that lack them get Platt's sigmoid
        (6.10). "auto": "likelihood" for experts with `predict_proba` and for the local gater.
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
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, for experts that take `sample_weight`.
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
        The experts. Their classes are the numbers of those in `classes_`. An expert whose subset
        has one class only always says this class.
    gater_ : gater
        The gater, for scaled inputs.
    n_experts_ : int
        K.
    partition_ : ndarray of shape (n_samples,)
        The expert whose training set each example was in; −1 for those held out.
    classes_ : ndarray
        The classes.
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
    MixtureOfExpertsClassifier : The soft mixture, all of whose parts see all examples.
    widemargin.dask.HardMixtureClassifier : For data that are spread over a cluster.

    Notes
    -----
    With probabilities the bound :math:`J = -\sum_l \log P(y_l, k_l | x_l)`, for the expert k of
    each example's subset, is never below the negative log-likelihood of the mixture. Training an
    expert or a local gater to its optimum lowers it, and so does ``reassign="posterior"`` with
    ``capacity=None``; a global gater lowers the likelihood instead, which J bounds. For margins
    there is no such theory.

    References
    ----------
    R. Collobert, *Large Scale Machine Learning*, 2004, Chapter 6; R. Collobert, S. Bengio and
    Y. Bengio, *A parallel mixture of SVMs for very large scale problems*, 2002.

    Examples
    --------
    Two linear experts and a linear gater solve what no line can (6.5.1):

    >>> from widemargin import SVC, HardMixtureClassifier
    >>> from widemargin.mixtures import MLPGater
    >>> from widemargin.datasets import make_toy_mixture
    >>> X, y = make_toy_mixture(2000, random_state=0)
    >>> gater = MLPGater((), learning_rate_init=0.1)
    >>> mixture = HardMixtureClassifier(SVC(kernel="linear"), gater, n_experts=2, random_state=0)
    >>> SVC(kernel="linear").fit(X, y).score(X, y) < 0.8 < 0.9 < mixture.fit(X, y).score(X, y)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **without_epochs(IterativeClassifier._parameter_constraints),
        **MIXTURE_CONSTRAINTS,
        "criterion": [StrOptions({"auto", "tanh_mse", "likelihood"})],
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
        self.n_iter = n_iter
        self.criterion = criterion
        self.first_partition = first_partition
        self.capacity = capacity
        self.reassign = reassign
        self.gater_rows = gater_rows
        self.gate_tolerance = gate_tolerance
        self.tune = tune
        self.scale = scale
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

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """P(y | x) = Σ_k P(k | x) P(y | x, k) (6.2), for experts with probabilities.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        check_is_fitted(self)
        return self._probabilities(self._check_X(X))

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms of probabilities.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    # ----------------------------------------------------------------------------- helpers

    def _scores(self, X: ArrayLike) -> FloatArray:
        if self._speech[0] != "probability":
            return self._mixture(X)
        p = self._probabilities(X)
        return p[:, 1:] - p[:, :1] if p.shape[1] == 2 else p

    def _probabilities(self, X: ArrayLike) -> FloatArray:
        """They add up to one, also where some experts were not asked."""
        p = self._mixture(X)
        return np.asarray(p / p.sum(1, keepdims=True))

    def _default_expert(self) -> Any:
        several = hasattr(self, "classes_") and len(self.classes_) > 2
        return SVC(multi_class="ovr" if several else "ovo")

    def _kind(self, expert: Any, gater: Gater) -> str:
        if self.criterion != "auto":
            return "probability" if self.criterion == "likelihood" else "margin"
        densities = gater.local and not isinstance(gater, UniformGater)
        return "probability" if densities or hasattr(expert, "predict_proba") else "margin"

    def _goal(self, kind: str, examples: Examples) -> Goal:
        return Goal(kind, len(self.classes_), examples.y)

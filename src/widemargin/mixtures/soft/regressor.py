r"""Soft mixtures of experts for regression: the mixtures of `widemargin.mixtures.soft`."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.mixtures.soft.criteria import Criterion, Gaussian, Squares
from widemargin.mixtures.soft.model import SOFT_CONSTRAINTS, SoftMixtureModel, trains_online
from widemargin.training.estimators import Examples, StandardizedRegressor
from widemargin.training.loop import Learner

__all__ = ["MixtureOfExpertsRegressor"]


class MixtureOfExpertsRegressor(SoftMixtureModel, StandardizedRegressor):
    r"""Soft mixture of experts for one target or several.

    .. math:: f(x) = \sum_k g_k(x) f_k(x) \quad (3.18)

    with gates :math:`g_k \ge 0` whose sum is 1: the soft-max of a network's outputs. Experts and
    gater learn together, from all examples. Predictions are f(x), the mean of y for the likelihood:

    .. math:: p(y|x) = \sum_k g_k(x)\, \mathcal N(y; f_k(x), \sigma^2) \quad (6.2)

    Parameters
    ----------
    n_experts : int, default=10
        K, the number of experts.
    n_hidden : int or "auto", default="auto"
        Hidden units of each expert; 0 for linear experts. "auto": 50 for ``solver="gradient"``,
        0 for ``solver="em"``.
    gater_units : int or "auto", default="auto"
        Hidden units of the gater, with the same meaning.
    activation : {"tanh", "relu"}, default="tanh"
        The transfer function of hidden units.
    criterion : {"likelihood", "mse"}, default="likelihood"
        "likelihood" minimises −log p(y|x) with Gaussian experts, whose common variance σ² is
        learnt, one a target. "mse" minimises Σ_c (y_c − f_c(x))²/2.
    solver : {"gradient", "em"}, default="gradient"
        "gradient": experts and gater together, in mini-batches with Adam's steps. "em":
        expectation-maximisation, for the likelihood; an epoch is an iteration.
    expert : estimator or None, default=None
        A regression with sample weights, of which EM makes K experts, with Gaussian noise.
        None: networks of `n_hidden` units.
    alpha : float, default=0.0001
        Weight decay. "gradient": a step multiplies weights by 1 − λ alpha. "em": the criterion
        has alpha/2 times their squares, too. Biases are not decayed.
    batch_size : int, default=256
        Examples a step of "gradient".
    learning_rate : {"constant", "linear", "cosine", "one_cycle"}, default="constant"
        How the step λ changes; see `widemargin.schedules.make_schedule`. The last three end at
        `max_iter`.
    learning_rate_init : float, default=0.003
        The step λ of the first epoch; the largest one of "one_cycle".
    max_iter : int, default=100
        The largest number of epochs.
    shuffle : bool, default=True
        Whether each epoch visits the examples in a new random order.
    random_state : int, RandomState instance or None, default=None
        Seeds first weights, orders and the held-out part.
    tol : float or None, default=0.0001
        Stop when the criterion has not fallen by `tol` below its best for `n_iter_no_change`
        epochs (the validation error, with early stopping). None: never.
    verbose : int, default=False
        Whether to print a line an epoch.
    warm_start : bool, default=False
        Whether `fit` goes on from the last state.
    early_stopping : bool, default=False
        Whether to stop by, and return the weights of, the lowest error on validation examples.
    validation_fraction : float, default=0.1
        The part of the training set held out for early stopping, unless `fit` gets `X_val`.
    n_iter_no_change : int, default=10
        How many epochs without progress to wait.
    scaling : {"standard", "minmax"} or None, default="standard"
        Whether to give every input and target mean 0 and variance 1. Sparse inputs are not
        filled; an `expert` gets them scaled, but not centred.
    dtype : {"float32", "float64"}, default="float32"
        The precision of weights and gradients of "gradient". EM and predictions are float64.
    time_limit : float or None, default=None
        Seconds after which training stops; EM stops at the end of an iteration.
    n_jobs : int or None, default=None
        Threads of matrix products of "gradient", all CPUs if it is None; how many of the
        `expert` estimators are fitted side by side.

    Attributes
    ----------
    variance_ : ndarray of shape (n_outputs,)
        σ² of each target, for ``criterion="likelihood"``.
    n_outputs_ : int
        Targets.
    experts_ : list of estimators
        The fitted experts, if `expert` was given.
    feature_offset_, feature_scale_ : ndarray of shape (n_features,)
        What is subtracted from inputs, and what they are then divided by.
    n_iter_, best_iter_ : int
        Epochs run, and the epoch whose weights were kept.
    n_updates_ : int
        Examples visited, over all epochs.
    converged_ : bool
        Whether training ended by its own rule.
    stop_reason_ : str
        "tol", "early_stopping", "max_iter", "time_limit", "interrupted", "callback".
    history_ : list of dict
        One record an epoch: criterion and error (for "gradient" each example is measured just
        before its own step, for "em" after the iteration), validation criterion and error,
        learning rate, seconds; for "em" also the objective, which has the weight decay, and the
        log-likelihood of all examples.
    fit_time_ : float
        Seconds of training.

    See Also
    --------
    MixtureOfExpertsClassifier : The same for classes, with references and notes on EM.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import MixtureOfExpertsRegressor
    >>> X = np.linspace(-2, 2, 200)[:, None]
    >>> y = np.abs(X[:, 0])
    >>> model = MixtureOfExpertsRegressor(2, solver="em", random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.99
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **StandardizedRegressor._parameter_constraints,
        **SOFT_CONSTRAINTS,
    }
    _expert_method: ClassVar[str] = "predict"

    def __init__(
        self,
        n_experts: int = 10,
        *,
        n_hidden: int | str = "auto",
        gater_units: int | str = "auto",
        activation: str = "tanh",
        criterion: str = "likelihood",
        solver: str = "gradient",
        expert: ArrayLike = None,
        alpha: float = 1e-4,
        batch_size: int = 256,
        learning_rate: str = "constant",
        learning_rate_init: float = 0.003,
        max_iter: int = 100,
        shuffle: bool = True,
        random_state: ArrayLike = None,
        tol: float | None = 1e-4,
        verbose: int = False,
        warm_start: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        scaling: str | None = "standard",
        dtype: str = "float32",
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_experts = n_experts
        self.n_hidden = n_hidden
        self.gater_units = gater_units
        self.activation = activation
        self.criterion = criterion
        self.solver = solver
        self.expert = expert
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.scaling = scaling
        self.dtype = dtype
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    @available_if(trains_online)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None) -> Self:
        """Trains on more examples: one pass, in the order given; for ``solver="gradient"``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The values to predict.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0.

        Returns
        -------
        self
            The estimator.
        """
        super().partial_fit(X, y, sample_weight)
        return self

    @property
    def variance_(self) -> FloatArray:
        """σ² of each target."""
        check_is_fitted(self)
        mixture = self._mixture()
        logarithms = mixture.layout.views(mixture.parameters)["log_variance"]
        if not len(logarithms):
            raise AttributeError("criterion='mse' learns no variance; use criterion='likelihood'")
        return np.asarray(np.exp(logarithms.astype(np.float64)) * self._target_scale**2)

    def _soft_criterion(self) -> Criterion:
        likely = self.criterion == "likelihood"
        return Gaussian(self._target_scale) if likely else Squares(tanh=False)

    def _n_outputs(self) -> int:
        return int(self.n_outputs_)

    def _n_variances(self) -> int:
        return self._n_outputs() if self.criterion == "likelihood" else 0

    def _shares(self) -> FloatArray:
        return self._variance_shares

    def _learner(self, examples: Examples, *, resume: bool) -> Learner:
        self._standardize_targets(examples, resume=resume)
        return super()._learner(examples, resume=resume)

    def _scores(self, X: ArrayLike) -> FloatArray:
        return self._in_units(self._mixture().scores(X))

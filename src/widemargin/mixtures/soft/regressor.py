"""Soft mixtures of experts for regression (thesis 3.5 and 6.2)."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.mixtures.soft.criteria import Criterion, Gaussian, Squares
from widemargin.mixtures.soft.model import SOFT_CONSTRAINTS, SoftMixtureModel
from widemargin.training.estimators import Examples, StandardizedRegressor
from widemargin.training.loop import Learner

__all__ = ["MixtureOfExpertsRegressor"]


class MixtureOfExpertsRegressor(SoftMixtureModel, StandardizedRegressor):
    r"""Soft mixture of experts for regression, with one target or several.

    .. math:: f(x) = \sum_k g_k(x) f_k(x) \quad (3.18)

    with gates :math:`g_k \ge 0` whose sum is 1: the softmax of a network's outputs. Experts and
    gater are trained together, on all examples. Predictions are f(x). For the likelihood, this is
    the mean of the density

    .. math:: p(y|x) = \sum_k g_k(x)\, \mathcal N(y; f_k(x), \sigma^2) \quad (6.2)

    Parameters
    ----------
    n_experts : int, default=10
        The number of experts, K.
    n_units : int or "auto", default="auto"
        Hidden units of each expert; 0 for linear experts. "auto" means 50 for
        ``solver="gradient"``, and 0 for ``solver="em"``.
    n_gater_units : int or "auto", default="auto"
        Hidden units of the gater, with the same values.
    activation : {"tanh", "relu"}, default="tanh"
        The transfer function of hidden units.
    criterion : {"likelihood", "mse"}, default="likelihood"
        "likelihood" minimises −log p(y|x) with Gaussian experts, which share one learnt variance
        σ² per target. "mse" minimises Σ_c (y_c − f_c(x))²/2.
    solver : {"gradient", "em"}, default="gradient"
        "gradient" trains experts and gater together, in mini-batches with Adam. "em" is
        expectation-maximisation, for the likelihood only; an epoch is one iteration.
    expert : estimator or None, default=None
        A regressor with sample weights; EM trains K clones of it as experts, with Gaussian noise.
        None means networks of `n_units` hidden units.
    mu : float, default=0.0001
        Weight decay μ. With "gradient", each step multiplies the weights by 1 − λμ. With "em", the
        criterion includes μ/2 times the sum of squared weights. Biases are not decayed.
    batch_size : int, default=256
        Examples per step of "gradient".
    learning_rate : float, default=0.003
        The step λ of the first epoch; the largest step of "one_cycle".
    schedule : {"constant", "linear", "cosine", "one_cycle"}, default="constant"
        How λ changes; see `widemargin.schedules.make_schedule`. The last three end at `max_iter`.
    max_iter : int, default=100
        The largest number of epochs.
    shuffle : bool, default=True
        Whether each epoch visits the examples in a new random order.
    random_state : int, RandomState instance or None, default=None
        Seeds the first weights, the orders and the validation split.
    tol : float or None, default=0.0001
        Training stops when the criterion (with early stopping, the validation error) has not
        fallen by `tol` below its best value for `n_iter_no_change` epochs. None never stops for
        lack of progress.
    verbose : int, default=0
        Whether to print one line per epoch.
    warm_start : bool, default=False
        Whether `fit` resumes from the last state.
    early_stopping : bool, default=False
        Whether to stop by the error on validation examples, and to keep the weights of the epoch
        where it was lowest.
    validation_fraction : float, default=0.1
        The fraction of the training set held out for early stopping, unless `fit` gets `X_val`.
    n_iter_no_change : int, default=10
        How many epochs without progress to wait.
    scaling : {"standard", "minmax"} or None, default="standard"
        How inputs are scaled: to mean 0 and variance 1, to the range 0..1, or not at all. Sparse
        inputs stay sparse; a given `expert` gets them scaled, but not centred. Unless it is None,
        targets get mean 0 and variance 1 inside the model.
    dtype : {"float32", "float64"}, default="float32"
        The precision of weights and gradients of "gradient". EM and predictions use float64.
    time_limit : float or None, default=None
        Seconds after which training stops; EM stops at the end of an iteration.
    n_jobs : int or None, default=None
        How many given experts "em" fits in parallel, at most. None uses all CPUs, but one thread
        inside a joblib worker. "gradient" uses one thread, because more of them change the last
        bits of its matrix products and are not faster. The result does not depend on `n_jobs`.

    Attributes
    ----------
    variance_ : ndarray of shape (n_outputs,)
        σ² of each target, for ``criterion="likelihood"``.
    n_outputs_ : int
        The number of targets.
    experts_ : list of estimators
        The fitted experts, if `expert` was given.
    feature_offset_, feature_scale_ : ndarray of shape (n_features,)
        What is subtracted from inputs, and what they are then divided by.
    n_iter_, best_iter_ : int
        The number of epochs, and the epoch whose weights were kept.
    n_updates_ : int
        The number of examples visited, over all epochs.
    converged_ : bool
        Whether a stopping rule was met: "tol" or "early_stopping".
    stop_reason_ : str
        "tol", "early_stopping", "max_iter", "time_limit", "interrupted", "callback".
    history_ : list of dict
        One record per epoch: criterion and error (with "gradient" each example is measured just
        before its own step, with "em" after the iteration), validation criterion and error,
        learning rate and seconds; with "em" also the objective, which includes weight decay, and
        the log-likelihood of all examples.
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
        "criterion": [StrOptions({"likelihood", "mse"})],
    }
    _expert_method: ClassVar[str] = "predict"

    def __init__(
        self,
        n_experts: int = 10,
        *,
        n_units: int | str = "auto",
        n_gater_units: int | str = "auto",
        activation: str = "tanh",
        criterion: str = "likelihood",
        solver: str = "gradient",
        expert: ArrayLike = None,
        mu: float = 1e-4,
        batch_size: int = 256,
        learning_rate: float = 0.003,
        schedule: str = "constant",
        max_iter: int = 100,
        shuffle: bool = True,
        random_state: ArrayLike = None,
        tol: float | None = 1e-4,
        verbose: int = 0,
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
        self.n_units = n_units
        self.n_gater_units = n_gater_units
        self.activation = activation
        self.criterion = criterion
        self.solver = solver
        self.expert = expert
        self.mu = mu
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
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

    def _error_scale(self) -> FloatArray:
        return self._variance_shares

    def _learner(self, examples: Examples, *, resume: bool) -> Learner:
        self._standardize_targets(examples, resume=resume)
        return super()._learner(examples, resume=resume)

    def _scores(self, X: ArrayLike) -> FloatArray:
        return self._in_units(self._mixture().scores(X))

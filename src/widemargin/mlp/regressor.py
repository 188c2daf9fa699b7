r"""Multi-layer perceptrons for regression (thesis 3.4): the networks of `widemargin.mlp`."""

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from widemargin import criteria
from widemargin._typing import ArrayLike, FloatArray
from widemargin.mlp.model import NETWORK_CONSTRAINTS, NetworkModel
from widemargin.mlp.network import NetworkLearner
from widemargin.training.estimators import Examples, StandardizedRegressor

__all__ = ["MLPRegressor"]


class MLPRegressor(NetworkModel, StandardizedRegressor):
    r"""Multi-layer perceptron for one target or several, trained by stochastic gradient.

    Minimises, over the weights W and biases b of all layers,

    .. math:: \frac1L \sum_l \sum_k Q(y_{lk}, f_k(x_l)) + \frac\mu2 \|W^D\|^2
              + \frac\nu2 \sum_{k<D} \|W^k\|^2

    with :math:`Q = (y - f)^2/2` (``mse``) or :math:`||y - f| - \epsilon|_+`
    (``epsilon_insensitive``, 3.34). Targets are standardised inside, with the mean and standard
    deviation of the first examples, unless ``scaling=None``; predictions have the unit of y.

    Parameters
    ----------
    hidden_layer_sizes : array-like of int or int, default=(100,)
        Units of each hidden layer.
    activation : str, default="relu"
        The transfer function h of hidden units: "identity", "sigmoid" (or "logistic"), "tanh",
        "slanted_tanh" (tanh z + 0.01 z, thesis 3.4), "hard_tanh" (8.31) or "relu".
    criterion : {"mse", "epsilon_insensitive"}, default="mse"
        What is minimised.
    tube : float, default=0.1
        ε of ``criterion="epsilon_insensitive"``, in standard deviations of the target if these
        are standardised.
    solver : {"sgd", "adam", "adamw"}, default="adam"
        Stochastic gradient with momentum; Adam; Adam with decay apart from the gradient.
    alpha : float, default=0.0001
        Weight decay as in scikit-learn: μ = ν = alpha / batch size. For ``solver="adamw"``,
        μ = ν = alpha: a step multiplies weights by 1 − λ alpha.
    mu, nu : float or None, default=None
        Weight decays of the output and of the hidden weights, in place of `alpha`.
    batch_size : int or "auto", default="auto"
        Examples a step. "auto" is 200, or all if there are fewer. With 1, ``solver="sgd"`` and
        ``momentum=0`` a step costs no more than the example's non-zero inputs.
    learning_rate : {"constant", "invscaling", "linear", "cosine", "one_cycle"}, default="constant"
        How the step λ changes; see `widemargin.schedules.make_schedule`. The last three end at
        `max_iter`. For every solver.
    learning_rate_init : float, default=0.001
        The step λ of the first epoch; the largest one of "one_cycle".
    power_t : float, default=0.5
        λ/(1 + epoch)^power_t, for ``learning_rate="invscaling"``.
    max_iter : int, default=200
        The largest number of epochs.
    shuffle : bool, default=True
        Whether each epoch visits the examples in a new random order.
    random_state : int, RandomState instance or None, default=None
        Seeds first weights, orders and the held-out part.
    tol : float or None, default=0.0001
        Stop when the objective has not fallen by `tol` below its best for `n_iter_no_change`
        epochs (the validation error, with early stopping). None: never.
    verbose : int, default=False
        Whether to print a line an epoch.
    warm_start : bool, default=False
        Whether `fit` goes on from the last state.
    momentum : float, default=0.9
        Momentum of ``solver="sgd"``.
    nesterovs_momentum : bool, default=True
        Whether that is Nesterov's.
    early_stopping : bool, default=False
        Whether to stop by, and return the weights of, the lowest error on validation examples.
    validation_fraction : float, default=0.1
        The part of the training set held out for early stopping, unless `fit` gets `X_val`.
    beta_1, beta_2 : float
        How fast Adam's moments forget: 0.9 and 0.999.
    epsilon : float, default=1e-08
        Adam's constant against division by zero.
    n_iter_no_change : int, default=10
        How many epochs without progress to wait.
    scaling : {"standard", "minmax"} or None, default="standard"
        Whether to give every input and every target mean 0 and variance 1.
    dtype : {"float32", "float64"}, default="float32"
        The precision of weights, layers and gradients, whatever the type of X. Criteria, errors
        and statistics of the inputs are float64.
    time_limit : float or None, default=None
        Seconds after which training stops.
    n_jobs : int or None, default=None
        Threads that share a batch; None: all CPUs. Sums of floats depend on their order, so the
        result is a function of `random_state` and the number of threads.

    Attributes
    ----------
    n_outputs_ : int
        Targets.
    coefs_, intercepts_ : list of ndarray
        Weights, of shape (units below, units), and biases of each layer. Those of the first layer
        are for inputs :math:`(x - m)/s`, with `feature_offset_` and `feature_scale_`.
    n_layers_ : int
        Layers, inputs and outputs included.
    loss_ : float
        The mean criterion in the epoch whose weights were kept, each example measured just before
        its own step, without weight decay.
    n_iter_, best_iter_ : int
        Epochs run, and the epoch whose weights were kept.
    n_updates_ : int
        Examples with a derivative that is not 0, over all epochs.
    converged_ : bool
        Whether training ended by its own rule.
    stop_reason_ : str
        "no_update", "tol", "early_stopping", "max_iter", "time_limit", "interrupted", "callback".
    history_ : list of dict
        One record an epoch: criterion and error, each example measured just before its own step,
        objective, validation criterion and error, learning rate, seconds. The error is the mean
        squared error in variances of the training targets: 1 − R², the part left unexplained.
        Early stopping looks at it.
    fit_time_ : float
        Seconds of training.

    See Also
    --------
    MLPClassifier : The same for classes.

    Notes
    -----
    What differs from scikit-learn is listed there. The criterion and `loss_` are those of
    standardised targets.

    References
    ----------
    R. Collobert, *Large Scale Machine Learning*, 2004, 3.4.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import MLPRegressor
    >>> X = np.linspace(-3, 3, 400)[:, None]
    >>> y = 1000 * np.sin(X[:, 0])
    >>> model = MLPRegressor((50, 50), learning_rate_init=0.01, tol=None, random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.99
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **StandardizedRegressor._parameter_constraints,
        **NETWORK_CONSTRAINTS,
        "criterion": [StrOptions({"mse", "epsilon_insensitive"})],
        "tube": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        hidden_layer_sizes: ArrayLike = (100,),
        activation: str = "relu",
        *,
        criterion: str = "mse",
        tube: float = 0.1,
        solver: str = "adam",
        alpha: float = 0.0001,
        mu: float | None = None,
        nu: float | None = None,
        batch_size: int | str = "auto",
        learning_rate: str = "constant",
        learning_rate_init: float = 0.001,
        power_t: float = 0.5,
        max_iter: int = 200,
        shuffle: bool = True,
        random_state: ArrayLike = None,
        tol: float | None = 1e-4,
        verbose: int = False,
        warm_start: bool = False,
        momentum: float = 0.9,
        nesterovs_momentum: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        n_iter_no_change: int = 10,
        scaling: str | None = "standard",
        dtype: str = "float32",
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.criterion = criterion
        self.tube = tube
        self.solver = solver
        self.alpha = alpha
        self.mu = mu
        self.nu = nu
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.power_t = power_t
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.warm_start = warm_start
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.n_iter_no_change = n_iter_no_change
        self.scaling = scaling
        self.dtype = dtype
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def _criterion(self, examples: Examples) -> criteria.Criterion:
        return criteria.MSE() if self.criterion == "mse" else criteria.EpsilonInsensitive(self.tube)

    def _n_network_outputs(self) -> int:
        return int(self.n_outputs_)

    def _learner(self, examples: Examples, *, resume: bool) -> NetworkLearner:
        self._standardize_targets(examples, resume=resume)
        return super()._learner(examples, resume=resume)

    def _error_scale(self, examples: Examples) -> FloatArray:
        return self._variance_shares

    def _scores(self, X: ArrayLike) -> FloatArray:
        return self._in_units(self._outputs(X))

r"""Multi-layer perceptrons for regression (thesis 3.4); see `widemargin.mlp.classifier`."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions

from widemargin import criteria
from widemargin._typing import ArrayLike, FloatArray
from widemargin.mlp.drop_in import DROP_IN_CONSTRAINTS, DropInNetwork
from widemargin.mlp.network import TrainedNetwork
from widemargin.training.estimators import Examples, StandardizedRegressor

__all__ = ["MLPRegressor"]


class MLPRegressor(DropInNetwork, StandardizedRegressor):
    r"""Multi-layer perceptron for regression, with one target or several.

    Minimises, over the weights W and biases b of all layers,

    .. math:: \frac1L \sum_l \sum_k Q(y_{lk}, f_k(x_l)) + \frac\mu2 \|W^D\|^2
              + \frac\nu2 \sum_{k<D} \|W^k\|^2

    with :math:`Q = (y - f)^2/2` (``squared_error``) or :math:`||y - f| - \epsilon|_+`
    (``epsilon_insensitive``, 3.34). Targets are standardised inside the model, with the mean and
    standard deviation of the first examples, unless ``scaling=None``; predictions have the unit of
    y.

    Parameters
    ----------
    loss : {"squared_error", "epsilon_insensitive"}, default="squared_error"
        Criterion to minimise.
    hidden_layer_sizes : array-like of int or int, default=(100,)
        Number of units in each hidden layer.
    activation : str, default="relu"
        Transfer function h of the hidden units: "identity", "sigmoid" (or "logistic"), "tanh",
        "slanted_tanh" (tanh z + 0.01 z, thesis 3.4), "hard_tanh" (8.31) or "relu".
    solver : {"sgd", "adam", "adamw", "lbfgs"}, default="adam"
        "sgd" is stochastic gradient with momentum. "adamw" is Adam with weight decay outside the
        gradient. "lbfgs" is SciPy's quasi-Newton method L-BFGS-B on all examples at once.
    alpha : float, default=0.0001
        Weight decay of all layers, as in scikit-learn: ν = alpha / batch size. For
        ``solver="lbfgs"`` the batch is the whole training set, counted by its weights.
    batch_size : int or "auto", default="auto"
        Examples per step. "auto" is 200, or all examples if there are fewer. With 1,
        ``solver="sgd"`` and ``momentum=0``, inputs that are zero cost nothing.
    learning_rate : {"constant", "invscaling", "linear", "cosine", "one_cycle"}, default="constant"
        Schedule of the step λ; see `widemargin.schedules.make_schedule`. The last three end at
        `max_iter`. Every solver but "lbfgs" follows it.
    learning_rate_init : float, default=0.001
        Step λ of the first epoch; the largest step of "one_cycle".
    power_t : float, default=0.5
        λ/(1 + epoch)^power_t, for ``learning_rate="invscaling"``.
    max_iter : int, default=200
        Maximum number of epochs, or of iterations of L-BFGS.
    shuffle : bool, default=True
        Whether each epoch visits the examples in a new random order. L-BFGS has no order.
    random_state : int, RandomState instance or None, default=None
        Seed of the first weights, the orders and the validation split.
    tol : float or None, default=0.0001
        Training stops when the objective has not fallen by `tol` below its best value for
        `n_iter_no_change` epochs; with early stopping, the validation error. It is the objective of
        standardised targets: with ``scaling=None``, `tol` is multiplied by the variance of y (its
        standard deviation for ``loss="epsilon_insensitive"``). L-BFGS stops when no component of
        the gradient exceeds `tol`. None trains for `max_iter` epochs.
    verbose : int, default=False
        Whether to print one line per epoch.
    warm_start : bool, default=False
        Whether `fit` resumes from the last state. L-BFGS keeps the weights and measures the
        curvature anew.
    momentum : float, default=0.9
        Momentum of ``solver="sgd"``.
    nesterovs_momentum : bool, default=True
        Whether to use Nesterov's momentum.
    early_stopping : bool, default=False
        Whether to stop by the error on validation examples, and to return the weights with the
        lowest one.
    validation_fraction : float, default=0.1
        Fraction of the training set held out for early stopping, unless `fit` gets `X_val`.
    beta_1, beta_2 : float
        Decay rates of Adam's moments, 0.9 and 0.999.
    epsilon : float, default=1e-08
        Adam's constant against division by zero.
    n_iter_no_change : int, default=10
        Number of epochs without progress to wait for.
    max_fun : int, default=15000
        Maximum number of times L-BFGS evaluates the objective in one fit.
    tube : float, default=0.1
        ε of ``loss="epsilon_insensitive"``, in standard deviations of the target if targets are
        standardised. (`epsilon` is Adam's, as in scikit-learn.)
    output_alpha : float or None, default=None
        Weight decay of the output layer: μ = output_alpha / batch size. None means `alpha`.
    scaling : {"standard", "minmax"} or None, default="standard"
        How inputs are scaled: to mean 0 and variance 1, to [0, 1], or not at all. The scaling is
        part of the model; X is neither copied nor filled. Targets are standardised unless None.
    dtype : {"float32", "float64"}, default="float32"
        Precision of weights, layers and gradients, whatever the type of X. Criteria, errors and
        statistics of the inputs are float64.
    dropout : float, default=0.0
        Fraction of the hidden units that an example does not see in training, at random; the
        others count 1/(1 − dropout) times. Not for ``solver="lbfgs"``.
    time_limit : float or None, default=None
        Seconds after which training stops.
    n_jobs : int or None, default=None
        Maximum number of threads; None chooses.

    Attributes
    ----------
    n_outputs_ : int
        Number of targets.
    coefs_, intercepts_ : list of ndarray
        Weights, of shape (units below, units), and biases of each layer. Those of the first layer
        are for inputs :math:`(x - m)/s`, with `feature_offset_` and `feature_scale_`.
    n_layers_ : int
        Number of layers, including inputs and outputs.
    loss_ : float
        Mean criterion, without weight decay, in the epoch whose weights were kept. Stochastic
        solvers measure each example just before its own step, L-BFGS after the iteration.
    n_iter_, best_iter_ : int
        Epochs run, and the epoch whose weights were kept.
    n_updates_ : int
        Examples with a derivative other than 0, summed over all epochs.
    converged_ : bool
        Whether a stopping rule, `tol` or early stopping, ended training.
    stop_reason_ : str
        "no_update", "tol", "early_stopping", "max_iter", "max_fun", "precision" (L-BFGS finds no
        lower objective in this precision), "time_limit", "interrupted" or "callback".
    history_ : list of dict
        One record per epoch: criterion and error (measured as in `loss_`), objective, validation
        criterion and error, learning rate, seconds. The error is the mean squared error divided by
        the variance of the training targets, 1 − R². Early stopping looks at it.
    fit_time_ : float
        Training time in seconds.

    See Also
    --------
    MLPClassifier : The same for classification, with references.

    Notes
    -----
    Parameters have scikit-learn's names, order and defaults; those from `tube` on are additions.
    `MLPClassifier` lists what else differs. The criterion and `loss_` are those of standardised
    targets. There is no ``loss="poisson"``.

    References
    ----------
    R. Collobert, *Large Scale Machine Learning*, 2004, 3.4.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import MLPRegressor
    >>> X = np.linspace(-3, 3, 400)[:, None]
    >>> y = 1000 * np.sin(X[:, 0])
    >>> model = MLPRegressor(hidden_layer_sizes=(20,), solver="lbfgs", random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.999
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **StandardizedRegressor._parameter_constraints,
        **DROP_IN_CONSTRAINTS,
        "loss": [StrOptions({"squared_error", "epsilon_insensitive"})],
        "tube": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        loss: str = "squared_error",
        hidden_layer_sizes: ArrayLike = (100,),
        activation: str = "relu",
        *,
        solver: str = "adam",
        alpha: float = 0.0001,
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
        max_fun: int = 15000,
        tube: float = 0.1,
        output_alpha: float | None = None,
        scaling: str | None = "standard",
        dtype: str = "float32",
        dropout: float = 0.0,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
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
        self.max_fun = max_fun
        self.tube = tube
        self.output_alpha = output_alpha
        self.scaling = scaling
        self.dtype = dtype
        self.dropout = dropout
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def _criterion(self, examples: Examples) -> criteria.Criterion:
        if self.loss == "squared_error":
            return criteria.MSE()
        return criteria.EpsilonInsensitive(self.tube)

    def _check_X(self, X: ArrayLike, y: ArrayLike = "no_validation", *, reset: bool = False) -> Any:
        """As scikit-learn, which warns of a single target in a column and flattens it."""
        checked = super()._check_X(X, y, reset=reset)
        if isinstance(y, str) or checked[1].ndim == 1 or checked[1].shape[1] > 1:
            return checked
        return checked[0], column_or_1d(checked[1], warn=True)

    def _tolerance(self) -> float | None:
        """In units of standardised targets, even if targets are not standardised."""
        tol = super()._tolerance()
        if tol is None or self.early_stopping:  # early stopping watches 1 - R², which has no unit
            return tol
        power = 1.0 if self.loss == "squared_error" else 0.5
        return tol * float(np.mean(self._target_variance**power))

    def _n_network_outputs(self) -> int:
        return int(self.n_outputs_)

    def _learner(self, examples: Examples, *, resume: bool) -> TrainedNetwork:
        self._standardize_targets(examples, resume=resume)
        return super()._learner(examples, resume=resume)

    def _error_scale(self, examples: Examples) -> FloatArray:
        return self._variance_shares

    def _scores(self, X: ArrayLike) -> FloatArray:
        return self._in_units(self._outputs(X))

r"""The global gater of hard mixtures: a network with soft-max outputs (Algorithm 6.1, step 3)."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import _fit_context
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.labels import counted_rows, target_moments
from widemargin.mixtures.gaters.gater import Gater, check_mixing
from widemargin.mlp.drop_in import DROP_IN_CONSTRAINTS
from widemargin.mlp.model import NETWORK_CONSTRAINTS, NetworkModel
from widemargin.mlp.network import Mixed, NetworkLearner
from widemargin.training.estimators import Examples, all_or_nothing
from widemargin.training.model import LOOP_CONSTRAINTS

__all__ = ["MLPGater"]


@dataclass
class MixedExamples(Examples):
    """Examples with what the experts say of them; y are the mixture's targets."""

    experts: NDArray[np.float32] | None = None
    criterion: str = "tanh_mse"
    error_scale: FloatArray | None = None  # of more examples than these; None: of these


class MLPGater(NetworkModel, Gater):
    r"""A multi-layer perceptron with soft-max outputs, trained on the output of the mixture.

    With scores z(x) of the network, gates and mixture of K experts are

    .. math:: g_k(x) = \frac{e^{z_k(x)}}{\sum_j e^{z_j(x)}}, \qquad
              m(x) = \sum_k g_k(x) f_k(x) \qquad (6.1)

    The experts stay as they are; the network minimises the mean of a criterion of the mixture:

    ============== =================================================
    `criterion`    Q
    ============== =================================================
    ``tanh_mse``   :math:`\sum_c (y_c - \tanh m_c)^2/2`, y = ±1
    ``mse``        :math:`\sum_c s_c (y_c - m_c)^2/2`, with
                   :math:`1/s_c` = C times the variance of target c
    ``likelihood`` :math:`-\log \sum_k g_k(x)\, P(y|x, k)`
    ============== =================================================

    by mini-batches, :math:`\partial Q/\partial z_k = g_k \sum_c \partial Q/\partial m_c\,
    (f_{kc} - m_c)`. For the likelihood that is the gate minus the posterior (6.5).

    Parameters
    ----------
    hidden_layer_sizes : array-like of int, default=(150,)
        Units of each hidden layer; () makes the gater linear, as for the toy problem of 6.5.1.
    activation : str, default="tanh"
        Transfer function of hidden units, as in `MLPClassifier`.
    solver : {"sgd", "adam", "adamw"}, default="adam"
        How weights follow the gradient.
    alpha : float, default=0.0
        Weight decay, as in `MLPClassifier`.
    batch_size : int or "auto", default="auto"
        Examples a step; "auto": 200.
    learning_rate : {"constant", "invscaling", "linear", "cosine", "one_cycle"}, default="linear"
        Schedule; the last three end with the epochs of a fit.
    learning_rate_init : float, default=0.003
        The step λ.
    max_iter : int, default=10
        Epochs of a fit. Few are enough where the gater goes on at every iteration of a mixture.
    tol : float or None, default=None
        Training stops when the criterion has not fallen by it for `n_iter_no_change` epochs;
        None: never before `max_iter`.
    n_iter_no_change : int, default=5
        Epochs that `tol` waits.
    shuffle : bool, default=True
        Whether every epoch has an order of its own.
    scaling : {"standard", "minmax"} or None, default="standard"
        Whether inputs are standardised, without touching the data.
    warm_start : bool, default=True
        Whether `fit` goes on from the last weights when experts and inputs are as many as before:
        the minimisation of step 3 "can continue from the solution found at the end of the previous
        outer loop iteration".
    dtype : {"float32", "float64"}, default="float32"
        Precision of the weights in training.
    random_state : int, RandomState or None, default=None
        Seed of first weights and orders.
    verbose : int, default=0
        Whether to print a line an epoch.
    time_limit : float or None, default=None
        Seconds after which training stops.
    n_jobs : int or None, default=None
        Threads that share a batch; None: all CPUs.

    Attributes
    ----------
    n_experts_ : int
        K.
    coefs_, intercepts_ : list of ndarray
        Weights, of shape (units below, units), and biases of each layer. Those of the first layer
        are for inputs :math:`(x - m)/s`, with `feature_offset_` and `feature_scale_`.
    n_iter_ : int
        Epochs of the last fit.
    stop_reason_ : str
        "tol", "max_iter", "time_limit", "interrupted", "no_update", "callback".
    converged_ : bool
        Whether training ended by its own rule.
    history_ : list of dict
        One record an epoch, over all fits that went on: the mixture's criterion and error, each
        example measured just before its own step. The error is the part of wrong signs or largest
        outputs; for ``mse`` the part of the targets' variance that is left; for ``likelihood`` the
        part of examples with P(y | x) ≤ 1/2.
    fit_time_ : float
        Seconds of the last fit.

    See Also
    --------
    GaussianGater : Trained on the partition alone.

    References
    ----------
    R. Collobert, *Large Scale Machine Learning*, 2004, 6.2 and 6.5.

    Examples
    --------
    Two experts, each right on a side of zero; the gater finds out which:

    >>> import numpy as np
    >>> from widemargin.mixtures import MLPGater
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> targets = np.sign(np.abs(X) - 0.5)
    >>> outputs = np.stack([-2 * X - 1, 2 * X - 1], axis=1)  # of two linear experts
    >>> gater = MLPGater((), learning_rate_init=0.1, max_iter=50, random_state=0)
    >>> gater.fit(X, outputs=outputs, targets=targets).gates([[-1.0], [1.0]]).round(1)
    array([[1., 0.],
           [0., 1.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LOOP_CONSTRAINTS,
        **NETWORK_CONSTRAINTS,
        "alpha": DROP_IN_CONSTRAINTS["alpha"],
        "learning_rate": DROP_IN_CONSTRAINTS["learning_rate"],
        "learning_rate_init": DROP_IN_CONSTRAINTS["learning_rate_init"],
    }

    # what `MLPClassifier` can change
    power_t: ClassVar[float] = 0.5
    momentum: ClassVar[float] = 0.9
    nesterovs_momentum: ClassVar[bool] = True
    beta_1: ClassVar[float] = 0.9
    beta_2: ClassVar[float] = 0.999
    epsilon: ClassVar[float] = 1e-8

    def __init__(
        self,
        hidden_layer_sizes: ArrayLike = (150,),
        activation: str = "tanh",
        *,
        solver: str = "adam",
        alpha: float = 0.0,
        batch_size: int | str = "auto",
        learning_rate: str = "linear",
        learning_rate_init: float = 0.003,
        max_iter: int = 10,
        tol: float | None = None,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        scaling: str | None = "standard",
        warm_start: bool = True,
        dtype: str = "float32",
        random_state: ArrayLike = None,
        verbose: int = 0,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.scaling = scaling
        self.warm_start = warm_start
        self.dtype = dtype
        self.random_state = random_state
        self.verbose = verbose
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def fit(
        self,
        X: ArrayLike,
        *,
        outputs: ArrayLike = None,
        targets: ArrayLike = None,
        partition: ArrayLike = None,
        criterion: str = "tanh_mse",
        sample_weight: ArrayLike = None,
    ) -> Self:
        """Trains the gater for experts that stay as they are; `partition` is not used.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        outputs : array-like of shape (n_samples, n_experts, n_outputs)
            What every expert says of every example, best float32 in C order: large and then not
            copied. For ``"likelihood"`` P(y | x, k), the probability of the right class.
        targets : array-like of shape (n_samples, n_outputs)
            ±1 for classes, or values; not needed for ``"likelihood"``.
        partition : array-like of shape (n_samples,), optional
            Not used.
        criterion : {"tanh_mse", "mse", "likelihood"}, default="tanh_mse"
            What the mixture minimises.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0: an example's step is multiplied by its weight.

        Returns
        -------
        self
            The fitted gater.
        """
        given = X
        mixing = check_mixing(X, outputs, targets, criterion, sample_weight)
        n_experts = mixing.outputs.shape[1]
        resume = self.warm_start and self._goes_on(X, n_experts)
        X = self._check_X(X, reset=not resume)
        if resume:
            self._check_unchanged()
        else:
            self._forget()
        self.n_experts_ = n_experts
        weights, y = mixing.weights, mixing.targets
        order = counted_rows(X.shape[0], weights)
        examples = MixedExamples(X, y, weights, order, experts=mixing.outputs, criterion=criterion)
        return self._run(self._learner(examples, resume=resume), given, y, sample_weight)

    def log_gates(self, X: ArrayLike) -> FloatArray:
        """Logarithms of `gates`, exact where those are too small for a number.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_experts)
            Logarithms of weights.
        """
        check_is_fitted(self)
        return np.asarray(log_softmax(self._outputs(self._check_X(X)), axis=1))

    # ----------------------------------------------------------------------------- helpers

    def _learner(self, examples: Examples, *, resume: bool) -> NetworkLearner:
        return self._stochastic_learner(examples, resume=resume)

    def _decays(self, batch: float) -> tuple[float, float]:
        decay = self.alpha if self.solver == "adamw" else self.alpha / batch
        return decay, decay

    def _rate(self) -> tuple[str, float, float, float]:
        return (self.learning_rate, self.learning_rate_init, 0.0, self.power_t)

    def _criterion(self, examples: Examples) -> Mixed:
        assert isinstance(examples, MixedExamples)
        assert examples.experts is not None
        return Mixed(examples.criterion, examples.experts)

    def _n_network_outputs(self) -> int:
        return self.n_experts_

    def _error_scale(self, examples: Examples) -> FloatArray | None:
        assert isinstance(examples, MixedExamples)
        if examples.criterion != "mse" or examples.error_scale is not None:
            return examples.error_scale
        _, variance = target_moments(examples.y, examples.order, examples.weights)
        return 1.0 / (len(variance) * variance)

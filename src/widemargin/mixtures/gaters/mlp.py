r"""The global gater of hard mixtures: a network with softmax outputs (Algorithm 6.1, step 3)."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.labels import counted_rows, target_moments
from widemargin.mixtures.gaters.gater import Gater, GaterExamples, check_gater_examples
from widemargin.mlp.model import NETWORK_CONSTRAINTS, NetworkModel
from widemargin.mlp.network import Mixed, NetworkLearner
from widemargin.training.estimators import Examples, all_or_nothing
from widemargin.training.model import LOOP_CONSTRAINTS
from widemargin.training.time_limit import limited

__all__ = ["MLPGater"]

SCHEDULES = ("constant", "invscaling", "linear", "cosine", "one_cycle")


@dataclass
class MixedExamples(Examples):
    """Examples with outputs of the experts; y are the targets of the mixture."""

    experts: NDArray[np.float32] | None = None
    criterion: str = "tanh_mse"
    error_scale: FloatArray | None = None  # from more examples than these; None uses these


class MLPGater(NetworkModel, Gater):
    r"""A multi-layer perceptron with softmax outputs, trained on the output of the mixture.

    With scores z(x) of the network, gates and mixture of K experts are

    .. math:: g_k(x) = \frac{e^{z_k(x)}}{\sum_j e^{z_j(x)}}, \qquad
              m(x) = \sum_k g_k(x) f_k(x) \qquad (6.1)

    The experts are fixed. The network minimises the mean of a criterion of the mixture, plus
    :math:`\frac\mu2` times the sum of its squared weights:

    ============== =================================================
    `criterion`    Q
    ============== =================================================
    ``tanh_mse``   :math:`\sum_c (y_c - \tanh m_c)^2/2`, y = ±1
    ``mse``        :math:`\sum_c s_c (y_c - m_c)^2/2`, with
                   :math:`1/s_c` = C times the variance of target c
    ``likelihood`` :math:`-\log \sum_k g_k(x)\, P(y|x, k)`
    ============== =================================================

    It is trained in mini-batches, with :math:`\partial Q/\partial z_k = g_k \sum_c
    \partial Q/\partial m_c\, (f_{kc} - m_c)`. For the likelihood this is the gate minus the
    posterior (6.5).

    Parameters
    ----------
    hidden_layer_sizes : array-like of int, default=(150,)
        Units of each hidden layer; () makes the gater linear, as for the toy problem of 6.5.1.
    activation : str, default="tanh"
        Transfer function of hidden units, as in `MLPClassifier`.
    solver : {"sgd", "adam", "adamw"}, default="adam"
        The update rule: gradient descent with momentum, Adam, or Adam with decoupled weight decay.
    mu : float, default=0.0
        Weight decay μ of all layers; biases are not decayed. Unlike `alpha` of `MLPClassifier`, it
        is not divided by the batch size.
    batch_size : int or "auto", default="auto"
        Examples per step; "auto" means 200.
    learning_rate : float, default=0.003
        The step λ of the first epoch; the largest step of "one_cycle".
    schedule : {"constant", "invscaling", "linear", "cosine", "one_cycle"}, default="linear"
        How λ changes; see `widemargin.schedules.make_schedule`. The last three end at `max_iter`.
    max_iter : int, default=10
        Epochs per fit. A few are enough if the gater resumes in every iteration of a mixture.
    tol : float or None, default=None
        Training stops when the criterion has not fallen by `tol` for `n_iter_no_change` epochs.
        None never stops before `max_iter`.
    n_iter_no_change : int, default=5
        How many epochs without progress to wait.
    shuffle : bool, default=True
        Whether each epoch visits the examples in a new random order.
    scaling : {"standard", "minmax"} or None, default="standard"
        How inputs are scaled: to mean 0 and variance 1, to the range 0..1, or not at all. The data
        are not copied, and sparse inputs stay sparse.
    warm_start : bool, default=True
        Whether `fit` resumes from the last weights if the numbers of experts and inputs are the
        same: the minimisation of step 3 "can continue from the solution found at the end of the
        previous outer loop iteration".
    dtype : {"float32", "float64"}, default="float32"
        Precision of the weights in training.
    random_state : int, RandomState or None, default=None
        Seeds the first weights and the orders.
    verbose : int, default=0
        Whether to print one line per epoch.
    time_limit : float or None, default=None
        Seconds after which training stops.
    n_jobs : int or None, default=None
        Upper limit on the number of threads that share a batch. None uses all CPUs, but one thread
        inside a joblib worker. The result does not depend on it.

    Attributes
    ----------
    n_experts_ : int
        The number of experts, K.
    coefs_, intercepts_ : list of ndarray
        Weights, of shape (units below, units), and biases of each layer. Those of the first layer
        are for inputs :math:`(x - m)/s`, with `feature_offset_` and `feature_scale_`.
    feature_offset_, feature_scale_ : ndarray of shape (n_features,)
        What is subtracted from inputs, and what they are then divided by.
    n_iter_ : int
        Epochs of the last fit.
    stop_reason_ : str
        "tol", "max_iter", "time_limit", "interrupted", "no_update", "callback".
    converged_ : bool
        Whether a stopping rule was met: "tol" or "no_update".
    history_ : list of dict
        One record per epoch, over all fits that were resumed: the mixture's criterion and error,
        each example measured just before its own step. The error is the fraction of wrong classes
        for ``tanh_mse``, the unexplained fraction of the targets' variance for ``mse``, and the
        fraction of examples with P(y | x) ≤ 1/2 for ``likelihood``.
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
    The gater learns which of two experts is correct on which side of zero:

    >>> import numpy as np
    >>> from widemargin.mixtures import MLPGater
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> targets = np.sign(np.abs(X) - 0.5)
    >>> outputs = np.stack([-2 * X - 1, 2 * X - 1], axis=1)  # of two linear experts
    >>> gater = MLPGater((), learning_rate=0.1, max_iter=50, random_state=0)
    >>> gater.fit(X, outputs=outputs, targets=targets).gates([[-1.0], [1.0]]).round(1)
    array([[1., 0.],
           [0., 1.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LOOP_CONSTRAINTS,
        **NETWORK_CONSTRAINTS,
        "mu": [Interval(Real, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "schedule": [StrOptions(set(SCHEDULES))],
    }

    # parameters of `MLPClassifier` that are fixed here
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
        mu: float = 0.0,
        batch_size: int | str = "auto",
        learning_rate: float = 0.003,
        schedule: str = "linear",
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
        self.mu = mu
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
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
    @limited
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
        """Trains the gater for fixed experts.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        outputs : array-like of shape (n_samples, n_experts, n_outputs)
            Outputs of every expert for every example. The array is large; it is not copied if it
            is float32 in C order. For ``"likelihood"``: P(y | x, k) of the correct class.
        targets : array-like of shape (n_samples, n_outputs)
            ±1 for classes, or values; not needed for ``"likelihood"``.
        partition : array-like of shape (n_samples,), optional
            Not used.
        criterion : {"tanh_mse", "mse", "likelihood"}, default="tanh_mse"
            What the mixture minimises.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0: an example's step is multiplied by its weight, relative to their mean.

        Returns
        -------
        self
            The fitted gater.
        """
        task = check_gater_examples(X, outputs, targets, criterion, sample_weight)
        return self._fit(X, task, criterion)

    def log_gates(self, X: ArrayLike) -> FloatArray:
        """Logarithms of `gates`, accurate even where the gates underflow.

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

    def _fit(self, X: ArrayLike, task: GaterExamples, criterion: str) -> Self:
        given, n_experts = X, task.outputs.shape[1]
        resume = self.warm_start and self._can_resume(X, n_experts)
        X = self._check_X(X, reset=not resume)
        if resume:
            self._check_unchanged()
        else:
            self._forget()
        self.n_experts_ = n_experts
        weights, y = task.weights, task.targets
        order = counted_rows(X.shape[0], weights)
        examples = MixedExamples(X, y, weights, order, experts=task.outputs, criterion=criterion)
        learner = self._learner(examples, resume=resume)
        return self._run(learner, given, y, weights)

    def _learner(self, examples: Examples, *, resume: bool) -> NetworkLearner:
        return self._stochastic_learner(examples, resume=resume)

    def _decays(self, batch: float) -> tuple[float, float]:
        return self.mu, self.mu

    def _rate(self) -> tuple[str, float, float, float]:
        return (self.schedule, self.learning_rate, 0.0, self.power_t)

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

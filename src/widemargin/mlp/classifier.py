r"""Multi-layer perceptrons for classification (thesis 3.4, chapters 7 and 8).

With :math:`h^0 = \hat x` (standardised inputs), hidden layers and outputs are

.. math:: h^{k+1} = h(h^k W^k + b^k), \qquad f(x) = h^D W^D + b^D

so that the last hidden layer is the Φ of :math:`f(x) = w \cdot \Phi(x) + b`, and Φ is trained too.
`widemargin.reference.mlp` has the same in NumPy.
"""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from widemargin import criteria
from widemargin._typing import ArrayLike, FloatArray
from widemargin.mlp.model import NETWORK_CONSTRAINTS, NetworkModel
from widemargin.training.estimators import Examples, IterativeClassifier

__all__ = ["MLPClassifier"]

CRITERIA: dict[str, Any] = {
    "cross_entropy": lambda margin: criteria.CrossEntropy(),
    "mse": lambda margin: criteria.MSE(),
    "tanh_mse": lambda margin: criteria.TanhMSE(),
    "margin": criteria.Margin,
}


def _gives_probabilities(model: "MLPClassifier") -> bool:
    if model.criterion != "cross_entropy":
        raise AttributeError(
            f"criterion={model.criterion!r} gives no probabilities; use "
            "criterion='cross_entropy', or CalibratedClassifierCV of scikit-learn"
        )
    return True


class MLPClassifier(NetworkModel, IterativeClassifier):
    r"""Multi-layer perceptron, trained by stochastic gradient.

    Minimises, over the weights W and biases b of all layers,

    .. math:: \frac1L \sum_l Q(y_l, f(x_l)) + \frac\mu2 \|W^D\|^2
              + \frac\nu2 \sum_{k<D} \|W^k\|^2 \qquad (8.10)

    With two classes there is one output and :math:`y = \pm1`; with K > 2 there are K outputs,
    :math:`y_k` is +1 for the class and −1 for the others. The criteria Q:

    ================= ========================== ==============================================
    `criterion`       two classes                K classes
    ================= ========================== ==============================================
    ``cross_entropy`` :math:`\log(1 + e^{-yf})`  :math:`-\log \mathrm{softmax}_y f`
    ``mse``           :math:`(y - f)^2/2`        :math:`\sum_k (y_k - f_k)^2/2`
    ``tanh_mse``      :math:`(y - \tanh f)^2/2`  :math:`\sum_k (y_k - \tanh f_k)^2/2`
    ``margin``        :math:`|\beta - yf|_+`     :math:`|\beta - (f_y - \max_{k\ne y} f_k)|_+`
    ================= ========================== ==============================================

    With the margin criterion the network is a support vector machine in the space of its last
    hidden layer, which it maximises the margin of (Theorem 8.4).

    Parameters
    ----------
    hidden_layer_sizes : array-like of int or int, default=(100,)
        Units of each hidden layer.
    activation : str, default="relu"
        The transfer function h of hidden units: "identity", "sigmoid" (or "logistic"), "tanh",
        "slanted_tanh" (tanh z + 0.01 z, thesis 3.4), "hard_tanh" (8.31) or "relu".
    criterion : {"cross_entropy", "mse", "tanh_mse", "margin"}, default="cross_entropy"
        What is minimised. Only "cross_entropy" gives `predict_proba`.
    margin : float, default=1.0
        β of ``criterion="margin"``.
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
        Whether to give every input mean 0 and variance 1, without changing or filling the data.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
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
    classes_ : ndarray
        The classes.
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
        One record an epoch: criterion and error (each example measured just before its own step),
        objective, validation criterion and error, margin 2β/‖w‖ of the output weights, learning
        rate, seconds.
    fit_time_ : float
        Seconds of training.

    See Also
    --------
    MLPRegressor : The same for values.

    Notes
    -----
    Parameters have scikit-learn's names and defaults, but inputs are standardised by default and
    all CPUs are used. There is no ``solver="lbfgs"`` and no ``learning_rate="adaptive"``;
    schedules hold for every solver. A weight of an example multiplies its gradient.

    References
    ----------
    R. Collobert, *Large Scale Machine Learning*, 2004, 3.4, Table 7.1 and 8.5; D. Kingma and
    J. Ba, *Adam*, 2015; I. Loshchilov and F. Hutter, *Decoupled weight decay*, 2019.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import MLPClassifier
    >>> X, y = make_moons(500, noise=0.1, random_state=0)
    >>> clf = MLPClassifier((30, 30), criterion="margin", max_iter=100, tol=None, random_state=0)
    >>> clf.fit(X, y).score(X, y) > 0.98
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IterativeClassifier._parameter_constraints,
        **NETWORK_CONSTRAINTS,
        "criterion": [StrOptions(set(CRITERIA))],
        "margin": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        hidden_layer_sizes: ArrayLike = (100,),
        activation: str = "relu",
        *,
        criterion: str = "cross_entropy",
        margin: float = 1.0,
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
        class_weight: ArrayLike = None,
        dtype: str = "float32",
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.criterion = criterion
        self.margin = margin
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
        self.class_weight = class_weight
        self.dtype = dtype
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """P(y | x): the sigmoid of f for two classes, else the softmax.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return np.asarray(softmax(scores, axis=1))

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
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        return np.asarray(log_softmax(scores, axis=1))

    def _criterion(self, examples: Examples) -> criteria.Criterion:
        chosen: criteria.Criterion = CRITERIA[self.criterion](self.margin)
        return chosen

    def _n_network_outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _scores(self, X: ArrayLike) -> FloatArray:
        return self._outputs(X)

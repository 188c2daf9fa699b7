r"""Multi-layer perceptrons for classification (thesis 3.4, chapters 7 and 8).

With :math:`h^0 = \hat x`, the scaled inputs, the hidden layers and outputs are

.. math:: h^{k+1} = h(h^k W^k + b^k), \qquad f(x) = h^D W^D + b^D

so the last hidden layer is the Φ of :math:`f(x) = w \cdot \Phi(x) + b`, and Φ is trained too.
`widemargin.reference.mlp` is the same in NumPy.
"""

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from widemargin import criteria
from widemargin._typing import ArrayLike, FloatArray
from widemargin.mlp.drop_in import DROP_IN_CONSTRAINTS, DropInNetwork
from widemargin.mlp.model import Arguments
from widemargin.mlp.network import Steps
from widemargin.training.estimators import Examples, IterativeClassifier
from widemargin.training.outputs import LogisticMixin

__all__ = ["MLPClassifier"]

#: `loss` -> criterion, for the margin β.
LOSSES: dict[str, Callable[[float], criteria.Criterion]] = {
    "log_loss": lambda margin: criteria.CrossEntropy(),
    "squared_error": lambda margin: criteria.MSE(),
    "tanh_squared_error": lambda margin: criteria.TanhMSE(),
    "margin": criteria.Margin,
}


STEPS_PER_EPOCH, SMALLEST_BATCH = 100, 16  # of batch_size="auto"
MANY_INPUTS, FEW_ROWS = 20, 1000  # more inputs, or fewer examples, do not raise the weight decay


class MLPClassifier(LogisticMixin, DropInNetwork, IterativeClassifier):
    r"""Multi-layer perceptron for classification.

    Minimises, over the weights W and biases b of all layers,

    .. math:: \frac1L \sum_l Q(y_l, f(x_l)) + \frac\mu2 \|W^D\|^2
              + \frac\nu2 \sum_{k<D} \|W^k\|^2 \qquad (8.10)

    where μ and ν follow from `output_alpha`, `alpha` and `weight_decay`. With two classes there
    is one output and :math:`y = \pm1`. With K > 2 classes there are K outputs, and :math:`y_k`
    is +1 for the example's class and −1 for the others. The criterion Q is one of

    ======================= ========================== =============================================
    `loss`                  two classes                K classes
    ======================= ========================== =============================================
    ``log_loss``            :math:`\log(1 + e^{-yf})`  :math:`-\log \mathrm{softmax}_y f`
    ``squared_error``       :math:`(y - f)^2/2`        :math:`\sum_k (y_k - f_k)^2/2`
    ``tanh_squared_error``  :math:`(y - \tanh f)^2/2`  :math:`\sum_k (y_k - \tanh f_k)^2/2`
    ``margin``              :math:`|\beta - yf|_+`     :math:`|\beta - (f_y - \max_{k\ne y} f_k)|_+`
    ======================= ========================== =============================================

    With the margin loss, the network is a support vector machine in the space of its last hidden
    layer (Theorem 8.4).

    Parameters
    ----------
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
        Examples per step. "auto" is 200 for 20,000 examples or more and in `partial_fit`. For fewer
        it is a hundredth of them, but no less than 16, so that an epoch makes enough steps. With 1,
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
        `n_iter_no_change` epochs; with early stopping, the validation error. L-BFGS stops when no
        component of the gradient exceeds `tol`. None trains for `max_iter` epochs.
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
    loss : {"log_loss", "squared_error", "tanh_squared_error", "margin"}, default="log_loss"
        Criterion to minimise. Only "log_loss" gives `predict_proba`.
    margin : float, default=1.0
        β of ``loss="margin"``.
    output_alpha : float or None, default=None
        Weight decay of the output layer: μ = output_alpha / batch size. None means `alpha`.
    weight_decay : float, default=2.0
        Weight decay of all layers that depends on the table. To that of `alpha` it adds
        weight_decay min(d, 20) / (K max(L, 1000)), for L examples with d inputs in K classes.
        Without it, small and noisy tables are learnt by heart. `partial_fit`, which does not know
        L, leaves it out. With 0 the objective is scikit-learn's.
    scaling : {"auto", "standard", "minmax"} or None, default="auto"
        How inputs are scaled: to mean 0 and variance 1 ("standard"), to [0, 1], or not at all.
        "auto" is "standard", except that inputs with two values are centred and divided by the
        distance of the values. The scaling is part of the model; X is neither copied nor filled.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
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
    classes_ : ndarray
        The classes.
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
        criterion and error, learning rate, seconds; for ``loss="margin"`` the geometric margin
        2β/‖w‖ of the output weights.
    fit_time_ : float
        Training time in seconds.

    See Also
    --------
    MLPRegressor : The same for regression.

    Notes
    -----
    Parameters have scikit-learn's names, order and defaults; those from `loss` on are additions.
    Differences: inputs are scaled and weights decay by default, batches are smaller for few
    examples, the precision is float32, schedules hold for every stochastic solver, and there is no
    ``learning_rate="adaptive"``. Weights of examples are relative to their mean over the training
    set; scikit-learn's are relative to their mean over a batch.

    References
    ----------
    R. Collobert, *Large Scale Machine Learning*, 2004, 3.4, Table 7.1 and 8.5; D. Kingma and
    J. Ba, *Adam*, 2015; I. Loshchilov and F. Hutter, *Decoupled weight decay*, 2019; D. Liu and
    J. Nocedal, *On the limited memory BFGS method*, 1989.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import MLPClassifier
    >>> X, y = make_moons(500, noise=0.1, random_state=0)
    >>> clf = MLPClassifier((30, 30), loss="margin", max_iter=100, tol=None, random_state=0)
    >>> clf.fit(X, y).score(X, y) > 0.98
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IterativeClassifier._parameter_constraints,
        **DROP_IN_CONSTRAINTS,
        "loss": [StrOptions(set(LOSSES))],
        "margin": [Interval(Real, 0, None, closed="neither")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "scaling": [StrOptions({"auto", "standard", "minmax"}), None],
    }

    def __init__(
        self,
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
        loss: str = "log_loss",
        margin: float = 1.0,
        output_alpha: float | None = None,
        weight_decay: float = 2.0,
        scaling: str | None = "auto",
        class_weight: ArrayLike = None,
        dtype: str = "float32",
        dropout: float = 0.0,
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
        self.loss = loss
        self.margin = margin
        self.output_alpha = output_alpha
        self.weight_decay = weight_decay
        self.scaling = scaling
        self.class_weight = class_weight
        self.dtype = dtype
        self.dropout = dropout
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def _require_probabilities(self) -> None:
        if self.loss != "log_loss":
            raise AttributeError(
                f"loss={self.loss!r} gives no probabilities; use loss='log_loss', or "
                "scikit-learn's CalibratedClassifierCV"
            )

    def _margin_unit(self) -> float:
        return float(self.margin) if self.loss == "margin" else 1.0

    def _criterion(self, examples: Examples) -> criteria.Criterion:
        return LOSSES[self.loss](self.margin)

    def _auto_batch(self, examples: Examples) -> int:
        most = super()._auto_batch(examples)
        if examples.online:
            return most
        return min(most, max(SMALLEST_BATCH, len(examples.order) // STEPS_PER_EPOCH))

    def _decayed(self, steps: Steps, examples: Examples) -> Steps:
        """The steps with the decay that depends on the size of the table."""
        if examples.online:
            return steps
        inputs = min(examples.X.shape[1], MANY_INPUTS)
        rows = max(len(examples.order), FEW_ROWS)
        decay = self.weight_decay * inputs / (len(self.classes_) * rows)
        return replace(steps, mu=steps.mu + decay, nu=steps.nu + decay)

    def _objective_decays(self, examples: Examples) -> tuple[float, float]:
        """ν and μ of (8.10), for these training examples."""
        full = self.solver == "lbfgs"
        steps = self._full_batch(examples) if full else self._steps(examples)
        steps = self._decayed(steps, examples)
        return steps.nu, steps.mu

    def _learner_arguments(self, examples: Examples, steps: Steps, resume: bool) -> Arguments:
        return super()._learner_arguments(examples, self._decayed(steps, examples), resume)

    def _needed_epochs(self) -> float | None:
        return 0.0 if self.weight_decay else super()._needed_epochs()

    def _n_network_outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _scores(self, X: ArrayLike) -> FloatArray:
        return self._outputs(X)

r"""Soft mixtures of experts for classification (thesis 3.5 and 6.2).

`widemargin.reference.soft_mixture` has the equations in NumPy; `em` derives the EM algorithm.
"""

from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from widemargin._typing import ArrayLike, FloatArray
from widemargin.mixtures.soft.criteria import Criterion, Logistic, Softmax, Squares
from widemargin.mixtures.soft.model import SOFT_CONSTRAINTS, SoftMixtureModel
from widemargin.training.estimators import Examples, IterativeClassifier
from widemargin.training.loop import Learner
from widemargin.training.outputs import LogisticMixin

__all__ = ["MixtureOfExpertsClassifier"]


class MixtureOfExpertsClassifier(LogisticMixin, SoftMixtureModel, IterativeClassifier):
    r"""Soft mixture of experts: a gater weighs the outputs of K experts for each input.

    .. math:: P(y|x) = \sum_k g_k(x) P(y|x, k) \quad (6.2) \qquad\text{or}\qquad
              f(x) = \sum_k g_k(x) f_k(x) \quad (3.18)

    with gates :math:`g_k \ge 0` whose sum is 1: the softmax of a network's outputs. Experts and
    gater are trained together, on all examples.

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
    criterion : {"likelihood", "mse", "tanh_mse"}, default="likelihood"
        "likelihood" minimises −log P(y|x), with logistic experts for two classes and softmax
        experts for more. "mse" minimises Σ_c (y_c − f_c(x))²/2, with y_c = ±1, as in 7.4.1.
        "tanh_mse" minimises Σ_c (y_c − tanh f_c(x))²/2 (7.5).
    solver : {"gradient", "em"}, default="gradient"
        "gradient" trains experts and gater together, in mini-batches with Adam. "em" is
        expectation-maximisation, for the likelihood only; an epoch is one iteration.
    expert : estimator or None, default=None
        A classifier with `predict_proba` and sample weights; EM trains K clones of it as experts.
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
        inputs stay sparse; a given `expert` gets them scaled, but not centred.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
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
    classes_ : ndarray
        The classes.
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
    MixtureOfExpertsRegressor : The same for values.

    Notes
    -----
    If experts are networks, which take steps of L-BFGS, EM never lowers the likelihood (penalised
    by weight decay). With an `expert`, this holds if its fits are exact, or resume from the last
    one and improve on it.

    References
    ----------
    R. Collobert, *Large Scale Machine Learning*, 2004, 3.5 and 6.2; R. Jacobs, M. Jordan,
    S. Nowlan and G. Hinton, *Adaptive mixtures of local experts*, 1991; M. Jordan and R. Jacobs,
    *Hierarchical mixtures of experts and the EM algorithm*, 1994.

    Examples
    --------
    Two linear experts and a linear gater separate what no linear model can:

    >>> import numpy as np
    >>> from widemargin import MixtureOfExpertsClassifier
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> clf = MixtureOfExpertsClassifier(2, solver="em", random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    >>> clf.gates(X[:5]).sum(axis=1).round(6)
    array([1., 1., 1., 1., 1.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IterativeClassifier._parameter_constraints,
        **SOFT_CONSTRAINTS,
        "criterion": [StrOptions({"likelihood", "mse", "tanh_mse"})],
    }
    _expert_method: ClassVar[str] = "predict_proba"

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
        class_weight: ArrayLike = None,
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
        self.class_weight = class_weight
        self.dtype = dtype
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def _require_probabilities(self) -> None:
        if self.criterion != "likelihood":
            raise AttributeError(
                f"criterion={self.criterion!r} gives no probabilities; use "
                "criterion='likelihood', or scikit-learn's CalibratedClassifierCV"
            )

    def _soft_criterion(self) -> Criterion:
        if self.criterion != "likelihood":
            return Squares(tanh=self.criterion == "tanh_mse")
        one_output = len(self.classes_) == 2 and not self._has_given_experts
        return Logistic() if one_output else Softmax()

    def _n_outputs(self) -> int:
        one_output = len(self.classes_) == 2 and not self._has_given_experts
        return 1 if one_output else len(self.classes_)

    def _learner(self, examples: Examples, *, resume: bool) -> Learner:
        if self.expert is not None and len(self.classes_) == 2:  # given experts use codes
            examples.y = (examples.y + 1) / 2
            if examples.y_val is not None:
                examples.y_val = (examples.y_val + 1) / 2
        return super()._learner(examples, resume=resume)

    def _scores(self, X: ArrayLike) -> FloatArray:
        return self._mixture().scores(X)

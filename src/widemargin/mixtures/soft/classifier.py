r"""Soft mixtures of experts for classification (thesis 3.5 and 6.2).

`widemargin.reference.soft_mixture` has the equations in NumPy; `_soft_em` derives EM.
"""

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.utils.metaestimators import available_if

from widemargin._typing import ArrayLike, FloatArray
from widemargin.mixtures.soft.criteria import Criterion, Logistic, Softmax, Squares
from widemargin.mixtures.soft.model import SOFT_CONSTRAINTS, SoftMixtureModel, trains_online
from widemargin.training.estimators import Examples, IterativeClassifier
from widemargin.training.loop import Learner

__all__ = ["MixtureOfExpertsClassifier"]


def _gives_probabilities(model: "MixtureOfExpertsClassifier") -> bool:
    if model.criterion != "likelihood":
        raise AttributeError(
            f"criterion={model.criterion!r} gives no probabilities; use criterion='likelihood', or "
            "CalibratedClassifierCV of scikit-learn"
        )
    return True


class MixtureOfExpertsClassifier(SoftMixtureModel, IterativeClassifier):
    r"""Soft mixture of experts: a gater weighs what K experts say, by where the example lies.

    .. math:: P(y|x) = \sum_k g_k(x) P(y|x, k) \quad (6.2) \qquad\text{or}\qquad
              f(x) = \sum_k g_k(x) f_k(x) \quad (3.18)

    with gates :math:`g_k \ge 0` whose sum is 1: the soft-max of a network's outputs. Experts and
    gater learn together, from all examples.

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
        "likelihood" minimises −log P(y|x), with logistic experts for two classes and soft-max
        experts for more. "mse" minimises Σ_c (y_c − tanh f_c(x))²/2, with y_c = ±1.
    solver : {"gradient", "em"}, default="gradient"
        "gradient": experts and gater together, in mini-batches with Adam's steps. "em":
        expectation-maximisation, for the likelihood; an epoch is an iteration.
    expert : estimator or None, default=None
        A classifier with `predict_proba` and sample weights, of which EM makes K experts.
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
        Whether to give every input mean 0 and variance 1. Sparse inputs are not filled; an
        `expert` gets them scaled, but not centred.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    dtype : {"float32", "float64"}, default="float32"
        The precision of weights and gradients of "gradient". EM and predictions are float64.
    time_limit : float or None, default=None
        Seconds after which training stops; EM stops at the end of an iteration.
    n_jobs : int or None, default=None
        Threads of matrix products of "gradient", all CPUs if it is None; how many of the
        `expert` estimators are fitted side by side.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
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
    MixtureOfExpertsRegressor : The same for values.

    Notes
    -----
    EM never lowers the likelihood (with its weight decay) as long as experts are networks, which
    take steps of L-BFGS. With an `expert` that holds if its fits are exact, or go on from the last
    one (`warm_start`) downhill.

    References
    ----------
    R. Collobert, *Large Scale Machine Learning*, 2004, 3.5 and 6.2; R. Jacobs, M. Jordan,
    S. Nowlan and G. Hinton, *Adaptive mixtures of local experts*, 1991; M. Jordan and R. Jacobs,
    *Hierarchical mixtures of experts and the EM algorithm*, 1994.

    Examples
    --------
    Two linear experts and a linear gater do what no linear model can:

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
    }
    _expert_method: ClassVar[str] = "predict_proba"

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
        class_weight: ArrayLike = None,
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
        self.class_weight = class_weight
        self.dtype = dtype
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    @available_if(trains_online)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike = None,
        sample_weight: ArrayLike = None,
    ) -> Self:
        """Trains on more examples: one pass, in the order given; for ``solver="gradient"``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like, optional
            Every class there will be; needed at the first call, unless y holds them all.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0.

        Returns
        -------
        self
            The estimator.
        """
        super().partial_fit(X, y, classes, sample_weight)
        return self

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """P(y | x) of the mixture.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        return np.asarray(np.exp(self.predict_log_proba(X)))

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

    def _soft_criterion(self) -> Criterion:
        if self.criterion == "mse":
            return Squares(tanh=True)
        one_output = len(self.classes_) == 2 and not self._has_given_experts
        return Logistic() if one_output else Softmax()

    def _n_outputs(self) -> int:
        one_output = len(self.classes_) == 2 and not self._has_given_experts
        return 1 if one_output else len(self.classes_)

    def _learner(self, examples: Examples, *, resume: bool) -> Learner:
        if self.expert is not None and len(self.classes_) == 2:  # given experts know codes
            examples.y = (examples.y + 1) / 2
            if examples.y_val is not None:
                examples.y_val = (examples.y_val + 1) / 2
        return super()._learner(examples, resume=resume)

    def _scores(self, X: ArrayLike) -> FloatArray:
        return self._mixture().scores(X)

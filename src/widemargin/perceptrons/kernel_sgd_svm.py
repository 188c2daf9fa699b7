r"""The online SVM in the dual: stochastic gradient with weight decay, for any kernel (8.17).

An update of the weights (8.16) keeps :math:`w = \frac1\mu \sum_l \alpha_l y_l \Phi(x_l)`, so that
it can be done through the :math:`\alpha_l`: for each example *l*,

.. math:: \alpha_k \leftarrow (1 - \lambda\mu)\, \alpha_k \;\; \forall k, \qquad
          \text{if } y_l f(x_l) \le 1: \quad \alpha_l \leftarrow \alpha_l + \lambda\mu, \quad
          b \leftarrow b + \lambda y_l

where f is that before the update. The core keeps :math:`\alpha = a v` and shrinks *a*
(``cpp/widemargin/kernel/kernel_perceptron.hpp``).
"""

from typing import Any, ClassVar

from widemargin._typing import ArrayLike
from widemargin.perceptrons.dual_classifier import DualClassifier
from widemargin.perceptrons.kernel_learner import DecayingLearner
from widemargin.perceptrons.weight_decay import WeightDecay
from widemargin.training.estimators import Examples
from widemargin.training.loop import Learner, Outcome

__all__ = ["KernelSGDSVC"]


class KernelSGDSVC(WeightDecay, DualClassifier):
    r"""SVM with any kernel, trained online: stochastic gradient in the dual (8.17).

    Minimises, with :math:`\mu = 1/(C L)` for *L* examples (of weights :math:`c_l`, all 1 if none
    are given),

    .. math:: \frac{\mu}{2} \|w\|^2 + \frac1L \sum_l c_l |1 - y_l f(x_l)|_+, \qquad
              f(x) = w \cdot \Phi(x) + b

    which is :math:`\mu` times the objective of `SVC`. `SVC` finds the minimum itself, and
    faster; this is the thesis's other way to it, which can be stopped early and learns from streams
    (`partial_fit`). An example that was once inside the margin stays a support vector: its
    coefficient decays, but does not become 0. More than two classes are learnt one against the
    rest.

    Parameters
    ----------
    mu : float, default=1e-3
        Weight decay; :math:`\mu = 1/(C L)` gives the problem of an `SVC` with that C.
    learning_rate : float or "auto", default="auto"
        The first step λ, at most 1/μ. "auto" is :math:`0.1 / (\overline{k(x, x)} + 1)`: an update
        moves f(x) of its own example by a tenth of the margin.
    schedule : {"inverse", "constant", "decay"}, default="inverse"
        The step after *t* examples or *e* epochs, as in `SGDSVC`.
    decay : float, default=0.1
        For ``schedule="decay"``.
    kernel, gamma, degree, coef0, exponent :
        As in `KernelPerceptron`.
    fit_intercept : bool, default=True
        Whether to train the bias b, which is not decayed.
    scaling, max_iter :
        As in `KernelPerceptron`.
    tol : float or None, default=1e-3
        Training stops when the objective has not fallen by `tol` below its best value for
        `n_iter_no_change` epochs, but not before the number of epochs of Theorem 8.1. With early
        stopping the rule applies to the validation error, from the first epoch on. None turns
        this rule off.
    shuffle, early_stopping, validation_fraction, n_iter_no_change, class_weight :
        As in `KernelPerceptron`.
    time_limit, warm_start, verbose, random_state :
        As in `KernelPerceptron`.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (1 or n_classes, n_support)
        The coefficients of the support vectors in f, which are α y/μ.
    support_vectors_, support_, intercept_, gamma_, feature_offset_, feature_scale_
        As in `KernelPerceptron`.
    primal_objective_, theorem_epochs_, C_, learning_rate_ : float
        As in `SGDSVC`.
    geometric_margin_ : float
        ρ = 2/‖w‖ in feature space; for more than two classes, of all outputs together.
    converged_ : bool
        Whether the objective, or with early stopping the validation error, stopped falling.
    n_updates_, classes_, n_iter_, best_iter_, stop_reason_, history_, fit_time_
        As in `Perceptron`.

    See Also
    --------
    SVC : The exact solution.
    SGDSVC : The same updates of the weights themselves, for the linear kernel.
    KernelPerceptron : Without margin and weight decay.

    References
    ----------
    R. Collobert, *Large Scale Machine Learning*, 2004, (8.17); J. Kivinen, A. Smola and
    R. Williamson, *Online learning with kernels*, 2002.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from widemargin import KernelSGDSVC
    >>> X, y = make_circles(200, factor=0.4, noise=0.05, random_state=0)
    >>> clf = KernelSGDSVC(mu=0.01, random_state=0).fit(X, y)
    >>> clf.score(X, y), clf.converged_
    (1.0, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **DualClassifier._parameter_constraints,
        **WeightDecay._decay_constraints,
    }

    def __init__(
        self,
        *,
        mu: float = 1e-3,
        learning_rate: float | str = "auto",
        schedule: str = "inverse",
        decay: float = 0.1,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        exponent: float = 1.0,
        fit_intercept: bool = True,
        scaling: str | None = "standard",
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: ArrayLike = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: ArrayLike = None,
    ) -> None:
        self.mu = mu
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.decay = decay
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.exponent = exponent
        self.fit_intercept = fit_intercept
        self.scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _learner(self, examples: Examples, *, resume: bool) -> DecayingLearner:
        X = examples.X
        if not resume:
            self._check_options(X)
            self._measure(examples)
        inputs = self._inputs(X)
        inputs_val = None if examples.X_val is None else self._inputs(examples.X_val)
        kernel, state = self._kernel(), self._first_state(inputs, inputs_val, resume=resume)
        earlier = None
        if resume:
            earlier = self._resume(state, X, inputs, inputs_val, kernel)
            state.steps = int(self._progress["steps"])
            state.squared_norm = float(self._progress["squared_norm"])
        learner = DecayingLearner(
            examples,
            inputs,
            inputs_val,
            kernel,
            state,
            earlier,
            1.0 if self.fit_intercept else 0.0,
            pocket=False,
            criterion=self._criterion(),
        )
        self._decay(learner, resume=resume)
        return learner

    def _conclude(self, learner: Learner, outcome: Outcome) -> None:
        super()._conclude(learner, outcome)
        assert isinstance(learner, DecayingLearner)
        self.geometric_margin_ = learner.geometric_margin()
        self.primal_objective_ = learner.objective() / self.mu

r"""The Margin Perceptron.

Trains :math:`f(x) = w \cdot x + b` from zero, example by example. For each example *l*:

.. math:: \text{if } y_l f(x_l) \le \beta:\quad
          w \leftarrow w + \lambda y_l x_l,\quad b \leftarrow b + \lambda y_l

which is stochastic gradient on the criterion :math:`|\beta - y f(x)|_+` (Algorithm 8.1). λ and the
number of updates control the margin ρ = 2β/‖w‖ (Theorems 8.2 and 8.3).
"""

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from widemargin import criteria
from widemargin._typing import ArrayLike
from widemargin.perceptrons.linear_classifier import LinearClassifier
from widemargin.perceptrons.linear_learner import LinearLearner
from widemargin.schedules import SCHEDULES
from widemargin.training.estimators import Examples

__all__ = ["MarginPerceptron"]

AUTO_STEP = 0.1  # the fraction of the margin by which an update moves its own example
_POSITIVE = Interval(Real, 0, None, closed="neither")


class MarginPerceptron(LinearClassifier):
    r"""Margin Perceptron: the margin criterion without weight decay (Algorithm 8.1).

    Minimises :math:`\frac1L \sum_l |\beta - y_l f(x_l)|_+` by stochastic gradient. There is no
    weight decay: the step λ and early stopping control the margin instead. After *t* updates with
    a constant step (Theorem 8.3),

    .. math:: \rho_t \ge \frac{2\beta/\lambda}{\sqrt{t\,(2\beta/\lambda + R^2 + 1)}}

    (see `widemargin.theory.margin_bound`). Inputs, dense or sparse, are standardised by default.
    More than two classes are learnt one against the rest.

    Parameters
    ----------
    margin : float, default=1.0
        β: an example is updated when :math:`y f(x) \le \beta`.
    learning_rate : float or "auto", default="auto"
        The step λ of the first epoch. "auto" is :math:`0.1\,\beta / (\overline{\|x\|^2} + 1)`: an
        update moves f(x) of its own example by a tenth of the margin. `partial_fit` computes it
        from the examples of the first call.
    schedule : {"constant", "decay", "invscaling", "linear", "cosine", "one_cycle"}, default="decay"
        How λ changes; see `widemargin.schedules.make_schedule`. The last three end at `max_iter`.
    decay : float, default=0.1
        λ/(1 + decay · epoch), for ``schedule="decay"``.
    power_t : float, default=0.5
        λ/(1 + epoch)^power_t, for ``schedule="invscaling"``.
    fit_intercept : bool, default=True
        Whether to train the bias b.
    max_iter : int, default=200
        The largest number of epochs.
    tol : float or None, default=1e-4
        Training stops when the criterion has not fallen by `tol` below its best value for
        `n_iter_no_change` epochs (with early stopping: the validation error). None turns this
        rule off.
    shuffle : bool, default=True
        Whether each epoch visits the examples in a new random order.
    average : bool, default=False
        Whether to return the mean of the weights over all steps.
    scaling : {"standard", "minmax"} or None, default="standard"
        How inputs are scaled: "standard" gives every input mean 0 and variance 1, "minmax" maps
        its range to [0, 1], None leaves inputs as they are. The data are not copied, and sparse
        inputs stay sparse.
    feature_map : {"polynomial", "fourier", "nystroem"}, transformer or None, default=None
        Φ of a Φ-machine, as in `Perceptron`.
    early_stopping : bool, default=False
        Whether to stop by the error on validation examples, and to return the weights with the
        lowest one.
    validation_fraction : float, default=0.1
        The fraction of the training set held out for early stopping, unless `fit` gets `X_val`.
    n_iter_no_change : int, default=10
        How many epochs without progress to wait.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    time_limit : float or None, default=None
        Seconds after which training stops.
    warm_start : bool, default=False
        Whether `fit` resumes from the last state.
    n_jobs : int or None, default=None
        The largest number of threads, for more than two classes and for prediction. None lets the
        model choose, −1 means all CPUs. The result does not depend on it.
    verbose : int, default=0
        Whether to print one line per epoch.
    random_state : int, RandomState instance or None, default=None
        Seeds the order of the examples and the choice of held-out examples.
    max_updates : int or None, default=None
        Updates after which `fit` stops; None means any number. The count is exact for two classes.
        With more, the last example may update several of the machines. `geometric_margin_` is then
        at least `widemargin.theory.margin_bound` of this number (Theorem 8.3).

    Attributes
    ----------
    geometric_margin_ : float
        ρ = 2β/‖w‖ of scaled inputs (the smallest, for more than two classes); also in the history.
    learning_rate_ : float
        λ as used.
    converged_ : bool
        Whether the last epoch made no update.
    coef_, intercept_, classes_, n_updates_, n_iter_, best_iter_
        As in `Perceptron`.
    stop_reason_, history_, fit_time_, feature_offset_, feature_scale_, feature_map_
        As in `Perceptron`.

    See Also
    --------
    Perceptron : The original algorithm, without a margin.

    Notes
    -----
    Each call of `partial_fit` counts as one epoch of the schedule, however few examples it gets.
    On a stream of small batches, "decay" and "invscaling" would soon stop the learning: use
    ``schedule="constant"`` there, or `fit_stream`, which counts a pass over the stream as an epoch.

    References
    ----------
    R. Collobert, *Large Scale Machine Learning*, 2004, Algorithm 8.1 and Theorems 8.2, 8.3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from widemargin import MarginPerceptron
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = MarginPerceptron(random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.97
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LinearClassifier._parameter_constraints,
        "margin": [_POSITIVE],
        "learning_rate": [StrOptions({"auto"}), _POSITIVE],
        "schedule": [StrOptions(set(SCHEDULES))],
        "decay": [Interval(Real, 0, None, closed="left")],
        "power_t": [Interval(Real, 0, None, closed="left")],
        "max_updates": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        margin: float = 1.0,
        learning_rate: float | str = "auto",
        schedule: str = "decay",
        decay: float = 0.1,
        power_t: float = 0.5,
        fit_intercept: bool = True,
        max_iter: int = 200,
        tol: float | None = 1e-4,
        shuffle: bool = True,
        average: bool = False,
        scaling: str | None = "standard",
        feature_map: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        class_weight: ArrayLike = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: ArrayLike = None,
        max_updates: int | None = None,
    ) -> None:
        self.margin = margin
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.decay = decay
        self.power_t = power_t
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.average = average
        self.scaling = scaling
        self.feature_map = feature_map
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.max_updates = max_updates

    def _criterion(self) -> criteria.Criterion:
        return criteria.Margin(self.margin)

    def _margin_unit(self) -> float:
        return float(self.margin)

    def _learner(self, examples: Examples, *, resume: bool) -> LinearLearner:
        learner = super()._learner(examples, resume=resume)
        if self.learning_rate != "auto":
            self.learning_rate_ = float(self.learning_rate)
        elif not resume:
            self.learning_rate_ = AUTO_STEP * self.margin / (learner.mean_squared_norm() + 1.0)
        return learner

    def _rate(self) -> tuple[str, float, float, float]:
        return (self.schedule, self.learning_rate_, self.decay, self.power_t)

r"""The Nilsson MLP: a committee of perceptrons that counts signs (thesis 8.7)."""

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from widemargin._typing import ArrayLike
from widemargin.mlp.committee import CommitteeLearner
from widemargin.mlp.committee_classifier import CommitteeClassifier
from widemargin.training.estimators import Examples

__all__ = ["NilssonMLPClassifier"]


class NilssonMLPClassifier(CommitteeClassifier):
    r"""Nilsson MLP: a committee that votes by signs, corrected as little as possible (Alg. 8.3).

    .. math:: f(x) = \sum_{n=1}^N \operatorname{sign}(v_n \cdot x + a_n)

    with N odd. When an example is misclassified, :math:`y f(x) \le 0`, the
    :math:`\frac12 (|f(x)| + 1)` wrong units that are nearest to being right are moved by
    :math:`\lambda y (x, 1)`. There is no margin: the Nilsson MLP is to the Simple MLP what the
    Perceptron is to the Margin Perceptron. With more than two classes, each class is learnt
    against the rest.

    With ``margin=β`` (not published) an example is learnt if :math:`y f(x) \le \beta`, by the
    fewest units that bring it above β: :math:`\lfloor (\beta - y f(x))/2 \rfloor + 1`. Votes that
    are won by one often turn on new examples; votes that are won by tens do not.

    Parameters
    ----------
    n_units : int, default=201
        Number of units N, which is odd so that no vote is a draw.
    margin : float, default=0.0
        β, the number of votes by which an example must be won. 0 is the published algorithm;
        :math:`\sqrt N` and more generalise much better.
    learning_rate : float or "auto", default="auto"
        Step λ of the first epoch. "auto" is :math:`0.08 / (\overline{\|x\|^2} + 1)`.
    schedule : {"auto", "constant", "decay", "invscaling", "linear", "cosine", "one_cycle"}, \
            default="auto"
        How λ changes, as in `SimpleMLPClassifier`.
    decay : float, default=0.03
        λ/(1 + decay · epoch), for ``schedule="decay"``.
    power_t : float, default=0.5
        λ/(1 + epoch)^power_t, for ``schedule="invscaling"``.
    init_scale : float, default=0.5
        Standard deviation of the sums :math:`v_n \cdot x + a_n` at the start.
    encoding : {"auto", "hat"}, transformer or None, default=None
        As in `SimpleMLPClassifier`.
    scaling : {"standard", "minmax"} or None, default="standard"
        As in `SimpleMLPClassifier`.
    max_iter : int, default=40
        Maximum number of epochs.
    tol : float or None, default=None
        As in `SimpleMLPClassifier`.
    shuffle : bool, default=True
        Whether each epoch visits the examples in a new random order.
    early_stopping : bool, default=False
        As in `SimpleMLPClassifier`.
    validation_fraction : float, default=0.1
        Fraction of the training set held out for early stopping, unless `fit` gets `X_val`.
    n_iter_no_change : int, default=10
        Number of epochs without progress to wait for.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    time_limit : float or None, default=None
        Seconds after which training stops.
    warm_start : bool, default=False
        Whether `fit` resumes from the last state.
    n_jobs : int or None, default=None
        Maximum number of threads, for more than two classes and for prediction; None chooses.
    verbose : int, default=0
        Whether to print one line per epoch.
    random_state : int, RandomState instance or None, default=None
        Seed of the first weights, the orders and the validation split.

    Attributes
    ----------
    margin_, geometric_margin_, learning_rate_, coefs_, intercepts_, encoder_, classes_ :
        As in `SimpleMLPClassifier`; the output biases are 0.
    n_updates_, history_, n_iter_, best_iter_, converged_, stop_reason_, fit_time_ :
        As in `SimpleMLPClassifier`.

    See Also
    --------
    SimpleMLPClassifier : The same with a margin.

    References
    ----------
    N. Nilsson, *Learning Machines*, 1965; R. Collobert, *Large Scale Machine Learning*, 2004,
    Algorithm 8.3.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import NilssonMLPClassifier
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> clf = NilssonMLPClassifier(n_units=51, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.97
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CommitteeClassifier._parameter_constraints,
        "margin": [Interval(Real, 0, None, closed="left")],
    }
    _unit: ClassVar[str] = "sign"

    def __init__(
        self,
        *,
        n_units: int = 201,
        margin: float = 0.0,
        learning_rate: float | str = "auto",
        schedule: str = "auto",
        decay: float = 0.03,
        power_t: float = 0.5,
        init_scale: float = 0.5,
        encoding: Any = None,
        scaling: str | None = "standard",
        max_iter: int = 40,
        tol: float | None = None,
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        class_weight: ArrayLike = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: ArrayLike = None,
    ) -> None:
        self.n_units = n_units
        self.margin = margin
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.decay = decay
        self.power_t = power_t
        self.init_scale = init_scale
        self.encoding = encoding
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
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _beta(self, rows: int | None) -> float:
        return float(self.margin)

    def _learner(self, examples: Examples, *, resume: bool) -> CommitteeLearner:
        if self.n_units % 2 == 0:
            raise ValueError(
                f"n_units={self.n_units} is even, so a vote could be a draw; "
                f"use n_units={self.n_units + 1}"
            )
        return super()._learner(examples, resume=resume)

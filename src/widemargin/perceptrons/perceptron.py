r"""Rosenblatt's Perceptron.

Trains :math:`f(x) = w \cdot x + b` from zero, example by example. For each example *l*:

.. math:: \text{if } y_l f(x_l) \le 0:\quad
          w \leftarrow w + \lambda y_l x_l,\quad b \leftarrow b + \lambda y_l

which is stochastic gradient on the criterion :math:`|-y f(x)|_+` (Algorithm 3.1). There is no
margin, so λ only scales the weights. `widemargin.perceptrons.pocket` keeps the best of them.
"""

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from widemargin import criteria
from widemargin._typing import ArrayLike
from widemargin.perceptrons.linear_classifier import LinearClassifier
from widemargin.perceptrons.linear_learner import LinearLearner, LinearState
from widemargin.perceptrons.pocket import PocketLearner
from widemargin.training.estimators import Examples

__all__ = ["Perceptron"]


class Perceptron(LinearClassifier):
    r"""Rosenblatt's Perceptron (Algorithm 3.1).

    Minimises :math:`\frac1L \sum_l |-y_l f(x_l)|_+` by stochastic gradient, and stops when an
    epoch makes no mistake. More than two classes are learnt one against the rest. The parameters
    up to `warm_start` are those of scikit-learn's `Perceptron`.

    If mistakes are left when training stops, `fit` returns the weights with the fewest mistakes on
    the training set (the pocket; see Notes). ``tol=None`` makes exactly `max_iter` epochs and
    returns the last weights, as published.

    If some *u* separates the classes, :math:`y_l\, u \cdot x_l \ge 1`, then with its margin
    :math:`\rho = 2/\|u\|` and :math:`R \ge \|x_l\|` the number of mistakes ``n_updates_`` is at
    most (Novikoff)

    .. math:: \frac{4 R^2}{\rho^2} = \frac{R^2}{\gamma^2}

    where :math:`\gamma = \rho/2` is the half margin, the distance from the hyperplane to the
    nearest example. With a bias, examples count as :math:`(x, 1)`, so that :math:`R^2` becomes
    :math:`R^2 + 1`; see `widemargin.theory.novikoff_bound`.

    Parameters
    ----------
    penalty : {"l2"} or None, default=None
        "l2" adds :math:`\frac{\alpha}{2} \|w\|^2` to the criterion: w shrinks by
        :math:`1 - \lambda\alpha` at every example. "l1" and "elasticnet" raise an error.
    alpha : float, default=0.0001
        α of the penalty.
    l1_ratio : float, default=0.15
        Only for ``penalty="elasticnet"``, which this class does not have.
    fit_intercept : bool, default=True
        Whether to train the bias b.
    max_iter : int, default=1000
        The largest number of epochs.
    tol : float or None, default=1e-3
        Training stops when neither the criterion nor the training error has fallen by `tol` below
        its best value for `n_iter_no_change` epochs (with early stopping: the validation error;
        with `average`: the criterion). None turns this rule off, and the pocket with it.
    shuffle : bool, default=True
        Whether each epoch visits the examples in a new random order.
    verbose : int, default=0
        Whether to print one line per epoch.
    eta0 : float, default=1.0
        The step λ.
    n_jobs : int or None, default=None
        The largest number of threads, for more than two classes and for prediction. None lets the
        model choose, −1 means all CPUs. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seeds the order of the examples and the choice of held-out examples.
    early_stopping : bool, default=False
        Whether to stop by the error on validation examples, and to return the weights with the
        lowest one.
    validation_fraction : float, default=0.1
        The fraction of the training set held out for early stopping, unless `fit` gets `X_val`.
    n_iter_no_change : int, default=5
        How many epochs without progress to wait.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    warm_start : bool, default=False
        Whether `fit` resumes from the last state.
    average : bool, default=False
        Whether to return the mean of the weights over all steps (Freund and Schapire, 1999).
    scaling : {"standard", "minmax"} or None, default=None
        How inputs are scaled: "standard" gives every input mean 0 and variance 1, "minmax" maps
        its range to [0, 1], None leaves inputs as they are; if training stops by `tol`, a second
        run with "minmax" then competes for the pocket (see Notes). The data are not copied, and
        sparse inputs stay sparse.
    feature_map : {"polynomial", "fourier", "nystroem"}, transformer or None, default=None
        Φ of a Φ-machine (thesis 3.3). A name stands for scikit-learn's map of standardised inputs:
        `PolynomialFeatures` (degree 2), `RBFSampler` or `Nystroem` (500 components).
    time_limit : float or None, default=None
        Seconds after which training stops.
    max_updates : int or None, default=None
        Updates after which `fit` stops; None means any number. The count is exact for two classes.
        With more, the last example may update several of the machines. Without ``tol=None``,
        the pocket may return earlier weights, and `n_updates_` is then theirs.

    Attributes
    ----------
    coef_ : ndarray of shape (1 or n_classes, n_features)
        Weights for the inputs as given (not scaled): the last ones if they make no mistake, else
        the pocket; with `average` the mean.
    intercept_ : ndarray of shape (1 or n_classes,)
        The biases that go with them.
    classes_ : ndarray
        The classes.
    n_updates_ : int
        The number of updates that led to these weights: the mistake count of the theory.
    n_iter_, best_iter_ : int
        Epochs run, and the epoch whose weights were kept.
    converged_ : bool
        Whether the last epoch made no mistake.
    stop_reason_ : str
        "no_update", "tol", "early_stopping", "max_iter", "max_updates", "time_limit",
        "interrupted", "callback".
    history_ : list of dict
        One record per epoch: updates, criterion and error (each example measured just before its
        own update), training error (of the epoch's candidate for the pocket), validation criterion
        and error, seconds.
    fit_time_ : float
        Seconds of training.
    feature_offset_, feature_scale_ : ndarray of shape (n_features,)
        What is subtracted from the inputs, and what they are then divided by, in the run that the
        weights come from.
    feature_map_ : transformer
        The fitted feature map, if any.

    See Also
    --------
    MarginPerceptron : Controls the margin.
    KernelPerceptron : The same algorithm in the dual, with a kernel.

    Notes
    -----
    Each epoch offers two candidates for the pocket: its last weights, and the mean of its weights.
    They are compared by their mistakes on the training set, of 200,000 examples at most. If a
    first run on the inputs as they are stops by `tol`, a second run starts from zero on inputs
    scaled to [0, 1], unless all columns have the same range: where one column holds values in the
    thousands and another 0 or 1, steps would hardly change the second one's weight. Over 27 tables
    this lowered the mean test error from 27.3 to 16.3 %; see the decision on defaults.

    `partial_fit` has no pocket: it continues from the weights that `fit` returned, and returns the
    weights after the last example.

    References
    ----------
    F. Rosenblatt, *The perceptron: a perceiving and recognizing automaton*, 1957; S. I. Gallant,
    *Perceptron-based learning algorithms*, 1990 (the pocket); R. Collobert, *Large Scale Machine
    Learning*, 2004, Algorithm 3.1.

    Examples
    --------
    >>> from widemargin import Perceptron
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> clf = Perceptron(shuffle=False).fit(X, [0, 0, 0, 1])
    >>> clf.predict(X), clf.converged_
    (array([0, 0, 0, 1]), True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LinearClassifier._parameter_constraints,
        "penalty": [StrOptions({"l1", "l2", "elasticnet"}), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "max_updates": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: ArrayLike = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: ArrayLike = None,
        warm_start: bool = False,
        average: bool = False,
        scaling: str | None = None,
        feature_map: Any = None,
        time_limit: float | None = None,
        max_updates: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.average = average
        self.scaling = scaling
        self.feature_map = feature_map
        self.time_limit = time_limit
        self.max_updates = max_updates

    def _criterion(self) -> criteria.Criterion:
        return criteria.Perceptron()

    def _learner(self, examples: Examples, *, resume: bool) -> LinearLearner:
        if self.penalty in ("l1", "elasticnet"):
            raise ValueError(
                f"penalty={self.penalty!r} is not available, only weight decay is; use "
                "penalty='l2' or None"
            )
        learner = super()._learner(examples, resume=resume)
        learner.mu = float(self.alpha) if self.penalty == "l2" else 0.0
        if self.eta0 * learner.mu > 1.0:
            raise ValueError(
                f"eta0={self.eta0:.6g} times alpha={self.alpha:.6g} is more than 1: the weights "
                "would change sign at every example; lower one of them"
            )
        return learner

    def _linear_learner(
        self, examples: Examples, state: LinearState, criterion: criteria.Criterion, **options: Any
    ) -> LinearLearner:
        plain = self.tol is None or self.average or self.early_stopping
        if plain or not examples.repeated:
            return super()._linear_learner(examples, state, criterion, **options)
        raw = self.scaling is None and state.scaling.kind is None
        return PocketLearner(examples, state, criterion, rescales=raw, **options)

    def _rate(self) -> tuple[str, float, float, float]:
        return ("constant", self.eta0, 0.0, 0.0)

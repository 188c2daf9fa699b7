r"""The Simple MLP: a committee of perceptrons with a margin (thesis 8.6).

.. math:: f(x) = b + \sum_{n=1}^N h(v_n \cdot x + a_n)

has no output weights: every unit has one vote. What a unit says is clipped to ±1 (HardTanh). As all
output weights are 1, the margin in the space of the votes is given, :math:`\rho = 2\beta/\sqrt N`.
"""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from widemargin._typing import ArrayLike
from widemargin.mlp.committee_classifier import CommitteeClassifier

__all__ = ["SimpleMLPClassifier"]

AUTO_MARGIN = 1.0  # β/√N


class SimpleMLPClassifier(CommitteeClassifier):
    r"""Simple MLP: a committee of units with a margin, and without output weights (Algorithm 8.2).

    .. math:: f(x) = b + \sum_{n=1}^N h(v_n \cdot x + a_n), \qquad h(z) = \max(-1, \min(1, z))

    minimises :math:`\frac1L \sum_l |\beta - y_l f(x_l)|_+` by stochastic gradient: an example with
    :math:`y f(x) \le \beta` moves each unit with :math:`|v_n \cdot x + a_n| \le 1` by
    :math:`\lambda y (x, 1)`, and b by :math:`\lambda y`. Few examples are updated and few units
    are active, so an epoch is quick. Each unit is a local support vector machine (Theorem 8.4).

    More than two classes have a committee each. An example of class y whose margin
    :math:`f_y(x) - \max_{k \ne y} f_k(x)` is at most β is learnt by its own committee and
    unlearnt by that of the best other class.

    Parameters
    ----------
    n_units : int, default=1000
        N, units of a committee. More are better, until they overfit, and take longer.
    margin : float or "auto", default="auto"
        β. Small ones overfit, large ones underfit. "auto" is √N.
    learning_rate : float or "auto", default="auto"
        The step λ of the first epoch. "auto" is :math:`0.08 / (\overline{\|x\|^2} + 1)`: an update
        moves what a unit says of its example by about 0.08.
    schedule : {"auto", "constant", "decay", "invscaling", "linear", "cosine", "one_cycle"}, \
            default="auto"
        How λ changes. "auto" falls linearly to 0 at `max_iter` in `fit`, and is constant in
        `partial_fit`, which has no end.
    decay : float, default=0.03
        λ/(1 + decay · epoch), for ``schedule="decay"``.
    power_t : float, default=0.5
        λ/(1 + epoch)^power_t, for ``schedule="invscaling"``.
    init_scale : float, default=0.5
        Weights begin uniform, so large that what units say has this standard deviation. The
        customary ±1/√d for standardised inputs is 0.58.
    n_committees : int, default=1
        Committees of each class, trained apart, whose mean decides. `n_jobs` trains them at once.
    multi_class : {"best_other", "ovr"}, default="best_other"
        For more than two classes: the margin to the best other class, or one against the rest.
    dropout : float, default=0.0
        The part of the units that a visit leaves out, at random; in steps of 1/256.
    average : bool, default=False
        Whether to return the mean of the weights over the epochs, the last of which count most.
        It helps a constant λ; one that falls to 0 needs no mean.
    fit_intercept : bool, default=True
        Whether to train b. (The biases of units are always trained.)
    encoding : {"auto", "hat"}, transformer or None, default="auto"
        "hat": inputs are encoded by `HatEncoder`, whose columns are then centred. "auto" does so
        too, but without hats if there are more than 200 inputs. None: inputs as they are given.
    scaling : {"standard", "minmax"} or None, default="standard"
        Whether inputs get mean 0 and, without an encoding, variance 1; zeros stay untouched.
    max_iter : int, default=40
        The largest number of epochs.
    tol : float or None, default=None
        Stop when the criterion has not fallen by `tol` below its best for `n_iter_no_change`
        epochs (the validation error, with early stopping). None: never.
    shuffle : bool, default=True
        Whether each epoch visits the examples in a new random order.
    early_stopping : bool, default=False
        Whether to return the weights of the lowest error on validation examples, and to stop by it
        if `tol` is given.
    validation_fraction : float, default=0.1
        The part of the training set held out for early stopping, unless `fit` gets `X_val`.
    n_iter_no_change : int, default=10
        How many epochs without progress to wait.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    time_limit : float or None, default=None
        Seconds after which training stops.
    warm_start : bool, default=False
        Whether `fit` goes on from the last state.
    n_jobs : int or None, default=None
        Threads. They train committees side by side, or share the units of one; the result does
        not depend on their number.
    lock_free : bool, default=False
        Threads share the examples instead, and write to the same units without locks: faster, but
        **no two fits are the same**.
    verbose : int, default=0
        Whether to print a line an epoch.
    random_state : int, RandomState instance or None, default=None
        Seeds the first weights, the orders, dropout and the held-out part.

    Attributes
    ----------
    margin_ : float
        ρ = 2β/√N, the margin in the space of the votes.
    learning_rate_ : float
        λ as used.
    hidden_coef_ : ndarray of shape (n_committees, n_outputs, n_units, n_inputs)
        The weights v, of encoded and standardised inputs.
    hidden_intercept_ : ndarray of shape (n_committees, n_outputs, n_units)
        The biases a of the units.
    intercept_ : ndarray of shape (n_committees, n_outputs)
        The output biases b.
    encoder_ : transformer or None
        The fitted encoder.
    classes_ : ndarray
        The classes.
    n_updates_ : int
        Updates of committees.
    history_ : list of dict
        One record an epoch; as in `Perceptron`, and ``units_active``, the part of the units of
        updated committees that were moved.
    n_iter_, best_iter_, converged_, stop_reason_, fit_time_ :
        As in `Perceptron`.

    See Also
    --------
    NilssonMLPClassifier : Its ancestor without a margin.
    MLPClassifier : With output weights, several layers and other criteria.

    References
    ----------
    R. Collobert, *Large Scale Machine Learning*, 2004, Algorithm 8.2.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import SimpleMLPClassifier
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> clf = SimpleMLPClassifier(n_units=100, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.99, round(clf.margin_, 1)
    (True, 2.0)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CommitteeClassifier._parameter_constraints,
        "margin": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "n_committees": [Interval(Integral, 1, None, closed="left")],
        "multi_class": [StrOptions({"best_other", "ovr"})],
        "dropout": [Interval(Real, 0, 0.99, closed="both")],
        "average": ["boolean"],
        "fit_intercept": ["boolean"],
        "lock_free": ["boolean"],
    }
    _fixed_parameters: ClassVar[tuple[str, ...]] = (
        *CommitteeClassifier._fixed_parameters,
        "n_committees",
    )
    _unit: ClassVar[str] = "hard_tanh"

    def __init__(
        self,
        *,
        n_units: int = 1000,
        margin: float | str = "auto",
        learning_rate: float | str = "auto",
        schedule: str = "auto",
        decay: float = 0.03,
        power_t: float = 0.5,
        init_scale: float = 0.5,
        n_committees: int = 1,
        multi_class: str = "best_other",
        dropout: float = 0.0,
        average: bool = False,
        fit_intercept: bool = True,
        encoding: Any = "auto",
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
        lock_free: bool = False,
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
        self.n_committees = n_committees
        self.multi_class = multi_class
        self.dropout = dropout
        self.average = average
        self.fit_intercept = fit_intercept
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
        self.lock_free = lock_free
        self.verbose = verbose
        self.random_state = random_state

    def _beta(self) -> float:
        if self.margin == "auto":
            return float(AUTO_MARGIN * np.sqrt(self.n_units))
        return float(self.margin)

    def _targets(self) -> str:
        if self._outputs > 1 and self.multi_class == "best_other":
            return "best_other"
        return super()._targets()

    def _options(self) -> dict[str, Any]:
        names = ("fit_intercept", "average", "dropout", "lock_free")
        return {name: getattr(self, name) for name in names}

r"""The Simple MLP: a committee of perceptrons with a margin (thesis 8.6).

.. math:: f(x) = b + \sum_{n=1}^N h(v_n \cdot x + a_n)

It has no output weights: every unit has one vote, clipped to ±1 (HardTanh). Since all output
weights are 1, the margin in the space of the votes is known: :math:`\rho = 2\beta/\sqrt N`.
"""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from widemargin._typing import ArrayLike
from widemargin.mlp.committee_classifier import CommitteeClassifier
from widemargin.mlp.committee_state import UNITS_PER_PANEL

__all__ = ["SimpleMLPClassifier"]

AUTO_UNITS = 1024  # of all classes together, but at least one panel each
# β/N of margin="auto": the first up to MANY_ROWS examples, then falling as 1/L to the second.
WIDE_MARGIN, NARROW_MARGIN, MANY_ROWS = 0.2, 0.03, 20_000
# max_iter="auto": as many epochs as visit AUTO_VISITS examples, between these numbers of epochs.
AUTO_VISITS, MIN_EPOCHS, MAX_EPOCHS = 100_000, 30, 400


class SimpleMLPClassifier(CommitteeClassifier):
    r"""Simple MLP: a committee of units with a margin, without output weights (Algorithm 8.2).

    .. math:: f(x) = b + \sum_{n=1}^N h(v_n \cdot x + a_n), \qquad h(z) = \max(-1, \min(1, z))

    minimises :math:`\frac1L \sum_l |\beta - y_l f(x_l)|_+` by stochastic gradient. An example with
    :math:`y f(x) \le \beta` moves each unit with :math:`|v_n \cdot x + a_n| \le 1` by
    :math:`\lambda y (x, 1)`, and b by :math:`\lambda y`. Few examples cause an update, and each
    update moves few units, so an epoch is fast. Each unit is a local support vector machine
    (Theorem 8.4).

    With more than two classes there is one committee per class. If the margin
    :math:`f_y(x) - \max_{k \ne y} f_k(x)` of an example of class y is at most β, the committee of
    its class learns the example, and the committee of the best other class unlearns it.

    Parameters
    ----------
    n_units : int or "auto", default="auto"
        Number of units N of a committee. More units take longer and are better, until they overfit.
        "auto" is 1,024 for two classes. With K more, the committees share as many: each has the
        largest multiple of 64 that is at most 1024/K, but no less than 64.
    margin : float or "auto", default="auto"
        β. A small margin overfits, a large one underfits. "auto" is 0.2 N for up to L = 20,000
        examples. For more it falls as 1/L, to 0.03 N, which is also the margin of `partial_fit`.
    learning_rate : float or "auto", default="auto"
        Step λ of the first epoch. "auto" is :math:`0.08 / (\overline{\|x\|^2} + 1)`, so that an
        update changes the output of a unit for its example by about 0.08.
    schedule : {"auto", "constant", "decay", "invscaling", "linear", "cosine", "one_cycle"}, \
            default="auto"
        How λ changes. "auto" falls linearly to 0 at `max_iter` in `fit`, and is constant in
        `partial_fit`, which has no end.
    decay : float, default=0.03
        λ/(1 + decay · epoch), for ``schedule="decay"``.
    power_t : float, default=0.5
        λ/(1 + epoch)^power_t, for ``schedule="invscaling"``.
    init_scale : float, default=0.5
        Standard deviation of the sums :math:`v_n \cdot x + a_n` at the start; first weights are
        uniform. The customary ±1/√d for standardised inputs corresponds to 0.58.
    n_committees : int, default=1
        Number of committees per class, trained independently; their mean decides.
    multi_class : {"best_other", "ovr"}, default="best_other"
        For more than two classes: the margin to the best other class, or one against the rest.
    dropout : float, default=0.0
        Fraction of the units that a visit leaves out, at random; a multiple of 1/256.
    average : bool, default=False
        Whether to return the mean of the weights over the epochs, in which late epochs count most.
        It helps if λ is constant; a λ that falls to 0 needs no mean.
    fit_intercept : bool, default=True
        Whether to train b. (The biases of units are always trained.)
    encoding : {"auto", "hat"}, transformer or None, default="auto"
        "hat" encodes inputs by `HatEncoder`, with 16 knots, and then centres its columns. "auto"
        does the same with fewer knots for few examples: √L/5, at least 4 and at most 16. If there
        are more than 200 inputs, it makes no hats. None uses the inputs as they are given.
    scaling : {"standard", "minmax"} or None, default="standard"
        How inputs are scaled: to mean 0 and variance 1, to [0, 1], or not at all. With an encoding,
        numbers are scaled before they are encoded, and encoded columns are shifted but not divided.
        Sparse data stay sparse.
    max_iter : int or "auto", default="auto"
        Maximum number of epochs. "auto" is 30, or more for fewer than 3,333 examples: as many
        epochs as visit 100,000 examples, at most 400.
    tol : float or None, default=None
        Training stops when the criterion has not fallen by `tol` below its best value for
        `n_iter_no_change` epochs; with early stopping, the validation error. None trains for
        `max_iter` epochs.
    shuffle : bool, default=True
        Whether each epoch visits the examples in a new random order.
    early_stopping : bool, default=False
        Whether to return the weights with the lowest error on validation examples, and to stop by
        that error if `tol` is given.
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
        Maximum number of threads; None chooses. They train several committees in parallel, or
        share the units of one.
    verbose : int, default=0
        Whether to print one line per epoch.
    random_state : int, RandomState instance or None, default=None
        Seed of the first weights, the orders, dropout and the validation split.

    Attributes
    ----------
    margin_ : float
        β.
    geometric_margin_ : float
        2β/√N, the margin in the space of the votes.
    learning_rate_ : float
        λ of the first epoch.
    coefs_ : list of two ndarrays
        Weights v of the units, for encoded and scaled inputs, of shape (n_committees, n_outputs,
        n_inputs, n_units); output weights of shape (n_committees, n_outputs, n_units, 1), which
        are all 1.
    intercepts_ : list of two ndarrays
        Biases a of the units, of shape (n_committees, n_outputs, n_units), and output biases b, of
        shape (n_committees, n_outputs, 1).
    encoder_ : transformer or None
        The fitted encoder.
    classes_ : ndarray
        The classes.
    n_updates_ : int
        Number of updates of committees.
    history_ : list of dict
        One record per epoch, as in `Perceptron`, with ``units_active``, the fraction of units of
        the updated committees that were moved.
    n_iter_, best_iter_, converged_, stop_reason_, fit_time_ :
        As in `Perceptron`.

    See Also
    --------
    NilssonMLPClassifier : A committee of signs, its predecessor.
    MLPClassifier : Networks with output weights, several layers and other criteria.

    References
    ----------
    R. Collobert, *Large Scale Machine Learning*, 2004, Algorithm 8.2.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import SimpleMLPClassifier
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> clf = SimpleMLPClassifier(n_units=100, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.99, clf.margin_, round(clf.geometric_margin_, 1)
    (True, 20.0, 4.0)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CommitteeClassifier._parameter_constraints,
        "n_units": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "margin": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "n_committees": [Interval(Integral, 1, None, closed="left")],
        "multi_class": [StrOptions({"best_other", "ovr"})],
        "dropout": [Interval(Real, 0, 0.99, closed="both")],
        "average": ["boolean"],
        "fit_intercept": ["boolean"],
    }
    _fixed_parameters: ClassVar[tuple[str, ...]] = (
        *CommitteeClassifier._fixed_parameters,
        "n_committees",
    )
    _unit: ClassVar[str] = "hard_tanh"

    def __init__(
        self,
        *,
        n_units: int | str = "auto",
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
        max_iter: int | str = "auto",
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
        self.verbose = verbose
        self.random_state = random_state

    def _n_units(self) -> int:
        if self.n_units != "auto":
            return int(self.n_units)
        panels = AUTO_UNITS // (UNITS_PER_PANEL * self._outputs)
        return int(UNITS_PER_PANEL * max(1, panels))

    def _beta(self, rows: int | None) -> float:
        if self.margin != "auto":
            return float(self.margin)
        fraction = NARROW_MARGIN
        if rows is not None:
            fraction = max(NARROW_MARGIN, WIDE_MARGIN * min(1.0, MANY_ROWS / rows))
        return fraction * self._n_units()

    def _max_epochs(self, rows: int) -> int:
        if self.max_iter != "auto":
            return int(self.max_iter)
        return int(np.clip(AUTO_VISITS // rows, MIN_EPOCHS, MAX_EPOCHS))

    def _targets(self) -> str:
        if self._outputs > 1 and self.multi_class == "best_other":
            return "best_other"
        return super()._targets()

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("fit_intercept", "average", "dropout")}

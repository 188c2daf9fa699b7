r"""Committees of perceptrons: the Simple MLP and the Nilsson MLP (thesis 8.6, 8.7).

.. math:: f(x) = b + \sum_{n=1}^N h(v_n \cdot x + a_n)

has no output weights: every unit has one vote. The Simple MLP clips what a unit says to ±1
(HardTanh) and asks for a margin β; the Nilsson MLP counts signs and asks for none. In the space of
the votes the margin is fixed, :math:`\rho = 2\beta/\sqrt N`, since all output weights are 1.
"""

from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from widemargin._base import Examples, IterativeClassifier
from widemargin._committee import UNITS, CommitteeLearner, CommitteeState, committee_scores
from widemargin._typing import ArrayLike, FloatArray
from widemargin.hats import HatEncoder
from widemargin.schedules import SCHEDULES, Schedule, make_schedule

__all__ = ["NilssonMLPClassifier", "SimpleMLPClassifier"]

AUTO_STEP = 0.08  # by how much an update moves the unit's own output for its example
AUTO_MARGIN = 1.0  # β/√N
MOST_ENCODED = 200  # inputs for which "auto" takes hats
_POSITIVE = Interval(Real, 0, None, closed="neither")
_NOT_NEGATIVE = Interval(Real, 0, None, closed="left")


class CommitteeClassifier(IterativeClassifier):
    """Base of classifiers by committees: inputs, start, outputs."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IterativeClassifier._parameter_constraints,
        "n_units": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [StrOptions({"auto"}), _POSITIVE],
        "schedule": [StrOptions({"auto", *SCHEDULES})],
        "decay": [_NOT_NEGATIVE],
        "power_t": [_NOT_NEGATIVE],
        "init_scale": [_NOT_NEGATIVE],
        "standardize": ["boolean"],
        "encoding": [StrOptions({"auto", "hat"}), HasMethods(["fit", "transform"]), None],
        "n_jobs": [Integral, None],
    }
    _fixed_parameters: ClassVar[tuple[str, ...]] = ("standardize", "encoding", "n_units")
    _unit: ClassVar[str]  # what the core calls its units

    _state: dict[str, Any]
    learning_rate_: float

    # --------------------------------------------------------------------- what a model provides

    @property
    def _outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _targets(self) -> str:
        """What several classes mean to the core."""
        return "binary" if self._outputs == 1 else "one_against_rest"

    def _beta(self) -> float:
        return 0.0

    def _options(self) -> dict[str, Any]:
        """Options of the learner that not every model has."""
        return {
            "fit_intercept": False,
            "average": False,
            "dropout": 0.0,
            "lock_free": False,
        }

    # ------------------------------------------------------------------------------------ training

    def _learner(self, examples: Examples, *, resume: bool) -> CommitteeLearner:
        examples.X = self._encoded(examples.X, fit=not resume)
        if examples.X_val is not None:
            examples.X_val = self._encoded(examples.X_val)
        seed = self._seed()
        if resume:
            state = CommitteeState.from_dict(deepcopy(self._state))
        else:
            committees, width = int(getattr(self, "n_committees", 1)), examples.X.shape[1]
            state = CommitteeState.zero(committees, self._outputs, int(self.n_units), width)
            state.scaled = self.encoder_ is None
        learner = CommitteeLearner(
            examples,
            state,
            units=self._unit,
            targets=self._targets(),
            margin=self._beta(),
            centred=self.standardize,
            seed=seed,
            threads=effective_n_jobs(self.n_jobs),
            visited=self._rows_done,
            **self._options(),
        )
        if not resume:
            size = learner.mean_squared_norm() + 1.0  # of an input and the 1 of its bias
            learner.begin(float(self.init_scale) * np.sqrt(3.0 / size))
            self.learning_rate_ = AUTO_STEP / size
        if self.learning_rate != "auto":
            self.learning_rate_ = float(self.learning_rate)
        return learner

    def _encoded(self, X: ArrayLike, *, fit: bool = False) -> ArrayLike:
        if fit:
            self.encoder_ = self._make_encoder(X)
            if self.encoder_ is not None:
                self.encoder_.fit(X)
        if self.encoder_ is None:
            return X
        return check_array(
            self.encoder_.transform(X),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
        )

    def _make_encoder(self, X: ArrayLike) -> Any:
        if self.encoding is None:
            return None
        if not isinstance(self.encoding, str):
            return clone(self.encoding)
        wide = self.encoding == "auto" and X.shape[1] > MOST_ENCODED
        return HatEncoder(n_knots=None if wide else 16, standardize=self.standardize)

    def _rate(self) -> tuple[str, float, float, float]:
        return (self.schedule, self.learning_rate_, self.decay, self.power_t)

    def _schedule(self, *, online: bool = False) -> Schedule:
        if self.schedule == "auto":
            name = "constant" if online else "linear"
            return make_schedule(name, self.learning_rate_, epochs=self.max_iter)
        return super()._schedule(online=online)

    # ------------------------------------------------------------------------------------- results

    def _scores(self, X: ArrayLike) -> FloatArray:
        state, threads = CommitteeState.from_dict(self._state), effective_n_jobs(self.n_jobs)
        return committee_scores(self._encoded(X), state, self._unit, self.standardize, threads)

    def _units(self) -> FloatArray:
        """(committees, outputs, units, inputs + 1): the weights of each unit, and its bias."""
        v, b = CommitteeState.from_dict(self._state).model
        (committees, blocks, rows, _), outputs = v.shape, b.shape[1]
        v = v[:, :, : rows - 1].reshape(committees, outputs, blocks // outputs, rows - 1, UNITS)
        v = np.moveaxis(v, 3, 4).reshape(committees, outputs, -1, rows - 1)
        return np.asarray(v[:, :, : self._state["units"]])

    @property
    def hidden_coef_(self) -> FloatArray:
        """The weights v of encoded, standardised inputs."""
        return self._units()[..., :-1]

    @property
    def hidden_intercept_(self) -> FloatArray:
        """The biases a."""
        return self._units()[..., -1]

    @property
    def intercept_(self) -> FloatArray:
        """The output biases b."""
        return np.asarray(CommitteeState.from_dict(self._state).model[1])


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
    standardize : bool, default=True
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
        "margin": [StrOptions({"auto"}), _POSITIVE],
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
        standardize: bool = True,
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
        self.standardize = standardize
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


class NilssonMLPClassifier(CommitteeClassifier):
    r"""Nilsson MLP: a committee that votes by signs, corrected as little as possible (Alg. 8.3).

    .. math:: f(x) = \sum_{n=1}^N \operatorname{sign}(v_n \cdot x + a_n)

    with N odd. When an example is misclassified, :math:`y f(x) \le 0`, the
    :math:`\frac12 (|f(x)| + 1)` units that are wrong and nearest to being right are moved by
    :math:`\lambda y (x, 1)`. There is no margin: it is to the Simple MLP what the Perceptron is to
    the Margin Perceptron. More than two classes are learnt one against the rest.

    Parameters
    ----------
    n_units : int, default=201
        N, an odd number: no vote ends in a draw.
    learning_rate : float or "auto", default="auto"
        The step λ of the first epoch. "auto" is :math:`0.08 / (\overline{\|x\|^2} + 1)`.
    schedule : {"auto", "constant", "decay", "invscaling", "linear", "cosine", "one_cycle"}, \
            default="auto"
        How λ changes, as in `SimpleMLPClassifier`.
    decay : float, default=0.03
        λ/(1 + decay · epoch), for ``schedule="decay"``.
    power_t : float, default=0.5
        λ/(1 + epoch)^power_t, for ``schedule="invscaling"``.
    init_scale : float, default=0.5
        Weights begin uniform, so large that what units say has this standard deviation.
    encoding : {"auto", "hat"}, transformer or None, default=None
        As in `SimpleMLPClassifier`.
    standardize : bool, default=True
        Whether inputs get mean 0 and, without an encoding, variance 1; zeros stay untouched.
    max_iter : int, default=40
        The largest number of epochs.
    tol : float or None, default=None
        As in `SimpleMLPClassifier`.
    shuffle : bool, default=True
        Whether each epoch visits the examples in a new random order.
    early_stopping : bool, default=False
        As in `SimpleMLPClassifier`.
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
        Threads for more than two classes and for prediction; the result does not depend on it.
    verbose : int, default=0
        Whether to print a line an epoch.
    random_state : int, RandomState instance or None, default=None
        Seeds the first weights, the orders and the held-out part.

    Attributes
    ----------
    learning_rate_, hidden_coef_, hidden_intercept_, encoder_, classes_, n_updates_ :
        As in `SimpleMLPClassifier`.
    history_, n_iter_, best_iter_, converged_, stop_reason_, fit_time_ :
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

    _parameter_constraints: ClassVar[dict[str, Any]] = CommitteeClassifier._parameter_constraints
    _unit: ClassVar[str] = "sign"

    def __init__(
        self,
        *,
        n_units: int = 201,
        learning_rate: float | str = "auto",
        schedule: str = "auto",
        decay: float = 0.03,
        power_t: float = 0.5,
        init_scale: float = 0.5,
        encoding: Any = None,
        standardize: bool = True,
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
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.decay = decay
        self.power_t = power_t
        self.init_scale = init_scale
        self.encoding = encoding
        self.standardize = standardize
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

    def _learner(self, examples: Examples, *, resume: bool) -> CommitteeLearner:
        if self.n_units % 2 == 0:
            raise ValueError(
                f"n_units={self.n_units} is even, and votes could end in a draw; "
                f"use n_units={self.n_units + 1}"
            )
        return super()._learner(examples, resume=resume)

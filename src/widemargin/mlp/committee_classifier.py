"""The base of committees: encoding of inputs, first weights, outputs."""

from abc import abstractmethod
from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.rows import INPUTS
from widemargin.inputs.scaling import SCALING_CONSTRAINT, Scaling
from widemargin.inputs.threads import thread_count
from widemargin.mlp.committee import CommitteeLearner
from widemargin.mlp.committee_state import CommitteeState, committee_scores
from widemargin.mlp.hat_encoder import HatEncoder
from widemargin.schedules import SCHEDULES, Schedule, make_schedule
from widemargin.training.estimators import Examples, IterativeClassifier

__all__ = ["CommitteeClassifier"]

AUTO_STEP = 0.08  # change of a unit's output for an example by one update on it
MAX_INPUTS_WITH_HATS = 200  # of encoding="auto"
MAX_KNOTS = 16  # per input, of encoding="auto"
MIN_KNOTS = 4  # for few rows
ROOT_ROWS_PER_KNOT = 5.0  # L rows get sqrt(L) / 5 knots
OPERATIONS_PER_SCORING_THREAD = 2_000_000  # products that make another thread worthwhile
_POSITIVE = Interval(Real, 0, None, closed="neither")
_NOT_NEGATIVE = Interval(Real, 0, None, closed="left")


class CommitteeClassifier(IterativeClassifier):
    """Base of committees of perceptrons."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IterativeClassifier._parameter_constraints,
        "n_units": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [StrOptions({"auto"}), _POSITIVE],
        "schedule": [StrOptions({"auto", *SCHEDULES})],
        "decay": [_NOT_NEGATIVE],
        "power_t": [_NOT_NEGATIVE],
        "init_scale": [_NOT_NEGATIVE],
        "scaling": SCALING_CONSTRAINT,
        "encoding": [StrOptions({"auto", "hat"}), HasMethods(["fit", "transform"]), None],
        "n_jobs": [Integral, None],
    }
    _fixed_parameters: ClassVar[tuple[str, ...]] = ("scaling", "encoding", "n_units")
    _unit: ClassVar[str]  # the transfer function of units, as the core calls it

    _state: dict[str, Any]
    learning_rate_: float
    margin_: float
    geometric_margin_: float

    # --------------------------------------------------------------------- what a model provides

    @property
    def _outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _targets(self) -> str:
        """How the core treats several classes."""
        return "binary" if self._outputs == 1 else "one_against_rest"

    def _n_units(self) -> int:
        """Units N of a committee."""
        return int(self.n_units)

    @abstractmethod
    def _beta(self, rows: int | None) -> float:
        """The margin β for this many examples; None if more will come (online learning)."""

    def _margin_unit(self) -> float:
        return self._trained_margin() or 1.0

    def _options(self) -> dict[str, Any]:
        """Options of the learner that not every model has."""
        return {"fit_intercept": False, "average": False, "dropout": 0.0}

    # ------------------------------------------------------------------------------------ training

    def _learner(self, examples: Examples, *, resume: bool) -> CommitteeLearner:
        rows = None if examples.online else len(examples.order)
        examples.X = self._encoded(examples.X, fit=not resume, rows=rows)
        if examples.X_val is not None:
            examples.X_val = self._encoded(examples.X_val)
        seed = self._seed()
        if resume:
            state = CommitteeState.from_dict(deepcopy(self._state), self.scaling)
        else:
            committees, divide = int(getattr(self, "n_committees", 1)), self.encoder_ is None
            scaling = Scaling.empty(self.scaling, examples.X.shape[1], divide=divide)
            state = CommitteeState.zero(committees, self._outputs, self._n_units(), scaling)
        automatic = resume and self.margin == "auto"
        self.margin_ = self._trained_margin() if automatic else self._beta(rows)
        learner = CommitteeLearner(
            examples,
            state,
            units=self._unit,
            targets=self._targets(),
            margin=self.margin_,
            seed=seed,
            n_jobs=self.n_jobs,
            visited=self._rows_done,
            **self._options(),
        )
        if not resume:
            squared_norm = learner.mean_squared_norm() + 1.0  # of (x, 1): the 1 is for the bias
            learner.initialize(float(self.init_scale) * np.sqrt(3.0 / squared_norm))
            self.learning_rate_ = AUTO_STEP / squared_norm
        if self.learning_rate != "auto":
            self.learning_rate_ = float(self.learning_rate)
        return learner

    def _trained_margin(self) -> float:
        """β of the last fit. Older model files hold only the geometric margin."""
        if "margin_" not in vars(self):
            return float(self.geometric_margin_ * np.sqrt(self._state["units"]) / 2.0)
        return self.margin_

    def _encoded(self, X: ArrayLike, *, fit: bool = False, rows: int | None = None) -> ArrayLike:
        """Encoded inputs; `fit` makes the encoder, for this many rows (None: more will come)."""
        if fit:
            self.encoder_ = self._make_encoder(X, rows)
            if isinstance(self.encoder_, HatEncoder):
                self.encoder_.fit_validated(X)
            elif self.encoder_ is not None:
                self.encoder_.fit(X)
        if self.encoder_ is None:
            return X
        if isinstance(self.encoder_, HatEncoder):
            return self.encoder_.transform_validated(X)
        return check_array(self.encoder_.transform(X), **INPUTS)

    def _make_encoder(self, X: ArrayLike, rows: int | None) -> Any:
        if self.encoding is None:
            return None
        if not isinstance(self.encoding, str):
            return clone(self.encoding)
        knots: int | None = MAX_KNOTS
        if self.encoding == "auto" and X.shape[1] > MAX_INPUTS_WITH_HATS:
            knots = None
        elif self.encoding == "auto" and rows is not None:
            knots = int(np.clip(np.sqrt(rows) / ROOT_ROWS_PER_KNOT, MIN_KNOTS, MAX_KNOTS))
        return HatEncoder(n_knots=knots, scaling=self.scaling)

    def _rate(self) -> tuple[str, float, float, float]:
        return (self.schedule, self.learning_rate_, self.decay, self.power_t)

    def _schedule(self, epochs: int, *, online: bool = False) -> Schedule:
        if self.schedule == "auto":
            name = "constant" if online else "linear"
            return make_schedule(name, self.learning_rate_, epochs=epochs)
        return super()._schedule(epochs, online=online)

    # ------------------------------------------------------------------------------------- results

    def _scores(self, X: ArrayLike) -> FloatArray:
        X, state = self._encoded(X), self._committee_state()
        operations = X.shape[0] * state.operations_per_row(X)
        threads = thread_count(self.n_jobs, operations / OPERATIONS_PER_SCORING_THREAD)
        return committee_scores(X, state, self._unit, threads)

    def _committee_state(self) -> CommitteeState:
        return CommitteeState.from_dict(self._state, self.scaling)

    @property
    def coefs_(self) -> list[NDArray[Any]]:
        """Weights of the units, for encoded and scaled inputs, and output weights, which are 1."""
        v, a, _ = self._committee_state().layers()
        return [v, np.ones((*a.shape, 1))]

    @property
    def intercepts_(self) -> list[NDArray[Any]]:
        """Biases of the units, and output biases."""
        _, a, b = self._committee_state().layers()
        return [a, b[..., None]]

"""What classifiers by committees share: inputs and their encoding, the start, outputs."""

from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.rows import INPUTS
from widemargin.inputs.scaling import SCALING_CONSTRAINT, Scaling
from widemargin.mlp.committee import CommitteeLearner
from widemargin.mlp.committee_state import UNITS, CommitteeState, committee_scores
from widemargin.mlp.hat_encoder import HatEncoder
from widemargin.schedules import SCHEDULES, Schedule, make_schedule
from widemargin.training.estimators import Examples, IterativeClassifier

__all__ = ["CommitteeClassifier"]

AUTO_STEP = 0.08  # by how much an update moves the unit's own output for its example
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
        "scaling": SCALING_CONSTRAINT,
        "encoding": [StrOptions({"auto", "hat"}), HasMethods(["fit", "transform"]), None],
        "n_jobs": [Integral, None],
    }
    _fixed_parameters: ClassVar[tuple[str, ...]] = ("scaling", "encoding", "n_units")
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
            state = CommitteeState.from_dict(deepcopy(self._state), self.scaling)
        else:
            committees, divide = int(getattr(self, "n_committees", 1)), self.encoder_ is None
            scaling = Scaling.empty(self.scaling, examples.X.shape[1], divide=divide)
            state = CommitteeState.zero(committees, self._outputs, int(self.n_units), scaling)
        learner = CommitteeLearner(
            examples,
            state,
            units=self._unit,
            targets=self._targets(),
            margin=self._beta(),
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
            if isinstance(self.encoder_, HatEncoder):
                self.encoder_.fit_validated(X)
            elif self.encoder_ is not None:
                self.encoder_.fit(X)
        if self.encoder_ is None:
            return X
        if isinstance(self.encoder_, HatEncoder):
            return self.encoder_.transform_validated(X)
        return check_array(self.encoder_.transform(X), **INPUTS)

    def _make_encoder(self, X: ArrayLike) -> Any:
        if self.encoding is None:
            return None
        if not isinstance(self.encoding, str):
            return clone(self.encoding)
        wide = self.encoding == "auto" and X.shape[1] > MOST_ENCODED
        return HatEncoder(n_knots=None if wide else 16, scaling=self.scaling)

    def _rate(self) -> tuple[str, float, float, float]:
        return (self.schedule, self.learning_rate_, self.decay, self.power_t)

    def _schedule(self, *, online: bool = False) -> Schedule:
        if self.schedule == "auto":
            name = "constant" if online else "linear"
            return make_schedule(name, self.learning_rate_, epochs=self.max_iter)
        return super()._schedule(online=online)

    # ------------------------------------------------------------------------------------- results

    def _scores(self, X: ArrayLike) -> FloatArray:
        state = CommitteeState.from_dict(self._state, self.scaling)
        return committee_scores(self._encoded(X), state, self._unit, effective_n_jobs(self.n_jobs))

    def _units(self) -> FloatArray:
        """(committees, outputs, units, inputs + 1): the weights of each unit, and its bias."""
        v, b = CommitteeState.from_dict(self._state, self.scaling).model
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
        return np.asarray(CommitteeState.from_dict(self._state, self.scaling).model[1])

r"""The base of linear classifiers :math:`f(x) = w \cdot \Phi(x) + b`, by stochastic gradient."""

from abc import abstractmethod
from copy import deepcopy
from numbers import Integral
from typing import Any, ClassVar

import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils import check_array
from sklearn.utils._param_validation import HasMethods, StrOptions

from widemargin._typing import ArrayLike, FloatArray
from widemargin.criteria import Criterion
from widemargin.inputs.rows import INPUTS, checked_rows, decision
from widemargin.inputs.scaling import SCALING_CONSTRAINT, Scaling
from widemargin.inputs.threads import thread_count
from widemargin.perceptrons.feature_scaler import FeatureScaler
from widemargin.perceptrons.linear_learner import LinearLearner, LinearState
from widemargin.training.estimators import Examples, IterativeClassifier
from widemargin.training.loop import CONVERGENCE

__all__ = ["LinearClassifier"]

OPERATIONS_PER_THREAD = 1 << 19  # with fewer, another thread would cost more than it saves

FEATURE_MAPS: dict[str, Any] = {
    "polynomial": lambda seed: PolynomialFeatures(degree=2, include_bias=False),
    "fourier": lambda seed: RBFSampler(gamma="scale", n_components=500, random_state=seed),
    "nystroem": lambda seed: Nystroem(n_components=500, random_state=seed),
}


class LinearClassifier(IterativeClassifier):
    """Base of linear machines over inputs or over a feature map Φ (Φ-machines, thesis 3.3)."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IterativeClassifier._parameter_constraints,
        "fit_intercept": ["boolean"],
        "scaling": SCALING_CONSTRAINT,
        "average": ["boolean"],
        "feature_map": [StrOptions(set(FEATURE_MAPS)), HasMethods(["fit", "transform"]), None],
        "n_jobs": [Integral, None],
    }
    _fixed_parameters: ClassVar[tuple[str, ...]] = ("feature_map", "scaling")

    _known_statistics: dict[str, Any] | None = None  # of a first pass over a stream

    @abstractmethod
    def _criterion(self) -> Criterion:
        """What the model minimises."""

    # ------------------------------------------------------------------------------------ training

    def _learner(self, examples: Examples, *, resume: bool) -> LinearLearner:
        examples.X = self._map_features(examples.X, fit=not resume)
        if examples.X_val is not None:
            examples.X_val = self._map_features(examples.X_val)
        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        state = self._resume() if resume else self._first_state(examples.X.shape[1], outputs)
        useful = min(outputs, _useful_threads(examples.X, outputs))
        return self._linear_learner(
            examples,
            state,
            self._criterion(),
            fit_intercept=self.fit_intercept,
            threads=thread_count(self.n_jobs, useful),
        )

    def _linear_learner(
        self, examples: Examples, state: LinearState, criterion: Criterion, **options: Any
    ) -> LinearLearner:
        """The learner that trains the state."""
        return LinearLearner(examples, state, criterion, **options)

    def _first_state(self, width: int, outputs: int) -> LinearState:
        scaling = Scaling.empty(self.scaling, width)
        if self._known_statistics is not None:
            scaling = Scaling.from_dict(self.scaling, self._known_statistics | {"fixed": True})
            del self._known_statistics
        return LinearState.zero(outputs, scaling, average=self.average)

    def _resume(self) -> LinearState:
        saved = self._state
        if self.average and saved["sum_w"] is None:
            raise ValueError(
                "average=True needs the mean from the first step on; fit without warm_start"
            )
        names = ("w", "c", "sum_w", "sum_c", "steps")
        w, c, sum_w, sum_c, steps = (saved[name] for name in names)
        if not self.average:
            sum_w = sum_c = None
        scaling = Scaling.from_dict(saved.get("kind", self.scaling), saved)
        return deepcopy(LinearState(w, c, sum_w, sum_c, steps, self.n_updates_, scaling))

    @property
    def _convergence(self) -> frozenset[str]:
        """Without weight decay, an epoch without an update."""
        return frozenset({"no_update"}) if self._needed_epochs() is None else CONVERGENCE

    # ------------------------------------------------------------------------------------- streams

    def _check_statistics(self) -> None:
        if self.scaling != "standard":
            super()._check_statistics()
        if self.feature_map is not None:
            raise ValueError(
                f"statistics='first pass' does not work with feature_map={self.feature_map!r}, "
                "which is fitted to the first chunk; use statistics='running'"
            )
        if self._begun:
            raise ValueError(
                "statistics='first pass' needs a new model, but this "
                f"{type(self).__name__} is fitted; use statistics='running', or clone it"
            )

    def _use_statistics(self, statistics: dict[str, Any]) -> None:
        self._known_statistics = statistics

    # ------------------------------------------------------------------------------------- outputs

    def _map_features(self, X: ArrayLike, *, fit: bool = False) -> ArrayLike:
        if self.feature_map is None:
            return X
        if fit:
            self.feature_map_ = self._make_feature_map().fit(X)
        return checked_rows(check_array(self.feature_map_.transform(X), **INPUTS))

    def _make_feature_map(self) -> Any:
        if not isinstance(self.feature_map, str):
            return clone(self.feature_map)
        named = FEATURE_MAPS[self.feature_map](self._seed())
        return make_pipeline(FeatureScaler(), named)

    def _scores(self, X: ArrayLike) -> FloatArray:
        X = self._map_features(X)
        threads = thread_count(self.n_jobs, _useful_threads(X, len(self.coef_)))
        return decision(X, self.coef_, self.intercept_, threads=threads)


def _useful_threads(X: ArrayLike, outputs: int) -> int:
    """How many threads a pass over X keeps busy."""
    stored = X.nnz if sp.issparse(X) else X.shape[0] * X.shape[1]
    return 1 + int(stored) * outputs // OPERATIONS_PER_THREAD

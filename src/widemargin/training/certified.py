"""The one fit of machines that prove how near to the optimum they are: kernel and linear SVMs.

`CertifiedMachine` does what both need once: validation, weights, callbacks, Ctrl-C and the clock,
starts from an earlier solution, the summary, the warning. A family of machines gives it a
`ProblemSet`, which solves the problems of one fit, and a `PathState` for the fits along C.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.labels import example_weights
from widemargin.inputs.threads import thread_count
from widemargin.training.control import REASONS, Control, Watcher, interrupt_flag
from widemargin.training.display import CertificateDisplay
from widemargin.training.model import all_or_nothing
from widemargin.training.outputs import predicted_codes
from widemargin.training.report import warn_early
from widemargin.training.time_limit import current_limit, limited

__all__ = [
    "CertifiedClassifier",
    "CertifiedMachine",
    "CertifiedRegressor",
    "Finish",
    "PathState",
    "ProblemSet",
    "Solution",
    "WeightedExamples",
    "number_or_array",
]


class Solution(Protocol):
    """Where a problem was left, and between which costs its optimum is."""

    @property
    def primal(self) -> float: ...
    @property
    def dual(self) -> float: ...
    @property
    def gap(self) -> float: ...
    @property
    def reason(self) -> str: ...


class PathState:
    """What a fit along C leaves to the fit of the next C; each family has its own."""


class WeightedExamples(NamedTuple):
    """Inputs, targets and weights; None when all weights are one."""

    X: ArrayLike
    y: ArrayLike
    weights: FloatArray | None


class Finish(NamedTuple):
    """How the work that follows the solutions ended, such as the calibration of probabilities."""

    reason: str = "tol"
    note: str = ""  # what it left undone, for the warning


class ProblemSet(ABC):
    """The problems of one fit: where they start, how they are solved, the model they make."""

    #: The fraction of the time limit that is kept for `finish`.
    finish_share: float = 0.0

    @abstractmethod
    def resume(self, before: Mapping[str, Any]) -> bool:
        """Start from an earlier solution, if its problems were these but for numbers.

        `before` are the attributes that the machine had before this fit.
        """

    def watch(self, held_out: WeightedExamples | None) -> None:
        """Validation examples of this fit, for machines that they may stop."""
        del held_out  # others score them when they are done

    @abstractmethod
    def unsolved(self) -> list[Any]:
        """The solutions before any work is done."""

    @abstractmethod
    def solve(self, control: Control, watcher: Watcher | None) -> list[Any]:
        """The solutions of all problems."""

    @abstractmethod
    def attributes(self, solutions: Sequence[Any]) -> dict[str, Any]:
        """The fitted attributes that predictions need."""

    @abstractmethod
    def finish(self, control: Control) -> Finish:
        """Learn what follows from these attributes, within the same time limit."""

    @abstractmethod
    def summary(self, solutions: Sequence[Any]) -> dict[str, Any]:
        """Attributes that say how the fit went, beside those that all machines have."""

    @abstractmethod
    def remainder(self, early: Sequence[Any]) -> str:
        """What these solutions, which stopped early, leave to gain: a phrase for the warning."""


class CertifiedMachine(CertificateDisplay, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Base of machines whose fit ends with a certificate."""

    #: What to do when a fit stops for this reason.
    _remedies: ClassVar[dict[str, str]]
    history_: list[dict[str, float]]
    validation_error_: float

    # ------------------------------------------------------------------- what models override

    @abstractmethod
    def _check_fit(self, X: ArrayLike, y: ArrayLike) -> tuple[ArrayLike, ArrayLike]:
        """Checked inputs and targets of `fit`; what they are is noted in attributes."""

    @abstractmethod
    def _check_inputs(self, X: ArrayLike) -> ArrayLike:
        """Checked inputs to predict from."""

    @abstractmethod
    def _weights(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> FloatArray | None:
        """Weights of the examples; None when all are one."""

    @abstractmethod
    def _problem_set(
        self, X: ArrayLike, y: ArrayLike, weights: FloatArray | None, path: Any
    ) -> ProblemSet:
        """What this fit has to solve."""

    @abstractmethod
    def _path_state(self, Cs: FloatArray) -> PathState:
        """What the fits of these C, in ascending order, will hand on."""

    @abstractmethod
    def _outputs(self, X: ArrayLike) -> FloatArray:
        """f(x) of checked inputs, one column per output."""

    @abstractmethod
    def _decide(self, outputs: FloatArray) -> Any:
        """The predictions that these outputs mean."""

    @abstractmethod
    def _check_targets(self, y_val: ArrayLike) -> ArrayLike:
        """Checked targets of validation examples."""

    @abstractmethod
    def _error(self, y: ArrayLike, predicted: ArrayLike, weights: FloatArray | None) -> float:
        """The error of predictions on validation examples."""

    # -------------------------------------------------------------------------------------- fit

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        X_val: ArrayLike = None,
        y_val: ArrayLike = None,
        sample_weight_val: ArrayLike = None,
    ) -> Self:
        """Train the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples; kernel values of shape (n_samples, n_samples) for a precomputed kernel.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0, which multiply the cost of an example's error; examples of weight zero
            are left out.
        X_val, y_val, sample_weight_val : optional
            Validation examples, which are scored when the fit ends: see `validation_error_`.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._train(X, y, sample_weight, (X_val, y_val, sample_weight_val))

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def _fit_on_path(
        self, path: PathState, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike
    ) -> Self:
        """`fit` for the next C of a path."""
        return self._train(X, y, sample_weight, path=path)

    @limited
    def _train(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike,
        validation: tuple[ArrayLike, ...] = (None, None, None),
        path: PathState | None = None,
    ) -> Self:
        given, before = X, dict(vars(self))  # callbacks get X as it came: a frame keeps its names
        X, y = self._check_fit(X, y)
        weights = self._weights(X, y, sample_weight)
        held_out = self._check_validation(*validation)
        problems = self._problem_set(X, y, weights, path)
        problems.watch(held_out)
        resumed = (self.warm_start or path is not None) and problems.resume(before)
        history = list(before["history_"]) if resumed and path is None else []

        context = self._init_callback_context(max_subtasks=None)
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        arguments = {"X": given, "y": y, "metadata": metadata}
        context.call_on_fit_task_begin(estimator=self, **arguments)
        watcher = None
        if getattr(self, "_skl_callbacks", None):
            watcher = Watcher(self, context, arguments, problems.unsolved(), problems.attributes)
        with interrupt_flag() as interrupted:
            control = Control(type(self).__name__, interrupted, current_limit(), self.verbose)
            share = problems.finish_share
            first = control.within((1.0 - share) * control.left) if share else control
            solutions = problems.solve(first, watcher)
            found = problems.attributes(solutions)
            self.__dict__.update(found)
            finish = problems.finish(control)
            self.__dict__.update(_summary(solutions, finish), **problems.summary(solutions))
            self.history_, self.fit_time_ = history + control.history, control.seconds()
            self._score(held_out)
        context.call_on_fit_task_end(estimator=self, reconstruction_attributes=found, **arguments)
        early = [solution for solution in solutions if solution.reason != "tol"]
        left = problems.remainder(early) if early else ""
        if early and len(solutions) > 1:
            left += f", in {len(early)} of {len(solutions)} problems"
        warn_early(self, left, finish.note, given, y, sample_weight)
        return self

    # ------------------------------------------------------------------------------- validation

    def _check_validation(
        self, X_val: ArrayLike, y_val: ArrayLike, sample_weight_val: ArrayLike
    ) -> WeightedExamples | None:
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val go together; give both or neither")
        if X_val is None:
            if sample_weight_val is not None:
                raise ValueError(
                    "sample_weight_val was given without X_val and y_val; give them too"
                )
            return None
        X_val, y_val = self._check_inputs(X_val), self._check_targets(y_val)
        check_consistent_length(X_val, y_val)
        weights = None
        if sample_weight_val is not None:
            weights = _check_sample_weight(
                sample_weight_val, X_val, dtype=np.float64, ensure_non_negative=True
            )
        return WeightedExamples(X_val, y_val, weights)

    def _score(self, held_out: WeightedExamples | None) -> None:
        """The error on the validation examples, also in the last record of the history."""
        if held_out is None:
            if hasattr(self, "validation_error_"):
                del self.validation_error_  # of an earlier fit
            return
        predicted = self._decide(self._outputs(held_out.X))
        self.validation_error_ = self._error(held_out.y, predicted, held_out.weights)
        if self.history_:
            last = {**self.history_[-1], "validation_error": self.validation_error_}
            self.history_ = [*self.history_[:-1], last]

    # ---------------------------------------------------------------------------------- outputs

    def _check_predict(self, X: ArrayLike) -> ArrayLike:
        check_is_fitted(self)
        return self._check_inputs(X)

    @property
    def _threads(self) -> int:
        return thread_count(self.n_jobs)


class CertifiedClassifier(ClassifierMixin):  # type: ignore[misc]
    """What a certified machine needs to be a classifier, beside its outputs."""

    classes_: ArrayLike
    class_weight: ArrayLike

    def predict(self, X: ArrayLike) -> Any:
        """The class of each example; sign(0) = −1, the first of two classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples; kernel values of shape (n_samples, n_training_samples) for a
            precomputed kernel.

        Returns
        -------
        ndarray of shape (n_samples,)
            Their classes.
        """
        return self._decide(self._outputs(self._check_predict(X)))

    def _weights(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> FloatArray | None:
        return example_weights(
            X, y, sample_weight, self.class_weight, self.classes_, every_class=True
        )

    def _check_targets(self, y_val: ArrayLike) -> ArrayLike:
        y_val = column_or_1d(y_val, input_name="y_val")
        if len(unknown := np.setdiff1d(y_val, self.classes_)):
            raise ValueError(
                f"y_val has the class {unknown.tolist()[0]!r}, which y does not have; remove its "
                "examples from the validation set, or add some to the training set"
            )
        return y_val

    def _decide(self, outputs: FloatArray) -> Any:
        return self.classes_[predicted_codes(outputs)]

    def _error(self, y: ArrayLike, predicted: ArrayLike, weights: FloatArray | None) -> float:
        """The fraction of the weight that is misclassified."""
        return float(np.average(np.asarray(y) != predicted, weights=weights))


class CertifiedRegressor(RegressorMixin):  # type: ignore[misc]
    """What a certified machine needs to be a regression, beside its outputs."""

    def predict(self, X: ArrayLike) -> FloatArray:
        """f(x) of each example.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples; kernel values of shape (n_samples, n_training_samples) for a
            precomputed kernel.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predictions.
        """
        return self._decide(self._outputs(self._check_predict(X)))

    def _weights(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> FloatArray | None:
        return example_weights(X, y, sample_weight, None, None)

    def _check_targets(self, y_val: ArrayLike) -> ArrayLike:
        y_val = column_or_1d(y_val, dtype=np.float64, input_name="y_val")
        assert_all_finite(y_val, input_name="y_val")
        return y_val

    def _error(self, y: ArrayLike, predicted: ArrayLike, weights: FloatArray | None) -> float:
        """1 − R², the fraction of the variance that is not explained."""
        return float(1.0 - r2_score(y, predicted, sample_weight=weights))

    def _decide(self, outputs: FloatArray) -> FloatArray:
        return outputs[:, 0]


def number_or_array(values: Sequence[float]) -> Any:
    """The number of a single problem, or an array with one number per problem."""
    return np.array(values) if len(values) > 1 else values[0]


def _summary(solutions: Sequence[Solution], finish: Finish) -> dict[str, Any]:
    """The attributes of every certified machine that say how the fit went."""
    reasons = [solution.reason for solution in solutions]
    return {
        "primal_objective_": number_or_array([solution.primal for solution in solutions]),
        "dual_objective_": number_or_array([solution.dual for solution in solutions]),
        "duality_gap_": number_or_array([solution.gap for solution in solutions]),
        "converged_": set(reasons) == {"tol"},
        "stop_reason_": min([*reasons, finish.reason], key=REASONS.index),
    }

"""What iterative models share around the training loop: validation, warm starts, results."""

import re
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import validate_data

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.labels import counted_rows, example_weights
from widemargin.inputs.rows import INPUTS, checked_rows
from widemargin.schedules import Schedule, make_schedule
from widemargin.training.control import interrupt_flag
from widemargin.training.display import CertificateDisplay
from widemargin.training.loop import CONVERGENCE, Learner, Outcome, Plan, train
from widemargin.training.report import warn_unfinished
from widemargin.training.streamed import StreamedModel
from widemargin.training.time_limit import current_limit, limited

LOOP_CONSTRAINTS: dict[str, Any] = {
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left"), None],
    "shuffle": ["boolean"],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    "warm_start": ["boolean"],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}


Method = TypeVar("Method", bound=Callable[..., Any])


def all_or_nothing(fit: Method) -> Method:
    """Makes a fit that fails leave the estimator as it was: unfitted, or with its last model."""

    @wraps(fit)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            for name in set(vars(self)) - set(before):
                if not name.startswith(("_callback_", "_skl_")):  # scikit-learn clears these
                    delattr(self, name)
            vars(self).update(before)
            raise

    return wrapper  # type: ignore[return-value]


def comparable(value: Any) -> Any:
    """A parameter in a form that `==` can compare later: a transformer's text without addresses."""
    if value is None or isinstance(value, (str, Real, np.bool_)) or callable(value):
        return value
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


@dataclass
class Examples:
    """Validated training data, from which a model makes its learner."""

    X: ArrayLike
    y: FloatArray  # ±1, class codes when there are more than two classes, or values to predict
    weights: FloatArray | None
    order: IntArray  # the examples to train on
    repeated: bool = True  # whether they are visited more than once
    online: bool = False  # whether they are some of many, given to `partial_fit`
    X_val: ArrayLike | None = None
    y_val: FloatArray | None = None
    weights_val: FloatArray | None = None


class IterativeModel(StreamedModel, CertificateDisplay, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Base of models trained by `widemargin.training.loop.train`."""

    _parameter_constraints: ClassVar[dict[str, Any]] = LOOP_CONSTRAINTS

    #: Parameters of the space the weights live in: training cannot resume after they change.
    _fixed_parameters: ClassVar[tuple[str, ...]] = ("scaling",)

    #: What scikit-learn's validation is told about y.
    _y_options: ClassVar[dict[str, Any]] = {}

    # ------------------------------------------------------------ what a model must provide

    @abstractmethod
    def _learner(self, examples: Examples, *, resume: bool) -> Learner:
        """The learner for these examples; `resume` keeps what was learnt before."""

    @abstractmethod
    def _scores(self, X: ArrayLike) -> FloatArray:
        """f(x) of validated inputs, one column per output."""

    def _rate(self) -> tuple[str, float, float, float]:
        """The schedule's name, λ, decay and exponent."""
        return ("constant", 1.0, 0.0, 0.0)

    def _tolerance(self) -> float | None:
        """`tol` in the units of what is monitored."""
        return None if self.tol is None else float(self.tol)

    def _needed_epochs(self) -> float | None:
        """Epochs that weight decay takes at least (Theorem 8.1); None without weight decay."""
        return None

    @property
    def _convergence(self) -> frozenset[str]:
        """The reasons to stop that make `converged_` True."""
        return CONVERGENCE

    def _require_online(self) -> None:
        """Raises AttributeError, naming the remedy, if these parameters allow no `partial_fit`."""

    # --------------------------------------- what classifiers and regressions must provide

    @property
    @abstractmethod
    def _begun(self) -> bool:
        """Whether there is a state to resume from."""

    @abstractmethod
    def _take_targets(self, y: ArrayLike, *, resume: bool) -> None:
        """Checks the targets of `fit`; learns what they are, unless that is known."""

    @abstractmethod
    def _encode(self, y: ArrayLike) -> FloatArray:
        """Targets as learners see them."""

    @abstractmethod
    def _weights(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> FloatArray | None:
        """Weights of the examples; None when all are one."""

    @abstractmethod
    def _strata(self, y: ArrayLike) -> ArrayLike:
        """What held-out examples must have in the same proportions, if anything."""

    # --------------------------------------------------------------------------- interface

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @all_or_nothing
    @limited
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        X_val: ArrayLike = None,
        y_val: ArrayLike = None,
        sample_weight_val: ArrayLike = None,
    ) -> Self:
        """Trains the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their classes, or the values to predict.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0: an example's step is multiplied by its weight; in networks, committees and
            mixtures by its weight relative to the mean weight.
        X_val, y_val : array-like, optional
            Validation examples for early stopping, instead of a fraction of the training set.
        sample_weight_val : array-like of shape (n_validation,), optional
            Weights ≥ 0 of the validation examples, for their criterion and error.

        Returns
        -------
        self
            The fitted estimator.
        """
        resume = self.warm_start and self._begun
        given = X  # for callbacks: a frame keeps its names
        X, y = self._check_X(X, y, reset=not resume)
        if resume:
            self._check_unchanged()
        else:
            self._forget()
        self._take_targets(y, resume=resume)
        validation = self._validation(X_val, y_val, sample_weight_val)
        with interrupt_flag():  # Ctrl-C during the preparation ends training after one step
            examples = self._examples(X, y, sample_weight, validation)
            return self._run(self._learner(examples, resume=resume), given, y, sample_weight)

    def _run(
        self,
        learner: Learner,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike,
    ) -> Self:
        """Trains by the parameters of the loop, with callbacks, and keeps what was learnt."""
        epochs = self._max_epochs(len(learner.order))
        context = self._init_callback_context(max_subtasks=epochs)
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        arguments = {"X": X, "y": y, "metadata": metadata}
        context.call_on_fit_task_begin(estimator=self, **arguments)
        needed = self._needed_epochs()
        plan = Plan(
            max_iter=epochs,
            max_updates=getattr(self, "max_updates", None),
            rate=self._schedule(epochs),
            decay=needed is not None,
            needed=needed or 0.0,
            seed=self._seed() if self.shuffle else None,
            replacement=self.shuffle == "replacement",
            first_epoch=self._epochs_done,
            first_row=self._rows_done,
            tol=self._tolerance(),
            n_iter_no_change=self.n_iter_no_change,
            limit=current_limit(),
            verbose=self.verbose,
            convergence=self._convergence,
        )
        outcome = train(self, learner, plan, context, arguments)
        self._conclude(learner, outcome)
        context.call_on_fit_task_end(
            estimator=self, reconstruction_attributes=learner.attributes, **arguments
        )
        warn_unfinished(self, plan, outcome, *self._to_compare(X, y, sample_weight))
        return self

    def _to_compare(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> Any:
        """Training examples that tell whether a model that was cut off is worse than a constant."""
        return X, y, sample_weight

    def _train_on(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike, first: bool) -> Self:
        """One pass over more examples, in the order given: what `partial_fit` does."""
        if self.early_stopping:
            raise ValueError(
                "early_stopping=True needs several epochs and does not work with partial_fit; "
                "set early_stopping=False, or use fit"
            )
        examples = self._examples(X, y, sample_weight, split=False)
        with interrupt_flag():
            learner = self._learner(examples, resume=not first)
            schedule = self._schedule(1, online=True)
            if schedule.epochs is not None:
                raise ValueError(
                    f"the schedule {self._rate()[0]!r} ends after max_iter epochs, but partial_fit "
                    "has no last epoch; use 'constant', 'decay' or 'invscaling', or fit"
                )
            decayed = self._needed_epochs() is not None
            plan = Plan(max_iter=1, rate=schedule, decay=decayed, first_epoch=self._epochs_done)
            outcome = train(self, learner, plan)
            self._conclude(learner, outcome)
        warn_unfinished(self, plan, outcome)
        return self

    # ----------------------------------------------------------------------------- helpers

    @property
    def _validates(self) -> bool:
        """Whether `fit` needs validation examples."""
        return bool(self.early_stopping)

    def _check_X(self, X: ArrayLike, y: ArrayLike = "no_validation", *, reset: bool = False) -> Any:
        """Validated inputs, or inputs and targets."""
        if isinstance(y, str):
            return checked_rows(validate_data(self, X, reset=reset, **INPUTS))
        X, y = validate_data(self, X, y, reset=reset, **INPUTS, **self._y_options)
        return checked_rows(X), y

    def _max_epochs(self, rows: int) -> int:
        """Epochs of `fit` at most, for this many examples."""
        return int(self.max_iter)

    def _schedule(self, epochs: int, *, online: bool = False) -> Schedule:
        """Of `fit`, with this many epochs, or of `partial_fit`."""
        name, rate, decay, power_t = self._rate()
        return make_schedule(name, rate, decay=decay, power_t=power_t, epochs=epochs)

    def _examples(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike,
        validation: tuple[ArrayLike, ...] | None = None,
        *,
        split: bool = True,
    ) -> Examples:
        """Encoded examples, with given or held-out validation examples if `fit` needs them."""
        codes = self._encode(y)
        weights = self._weights(X, y, sample_weight)
        order = counted_rows(X.shape[0], weights)
        examples = Examples(X, codes, weights, order)
        examples.repeated, examples.online = split and self.max_iter != 1, not split
        if validation is not None:
            examples.X_val, y_val, examples.weights_val = validation
            examples.y_val = self._encode(y_val)
        elif split and self._validates:
            examples.order, held_out = self._split(order, y)
            examples.X_val, examples.y_val = X[held_out], codes[held_out]
            examples.weights_val = None if weights is None else weights[held_out]
        return examples

    def _validation(
        self, X_val: ArrayLike, y_val: ArrayLike, sample_weight_val: ArrayLike
    ) -> tuple[ArrayLike, ...] | None:
        """Checked validation examples, targets and weights, if `fit` was given any."""
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val go together; give both or neither")
        if X_val is None:
            if sample_weight_val is not None:
                raise ValueError("sample_weight_val needs X_val and y_val; give them too")
            return None
        if not self._validates:
            raise ValueError(
                "X_val was given but early_stopping=False would ignore it; set early_stopping=True"
            )
        X_val, y_val = self._check_X(X_val, y_val)
        weights = example_weights(X_val, y_val, sample_weight_val, None, None)
        return X_val, y_val, weights

    def _split(self, order: IntArray, y: ArrayLike) -> tuple[IntArray, IntArray]:
        """Examples to train on, and examples held out."""
        try:
            kept, held_out = train_test_split(
                order,
                test_size=self.validation_fraction,
                stratify=self._strata(y[order]),
                random_state=self._seed(),
            )
        except ValueError as error:
            raise ValueError(
                f"early_stopping=True cannot hold out validation_fraction="
                f"{self.validation_fraction} of these {len(order)} examples ({error}); "
                "give X_val and y_val, change validation_fraction, or set early_stopping=False"
            ) from error
        return np.sort(kept), np.sort(held_out)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _forget(self) -> None:
        self._fitted_with = {
            name: comparable(getattr(self, name)) for name in self._fixed_parameters
        }
        self._epochs_done = self._rows_done = 0
        self.n_updates_ = 0
        self.history_: list[dict[str, float]] = []

    def _check_unchanged(self) -> None:
        for name, before in self._fitted_with.items():
            now = getattr(self, name)
            if comparable(now) != before:
                raise ValueError(
                    f"{name}={now!r} differs from the value the model was fitted with, {before}; "
                    "fit without warm_start"
                )

    def _conclude(self, learner: Learner, outcome: Outcome) -> None:
        for name, value in learner.attributes().items():
            if isinstance(value, np.ndarray) and not np.all(np.isfinite(value)):
                raise ValueError(
                    f"{type(self).__name__} diverged: {name} is not finite. Scale the inputs "
                    "(scaling='standard') or lower the learning rate"
                )
            setattr(self, name, value)
        self._epochs_done += outcome.n_iter
        self._rows_done = outcome.rows_done
        self.history_ = self.history_ + outcome.history
        self.n_iter_ = outcome.n_iter
        self.best_iter_ = outcome.best_iter
        self.converged_ = outcome.converged
        self.stop_reason_ = outcome.reason
        self.fit_time_ = outcome.seconds

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

"""What iterative classifiers share around the training loop: labels, validation, results."""

import re
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin._fit import Learner, Outcome, Plan, train
from widemargin._inputs import check_labels, encode_labels, example_weights
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.schedules import make_schedule

LOOP_CONSTRAINTS: dict[str, Any] = {
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left"), None],
    "shuffle": ["boolean"],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "warm_start": ["boolean"],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}


Method = TypeVar("Method", bound=Callable[..., Any])


def all_or_nothing(fit: Method) -> Method:
    """A fit that fails leaves the estimator as it was, unfitted or with its last model."""

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


def _comparable(value: Any) -> Any:
    """A parameter as `==` can compare it later: of a transformer its text, without addresses."""
    if value is None or isinstance(value, (str, Real, np.bool_)) or callable(value):
        return value
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


@dataclass
class Examples:
    """Validated training data, as a model makes its learner from it."""

    X: ArrayLike
    y: FloatArray  # ±1, or class codes when there are more than two classes
    weights: FloatArray | None
    order: IntArray  # the examples to train on
    repeated: bool = True  # whether they will be visited more than once
    X_val: ArrayLike | None = None
    y_val: FloatArray | None = None
    weights_val: FloatArray | None = None


class IterativeClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of classifiers trained by `widemargin._fit.train`."""

    _parameter_constraints: ClassVar[dict[str, Any]] = LOOP_CONSTRAINTS

    #: Parameters of the space the weights live in: training cannot go on after they change.
    _fixed_parameters: ClassVar[tuple[str, ...]] = ("standardize",)

    # ------------------------------------------------------------ what a model must provide

    @abstractmethod
    def _learner(self, examples: Examples, *, resume: bool) -> Learner:
        """The learner for these examples; `resume` keeps what was learnt before."""

    @abstractmethod
    def _scores(self, X: ArrayLike) -> FloatArray:
        """f(x) of validated inputs, one column an output."""

    def _rate(self) -> tuple[str, float, float, float]:
        """The schedule's name, λ, decay and exponent."""
        return ("constant", 1.0, 0.0, 0.0)

    def _needed_epochs(self) -> float | None:
        """Epochs that weight decay takes at least (Theorem 8.1); None without weight decay."""
        return None

    # --------------------------------------------------------------------------- interface

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        *,
        X_val: ArrayLike = None,
        y_val: ArrayLike = None,
    ) -> Self:
        """Trains the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0: an example's step is multiplied by its weight.
        X_val, y_val : optional
            Validation examples for early stopping, in place of a part of the training set.

        Returns
        -------
        self
            The fitted estimator.
        """
        resume = self.warm_start and hasattr(self, "classes_")
        given = X  # for callbacks: a frame keeps its names
        X, y = self._check_X(X, y, reset=not resume)
        classes = check_labels(y)
        if resume:
            self._check_unchanged()
        else:
            self._forget()
            self.classes_ = classes
        examples = self._examples(X, y, sample_weight, X_val, y_val)
        learner = self._learner(examples, resume=resume)

        context = self._init_callback_context(max_subtasks=self.max_iter)
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        arguments = {"X": given, "y": y, "metadata": metadata}
        context.call_on_fit_task_begin(estimator=self, **arguments)
        name, rate, decay, power_t = self._rate()
        needed = self._needed_epochs()
        plan = Plan(
            max_iter=self.max_iter,
            rate=make_schedule(name, rate, decay=decay, power_t=power_t),
            decay=needed is not None,
            needed=needed or 0.0,
            seed=self._seed() if self.shuffle else None,
            first_epoch=self._epochs_done,
            first_row=self._rows_done,
            tol=self.tol,
            n_iter_no_change=self.n_iter_no_change,
            time_limit=self.time_limit,
            verbose=self.verbose,
        )
        outcome = train(self, learner, plan, context, arguments)
        self._conclude(learner, outcome)
        context.call_on_fit_task_end(
            estimator=self, reconstruction_attributes=learner.attributes, **arguments
        )
        return self

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike = None,
        sample_weight: ArrayLike = None,
    ) -> Self:
        """Trains on more examples: one pass, in the order given (online learning).

        Each call counts as one epoch of the learning rate's schedule.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like, optional
            Every class there will be; needed at the first call, unless y holds them all.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0.

        Returns
        -------
        self
            The estimator.
        """
        first = not hasattr(self, "classes_")
        X, y = self._check_X(X, y, reset=first)
        if first:
            self._forget()
            self.classes_ = check_labels(y if classes is None else classes)
        else:
            self._check_unchanged()
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={np.asarray(classes).tolist()!r} differ from those of the first call of "
                f"partial_fit, {self.classes_.tolist()!r}"
            )
        if self.early_stopping:
            raise ValueError(
                "early_stopping=True needs several epochs and does not work with partial_fit; "
                "set early_stopping=False, or use fit"
            )
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all labels at once and does not work with "
                "partial_fit; give a dict of weights, or sample_weight"
            )
        examples = self._examples(X, y, sample_weight, split=False)
        learner = self._learner(examples, resume=not first)
        name, rate, decay, power_t = self._rate()
        schedule = make_schedule(name, rate, decay=decay, power_t=power_t)
        decayed = self._needed_epochs() is not None
        plan = Plan(max_iter=1, rate=schedule, decay=decayed, first_epoch=self._epochs_done)
        self._conclude(learner, train(self, learner, plan))
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """f(x): positive for the second class, or one score a class when there are more.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The scores.
        """
        check_is_fitted(self)
        scores = self._scores(self._check_X(X))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> Any:
        """The class of each example; sign(0) = −1, the first class.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Their classes.
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(1)]

    # ----------------------------------------------------------------------------- helpers

    def _check_X(self, X: ArrayLike, y: ArrayLike = "no_validation", *, reset: bool = False) -> Any:
        options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
        if isinstance(y, str):
            return validate_data(self, X, reset=reset, **options)
        return validate_data(self, X, y, reset=reset, **options)

    def _examples(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike,
        X_val: ArrayLike = None,
        y_val: ArrayLike = None,
        *,
        split: bool = True,
    ) -> Examples:
        codes = encode_labels(y, self.classes_)
        weights = example_weights(X, y, sample_weight, self.class_weight, self.classes_)
        order = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
        examples = Examples(X, codes, weights, order, repeated=split and self.max_iter > 1)
        early_stopping = split and self.early_stopping
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val go together; give both or neither")
        if X_val is not None and not early_stopping:
            raise ValueError(
                "X_val was given but early_stopping=False would ignore it; set early_stopping=True"
            )
        if early_stopping and X_val is not None:
            examples.X_val, y_val = self._check_X(X_val, y_val)
            examples.y_val = encode_labels(y_val, self.classes_)
        elif early_stopping:
            examples.order, held_out = self._split(order, y)
            examples.X_val, examples.y_val = X[held_out], codes[held_out]
            examples.weights_val = None if weights is None else weights[held_out]
        return examples

    def _split(self, order: IntArray, y: ArrayLike) -> tuple[IntArray, IntArray]:
        """Training and validation examples, with the classes in the same proportions."""
        try:
            kept, held_out = train_test_split(
                order,
                test_size=self.validation_fraction,
                stratify=y[order],
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
            name: _comparable(getattr(self, name)) for name in self._fixed_parameters
        }
        self._epochs_done = self._rows_done = 0
        self.n_updates_ = 0
        self.history_: list[dict[str, float]] = []

    def _check_unchanged(self) -> None:
        for name, before in self._fitted_with.items():
            now = getattr(self, name)
            if _comparable(now) != before:
                raise ValueError(
                    f"{name}={now!r} differs from the one the model was fitted with, {before}; "
                    "fit without warm_start"
                )

    def _conclude(self, learner: Learner, outcome: Outcome) -> None:
        for name, value in learner.attributes().items():
            if isinstance(value, np.ndarray) and not np.all(np.isfinite(value)):
                raise ValueError(
                    f"{type(self).__name__} diverged: {name} is not finite. Standardise the inputs "
                    "(standardize=True) or lower the learning rate"
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

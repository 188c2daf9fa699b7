"""What the linear support vector machines share: parameters, inputs, fit, outputs."""

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.rows import decision
from widemargin.inputs.scaling import SCALING_CONSTRAINT, Scaling
from widemargin.inputs.threads import thread_count
from widemargin.linear_svm.fit import (
    Course,
    Former,
    LinearOptions,
    LinearSolution,
    solve_linears,
    warn,
)
from widemargin.linear_svm.inputs import LinearInputs
from widemargin.linear_svm.problem import Certificate, Problem
from widemargin.training.control import Control, Watcher, interrupt_flag
from widemargin.training.estimators import all_or_nothing

FIT_LEVEL = 5  # from a warning in `_linear_fit.warn` to the caller of fit
SOLVERS = {"auto": "auto", True: "dual", False: "interior"}


class LinearMachine(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Base of machines f(x) = w·x + b, with a weight decay and a certificate."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "dual": ["boolean", StrOptions({"auto"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither"), None],
        "scaling": SCALING_CONSTRAINT,
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "warm_start": ["boolean"],
    }
    _shared: Course | None = None  # what one fit of a path leaves to the next

    coef_: FloatArray
    intercept_: FloatArray
    history_: list[dict[str, float]]

    # ------------------------------------------------------------------- what models override

    @abstractmethod
    def _problems(self, inputs: LinearInputs, y: ArrayLike, c: FloatArray) -> Sequence[Problem]:
        """What is to be solved, from costs c of the examples."""

    @abstractmethod
    def _weights(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> FloatArray | None:
        """Weights of the examples; None when all are one."""

    @abstractmethod
    def _validate(self, X: ArrayLike, y: ArrayLike) -> tuple[ArrayLike, ArrayLike]:
        """Checked inputs and targets."""

    def _shaped(self, coef: FloatArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
        """`coef_` and `intercept_` from one row and one number an output."""
        return coef, intercept

    # -------------------------------------------------------------------------------------- fit

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None) -> Self:
        """Trains the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0, which multiply C; examples of weight zero are left out.

        Returns
        -------
        self
            The fitted estimator.
        """
        given, shared = X, self._shared
        X, y = self._validate(X, y)
        weights = self._weights(X, y, sample_weight)
        rows = None if weights is None else np.flatnonzero(weights)
        if rows is not None and weights is not None and len(rows) < len(weights):
            X, y, weights = X[rows], y[rows], weights[rows]
        inputs = self._prepared(X, weights)
        c = np.full(inputs.count, float(self.C)) if weights is None else self.C * weights
        problems = self._problems(inputs, y, c)
        starts: list[Certificate | None] = [None] * len(problems)
        history: list[dict[str, float]] = []
        if shared is not None:
            shared.enter(float(self.C), len(problems))
        before, one = self._before, problems[0]
        of_beta, of_w = one.shape, (*one.outputs, inputs.width)
        shapes = [(len(problems), *shape) for shape in (of_beta, of_w)]
        if before is not None and [part.shape for part in before[1:3]] == shapes:
            ratio = float(self.C) / before[0]
            former = zip(problems, *before[1:], strict=True)
            starts = [problem.resume(beta, w, b, ratio) for problem, beta, w, b in former]
            history = list(self.history_) if shared is None else []

        def attributes(solutions: Sequence[LinearSolution]) -> dict[str, Any]:
            raw = [inputs.raw(s.certificate.w, s.certificate.b) for s in solutions]
            coef = np.vstack([w for w, _ in raw])
            coef, intercept = self._shaped(coef, np.hstack([b for _, b in raw]))
            return {"coef_": coef, "intercept_": intercept}

        context = self._init_callback_context(max_subtasks=None)
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        arguments = {"X": given, "y": y, "metadata": metadata}
        context.call_on_fit_task_begin(estimator=self, **arguments)
        watcher = None
        if getattr(self, "_skl_callbacks", None):
            begin = [LinearSolution(problem.untouched(), "dual", 0, "") for problem in problems]
            watcher = Watcher(self, context, arguments, begin, attributes)
        with interrupt_flag() as interrupted:
            control = Control(type(self).__name__, interrupted, self.time_limit, self.verbose)
            solutions = solve_linears(
                problems,
                self._options(),
                control,
                starts,
                self._threads,
                [None] * len(problems) if shared is None else shared.trails,
                watcher,
            )
        found = attributes(solutions)
        self.__dict__.update(found)
        self.__dict__.update(_summary(solutions, control, history))
        ends = [solution.certificate for solution in solutions]
        betas, ws = np.array([end.beta for end in ends]), np.array([end.w for end in ends])
        left = float(self.C), betas, ws, np.array([end.b for end in ends])
        if shared is not None:
            shared.former = left
        if self.warm_start:
            self._former = left
        context.call_on_fit_task_end(estimator=self, reconstruction_attributes=found, **arguments)
        warn(self, solutions, FIT_LEVEL)
        return self

    def _prepared(self, X: ArrayLike, weights: FloatArray | None) -> LinearInputs:
        if self._shared is not None and self._shared.inputs is not None:
            return self._shared.inputs
        scaling = Scaling.measured(self.scaling, X, weights=weights)
        inputs = LinearInputs(X, scaling, threads=self._threads)
        if self._shared is not None:
            self._shared.inputs = inputs
        return inputs

    @property
    def _before(self) -> Former | None:
        """Where the last fit ended, if this one goes on from there."""
        if self._shared is not None:
            return self._shared.former
        former: Former | None = vars(self).get("_former") if self.warm_start else None
        return former

    def _share(self, Cs: FloatArray) -> Course:
        """What the fits of a path have in common."""
        return Course(Cs)

    @property
    def _squared(self) -> bool:
        return str(self.loss).startswith("squared")

    @property
    def _intercept(self) -> float:
        """r: 0 without an intercept, infinite for a free one."""
        if not self.fit_intercept:
            return 0.0
        return np.inf if self.intercept_scaling is None else float(self.intercept_scaling) ** 2

    @property
    def _threads(self) -> int:
        return thread_count(self.n_jobs)

    def _options(self) -> LinearOptions:
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return LinearOptions(float(self.tol), int(self.max_iter), SOLVERS[self.dual], seed)

    # ---------------------------------------------------------------------------------- outputs

    def _outputs(self, X: ArrayLike) -> FloatArray:
        """f(x), one column an output."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._input_options)
        return decision(X, np.atleast_2d(self.coef_), self.intercept_, threads=self._threads)

    @property
    def _input_options(self) -> dict[str, Any]:
        return {
            "accept_sparse": "csr",
            "accept_large_sparse": False,
            "dtype": [np.float64, np.float32],
            "order": "C",
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _summary(
    solutions: Sequence[LinearSolution], control: Control, history: list[dict[str, float]]
) -> dict[str, Any]:
    """Attributes that say how the fit went; objectives are arrays if there are several problems."""

    def each(values: list[float]) -> Any:
        return np.array(values) if len(values) > 1 else values[0]

    reasons = [solution.reason for solution in solutions]
    solvers = [solution.solver for solution in solutions]
    return {
        "primal_objective_": each([s.certificate.primal for s in solutions]),
        "dual_objective_": each([s.certificate.dual for s in solutions]),
        "duality_gap_": each([s.certificate.gap for s in solutions]),
        "converged_": all(solution.converged for solution in solutions),
        "stop_reason_": next((reason for reason in reasons if reason != "tol"), "tol"),
        "solver_": solvers[0] if len(set(solvers)) == 1 else "dual, interior",
        "n_iter_": max(solution.iterations for solution in solutions),
        "history_": history + control.history,
        "fit_time_": control.seconds(),
    }

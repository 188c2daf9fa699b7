"""What the exact kernel machines share: parameters, inputs, fit, and outputs in batches."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import _safe_indexing, check_consistent_length, column_or_1d, get_tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.labels import counted_rows, example_weights
from widemargin.inputs.rows import decision
from widemargin.inputs.threads import thread_count
from widemargin.kernels import KERNELS
from widemargin.svm.decomposition import Bench, Options, Solution
from widemargin.svm.fit import Task, resume, solve_all, summary, unsolved, warn
from widemargin.svm.kernel_source import KernelSource, resolve_gamma
from widemargin.svm.problem import machine, svm_problem
from widemargin.training.control import Control, Watcher, interrupt_flag
from widemargin.training.estimators import all_or_nothing

MEGABYTE = 1 << 20
FIT_LEVEL = 6  # from a warning in `_kernel_fit.warn` to the caller of fit

CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions(set(KERNELS)), callable],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "shrinking": ["boolean", StrOptions({"heuristic"})],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
    "verbose": ["verbose"],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    "working_set_size": [StrOptions({"auto"}), Interval(Integral, 2, None, closed="left")],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    "n_jobs": [Integral, None],
    "warm_start": ["boolean"],
    "dtype": [StrOptions({"auto", "float32", "float64"})],
}


class KernelMachine(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Base of machines f(x) = Σ coef_l k(x_l, x) + b trained by the decomposition algorithm.

    As it stands it trains one problem for real targets; classifiers override what differs.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = CONSTRAINTS
    _kind: ClassVar[str]
    _several: ClassVar[bool] = False  # whether there may be more than one problem
    _numeric: ClassVar[bool] = True  # whether targets must be numbers
    _shared: Bench | None = None  # what one fit of a path leaves to the next

    support_: IntArray
    dual_coef_: FloatArray
    intercept_: FloatArray
    history_: list[dict[str, float]]
    _n_support: IntArray

    # ------------------------------------------------------------------- what models override

    def _targets(self, y: ArrayLike) -> FloatArray:
        """y as numbers."""
        return np.asarray(y, dtype=np.float64)

    def _weights(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> FloatArray | None:
        """Weights of the examples; None when all are one."""
        return example_weights(X, y, sample_weight, None, None)

    def _tasks(self, y: FloatArray, weights: FloatArray | None, rows: IntArray) -> list[Task]:
        """The problems over those rows of X."""
        return [Task(rows, self._problem(y[rows], None if weights is None else weights[rows]))]

    def _problem(self, y: FloatArray, weights: FloatArray | None) -> Any:
        names = [name for name in ("C", "nu", "epsilon") if hasattr(self, name)]
        numbers = {name: float(getattr(self, name)) for name in names}
        return svm_problem(self._kind, y, weights, **numbers)

    def _solve(
        self,
        X: ArrayLike,
        tasks: Sequence[Task],
        options: Options,
        control: Control,
        initial: Sequence[FloatArray | None] | None = None,
        watcher: Watcher | None = None,
        bench: Bench | None = None,
    ) -> list[Solution]:
        return solve_all(X, self._kernel, tasks, options, control, initial, watcher, bench)

    def _assemble(
        self, y: FloatArray, tasks: Sequence[Task], solutions: Sequence[Solution]
    ) -> dict[str, Any]:
        """The expansion that the solutions of the problems make."""
        (task,), (solution,) = tasks, solutions
        coef, intercept = machine(task.problem, solution.beta, solution.biases)
        chosen = np.flatnonzero(coef)
        return {
            "support_": task.ids[chosen],
            "dual_coef_": coef[None, chosen],
            "intercept_": np.array([intercept]),
            "_n_support": np.array([len(chosen)], dtype=np.int32),
        }

    def _same_problems(self, before: dict[str, Any]) -> bool:
        """Whether the last fit had these problems, but for numbers."""
        return bool(before["shape_fit_"][0] == self.shape_fit_[0])

    def _former(self, y: FloatArray, tasks: Sequence[Task]) -> list[FloatArray]:
        """The coefficients of the last fit, for the examples of each problem."""
        coef = np.zeros(self.shape_fit_[0])
        coef[self.support_] = self.dual_coef_[0]
        return [coef[tasks[0].ids]]

    def _finish(
        self,
        X: ArrayLike,
        y: FloatArray,
        weights: FloatArray | None,
        options: Options,
        control: Control,
    ) -> None:
        """What a model learns after its expansion."""

    def _share(self, Cs: FloatArray) -> Bench:
        """What the fits of a path have in common."""
        return Bench()

    # -------------------------------------------------------------------------------------- fit

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None) -> Self:
        """Trains the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples; kernel values of shape (n_samples, n_samples) for a precomputed kernel.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0, which multiply the bound of an example's coefficient; examples of weight
            zero are left out.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> Self:
        given = X  # for callbacks: a frame keeps its names
        warm = self.warm_start or self._shared is not None
        before = dict(vars(self)) if warm and hasattr(self, "dual_coef_") else None
        options = self._options()
        X, y = self._check_fit(X, y)
        targets = self._targets(y)
        weights = self._weights(X, y, sample_weight)
        rows = counted_rows(len(targets), weights)
        tasks = self._tasks(targets, weights, rows)
        self._resolve_kernel(X, max(float(task.problem.upper.max()) for task in tasks))

        initial: list[FloatArray | None] | None = None
        history: list[dict[str, float]] = []
        if before is not None and self._same_problems(before):
            ratio = self._bound / before["_fitted_bound"]
            duals = np.atleast_1d(before["dual_objective_"])
            former = zip(tasks, self._former(targets, tasks), duals, strict=True)
            starts = [resume(task.problem, coef, ratio, dual) for task, coef, dual in former]
            initial = [beta for beta, _ in starts]
            if self._shared is not None:
                self._shared.factor = starts[0][1]
            else:
                history = self.history_
        self._fitted_bound = self._bound

        def attributes(solutions: Sequence[Solution]) -> dict[str, Any]:
            found = self._assemble(targets, tasks, solutions)
            return {**found, "support_vectors_": self._vectors(X, found["support_"])}

        context = self._init_callback_context(max_subtasks=None)
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        arguments = {"X": given, "y": y, "metadata": metadata}
        context.call_on_fit_task_begin(estimator=self, **arguments)
        watcher = None
        if getattr(self, "_skl_callbacks", None):
            begin = [unsolved(task.problem) for task in tasks]
            watcher = Watcher(self, context, arguments, begin, attributes)
        with interrupt_flag() as interrupted:
            control = Control(type(self).__name__, interrupted, self.time_limit, self.verbose)
            solutions = self._solve(X, tasks, options, control, initial, watcher, self._shared)
            found = attributes(solutions)
            self.__dict__.update(found)
            self._finish(X, targets, weights, options, control)
        self.__dict__.update(summary(solutions, control, several=self._several))
        self.history_ = history + self.history_
        context.call_on_fit_task_end(estimator=self, reconstruction_attributes=found, **arguments)
        warn(self, solutions, FIT_LEVEL)
        return self

    def _vectors(self, X: ArrayLike, support: IntArray) -> ArrayLike:
        """Support vectors as predictions need them: not at all for a precomputed kernel."""
        precomputed = self.kernel == "precomputed"
        return np.empty((0, 0)) if precomputed else _safe_indexing(X, support)

    def _check_fit(self, X: ArrayLike, y: ArrayLike) -> tuple[ArrayLike, ArrayLike]:
        if self.kernel == "precomputed" and sp.issparse(X):
            raise TypeError(
                "kernel='precomputed' takes no sparse matrix of kernel values; use X.toarray()"
            )
        if callable(self.kernel):  # examples may be anything that it understands
            check_consistent_length(X, y)
            if len(getattr(X, "shape", ())) == 2:
                self.n_features_in_ = X.shape[1]
            if y is not None:
                y = column_or_1d(y, dtype=np.float64 if self._numeric else None, warn=True)
        elif y is None and not get_tags(self).target_tags.required:
            X = validate_data(self, X, **self._input_options)
        else:
            X, y = validate_data(self, X, y, y_numeric=self._numeric, **self._input_options)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' needs a square matrix of kernel values, got {X.shape}"
            )
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (_num_samples(X),)
        return X, y

    @property
    def _input_options(self) -> dict[str, Any]:
        return {
            "accept_sparse": False if self.kernel == "precomputed" else "csr",
            "accept_large_sparse": False,
            "dtype": [np.float64, np.float32],
            "order": "C",
        }

    def _resolve_kernel(self, X: ArrayLike, upper: float) -> None:
        """γ, and whether float32 is precise enough."""
        self.gamma_, self._wide = 0.0, {"auto": None, "float32": False}.get(self.dtype, True)
        if not self._kernel.named:
            return
        self.gamma_ = resolve_gamma(self.gamma, X)
        if self.gamma_ == 0 and self.kernel != "linear":
            raise ValueError(
                f"gamma={self.gamma!r} makes every kernel value the same; use gamma > 0 or "
                "gamma='scale'"
            )
        if self.dtype == "auto" and self._kernel.needs_double(X, upper, self.tol):
            self._wide = True

    @property
    def _kernel(self) -> KernelSource:
        return KernelSource(
            self.kernel, self.gamma_, float(self.coef0), int(self.degree), self._wide, self._threads
        )

    @property
    def _threads(self) -> int:
        return thread_count(self.n_jobs)

    @property
    def _bound(self) -> float:
        """What the bounds of the coefficients are proportional to."""
        return float(getattr(self, "C", 1.0))

    def _options(self) -> Options:
        size = 0 if self.working_set_size == "auto" else int(self.working_set_size)
        if size % 2:
            raise ValueError(f"working_set_size={size} is odd; use an even number, or 'auto'")
        return Options(
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            working_set=size,
            shrinking="heuristic" if self.shrinking == "heuristic" else bool(self.shrinking),
            cache_bytes=int(self.cache_size * MEGABYTE),
            threads=self._threads,
        )

    # ---------------------------------------------------------------------------------- outputs

    def _outputs(self, X: ArrayLike) -> FloatArray:
        """f(x) of validated inputs, one column an output."""
        if self.kernel == "linear":
            return decision(X, self.coef_, self.intercept_, threads=self._threads)
        (out,) = self._expand(X, [slice(0, len(self.support_))])
        return out + self.intercept_

    def _expand(self, X: ArrayLike, blocks: Sequence[slice]) -> list[FloatArray]:
        return self._kernel.expand(X, self.support_, self.support_vectors_, self.dual_coef_, blocks)

    def _check_predict(self, X: ArrayLike) -> ArrayLike:
        check_is_fitted(self)
        if callable(self.kernel):
            return X
        return validate_data(self, X, reset=False, **self._input_options)

    @property
    def coef_(self) -> FloatArray:
        """The weights of the inputs, for the linear kernel; one row an output."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef: FloatArray = self._weights_of_inputs()
        coef.flags.writeable = False
        return coef

    def _weights_of_inputs(self) -> FloatArray:
        return np.asarray(self.dual_coef_ @ self.support_vectors_, dtype=np.float64)

    @property
    def n_support_(self) -> IntArray:
        """The number of support vectors; of a classifier, for each class."""
        if not hasattr(self, "_n_support"):
            raise AttributeError("n_support_ is known after fit")
        return self._n_support

    @property
    def _gamma(self) -> float:
        return self.gamma_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

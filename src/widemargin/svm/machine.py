"""What the exact kernel machines share: parameters, inputs, and outputs in batches."""

from collections.abc import Iterator, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing, check_consistent_length, column_or_1d, get_tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, validate_data

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.gamma import resolve_gamma
from widemargin.inputs.rows import checked_rows, decision
from widemargin.inputs.scaling import SCALING_CONSTRAINT, Scaling
from widemargin.kernels import KERNELS, check_exponent
from widemargin.svm.decomposition import Options, Solution, SolverState
from widemargin.svm.fit import KernelProblems
from widemargin.svm.kernel_source import KernelSource
from widemargin.svm.problem import machine, svm_problem
from widemargin.svm.solve import Task, solve_all
from widemargin.training.certified import CertifiedMachine, Finish
from widemargin.training.control import Control, Watcher

MEGABYTE = 1 << 20

CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions(set(KERNELS)), callable],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "exponent": [Interval(Real, 0, 2, closed="right")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "shrinking": ["boolean", StrOptions({"heuristic"})],
    "shrinking_iterations": [Interval(Integral, 1, 2**32 - 1, closed="both")],
    "shrinking_threshold": [Interval(Real, 0, None, closed="left"), None],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
    "verbose": ["verbose"],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    "working_set_size": [StrOptions({"auto"}), Interval(Integral, 2, None, closed="left")],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    "n_jobs": [Integral, None],
    "warm_start": ["boolean"],
    "dtype": [StrOptions({"auto", "float32", "float64"})],
    "scaling": SCALING_CONSTRAINT,
}


class KernelMachine(CertifiedMachine):
    """Base of machines f(x) = Σ coef_l k(x_l, x) + b trained by the decomposition algorithm.

    As it stands it trains one problem for real targets; classifiers override what differs.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = CONSTRAINTS
    _remedies: ClassVar[dict[str, str]] = {
        "max_iter": "raise max_iter or tol, or scale the inputs",
        "rounding": "raise tol, scale the inputs, or use dtype='float64'",
        "shrunk": "use shrinking=True instead of 'heuristic'",
    }
    _kind: ClassVar[str]
    _several: ClassVar[bool] = False  # whether there may be more than one problem
    _numeric: ClassVar[bool] = True  # whether targets must be numbers

    support_: IntArray
    dual_coef_: FloatArray
    intercept_: FloatArray
    shape_fit_: tuple[int, ...]  # of X; it begins with 0 when the training set is not known
    feature_offset_: FloatArray | None = None  # also of models from files without scaling
    feature_scale_: FloatArray | None = None
    _n_support: IntArray

    # ------------------------------------------------------------------- what models override

    def _targets(self, y: ArrayLike) -> FloatArray:
        """y as numbers."""
        return np.asarray(y, dtype=np.float64)

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
        state: SolverState | None = None,
    ) -> list[Solution]:
        return solve_all(X, self._kernel, tasks, options, control, initial, watcher, state)

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

    def _expansion(
        self, X: ArrayLike, y: FloatArray, tasks: Sequence[Task], solutions: Sequence[Solution]
    ) -> dict[str, Any]:
        """The expansion with its support vectors, as the user gave them."""
        found = self._assemble(y, tasks, solutions)
        found["support_vectors_"] = self._vectors(X, found["support_"])
        if self.kernel == "linear" and self.feature_offset_ is not None:
            machine = copy(self)
            machine.__dict__.update(found)  # f(x) = coef · (x − offset) + b
            shift = machine._weights_of_inputs() @ self.feature_offset_
            found["intercept_"] = found["intercept_"] - shift
        return found

    def _check_early_stopping(self) -> None:
        """Raise an error if these parameters do not go with early stopping."""

    def _margins(self, solutions: Sequence[Solution]) -> dict[str, Any]:
        """Attributes that measure the margin, where there is one."""
        return {}

    def _same_problems(self, before: Any) -> bool:
        """Whether the fit that left these attributes had these problems, but for numbers."""
        return bool(before["shape_fit_"][0] == self.shape_fit_[0])

    def _earlier_coefficients(self, y: FloatArray, tasks: Sequence[Task]) -> list[FloatArray]:
        """The coefficients of the last fit, for the examples of each problem."""
        coef = np.zeros(self.shape_fit_[0])
        coef[self.support_] = self.dual_coef_[0]
        return [coef[tasks[0].ids]]

    def _fit_probabilities(
        self,
        X: ArrayLike,
        y: FloatArray,
        weights: FloatArray | None,
        options: Options,
        control: Control,
        fold_seconds: float,
    ) -> Finish:
        """What a classifier learns after its expansion."""
        return Finish()

    def _path_state(self, Cs: FloatArray) -> SolverState:
        return SolverState()

    # -------------------------------------------------------------------------------------- fit

    def _problem_set(
        self, X: ArrayLike, y: ArrayLike, weights: FloatArray | None, path: Any
    ) -> KernelProblems:
        return KernelProblems(self, X, self._targets(y), weights, self._options(), path)

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
        if not callable(self.kernel):
            X = checked_rows(X)
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (_num_samples(X),)
        return X, y

    def _check_inputs(self, X: ArrayLike) -> ArrayLike:
        if callable(self.kernel):
            return X
        return checked_rows(validate_data(self, X, reset=False, **self._input_options))

    @property
    def _input_options(self) -> dict[str, Any]:
        return {
            "accept_sparse": False if self.kernel == "precomputed" else "csr",
            "accept_large_sparse": False,
            "dtype": [np.float64, np.float32],
            "order": "C",
        }

    def _measured_scaling(self, X: ArrayLike, weights: FloatArray | None) -> Scaling | None:
        """The scaling of the inputs; None if there is none."""
        if self.scaling is None:
            return None
        if callable(self.kernel) or self.kernel == "precomputed":
            raise ValueError(
                f"scaling={self.scaling!r} needs a named kernel, not {self.kernel!r}; scale the "
                "inputs before the kernel is computed, and use scaling=None"
            )
        return Scaling.measured(self.scaling, X, weights=weights)

    def _resolve_kernel(self, X: ArrayLike, weights: FloatArray | None, upper: float) -> None:
        """The scaling of the inputs, γ, and whether float32 is precise enough."""
        self.gamma_, self.feature_offset_, self.feature_scale_ = 0.0, None, None
        self._double_precision = {"auto": None, "float32": False}.get(self.dtype, True)
        scaling = self._measured_scaling(X, weights)
        if not self._kernel.named:
            return
        if scaling is not None:
            self.feature_offset_, self.feature_scale_ = scaling.offset, scaling.scale
        check_exponent(self.kernel, self.exponent)
        self.gamma_ = resolve_gamma(self.gamma, X, scaling, self.kernel, float(self.exponent))
        if self.gamma_ == 0 and self.kernel != "linear":
            raise ValueError(
                f"gamma={self.gamma!r} makes every kernel value the same; use gamma > 0 or "
                "gamma='scale'"
            )
        if self.dtype == "auto" and self._kernel.needs_double(X, upper, self.tol):
            self._double_precision = True

    @property
    def _kernel(self) -> KernelSource:
        return KernelSource(
            self.kernel,
            self.gamma_,
            float(self.coef0),
            int(self.degree),
            float(self.exponent),
            self._double_precision,
            self._threads,
            self.feature_offset_,
            self.feature_scale_,
        )

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
            patience=int(self.shrinking_iterations),
            threshold=self.shrinking_threshold,
            cache_bytes=int(self.cache_size * MEGABYTE),
            threads=self._threads,
        )

    # ---------------------------------------------------------------------------------- outputs

    def _outputs(self, X: ArrayLike) -> FloatArray:
        if self.kernel == "linear":
            return decision(X, self.coef_, self.intercept_, threads=self._threads)
        (out,) = self._expand(X, [slice(0, len(self.support_))])
        return out + self.intercept_

    def _expand(self, X: ArrayLike, parts: Sequence[slice]) -> list[FloatArray]:
        """Σ coef_l k(x_l, x) over each of these parts of the support vectors."""
        return self._kernel.expand(X, self.support_, self.support_vectors_, self.dual_coef_, parts)

    def expansions(self) -> Iterator[tuple[tuple[int, ...] | None, IntArray, FloatArray]]:
        """The binary machines: the codes of their classes, support vectors and coefficients.

        The classes are None for a machine of all examples.
        """
        yield None, np.arange(len(self.support_)), self.dual_coef_[0]

    def grow(self, n_samples: int) -> None:
        """Let the next fit resume on more examples, the first of which are those of this one."""
        self.shape_fit_ = (n_samples, *self.shape_fit_[1:])

    @property
    def coef_(self) -> FloatArray:
        """The weights of the inputs, for the linear kernel; one row per output."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef: FloatArray = self._weights_of_inputs()
        coef.flags.writeable = False
        return coef

    def _weights_of_inputs(self) -> FloatArray:
        return self._combined(slice(None))

    def _combined(self, part: slice) -> FloatArray:
        """The weights of the inputs as given that some support vectors make."""
        coef, (x, centre) = self.dual_coef_[:, part], self._kernel.inputs(self.support_vectors_)
        found = np.asarray(coef @ x[part], dtype=np.float64)
        if centre is not None:
            found = (found - coef.sum(axis=1, keepdims=True) * centre) / self.feature_scale_
        return found

    @property
    def n_support_(self) -> IntArray:
        """The number of support vectors; of a classifier, one number per class."""
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

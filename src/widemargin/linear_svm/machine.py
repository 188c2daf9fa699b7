"""What the linear support vector machines share: parameters, inputs, outputs."""

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.precision import far_columns, warn_of_lost_columns
from widemargin.inputs.rows import checked_rows, decision
from widemargin.inputs.scaling import SCALING_CONSTRAINT, Scaling
from widemargin.linear_svm.fit import LinearPathState, LinearProblems
from widemargin.linear_svm.inputs import LinearInputs
from widemargin.linear_svm.problem import Problem
from widemargin.linear_svm.solve import LinearOptions
from widemargin.training.certified import CertifiedMachine

SOLVERS = {"auto": "auto", True: "dual", False: "interior"}


class LinearMachine(CertifiedMachine):
    """Base of machines f(x) = w·x + b with a penalty on w and a certificate."""

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
    _remedies: ClassVar[dict[str, str]] = {
        "max_iter": 'raise max_iter or tol, or scale the inputs with scaling="standard"',
        "rounding": (
            'raise tol, scale the inputs with scaling="standard", subtract large offsets from '
            "them, or lower C"
        ),
    }

    coef_: FloatArray
    intercept_: FloatArray

    # ------------------------------------------------------------------- what models override

    @abstractmethod
    def _problems(self, inputs: LinearInputs, y: ArrayLike, c: FloatArray) -> Sequence[Problem]:
        """The problems to solve, from costs c of the examples."""

    def _shaped(self, coef: FloatArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
        """`coef_` and `intercept_` from one row and one number per output."""
        return coef, intercept

    def _dual_attributes(self, expansion: tuple[IntArray, FloatArray]) -> dict[str, Any]:
        """The attributes that show the dual variables, from support vectors and their β."""
        return {}

    def _margins(self, weights: FloatArray) -> dict[str, Any]:
        """Attributes that measure the margin, where there is one; `weights` of scaled inputs."""
        return {}

    def _classes_of_problem(self, number: int) -> tuple[str, str]:
        """What the two sides of a problem are called in messages."""
        return "the positive examples", "the negative examples"

    # -------------------------------------------------------------------------------------- fit

    def _problem_set(
        self, X: ArrayLike, y: ArrayLike, weights: FloatArray | None, path: Any
    ) -> LinearProblems:
        rows = None if weights is None else np.flatnonzero(weights)
        if rows is not None and weights is not None and len(rows) < len(weights):
            X, y, weights = X[rows], y[rows], weights[rows]
        inputs = self._prepared(X, weights, path)
        c = np.full(inputs.count, float(self.C)) if weights is None else self.C * weights
        problems = self._problems(inputs, y, c)
        return LinearProblems(self, inputs, problems, self._options(), path, rows)

    def _prepared(
        self, X: ArrayLike, weights: FloatArray | None, path: LinearPathState | None
    ) -> LinearInputs:
        if path is not None and path.inputs is not None:
            return path.inputs
        far = far_columns(X)
        warn_of_lost_columns(X, far, getattr(self, "feature_names_in_", None))
        if self.scaling is None and len(far[0]) and self._intercept == np.inf:
            # with a free intercept, a new origin changes nothing but the digits that sums lose
            scaling = Scaling.measured("standard", X, weights=weights, divide=False)
        else:
            scaling = Scaling.measured(self.scaling, X, weights=weights)
        inputs = LinearInputs(X, scaling, threads=self._threads)
        if path is not None:
            path.inputs = inputs
        return inputs

    def _path_state(self, Cs: FloatArray) -> LinearPathState:
        return LinearPathState(Cs)

    @property
    def _squared(self) -> bool:
        return str(self.loss).startswith("squared")

    @property
    def _intercept(self) -> float:
        """r: 0 without an intercept, infinite for a free one."""
        if not self.fit_intercept:
            return 0.0
        return np.inf if self.intercept_scaling is None else float(self.intercept_scaling) ** 2

    def _options(self) -> LinearOptions:
        seed = 0  # so that two fits of the same data agree
        if self.random_state is not None:
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return LinearOptions(float(self.tol), int(self.max_iter), SOLVERS[self.dual], seed)

    # ---------------------------------------------------------------------------------- outputs

    def _check_inputs(self, X: ArrayLike) -> ArrayLike:
        return checked_rows(validate_data(self, X, reset=False, **self._input_options))

    def _outputs(self, X: ArrayLike) -> FloatArray:
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

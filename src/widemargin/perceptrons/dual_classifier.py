"""The base of kernel machines that are trained example by example, through their coefficients."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.gamma import resolve_gamma
from widemargin.inputs.scaling import SCALING_CONSTRAINT, Scaling
from widemargin.inputs.unscaled import warn_if_unscaled
from widemargin.kernels import KERNELS, Inputs, Kernel, check_exponent
from widemargin.perceptrons.kernel_learner import DualState, Support, expand, scaled_inputs
from widemargin.training.estimators import Examples, IterativeClassifier

__all__ = ["DualClassifier"]


class DualClassifier(IterativeClassifier):
    r"""Base of classifiers :math:`f(x) = \sum_l \beta_l k(x_l, x) + b`, for the examples and f."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IterativeClassifier._parameter_constraints,
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Real],
        "exponent": [Interval(Real, 0, 2, closed="right")],
        "fit_intercept": ["boolean"],
        "scaling": SCALING_CONSTRAINT,
    }
    _fixed_parameters: ClassVar[tuple[str, ...]] = (
        "kernel",
        "gamma",
        "degree",
        "coef0",
        "exponent",
        "scaling",
    )

    support_: IntArray
    dual_coef_: FloatArray
    intercept_: FloatArray

    def _first_state(self, inputs: Inputs, inputs_val: Inputs | None, *, resume: bool) -> DualState:
        """No coefficients yet; the intercepts and the number of updates of an earlier call."""
        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        return DualState(
            coefficients=np.zeros((len(inputs), outputs)),
            b=self.intercept_.copy() if resume else np.zeros(outputs),
            f=np.zeros((len(inputs), outputs)),
            f_val=None if inputs_val is None else np.zeros((len(inputs_val), outputs)),
            updates=self.n_updates_,
        )

    def _check_options(self, X: ArrayLike) -> None:
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' needs a square matrix of kernel values, got {X.shape}"
            )
        if callable(self.kernel) and self.scaling and sp.issparse(X):
            raise ValueError(
                f"scaling={self.scaling!r} would fill sparse inputs for a kernel that is a "
                "function; use scaling=None or a named kernel"
            )

    def _measure(self, examples: Examples) -> None:
        """Measures the inputs and computes γ."""
        X = examples.X
        self.feature_offset_ = self.feature_scale_ = None
        if self.kernel == "precomputed":
            return
        warn_if_unscaled(self, X)
        scaling = Scaling.measured(self.scaling or "standard", X, examples.order, examples.weights)
        if self.scaling is None:
            scaling.centre = scaling.divide = False
        else:
            self.feature_offset_, self.feature_scale_ = scaling.offset, scaling.scale
        check_exponent(self.kernel, self.exponent)
        self.gamma_ = resolve_gamma(self.gamma, X, scaling, self.kernel, float(self.exponent))

    def _inputs(self, X: ArrayLike) -> Inputs:
        if self.kernel == "precomputed":
            return Inputs.precomputed(X.toarray() if sp.issparse(X) else X)
        return scaled_inputs(X, self.feature_offset_, self.feature_scale_)

    def _kernel(self) -> Kernel:
        gamma = 1.0 if self.kernel == "precomputed" else self.gamma_
        return Kernel(self.kernel, gamma, self.degree, self.coef0, self.exponent)

    def _resume(
        self,
        state: DualState,
        X: ArrayLike,
        inputs: Inputs,
        inputs_val: Inputs | None,
        kernel: Kernel,
    ) -> Support | None:
        """Computes w·Φ(x) of the new examples; returns the support vectors of earlier calls."""
        coefficients = self.dual_coef_.T
        if self._same_examples(X):
            state.coefficients[self.support_] = coefficients
            support, earlier = inputs[self.support_], None
        elif self.kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' does not hold the kernel between new examples and those of "
                "earlier calls; use fit on the whole matrix"
            )
        else:
            support = self._inputs(self.support_vectors_)
            earlier = Support(self.support_vectors_, np.full(len(self.support_), -1), coefficients)
        if len(support):
            state.f += expand(kernel, inputs, support, coefficients)
            if inputs_val is not None and state.f_val is not None:
                state.f_val += expand(kernel, inputs_val, support, coefficients)
        return earlier

    def _same_examples(self, X: ArrayLike) -> bool:
        """Whether the support vectors are rows of X, at their places: `fit` got the same set."""
        if self.kernel == "precomputed":  # has no vectors to compare
            return bool(X.shape[0] == X.shape[1])
        support = self.support_
        if np.any(support < 0) or np.any(support >= X.shape[0]):
            return False
        difference = X[support] != self.support_vectors_
        return not (difference.nnz if sp.issparse(difference) else np.any(difference))

    def _scores(self, X: ArrayLike) -> FloatArray:
        coefficients = self.dual_coef_.T
        if self.kernel == "precomputed":
            return np.asarray(X[:, self.support_] @ coefficients) + self.intercept_
        inputs, support = self._inputs(X), self._inputs(self.support_vectors_)
        return expand(self._kernel(), inputs, support, coefficients) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

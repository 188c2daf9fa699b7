r"""The support of a distribution: a set that holds all but a fraction ν of the examples.

.. math:: \min_{w, \rho} \; \tfrac12 \|w\|^2 - \nu L \rho
          + \sum_l \left|\rho - w \cdot \Phi(x_l)\right|_+

separates the examples from the origin of feature space; the set is where
:math:`w \cdot \Phi(x) > \rho`.
"""

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OutlierMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import column_or_1d

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.labels import example_weights
from widemargin.svm.decomposition import Solution
from widemargin.svm.machine import KernelMachine
from widemargin.svm.solve import Task
from widemargin.training.model import all_or_nothing

__all__ = ["OneClassSVM"]


class OneClassSVM(OutlierMixin, KernelMachine):  # type: ignore[misc]
    r"""Outlier detection with any kernel: f is positive on all but a fraction ν of the examples.

    .. math:: \min_{w, \rho} \; \tfrac12 \|w\|^2 - \nu L \rho
              + \sum_l \left|\rho - w \cdot \Phi(x_l)\right|_+, \qquad
              f(x) = w \cdot \Phi(x) - \rho

    At most a fraction ν of the examples are outliers, and at least a fraction ν are support
    vectors.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        The kernel: a name from the table in `widemargin.kernels`, or "precomputed", when X is the
        matrix of kernel values.
        A callable gets two sets of examples and returns the matrix of their kernel values; it is
        called for a few rows at a time. sigmoid is not positive definite, so its solution is only
        a stationary point.
    degree : int, default=3
        The degree of poly.
    gamma : {"scale", "auto"} or float, default="scale"
        γ of all kernels but linear; "scale" is 1/(n_features · variance of X), "auto" 1/n_features.
        For exponential and laplacian "scale" is r^−q, with r the typical distance of an example
        from the mean (the root of the mean ‖x − mean‖₂², or the mean ‖x − mean‖₁), and "auto"
        what that is for standardised inputs.
    coef0 : float, default=0.0
        The constant of poly and sigmoid.
    tol : float, default=0.001
        The largest violation of the optimality conditions that is allowed at the end.
    nu : float, default=0.5
        ν in (0, 1].
    shrinking : bool or "heuristic", default=True
        Whether to set aside examples that are likely to stay at a bound (shrinking). With True
        they are checked again before the end, so that the solution is optimal for all examples.
        With "heuristic" they are not, as in the original SVMTorch; the remaining violation is
        measured, and a warning reports it.
    cache_size : float, default=200
        Megabytes of memory for rows of the kernel matrix.
    verbose : bool, default=False
        Whether to print one line every 50 ms.
    max_iter : int, default=-1
        The largest number of steps, each of which moves two variables; −1 means no limit.
    working_set_size : "auto" or int, default="auto"
        How many variables are optimised at a time: an even number, 2 or more. 2 gives sequential
        minimal optimisation.
    time_limit : float or None, default=None
        Seconds after which training stops.
    n_jobs : int or None, default=None
        The largest number of threads; −1 means one per CPU. None lets the machine choose, up to
        one per CPU. The result does not depend on it.
    warm_start : bool, default=False
        Whether `fit` starts from the coefficients of the last fit, to resume after an early stop
        or for other parameters. The last fit must have had as many examples. Its coefficients are
        made feasible; the optimum does not depend on them.
    dtype : {"auto", "float32", "float64"}, default="auto"
        The precision of the kernel values that the solver works with; the solution is verified in
        float64. "auto" uses float32 where that is faster and precise enough for `tol`.
    scaling : {"standard", "minmax"} or None, default=None
        How inputs are scaled before the kernel: "standard" gives every input mean 0 and variance
        1, "minmax" maps its range to [0, 1], None leaves inputs as they are. Sparse inputs stay
        sparse. It needs a named kernel.
    exponent : float, default=1.0
        q of exponential, 0 < q ≤ 2, and of laplacian, 0 < q ≤ 1. Multiples of ¼ are the fastest.
    shrinking_iterations : int, default=5
        For how many iterations an example must satisfy its conditions before it is set aside.
    shrinking_threshold : float or None, default=None
        By more than what, each time: the thesis's threshold (5.2.4). None: by more than 15 % of
        the largest violation at that time.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Row numbers of the support vectors.
    support_vectors_ : ndarray or CSR array of shape (n_SV, n_features)
        The support vectors; empty for a precomputed kernel.
    n_support_ : ndarray of shape (1,)
        Their number.
    dual_coef_ : ndarray of shape (1, n_SV)
        Their coefficients α.
    intercept_ : ndarray of shape (1,)
        The bias.
    coef_ : ndarray of shape (1, n_features)
        The weights of the inputs; for the linear kernel only.
    offset_ : float
        ρ, which is −`intercept_`.
    fit_status_ : int
        0 if the fit converged, otherwise 1.
    gamma_ : float
        γ as used; 0 for a precomputed kernel or a callable.
    feature_offset_, feature_scale_ : ndarray of shape (n_features,) or None
        What is subtracted from the inputs, and what they are then divided by; None if they are
        not scaled. `support_vectors_`, and `coef_` with `intercept_`, are of inputs as given.
    primal_objective_, dual_objective_, duality_gap_ : float
        The primal and the dual objective, between which the optimum lies, and their difference.
        The primal and the gap are infinite where an early stop left no time to measure them.
    kkt_violation_ : float
        The violation of the optimality conditions over all examples, at most: bounds of rounding
        errors are included. Infinite if not measured.
    converged_ : bool
        Whether `kkt_violation_` is at most `tol`.
    stop_reason_ : str
        "tol", "max_iter", "time_limit", "interrupted" or "callback"; "rounding" if rounding keeps
        the violation, or what can be verified of it, above `tol`; "shrunk" if examples that
        `shrinking="heuristic"` set aside violate the conditions.
    n_iter_ : int
        The number of steps.
    n_kernel_evaluations_ : int
        How many kernel values were computed.
    cache_hit_rate_ : float
        The fraction of the kernel rows needed that were in the cache.
    history_ : list of dict
        One record per slice of work, about 50 ms: the problem's number, iteration, steps,
        violation, dual objective, size of the active set, seconds.
    fit_time_ : float
        How many seconds `fit` took.
    validation_error_ : float
        The fraction of the validation examples, by weight, on the wrong side; only if `fit` was
        given some.

    References
    ----------
    B. Schölkopf, J. Platt, J. Shawe-Taylor, A. Smola and R. Williamson, *Estimating the support of
    a high-dimensional distribution*, Neural Computation 13, 2001.

    Examples
    --------
    >>> from widemargin import OneClassSVM
    >>> OneClassSVM(gamma="auto").fit([[0], [0.44], [0.45], [0.46], [1]]).predict([[0.45], [2]])
    array([ 1, -1])
    """

    _kind: ClassVar[str] = "one_class"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "nu": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool | str = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        working_set_size: int | str = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        dtype: str = "auto",
        scaling: str | None = None,
        exponent: float = 1.0,
        shrinking_iterations: int = 5,
        shrinking_threshold: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.working_set_size = working_set_size
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.dtype = dtype
        self.scaling = scaling
        self.exponent = exponent
        self.shrinking_iterations = shrinking_iterations
        self.shrinking_threshold = shrinking_threshold

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike = None,
        sample_weight: ArrayLike = None,
        X_val: ArrayLike = None,
        y_val: ArrayLike = None,
        sample_weight_val: ArrayLike = None,
    ) -> Self:
        """Find the set that holds the examples.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples; kernel values of shape (n_samples, n_samples) for a precomputed kernel.
        y : ignored
            Present for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0; examples of weight zero are left out.
        X_val, y_val, sample_weight_val : optional
            Validation examples, which are scored when the fit ends: see `validation_error_`.
            `y_val` is +1 for those that belong to the set, −1 for outliers.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._train(X, None, sample_weight, (X_val, y_val, sample_weight_val))

    def _targets(self, y: ArrayLike) -> FloatArray:
        return np.ones(self.shape_fit_[0])

    def _weights(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> FloatArray | None:
        return example_weights(X, y, sample_weight, None, None)

    def _expansion(
        self, X: ArrayLike, y: FloatArray, tasks: Sequence[Task], solutions: Sequence[Solution]
    ) -> dict[str, Any]:
        found = super()._expansion(X, y, tasks, solutions)
        return {**found, "offset_": -found["intercept_"]}

    def _check_targets(self, y_val: ArrayLike) -> ArrayLike:
        y_val = column_or_1d(y_val, input_name="y_val")
        if not np.all(np.isin(y_val, (-1, 1))):
            raise ValueError(
                f"y_val has the values {np.unique(y_val)[:5].tolist()}; use 1 for examples that "
                "belong to the set and -1 for outliers"
            )
        return y_val

    def _error(self, y: ArrayLike, predicted: ArrayLike, weights: FloatArray | None) -> float:
        """The fraction of the weight on the wrong side."""
        return float(np.average(y != predicted, weights=weights))

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """f(x) = w·Φ(x) − ρ, positive inside the set.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples,)
            The outputs.
        """
        return self._outputs(self._check_predict(X))[:, 0]

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """w·Φ(x), the decision function without its offset.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples,)
            The scores.
        """
        return self.decision_function(X) - self.intercept_

    def predict(self, X: ArrayLike) -> IntArray:
        """+1 inside the set, −1 outside.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples,)
            The sides.
        """
        return self._decide(self._outputs(self._check_predict(X)))

    def _decide(self, outputs: FloatArray) -> IntArray:
        return np.where(outputs[:, 0] > 0, 1, -1)

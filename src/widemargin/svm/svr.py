r"""Support vector regression: the flattest function within ε of most targets.

.. math:: \min_{w, b} \; \tfrac12 \|w\|^2
          + C \sum_l \left| |y_l - w \cdot \Phi(x_l) - b| - \epsilon \right|_+

is `SVR`. `NuSVR` replaces the tube's half-width ε with ν, the fraction of examples allowed outside.
"""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from widemargin._typing import ArrayLike, FloatArray
from widemargin.svm.decomposition import Options, Solution, SolverState
from widemargin.svm.machine import KernelMachine
from widemargin.svm.nu_regression import nu_regression
from widemargin.svm.problem import Problem
from widemargin.svm.solve import Task
from widemargin.training.certified import CertifiedRegressor
from widemargin.training.control import Control, Watcher

__all__ = ["SVR", "NuSVR"]


class KernelRegressor(CertifiedRegressor, KernelMachine):
    """Base of regressions: their only output is the prediction."""


class SVR(KernelRegressor):
    r"""Support vector regression with any kernel (thesis, Chapter 5).

    .. math:: \min_{w, b} \; \tfrac12 \|w\|^2
              + C \sum_l \left| |y_l - w \cdot \Phi(x_l) - b| - \epsilon \right|_+

    It finds the exact solution and certifies it, with scikit-learn's parameters and attributes.

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
    C : float, default=1.0
        The weight of the errors: the bound of the coefficients.
    epsilon : float, default=0.1
        ε, half the width of the tube inside which errors cost nothing.
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
    early_stopping : bool, default=False
        Whether the error on the validation examples of `fit` ends training (thesis, 8.9): the
        mean squared error. It is measured after every L/10
        steps, for L examples, so that the result does not depend on the clock; the machine with
        the lowest error is returned. `working_set_size="auto"` means 32 then.
    n_iter_no_change : int, default=5
        How many measures in a row without a lower error end training.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Row numbers of the support vectors.
    support_vectors_ : ndarray or CSR array of shape (n_SV, n_features)
        The support vectors; empty for a precomputed kernel.
    n_support_ : ndarray of shape (1,)
        Their number.
    dual_coef_ : ndarray of shape (1, n_SV)
        Their coefficients α − α*. Here α belongs to targets above the tube and α* to those below,
        as in LIBSVM; (3.34) of the thesis has the names the other way round.
    intercept_ : ndarray of shape (1,)
        The bias.
    coef_ : ndarray of shape (1, n_features)
        The weights of the inputs; for the linear kernel only.
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
        "tol", "max_iter", "time_limit", "interrupted" or "callback"; "validation" if the validation
        error ended training, or the machine that it chose is not the last one; "rounding" if
        rounding keeps the violation, or what can be verified of it, above `tol`; "shrunk" if
        examples that `shrinking="heuristic"` set aside violate the conditions.
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
        1 − R² on the validation examples; only if `fit` was given some.

    See Also
    --------
    NuSVR : The same machine, with the fraction of support vectors as its parameter.

    References
    ----------
    R. Collobert and S. Bengio, *SVMTorch: support vector machines for large-scale regression
    problems*, JMLR 1, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVR
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> reg = SVR(C=10.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(reg.score(X, np.sin(X[:, 0])) > 0.99), reg.converged_
    (True, True)
    """

    _kind: ClassVar[str] = "epsilon_svr"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean"],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
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
        early_stopping: bool = False,
        n_iter_no_change: int = 5,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
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
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change


class NuSVR(KernelRegressor):
    r"""Support vector regression with the fraction ν of support vectors as its parameter.

    .. math:: \min_{w, b, \epsilon} \; \tfrac12 \|w\|^2 + C \left( \nu L \epsilon
              + \sum_l \left| |y_l - w \cdot \Phi(x_l) - b| - \epsilon \right|_+ \right)

    At most a fraction ν of the examples is outside the tube, and at least a fraction ν are support
    vectors.

    Parameters
    ----------
    nu : float, default=0.5
        ν in (0, 1].
    C : float, default=1.0
        The weight of the errors: the bound of the coefficients.
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter :
        As in `SVR`.
    working_set_size, time_limit, n_jobs, warm_start, dtype, scaling, exponent :
        As in `SVR`.
    shrinking_iterations, shrinking_threshold :
        As in `SVR`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_ :
        As in `SVR`, as are the others.

    See Also
    --------
    SVR : The same machine, with ε as its parameter.

    References
    ----------
    B. Schölkopf, A. Smola, R. Williamson and P. Bartlett, *New support vector algorithms*, Neural
    Computation 12, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import NuSVR
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> reg = NuSVR(C=10.0, nu=0.3).fit(X, np.sin(X[:, 0]))
    >>> bool(reg.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    _kind: ClassVar[str] = "nu_svr"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "nu": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool | str = True,
        tol: float = 1e-3,
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
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
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

    def _solve(
        self,
        X: ArrayLike,
        tasks: Sequence[Task],
        options: Options,
        control: Control,
        initial: Sequence[FloatArray | None] | None = None,
        watcher: Watcher | None = None,
        state: SolverState | None = None,  # not used: its two problems are not alike
    ) -> list[Solution]:
        (task,), first = tasks, None if initial is None else initial[0]

        def run(problem: Problem, begin: FloatArray | None) -> Solution:
            both = [Task(task.ids, problem)], options, control, [begin], watcher
            return super(NuSVR, self)._solve(X, *both)[0]

        return [nu_regression(task.problem, first, options.tol, run)]

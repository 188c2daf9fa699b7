r"""Support vector classification: the largest margin in the feature space of a kernel.

.. math:: \min_{w, b} \; \tfrac12 \|w\|^2 + C \sum_l \left|1 - y_l (w \cdot \Phi(x_l) + b)\right|_+

is `SVC`. Its dual is solved by the decomposition algorithm (thesis, Chapter 5), and its solution
:math:`f(x) = \sum_l \alpha_l y_l k(x_l, x) + b` is certified by the duality gap.
"""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from widemargin._typing import ArrayLike, FloatArray
from widemargin.svm.classifier import KernelClassifier
from widemargin.svm.decomposition import Options, Solution, SolverState
from widemargin.svm.hard_margin import solve_hard_margins
from widemargin.svm.solve import Task
from widemargin.training.control import Control, Watcher
from widemargin.training.separable import NotSeparableError, not_separable

__all__ = ["SVC"]


class SVC(KernelClassifier):
    r"""Support vector classifier with any kernel (thesis, Chapter 5).

    .. math:: \min_{w, b} \; \tfrac12 \|w\|^2
              + C \sum_l \left|1 - y_l (w \cdot \Phi(x_l) + b)\right|_+

    It finds the exact solution and certifies it, with scikit-learn's parameters and attributes.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the errors: the bound of the coefficients α. Infinite: a hard margin, with no
        example inside it; an error is raised if the classes cannot be separated.
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
    shrinking : bool or "heuristic", default=True
        Whether to set aside examples that are likely to stay at a bound (shrinking). With True
        they are checked again before the end, so that the solution is optimal for all examples.
        With "heuristic" they are not, as in the original SVMTorch; the remaining violation is
        measured, and a warning reports it.
    probability : bool, default=False
        Whether to fit sigmoids for `predict_proba`, on outputs of five-fold cross-validation. Half
        of the `time_limit` is kept for them; if it does not allow all folds, there are fewer.
    tol : float, default=0.001
        The largest violation of the optimality conditions that is allowed at the end.
    cache_size : float, default=200
        Megabytes of memory for rows of the kernel matrix.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the bounds of their examples.
    verbose : bool, default=False
        Whether to print one line every 50 ms.
    max_iter : int, default=-1
        The largest number of steps, each of which moves two variables; −1 means no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        What `decision_function` returns for more than two classes: one score per class, or one
        output per pair of classes.
    break_ties : bool, default=False
        Whether `predict` decides between classes of equal votes by their scores.
    random_state : int, RandomState instance or None, default=None
        The seed of the folds of `probability=True`; None means 0.
    working_set_size : "auto" or int, default="auto"
        How many variables are optimised at a time: an even number, 2 or more. 2 gives sequential
        minimal optimisation.
    time_limit : float or None, default=None
        Seconds after which training stops. Until then every pair of classes has a machine, if
        need be of a part of its examples.
    n_jobs : int or None, default=None
        The largest number of threads; −1 means one per CPU. None lets the machine choose, up to
        one per CPU. The result does not depend on it.
    warm_start : bool, default=False
        Whether `fit` starts from the coefficients of the last fit, to resume after an early stop
        or for another C. The last fit must have had as many examples and the same classes. Its
        coefficients are scaled with C, clipped to their bounds and balanced; the optimum does not
        depend on them.
    dtype : {"auto", "float32", "float64"}, default="auto"
        The precision of the kernel values that the solver works with; the solution is verified in
        float64. "auto" uses float32 where that is faster and precise enough for `tol`.
    multi_class : {"ovo", "ovr"}, default="ovo"
        How more than two classes are trained: one machine per pair, or one per class against the
        rest.
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
        fraction that is misclassified, of each problem by itself. It is measured after every L/10
        steps, for L examples, so that the result does not depend on the clock; the machine with
        the lowest error is returned. `working_set_size="auto"` means 32 then.
    n_iter_no_change : int, default=5
        How many measures in a row without a lower error end training.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    class_weight_ : ndarray of shape (n_classes,)
        Their weights.
    support_ : ndarray of shape (n_SV,)
        Row numbers of the support vectors, sorted by class.
    support_vectors_ : ndarray or CSR array of shape (n_SV, n_features)
        The support vectors; empty for a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        The number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_classes − 1, n_SV)
        Their coefficients y α, in LIBSVM's layout: row j − 1 against class j, for those of a class
        i < j, and row j for those of a class i > j. With `multi_class="ovr"`, of shape
        (n_classes, n_SV).
    intercept_ : ndarray of shape (n_problems,)
        The biases.
    coef_ : ndarray of shape (n_problems, n_features)
        The weights of the inputs; for the linear kernel only.
    probA_, probB_ : ndarray of shape (n_problems,)
        The sigmoids 1/(1 + exp(A f + B)); empty unless `probability=True`.
    n_calibration_folds_ : int
        How many folds gave the scores that the sigmoids were fitted to: 5, fewer after a time
        limit or Ctrl-C, or 0 if they come from a machine of a few examples, or if there are none.
    fit_status_ : int
        0 if the fit converged, otherwise 1.
    gamma_ : float
        γ as used; 0 for a precomputed kernel or a callable.
    feature_offset_, feature_scale_ : ndarray of shape (n_features,) or None
        What is subtracted from the inputs, and what they are then divided by; None if they are
        not scaled. `support_vectors_`, and `coef_` with `intercept_`, are of inputs as given.
    primal_objective_, dual_objective_, duality_gap_ : float or ndarray of shape (n_problems,)
        The primal and the dual objective of each problem, between which the optimum lies, and
        their difference. The primal and the gap are infinite where an early stop left no time to
        measure them.
    kkt_violation_ : float or ndarray of shape (n_problems,)
        The violation of the optimality conditions over all examples, at most: bounds of rounding
        errors are included. Infinite if not measured.
    geometric_margin_ : float
        The width 2/‖w‖ of the margin in feature space, of several problems the smallest; absent
        if an early stop left no time to measure it, or if the kernel is not positive definite.
    converged_ : bool
        Whether `kkt_violation_` is at most `tol`.
    stop_reason_ : str
        "tol", "max_iter", "time_limit", "interrupted" or "callback", also if only the calibration
        of probabilities was stopped; "validation" if the validation error ended training, or the
        machine that it chose is not the last one; "rounding" if rounding keeps the violation, or
        what can be verified of it, above `tol`; "shrunk" if examples that `shrinking="heuristic"`
        set aside violate the conditions.
    n_iter_ : ndarray of shape (n_problems,)
        The number of steps of each problem.
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
        The fraction of the validation examples, by weight, that is misclassified; only if `fit`
        was given some.

    See Also
    --------
    NuSVC : The same machine, with the fraction of support vectors as its parameter.
    KernelPerceptron : Any separation, not the one with the largest margin.

    References
    ----------
    R. Collobert, *Large Scale Machine Learning*, thesis, 2004, Chapter 5.
    R.-E. Fan, P.-H. Chen and C.-J. Lin, *Working set selection using second order information*,
    JMLR 6, 2005.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from widemargin import SVC
    >>> X, y = make_circles(200, factor=0.4, noise=0.1, random_state=0)
    >>> clf = SVC(C=10.0).fit(X, y)
    >>> clf.score(X, y), clf.converged_
    (1.0, True)
    >>> bool(clf.kkt_violation_ <= 1e-3)
    True

    A hard margin: as wide as possible, with no example inside it.

    >>> import numpy as np
    >>> hard = SVC(C=np.inf, kernel="linear").fit([[0.0], [2.0], [5.0]], [0, 0, 1])
    >>> hard.support_, round(hard.geometric_margin_, 6)
    (array([1, 2]), 3.0)
    """

    _kind: ClassVar[str] = "c_svc"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="right")],  # infinite: a hard margin
        "early_stopping": ["boolean"],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool | str = True,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: ArrayLike = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: ArrayLike = None,
        working_set_size: int | str = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        dtype: str = "auto",
        multi_class: str = "ovo",
        scaling: str | None = None,
        exponent: float = 1.0,
        shrinking_iterations: int = 5,
        shrinking_threshold: float | None = None,
        early_stopping: bool = False,
        n_iter_no_change: int = 5,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.working_set_size = working_set_size
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.dtype = dtype
        self.multi_class = multi_class
        self.scaling = scaling
        self.exponent = exponent
        self.shrinking_iterations = shrinking_iterations
        self.shrinking_threshold = shrinking_threshold
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change

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
        if np.isfinite(self.C):
            return super()._solve(X, tasks, options, control, initial, watcher, state)

        def solve(some: Any, how: Options, starts: Any, watch: Any) -> list[Solution]:
            return super(SVC, self)._solve(X, some, how, control, starts, watch)

        try:
            return solve_hard_margins(tasks, options, initial, watcher, solve)
        except NotSeparableError as error:
            where = f"in the feature space of kernel={self.kernel!r}"
            names = self._classes_of_problem(error.number)
            raise not_separable(self, names, error.bound, where) from None

    def _check_early_stopping(self) -> None:
        if self.probability:
            raise ValueError(
                "early_stopping=True and probability=True: the machines of the folds would not be "
                "stopped where this one is; use probability=False, and CalibratedClassifierCV"
            )
        if not np.isfinite(self.C):
            raise ValueError(f"early_stopping=True and C={self.C}; use a finite C")

    def _margins(self, solutions: Sequence[Solution]) -> dict[str, Any]:
        squares = [float(one.beta @ one.f) for one in solutions if np.isfinite(one.gap)]
        known = len(squares) == len(solutions) and min(squares) >= 0.0
        return {"_squared_norm": max(squares) if known else None}

    @property
    def geometric_margin_(self) -> float:
        """The width 2/‖w‖ of the margin in feature space, of several problems the smallest."""
        square = vars(self).get("_squared_norm")
        if square is None:
            raise AttributeError(
                "geometric_margin_ is known after a fit that could measure it, with a kernel that "
                "is positive definite"
            )
        return float(2.0 / np.sqrt(square)) if square > 0.0 else np.inf

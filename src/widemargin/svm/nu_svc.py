r"""Support vector classification with ν, the fraction of examples allowed inside the margin.

.. math:: \min_{w, b, \rho} \; \tfrac12 \|w\|^2 - \nu \rho
          + \tfrac1L \sum_l \left|\rho - y_l (w \cdot \Phi(x_l) + b)\right|_+
"""

from itertools import combinations
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from widemargin._typing import ArrayLike, FloatArray
from widemargin.svm.classifier import KernelClassifier
from widemargin.svm.problem import Problem, svm_problem

__all__ = ["NuSVC"]


class NuSVC(KernelClassifier):
    r"""Support vector classifier with the fraction ν of support vectors as its parameter.

    .. math:: \min_{w, b, \rho} \; \tfrac12 \|w\|^2 - \nu \rho
              + \tfrac1L \sum_l \left|\rho - y_l (w \cdot \Phi(x_l) + b)\right|_+

    At most a fraction ν of the examples is inside the margin, and at least a fraction ν are support
    vectors. f is divided by ρ, so that the margins are at ±1, as those of an `SVC`.

    Parameters
    ----------
    nu : float, default=0.5
        ν in (0, 1], at most twice the fraction of the smaller class of a pair.
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size :
        As in `SVC`.
    class_weight, verbose, max_iter, decision_function_shape, break_ties, random_state :
        As in `SVC`.
    working_set_size, time_limit, n_jobs, warm_start, dtype, multi_class, scaling, exponent :
        As in `SVC`.
    shrinking_iterations, shrinking_threshold :
        As in `SVC`.

    Attributes
    ----------
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_ :
        As in `SVC`, as are the others.

    See Also
    --------
    SVC : The same machine, with C as its parameter.

    References
    ----------
    B. Schölkopf, A. Smola, R. Williamson and P. Bartlett, *New support vector algorithms*, Neural
    Computation 12, 2000.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from widemargin import NuSVC
    >>> X, y = make_circles(200, factor=0.4, noise=0.1, random_state=0)
    >>> NuSVC(nu=0.1).fit(X, y).score(X, y)
    1.0
    """

    _kind: ClassVar[str] = "nu_svc"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelClassifier._parameter_constraints,
        "nu": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
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
    ) -> None:
        self.nu = nu
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

    def _weights(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> FloatArray | None:
        weights = super()._weights(X, y, sample_weight)
        totals = np.bincount(np.searchsorted(self.classes_, y), weights=weights)
        rivals = combinations(totals, 2)
        if self._one_against_rest:
            rivals = ((total, totals.sum() - total) for total in totals)  # type: ignore[assignment]
        most = min(_largest_nu(a, b) for a, b in rivals)
        if self.nu > most * (1 + 1e-12):
            raise ValueError(
                f"specified nu is infeasible: nu={self.nu} asks for more support vectors than the "
                f"class with the least weight has; use nu <= {most:.6g}, or class_weight='balanced'"
            )
        return weights

    def _problem(self, y: FloatArray, weights: FloatArray | None) -> Problem:
        w = np.ones(len(y)) if weights is None else weights
        largest = _largest_nu(w[y > 0].sum(), w[y < 0].sum())
        nu = min(float(self.nu), largest)  # a fold may allow less than all examples
        return svm_problem(self._kind, y, weights, nu=nu)


def _largest_nu(a: float, b: float) -> float:
    """The largest ν for which classes of weights a and b have enough examples."""
    return float(2.0 * min(a, b) / (a + b))

"""Machines for many C: each goes on from the last, and cross-validation chooses one."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from widemargin._typing import ArrayLike, FloatArray
from widemargin.svm.classifier import KernelClassifier
from widemargin.svm.kernel_source import resolve_gamma
from widemargin.svm.machine import KernelMachine
from widemargin.svm.svc import SVC
from widemargin.training.path import Folds, Path, adopt, grid_of, unfitted

__all__ = ["SVCCV", "SVMPath", "svm_path"]


@dataclass(frozen=True, eq=False)
class SVMPath(Path):
    """The models of `svm_path`, one for each C; arrays have a row each."""

    kkt_violation: FloatArray


def svm_path(
    X: ArrayLike,
    y: ArrayLike,
    Cs: ArrayLike,
    *,
    estimator: Any = None,
    sample_weight: ArrayLike = None,
    **parameters: Any,
) -> SVMPath:
    """Fit a kernel machine for each of many C, in ascending order, each from the last.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The examples; kernel values of shape (n_samples, n_samples) for a precomputed kernel.
    y : array-like of shape (n_samples,)
        Their targets.
    Cs : array-like of shape (n_Cs,)
        The values of C, in any order.
    estimator : estimator, optional
        An `SVC`, `SVR` or `NuSVR`, which is copied; None is ``SVC()``.
    sample_weight : array-like of shape (n_samples,), optional
        Weights ≥ 0, as in `SVC.fit`.
    **parameters
        Other parameters of the estimator: ``gamma=0.1``.

    Returns
    -------
    SVMPath
        `Cs`, and in their order the fitted `models`, `primal_objective`, `dual_objective`,
        `duality_gap`, `kkt_violation`, `n_iter` (one value for each C, or for each C and
        problem) and `seconds`. Each model is what fit alone would give: the optimum, within
        `tol`. Ctrl-C ends the path with the C at hand; those not reached are left out.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from widemargin.svm import svm_path
    >>> X, y = make_circles(200, factor=0.6, noise=0.2, random_state=0)
    >>> path = svm_path(X, y, [0.1, 1.0, 10.0], gamma=2.0)
    >>> path.dual_objective.round(1)
    array([ 14.5,  93.5, 775.5])
    >>> path.models[1].C
    1.0
    """
    model = unfitted(estimator, SVC(), parameters, KernelMachine, "SVC, SVR or NuSVR")
    return SVMPath.of(model, X, y, Cs, sample_weight)


class SVCCV(KernelClassifier):
    """Support vector classifier that chooses C, and γ if told to, by cross-validation.

    For each γ and fold the machines of all C are trained one from the other (`svm_path`); then
    that of the best mean score is trained on all examples.

    Parameters
    ----------
    Cs : int or array-like of shape (n_Cs,), default=10
        The values of C, or their number: from 0.01 to 100, in equal ratios.
    gamma : {"scale", "auto"}, float or array-like of them, default="scale"
        γ as in `SVC`, or several to choose from. "scale" is that of all examples.
    cv : int, splitter or iterable, default=5
        Folds: their number, stratified by class; a splitter of scikit-learn; or pairs of row
        numbers (train, test). For a validation set of your own, put it below the other examples
        and give the one pair.
    scoring : str or callable, optional, default=None
        scikit-learn's name of a score, or a scorer; None is the accuracy.
    kernel, degree, coef0, shrinking, probability, tol, cache_size, class_weight :
        As in `SVC`. In the folds, `probability` only counts if there is a `scoring`.
    verbose, max_iter, decision_function_shape, break_ties, random_state, working_set_size :
        As in `SVC`, of each machine.
    time_limit, n_jobs, dtype, multi_class :
        As in `SVC`, of each machine.

    Attributes
    ----------
    C_ : float
        The C of the best mean score; of several the smallest.
    gamma_ : float
        Its γ.
    best_score_ : float
        Its mean score.
    Cs_ : ndarray of shape (n_Cs,)
        The values of C, ascending.
    gammas_ : ndarray of shape (n_gammas,)
        The values of γ.
    scores_ : ndarray of shape (n_gammas, n_Cs, n_folds)
        The score of each machine on the examples left out.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_ :
        As in `SVC`, of the machine of all examples, as are the others.

    See Also
    --------
    SVC : One C.
    svm_path : The machines of many C.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from widemargin import SVCCV
    >>> X, y = make_circles(200, factor=0.6, noise=0.2, random_state=0)
    >>> clf = SVCCV(Cs=[0.1, 1.0, 10.0], gamma=[0.5, 2.0]).fit(X, y)
    >>> clf.scores_.shape, clf.C_, clf.gamma_
    ((2, 3, 5), 10.0, 0.5)
    """

    _kind: ClassVar[str] = "c_svc"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelClassifier._parameter_constraints,
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "gamma": [*KernelClassifier._parameter_constraints["gamma"], "array-like"],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
    }
    _parameter_constraints.pop("warm_start")

    def __init__(
        self,
        *,
        Cs: ArrayLike = 10,
        gamma: ArrayLike = "scale",
        cv: Any = 5,
        scoring: Any = None,
        kernel: Any = "rbf",
        degree: int = 3,
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
        dtype: str = "auto",
        multi_class: str = "ovo",
    ) -> None:
        self.Cs = Cs
        self.gamma = gamma
        self.cv = cv
        self.scoring = scoring
        self.kernel = kernel
        self.degree = degree
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
        self.dtype = dtype
        self.multi_class = multi_class

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> Self:
        given = X
        X, y = self._check_fit(X, y)
        self._targets(y)
        self.Cs_ = grid_of(self.Cs)
        parameters = self.get_params(deep=False)
        for name in ("Cs", "gamma", "cv", "scoring"):
            del parameters[name]
        self.gammas_ = self._gammas(X)
        in_folds = {**parameters, "probability": self.probability and self.scoring is not None}
        models = [SVC(**in_folds, gamma=float(gamma)) for gamma in self.gammas_]
        self.scores_ = Folds(self, X, y, sample_weight, self.cv).scores(models, self.Cs_)
        mean = self.scores_.mean(axis=2)
        best_gamma, best_C = np.unravel_index(np.argmax(mean), mean.shape)
        self.C_, self.best_score_ = float(self.Cs_[best_C]), float(mean[best_gamma, best_C])
        best = SVC(**parameters, C=self.C_, gamma=float(self.gammas_[best_gamma]))
        adopt(self, best, given, y, sample_weight)
        return self

    def _gammas(self, X: ArrayLike) -> FloatArray:
        if not isinstance(self.kernel, str) or self.kernel == "precomputed":
            return np.zeros(1)
        choices = np.atleast_1d(np.asarray(self.gamma, dtype=object))
        for gamma in choices.ravel():
            if gamma not in ("scale", "auto") and not (
                isinstance(gamma, Real) and float(gamma) > 0
            ):
                raise ValueError(
                    f"gamma={self.gamma!r} holds {gamma!r}; use positive numbers, 'scale' or 'auto'"
                )
        if choices.ndim > 1 or not choices.size:
            raise ValueError(f"gamma={self.gamma!r} must be one γ or a list of them")
        return np.array([resolve_gamma(gamma, X) for gamma in choices])

"""Kernel machines that choose C, and γ if asked to, by validation."""

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.gamma import resolve_gamma
from widemargin.inputs.unscaled import warn_if_unscaled
from widemargin.kernels import UnscaledInputsWarning
from widemargin.svm.classifier import KernelClassifier
from widemargin.svm.machine import KernelMachine
from widemargin.svm.svc import SVC
from widemargin.svm.svr import SVR, KernelRegressor
from widemargin.training.certified import WeightedExamples
from widemargin.training.choice import ChosenMachine

__all__ = ["SVCCV", "SVRCV"]


class ChosenKernelMachine(ChosenMachine):
    """Base of machines that choose among several γ along C."""

    _search_parameters: ClassVar[tuple[str, ...]] = (
        *ChosenMachine._search_parameters,
        "gamma",
    )

    gammas_: FloatArray

    @classmethod
    def _constraints(cls, machine: dict[str, Any]) -> dict[str, Any]:
        return {
            **super()._constraints(machine),
            "gamma": [*KernelMachine._parameter_constraints["gamma"], "array-like"],
        }

    def _candidates(self, X: ArrayLike) -> list[dict[str, Any]]:
        warn_if_unscaled(self, X)  # once, not for each machine
        self.gammas_ = self._gammas(X)
        return [{"gamma": float(gamma)} for gamma in self.gammas_]

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
        scaling = self._measured_scaling(X, None)
        return np.array(
            [
                resolve_gamma(gamma, X, scaling, self.kernel, float(self.exponent))
                for gamma in choices
            ]
        )

    def _scores_along(self, models: Sequence[Any], folds: Any) -> FloatArray:
        with warnings.catch_warnings(action="ignore", category=UnscaledInputsWarning):
            return super()._scores_along(models, folds)

    def _adopt(
        self, chosen: Any, train: WeightedExamples, test: WeightedExamples | None = None
    ) -> None:
        with warnings.catch_warnings(action="ignore", category=UnscaledInputsWarning):
            super()._adopt(chosen, train, test)

    def _keep_scores(self, scores: FloatArray) -> None:
        self.scores_, self.validation_curve_ = scores, scores.mean(axis=-1)

    @property
    def _curve(self) -> FloatArray:
        chosen: FloatArray = self.scores_[self.gammas_.tolist().index(self.gamma_)]
        return chosen


class SVCCV(ChosenKernelMachine, KernelClassifier):
    """Support vector classifier that chooses C, and γ if asked to, by validation.

    For each γ and fold, the machines of all C are trained one from the other (`svm_path`) and
    scored on the examples left out. The machine with the best mean score is then trained on all
    examples.

    Parameters
    ----------
    Cs : int or array-like of shape (n_Cs,), default=10
        The values of C, or how many: from 0.01 to 100, in equal ratios.
    gamma : {"scale", "auto"}, float or array-like of them, default="scale"
        γ as in `SVC`, or several to choose from. "scale" is that of all examples.
    cv : int, splitter or iterable, default=5
        The folds: how many, stratified by class; a splitter of scikit-learn; or pairs of row
        numbers (train, test). A validation set of your own is given to `fit`.
    scoring : str or callable, optional, default=None
        scikit-learn's name of a score, or a scorer. None means the accuracy.
    refit : bool, default=True
        Whether to train the chosen machine on all examples. False keeps the examples on which it
        was scored out of it; then there must be a validation set, not folds.
    kernel, degree, coef0, shrinking, probability, tol, cache_size, class_weight :
        As in `SVC`. In the folds, `probability` is used only if there is a `scoring`.
    verbose, max_iter, decision_function_shape, break_ties, random_state, working_set_size :
        As in `SVC`, for each machine.
    time_limit : float or None, default=None
        Seconds after which the search and the last fit stop. Each fit has a share of the time.
    n_jobs, dtype, multi_class, scaling, exponent :
        As in `SVC`, for each machine. In the folds, the examples left out do not count for the
        scaling.

    Attributes
    ----------
    C_ : float
        The C with the best mean score; of several the smallest.
    gamma_ : float
        The γ with the best mean score.
    best_score_ : float
        The best mean score.
    Cs_ : ndarray of shape (n_Cs,)
        The values of C, ascending.
    gammas_ : ndarray of shape (n_gammas,)
        The values of γ.
    scores_ : ndarray of shape (n_gammas, n_Cs, n_folds)
        The score of each machine on the examples left out; NaN if the time was over before.
    validation_curve_ : ndarray of shape (n_gammas, n_Cs)
        Their mean over the folds.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_ :
        As in `SVC`, of the chosen machine, as are the others.

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
    _machine: ClassVar[type[Any]] = SVC
    _parameter_constraints: ClassVar[dict[str, Any]] = ChosenKernelMachine._constraints(
        SVC._parameter_constraints
    )

    def __init__(
        self,
        *,
        Cs: ArrayLike = 10,
        gamma: ArrayLike = "scale",
        cv: Any = 5,
        scoring: Any = None,
        refit: bool = True,
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        shrinking: bool | str = True,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: ArrayLike = None,
        verbose: int = 0,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: ArrayLike = None,
        working_set_size: int | str = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        dtype: str = "auto",
        multi_class: str = "ovo",
        scaling: str | None = None,
        exponent: float = 1.0,
    ) -> None:
        self.Cs = Cs
        self.gamma = gamma
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
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
        self.scaling = scaling
        self.exponent = exponent

    def _fold_parameters(self) -> dict[str, Any]:
        return {"probability": self.probability and self.scoring is not None}


class SVRCV(ChosenKernelMachine, KernelRegressor):
    """Support vector regression that chooses C, and γ if asked to, by validation.

    For each γ and fold, the machines of all C are trained one from the other (`svm_path`) and
    scored on the examples left out. The machine with the best mean score is then trained on all
    examples.

    Parameters
    ----------
    Cs : int or array-like of shape (n_Cs,), default=10
        The values of C, or how many: from 0.01 to 100, in equal ratios.
    gamma : {"scale", "auto"}, float or array-like of them, default="scale"
        γ as in `SVR`, or several to choose from. "scale" is that of all examples.
    cv : int, splitter or iterable, default=5
        The folds: how many, in the order of the examples; a splitter of scikit-learn; or pairs of
        row numbers (train, test). A validation set of your own is given to `fit`.
    scoring : str or callable, optional, default=None
        scikit-learn's name of a score, or a scorer. None means R².
    refit : bool, default=True
        Whether to train the chosen machine on all examples. False keeps the examples on which it
        was scored out of it; then there must be a validation set, not folds.
    kernel, degree, coef0, tol, epsilon, shrinking, cache_size :
        As in `SVR`.
    verbose, max_iter, working_set_size :
        As in `SVR`, for each machine.
    time_limit : float or None, default=None
        Seconds after which the search and the last fit stop. Each fit has a share of the time.
    n_jobs, dtype, scaling, exponent :
        As in `SVR`, for each machine. In the folds, the examples left out do not count for the
        scaling.

    Attributes
    ----------
    C_ : float
        The C with the best mean score; of several the smallest.
    gamma_ : float
        The γ with the best mean score.
    best_score_ : float
        The best mean score.
    Cs_ : ndarray of shape (n_Cs,)
        The values of C, ascending.
    gammas_ : ndarray of shape (n_gammas,)
        The values of γ.
    scores_ : ndarray of shape (n_gammas, n_Cs, n_folds)
        The score of each machine on the examples left out; NaN if the time was over before.
    validation_curve_ : ndarray of shape (n_gammas, n_Cs)
        Their mean over the folds.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_ :
        As in `SVR`, of the chosen machine, as are the others.

    See Also
    --------
    SVR : One C.
    svm_path : The machines of many C.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVRCV
    >>> X = np.random.default_rng(0).uniform(0, 6, size=(100, 1))
    >>> reg = SVRCV(Cs=[0.1, 1.0, 10.0], gamma=[0.1, 1.0]).fit(X, np.sin(X[:, 0]))
    >>> reg.scores_.shape, reg.gamma_, reg.best_score_ > 0.9
    ((2, 3, 5), 0.1, True)
    """

    _kind: ClassVar[str] = "epsilon_svr"
    _machine: ClassVar[type[Any]] = SVR
    _parameter_constraints: ClassVar[dict[str, Any]] = ChosenKernelMachine._constraints(
        SVR._parameter_constraints
    )

    def __init__(
        self,
        *,
        Cs: ArrayLike = 10,
        gamma: ArrayLike = "scale",
        cv: Any = 5,
        scoring: Any = None,
        refit: bool = True,
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        epsilon: float = 0.1,
        shrinking: bool | str = True,
        cache_size: float = 200,
        verbose: int = 0,
        max_iter: int = -1,
        working_set_size: int | str = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        dtype: str = "auto",
        scaling: str | None = None,
        exponent: float = 1.0,
    ) -> None:
        self.Cs = Cs
        self.gamma = gamma
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.working_set_size = working_set_size
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.dtype = dtype
        self.scaling = scaling
        self.exponent = exponent

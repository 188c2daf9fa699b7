"""Linear machines that choose C by validation."""

from typing import Any, ClassVar

from widemargin._typing import ArrayLike
from widemargin.linear_svm.estimators import LinearSVC, LinearSVR
from widemargin.training.choice import ChosenMachine

__all__ = ["LinearSVCCV", "LinearSVRCV"]


class LinearSVCCV(ChosenMachine, LinearSVC):
    """Linear support vector classifier that chooses C by validation.

    For each fold, the machines of all C are trained one from the other (`linear_svm_path`) and
    scored on the examples left out. The machine with the best mean score is then trained on all
    examples.

    Parameters
    ----------
    Cs : int or array-like of shape (n_Cs,), default=10
        The values of C, or how many: from 0.01 to 100, in equal ratios.
    cv : int, splitter or iterable, default=5
        The folds: how many, stratified by class; a splitter of scikit-learn; or pairs of row
        numbers (train, test). A validation set of your own is given to `fit`.
    scoring : str or callable, optional, default=None
        scikit-learn's name of a score, or a scorer. None means the accuracy.
    refit : bool, default=True
        Whether to train the chosen machine on all examples. False keeps the examples on which it
        was scored out of it; then there must be a validation set, not folds.
    penalty, loss, dual, tol, multi_class, fit_intercept, intercept_scaling, class_weight :
        As in `LinearSVC`.
    verbose, random_state, max_iter, scaling :
        As in `LinearSVC`, for each machine.
    time_limit : float or None, default=None
        Seconds after which the search and the last fit stop. Each fit has a share of the time.
    n_jobs :
        As in `LinearSVC`, for each machine.

    Attributes
    ----------
    C_ : float
        The C with the best mean score; of several the smallest.
    best_score_ : float
        The best mean score.
    Cs_ : ndarray of shape (n_Cs,)
        The values of C, ascending.
    scores_ : ndarray of shape (n_Cs, n_folds)
        The score of each machine on the examples left out.
    validation_curve_ : ndarray of shape (n_Cs,)
        Their mean over the folds.
    coef_, intercept_, classes_, primal_objective_, dual_objective_, duality_gap_ :
        As in `LinearSVC`, of the chosen machine, as are the others.

    See Also
    --------
    LinearSVC : One C.
    linear_svm_path : The machines of many C.

    References
    ----------
    A. Rakotomamonjy, *The online Perceptron algorithm and linear SVMs*, 2021: tuning of C.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from widemargin import LinearSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = LinearSVCCV(Cs=[0.001, 0.01, 0.1, 1.0], scaling="standard").fit(X, y)
    >>> clf.scores_.shape, clf.C_, clf.best_score_ > 0.97
    ((4, 5), 0.1, True)
    """

    _machine: ClassVar[type[Any]] = LinearSVC
    _parameter_constraints: ClassVar[dict[str, Any]] = ChosenMachine._constraints(
        LinearSVC._parameter_constraints
    )

    def __init__(
        self,
        *,
        Cs: ArrayLike = 10,
        cv: Any = 5,
        scoring: Any = None,
        refit: bool = True,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        dual: bool | str = "auto",
        tol: float = 1e-4,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float | None = 1.0,
        class_weight: ArrayLike = None,
        verbose: int = 0,
        random_state: ArrayLike = None,
        max_iter: int = 1000,
        scaling: str | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.scaling = scaling
        self.time_limit = time_limit
        self.n_jobs = n_jobs


class LinearSVRCV(ChosenMachine, LinearSVR):
    """Linear support vector regression that chooses C by validation.

    For each fold, the machines of all C are trained one from the other (`linear_svm_path`) and
    scored on the examples left out. The machine with the best mean score is then trained on all
    examples.

    Parameters
    ----------
    Cs : int or array-like of shape (n_Cs,), default=10
        The values of C, or how many: from 0.01 to 100, in equal ratios.
    cv : int, splitter or iterable, default=5
        The folds: how many, in the order of the examples; a splitter of scikit-learn; or pairs of
        row numbers (train, test). A validation set of your own is given to `fit`.
    scoring : str or callable, optional, default=None
        scikit-learn's name of a score, or a scorer. None means R².
    refit : bool, default=True
        Whether to train the chosen machine on all examples. False keeps the examples on which it
        was scored out of it; then there must be a validation set, not folds.
    epsilon, tol, loss, fit_intercept, intercept_scaling, dual :
        As in `LinearSVR`.
    verbose, random_state, max_iter, scaling :
        As in `LinearSVR`, for each machine.
    time_limit : float or None, default=None
        Seconds after which the search and the last fit stop. Each fit has a share of the time.
    n_jobs :
        As in `LinearSVR`, for each machine.

    Attributes
    ----------
    C_ : float
        The C with the best mean score; of several the smallest.
    best_score_ : float
        The best mean score.
    Cs_ : ndarray of shape (n_Cs,)
        The values of C, ascending.
    scores_ : ndarray of shape (n_Cs, n_folds)
        The score of each machine on the examples left out.
    validation_curve_ : ndarray of shape (n_Cs,)
        Their mean over the folds.
    coef_, intercept_, primal_objective_, dual_objective_, duality_gap_ :
        As in `LinearSVR`, of the chosen machine, as are the others.

    See Also
    --------
    LinearSVR : One C.
    linear_svm_path : The machines of many C.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from widemargin import LinearSVRCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = LinearSVRCV(Cs=[0.1, 1.0, 10.0, 100.0], scaling="standard").fit(X, y)
    >>> reg.scores_.shape, reg.best_score_ > 0.45
    ((4, 5), True)
    """

    _machine: ClassVar[type[Any]] = LinearSVR
    _parameter_constraints: ClassVar[dict[str, Any]] = ChosenMachine._constraints(
        LinearSVR._parameter_constraints
    )

    def __init__(
        self,
        *,
        Cs: ArrayLike = 10,
        cv: Any = 5,
        scoring: Any = None,
        refit: bool = True,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float | None = 1.0,
        dual: bool | str = "auto",
        verbose: int = 0,
        random_state: ArrayLike = None,
        max_iter: int = 1000,
        scaling: str | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.epsilon = epsilon
        self.tol = tol
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.scaling = scaling
        self.time_limit = time_limit
        self.n_jobs = n_jobs

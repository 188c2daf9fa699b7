"""Linear machines for many C: each goes on from the last, and validation chooses one."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from widemargin._typing import ArrayLike
from widemargin.linear_svm.estimators import LinearSVC
from widemargin.linear_svm.machine import LinearMachine
from widemargin.training.estimators import all_or_nothing
from widemargin.training.path import Folds, Path, adopt, grid_of, unfitted

__all__ = ["LinearSVCCV", "LinearSVMPath", "linear_svm_path"]


@dataclass(frozen=True, eq=False)
class LinearSVMPath(Path):
    """The models of `linear_svm_path`, one for each C; arrays have a row each."""


def linear_svm_path(
    X: ArrayLike,
    y: ArrayLike,
    Cs: ArrayLike,
    *,
    estimator: Any = None,
    sample_weight: ArrayLike = None,
    **parameters: Any,
) -> LinearSVMPath:
    """Fit a linear machine for each of many C, in ascending order, each from the last.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The examples.
    y : array-like of shape (n_samples,)
        Their targets.
    Cs : array-like of shape (n_Cs,)
        The values of C, in any order.
    estimator : estimator, optional
        A `LinearSVC` or `LinearSVR`, which is copied; None is ``LinearSVC()``.
    sample_weight : array-like of shape (n_samples,), optional
        Weights ≥ 0, as in `LinearSVC.fit`.
    **parameters
        Other parameters of the estimator: ``loss="hinge"``.

    Returns
    -------
    LinearSVMPath
        `Cs`, and in their order the fitted `models`, `primal_objective`, `dual_objective`,
        `duality_gap` (one value for each C, or for each C and problem), `n_iter` and `seconds`.
        Each model is what fit alone would give: the optimum, within `tol`. Where that already
        holds for the model of the last C, `n_iter` is 0. Ctrl-C ends the path with the C at hand;
        those not reached are left out.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from widemargin.linear_svm import linear_svm_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = linear_svm_path(X, y, [0.01, 0.1, 1.0], loss="hinge", scaling="standard")
    >>> path.primal_objective.round(1)
    array([ 0.9,  4.3, 26.5])
    >>> path.models[1].C
    0.1
    """
    use = "LinearSVC or LinearSVR"
    model = unfitted(estimator, LinearSVC(), parameters, LinearMachine, use)
    return LinearSVMPath.of(model, X, y, Cs, sample_weight)


class LinearSVCCV(LinearSVC):
    """Linear support vector classifier that chooses C by validation.

    For each fold the machines of all C are trained one from the other (`linear_svm_path`) and
    scored on the examples left out; that of the best mean score is trained on all examples.

    Parameters
    ----------
    Cs : int or array-like of shape (n_Cs,), default=10
        The values of C, or their number: from 0.01 to 100, in equal ratios.
    cv : int, splitter or iterable, default=5
        Folds: their number, stratified by class; a splitter of scikit-learn; or pairs of row
        numbers (train, test). A validation set of your own is given to `fit`.
    scoring : str or callable, optional, default=None
        scikit-learn's name of a score, or a scorer; None is the accuracy.
    refit : bool, default=True
        Whether the model of the chosen C is trained on all examples. False keeps those that it
        was scored on out of it; there must be one validation set, not folds.
    penalty, loss, dual, tol, multi_class, fit_intercept, intercept_scaling, class_weight :
        As in `LinearSVC`.
    verbose, random_state, max_iter, scaling, time_limit, n_jobs :
        As in `LinearSVC`, of each machine.

    Attributes
    ----------
    C_ : float
        The C of the best mean score; of several the smallest.
    best_score_ : float
        Its mean score.
    Cs_ : ndarray of shape (n_Cs,)
        The values of C, ascending.
    scores_ : ndarray of shape (n_Cs, n_folds)
        The score of each machine on the examples left out.
    validation_curve_ : ndarray of shape (n_Cs,)
        Their mean over the folds.
    coef_, intercept_, classes_, primal_objective_, dual_objective_, duality_gap_ :
        As in `LinearSVC`, of the machine of the chosen C, as are the others.

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
    >>> clf.scores_.shape, clf.C_, round(clf.best_score_, 3)
    ((4, 5), 0.1, 0.977)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LinearSVC._parameter_constraints,
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "refit": ["boolean"],
    }
    _parameter_constraints.pop("C")
    _parameter_constraints.pop("warm_start")

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
        intercept_scaling: float | None = None,
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

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        *,
        X_val: ArrayLike = None,
        y_val: ArrayLike = None,
    ) -> Self:
        """Chooses C and trains the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0, which multiply C and count in the scores; examples of weight zero are left
            out.
        X_val, y_val : optional
            A validation set, in place of folds: `cv` is not used. With ``refit=True`` the model of
            the chosen C is trained on it too, with weights of one.

        Returns
        -------
        self
            The fitted estimator.
        """
        given, cv = X, self.cv
        X, y = self._validate(X, y)
        if X_val is not None or y_val is not None:
            X, y, sample_weight, cv = self._joined(X, y, sample_weight, X_val, y_val)
            given = X
        folds = Folds(self, X, y, sample_weight, cv)
        if not self.refit and len(folds.splits) > 1:
            raise ValueError(
                f"refit=False, but cv={self.cv!r} has {len(folds.splits)} folds and no one model; "
                "use refit=True, or give fit a validation set as X_val and y_val"
            )
        self.Cs_ = grid_of(self.Cs)
        parameters = self.get_params(deep=False)
        for name in ("Cs", "cv", "scoring", "refit"):
            del parameters[name]
        (self.scores_,) = folds.scores([LinearSVC(**parameters)], self.Cs_)
        self.validation_curve_ = self.scores_.mean(axis=1)
        best = int(np.argmax(self.validation_curve_))
        self.C_, self.best_score_ = float(self.Cs_[best]), float(self.validation_curve_[best])
        if not self.refit:
            ((train, _),) = folds.splits
            given, y = _safe_indexing(given, train), y[train]
            sample_weight = None if folds.weights is None else folds.weights[train]
        adopt(self, LinearSVC(**parameters, C=self.C_), given, y, sample_weight)
        return self

    def _joined(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike,
        X_val: ArrayLike,
        y_val: ArrayLike,
    ) -> tuple[ArrayLike, ArrayLike, ArrayLike, Any]:
        """All examples, those of the validation set behind the others, and the one split."""
        if X_val is None or y_val is None:
            raise ValueError("X_val and y_val go together; give both or neither")
        X_val, y_val = validate_data(self, X_val, y_val, reset=False, **self._input_options)
        if len(unknown := np.setdiff1d(y_val, self.classes_)):
            raise ValueError(
                f"y_val has the class {unknown.tolist()[0]!r}, which y has not; leave its examples "
                "out of the validation set, or add some to the others"
            )
        count, more = X.shape[0], X_val.shape[0]
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
            sample_weight = np.concatenate([weights, np.ones(more)])
        sparse = sp.issparse(X) or sp.issparse(X_val)
        X = sp.vstack([X, X_val], format="csr") if sparse else np.concatenate([X, X_val])
        split = np.arange(count), np.arange(count, count + more)
        return X, np.concatenate([y, y_val]), sample_weight, [split]

    def plot_curve(self, ax: Any = None) -> Any:
        """Draws the validation error against C, its spread over the folds, and the chosen C.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; new ones if it is None.

        Returns
        -------
        matplotlib axes
            With the error if the score is the accuracy, otherwise the score.
        """
        from widemargin.plots import draw_validation_curve  # needs matplotlib

        check_is_fitted(self)
        return draw_validation_curve(self.Cs_, self.scores_, self.C_, self.scoring, ax)

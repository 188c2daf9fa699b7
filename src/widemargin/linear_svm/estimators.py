r"""Linear support vector machines: the largest margin in the space of the inputs.

.. math:: \min_{w, b} \; \tfrac12 \|w\|^2 + C \sum_l \left|1 - y_l (w \cdot x_l + b)\right|_+

or its square. `LinearSVR` replaces the margin with the tube
:math:`\bigl||f(x) - y| - \varepsilon\bigr|_+`. Each fit ends with a certificate: the relative
duality gap is at most `tol`.

With ``multi_class="crammer_singer"`` `LinearSVC` trains the weights of all classes together:

.. math:: \min_{W, b} \; \tfrac12 \sum_k \|w_k\|^2
          + C \sum_l \max_k \bigl([k \ne y_l] + f_k(x_l) - f_{y_l}(x_l)\bigr)
"""

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.labels import check_labels
from widemargin.inputs.rows import checked_rows
from widemargin.linear_svm.hard_margin import HardProblem
from widemargin.linear_svm.inputs import LinearInputs
from widemargin.linear_svm.machine import LinearMachine
from widemargin.linear_svm.multiclass_problem import MulticlassProblem
from widemargin.linear_svm.problem import LinearProblem, Problem
from widemargin.training.certified import CertifiedClassifier, CertifiedRegressor
from widemargin.training.outputs import decision_values

__all__ = ["LinearSVC", "LinearSVR"]


class LinearSVC(CertifiedClassifier, LinearMachine):
    r"""Linear support vector classifier, at any size.

    .. math:: \min_{w, b} \; \tfrac12 \|w\|^2 + C \sum_l \ell(1 - y_l (w \cdot x_l + b)), \qquad
              \ell(\xi) = |\xi|_+ \text{ or } |\xi|_+^2

    It has scikit-learn's parameters and attributes. It converges where LIBLINEAR gives up, and its
    duality gap proves it.

    Parameters
    ----------
    penalty : {"l2"}, default="l2"
        The norm of w that is penalised.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        The cost of an example inside the margin. It has no effect with "crammer_singer", as in
        scikit-learn: that machine has the hinge of many classes.
    dual : bool or "auto", default="auto"
        The solver. True is dual coordinate descent, for many columns or small C. False is an
        interior-point method, for few columns; "crammer_singer" does not have it. "auto" begins
        with the first, and changes to the second when that is cheaper.
    tol : float, default=0.0001
        The relative duality gap at the end: the cost exceeds the optimum by no more than this
        fraction.
    C : float, default=1.0
        The weight of the errors. Infinite: a hard margin, with no example inside it, which both
        losses have in common; an error is raised if the classes cannot be separated.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        How more than two classes are trained: one against the rest, or all in one problem, in
        which the output of the right class should exceed the others by 1.
    fit_intercept : bool, default=True
        Whether to fit b.
    intercept_scaling : float or None, default=1.0
        A number s: b is penalised by ½ (b/s)², as in scikit-learn. None: b is free, as in `SVC`.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply C.
    verbose : int, default=0
        Whether to print one line per certificate.
    random_state : int, RandomState or None, default=None
        The seed of the order of the examples in coordinate descent. None takes the same seed every
        time: fits of the same data agree.
    max_iter : int, default=1000
        The largest number of epochs of coordinate descent and iterations of the interior-point
        method.
    scaling : {"standard", "minmax"} or None, default=None
        How to scale the inputs: to mean 0 and variance 1, to the range from 0 to 1, or not at all.
        The scaling is implicit: sparse data stay sparse, and `coef_` is for the inputs as given.
    time_limit : float or None, default=None
        Seconds after which training stops.
    n_jobs : int or None, default=None
        The largest number of threads; −1 means one per CPU. None lets the machine choose, up to
        one per CPU. Coordinate descent uses one per problem.
    warm_start : bool, default=False
        Whether `fit` starts from the solution of the last fit, on the same examples.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights w.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts b.
    support_ : ndarray of shape (n_SV,)
        Row numbers of the support vectors: the examples with a dual variable that is not 0, in any
        of the problems. The vectors are ``X[support_]``; no copy of them is kept.
    dual_coef_ : ndarray of shape (1, n_SV) or (n_classes, n_SV)
        Their dual variables β, one row per row of `coef_`: β = y α, with 0 ≤ α ≤ C times the weight
        for the hinge, α ≥ 0 for its square. Σ β x, of scaled inputs if they are scaled, is at most
        √(2 gap) away from w, and equal to it at the optimum: a smaller `tol` brings them closer.
    geometric_margin_ : float
        The width 2/‖w‖ of the margin in the space of the scaled inputs, of several classes the
        smallest; absent with "crammer_singer".
    classes_ : ndarray of shape (n_classes,)
        The classes.
    primal_objective_, dual_objective_, duality_gap_ : float or ndarray of shape (n_classes,)
        The cost of each problem at `coef_` and `intercept_`, a lower bound of every cost, and their
        difference. Both are recomputed when the fit ends, and the bound is lowered by all rounding
        errors, so that it holds in exact arithmetic.
    converged_ : bool
        Whether the gap is at most `tol` times the cost.
    stop_reason_ : str
        "tol", "max_iter", "time_limit", "interrupted" or "callback"; "rounding" if rounding hides
        the remaining gap, as with columns far from 0 that are not scaled.
    solver_ : str
        The solver that found the solution: "dual", "interior", or "dual, interior" if the problems
        of several classes differ.
    n_iter_ : int
        The number of epochs and iterations.
    history_ : list of dict
        One record per certificate.
    fit_time_ : float
        How many seconds `fit` took.
    validation_error_ : float
        The fraction of the validation examples, by weight, that is misclassified; only if `fit`
        was given some.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    See Also
    --------
    SVC : The machine with any kernel.
    SGDSVC : The machine trained online.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from widemargin import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = LinearSVC(loss="hinge", scaling="standard", random_state=0).fit(X, y)
    >>> clf.converged_, round(clf.score(X, y), 3)
    (True, 0.988)

    The dual variables, of which those of examples beyond the margin are 0:

    >>> X, y = [[-1.0], [1.0], [3.0]], [0, 1, 1]
    >>> clf = LinearSVC(loss="hinge", C=10.0, intercept_scaling=None).fit(X, y)
    >>> clf.support_, clf.dual_coef_.round(6)
    (array([0, 1]), array([[-0.5,  0.5]]))

    All classes in one problem:

    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = LinearSVC(multi_class="crammer_singer", scaling="standard", random_state=0).fit(X, y)
    >>> clf.converged_, clf.coef_.shape, clf.score(X, y)
    (True, (3, 13), 1.0)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LinearMachine._parameter_constraints,
        "penalty": [StrOptions({"l2"})],
        "C": [Interval(Real, 0, None, closed="right")],  # infinite: a hard margin
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: bool | str = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
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
        warm_start: bool = False,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
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
        self.warm_start = warm_start

    def _check_fit(self, X: ArrayLike, y: ArrayLike) -> tuple[ArrayLike, ArrayLike]:
        if self.multi_class == "crammer_singer" and self.dual is False:
            raise ValueError(
                "dual=False: multi_class='crammer_singer' is solved by its dual only; "
                "use dual='auto' or dual=True"
            )
        X, y = validate_data(self, X, y, **self._input_options)
        self.classes_ = check_labels(y)
        return checked_rows(X), y

    def _problems(self, inputs: LinearInputs, y: ArrayLike, c: FloatArray) -> Sequence[Problem]:
        if self.multi_class == "crammer_singer":
            if not np.all(np.isfinite(c)):
                raise ValueError(
                    f"C={self.C}: multi_class='crammer_singer' has no hard margin; use a finite C, "
                    "or multi_class='ovr'"
                )
            codes = np.asarray(np.searchsorted(self.classes_, y), dtype=np.int32)
            return [MulticlassProblem(inputs, codes, c, len(self.classes_), self._intercept)]
        classes = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        targets = np.where(np.asarray(y)[None] == classes[:, None], 1.0, -1.0)
        if not np.isfinite(self.C):
            return [
                HardProblem(inputs, target, c, 0.0, True, False, self._intercept)
                for target in targets
            ]
        return [
            LinearProblem(inputs, target, c, 0.0, True, self._squared, self._intercept)
            for target in targets
        ]

    def _shaped(self, coef: FloatArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.multi_class == "crammer_singer" and len(coef) == 2:  # as one output
            return coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        return coef, intercept

    def _dual_attributes(self, expansion: tuple[IntArray, FloatArray]) -> dict[str, Any]:
        support, coef = expansion
        if self.multi_class == "crammer_singer" and len(coef) == 2:
            coef = coef[1:] - coef[:1]
        return {"support_": support, "dual_coef_": coef}

    def _margins(self, weights: FloatArray) -> dict[str, Any]:
        if self.multi_class == "crammer_singer":
            return {}
        norm = float(np.linalg.norm(weights, axis=1).max())
        return {"geometric_margin_": 2.0 / norm if norm > 0 else np.inf}

    def _classes_of_problem(self, number: int) -> tuple[str, str]:
        names = [repr(name) for name in self.classes_.tolist()]
        return (names[0], names[1]) if len(names) == 2 else (names[number], "the other classes")

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """f(x): positive for the second class, or one score per class when there are more.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The outputs.
        """
        return decision_values(self._outputs(self._check_predict(X)))


class LinearSVR(CertifiedRegressor, LinearMachine):
    r"""Linear support vector regression, at any size.

    .. math:: \min_{w, b} \; \tfrac12 \|w\|^2
              + C \sum_l \ell(|w \cdot x_l + b - y_l| - \varepsilon), \qquad
              \ell(\xi) = |\xi|_+ \text{ or } |\xi|_+^2

    Parameters
    ----------
    epsilon : float, default=0.0
        Errors up to ε cost nothing.
    tol : float, default=0.0001
        As in `LinearSVC`.
    C : float, default=1.0
        The weight of the errors.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        The cost of an error larger than ε.
    fit_intercept, intercept_scaling, dual, verbose, random_state, max_iter :
        As in `LinearSVC`.
    scaling, time_limit, n_jobs, warm_start :
        As in `LinearSVC`. The targets are not standardised.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights w.
    intercept_ : ndarray of shape (1,)
        The intercept b.
    primal_objective_, dual_objective_, duality_gap_, converged_, stop_reason_, solver_ :
        As in `LinearSVC`.
    n_iter_, history_, fit_time_, n_features_in_, feature_names_in_ :
        As in `LinearSVC`.
    validation_error_ : float
        1 − R² on the validation examples; only if `fit` was given some.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from widemargin import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = LinearSVR(epsilon=10.0, C=100.0).fit(X, y)
    >>> reg.converged_, round(reg.score(X, y), 2)
    (True, 0.48)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LinearMachine._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
    }

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
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
        warm_start: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
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
        self.warm_start = warm_start

    def _check_fit(self, X: ArrayLike, y: ArrayLike) -> tuple[ArrayLike, ArrayLike]:
        X, y = validate_data(self, X, y, y_numeric=True, **self._input_options)
        return checked_rows(X), np.asarray(y, dtype=np.float64)

    def _problems(self, inputs: LinearInputs, y: ArrayLike, c: FloatArray) -> Sequence[Problem]:
        epsilon, intercept = float(self.epsilon), self._intercept
        return [LinearProblem(inputs, y, c, epsilon, False, self._squared, intercept)]

    def _shaped(self, coef: FloatArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
        return coef[0], intercept

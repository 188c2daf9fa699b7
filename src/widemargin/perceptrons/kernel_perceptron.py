r"""The Perceptron in the dual (Yuille 2.5).

The weights of a perceptron are always :math:`w = \sum_l \alpha_l y_l \Phi(x_l)`, so it can be
trained through the :math:`\alpha_l`, which count mistakes, and inner products alone:

.. math:: f(x) = \sum_l \alpha_l y_l k(x_l, x) + b,\qquad
          \text{if } y_l f(x_l) \le 0:\quad \alpha_l \leftarrow \alpha_l + 1,\quad
          b \leftarrow b + y_l R^2

where R is the radius of the smallest ball around the examples in the feature space.
"""

from functools import lru_cache
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from widemargin._typing import ArrayLike, FloatArray
from widemargin.kernels import Inputs, Kernel
from widemargin.perceptrons.dual_classifier import DualClassifier
from widemargin.perceptrons.kernel_learner import KernelLearner
from widemargin.theory import enclosing_ball
from widemargin.training.control import interrupt_flag
from widemargin.training.estimators import Examples
from widemargin.training.time_limit import current_limit

__all__ = ["KernelPerceptron"]

BALL_TOLERANCE = 1e-4
BALL_SHARE = 0.25  # of a time limit, for the radius; its upper bound so far is a radius too


class KernelPerceptron(DualClassifier):
    r"""Perceptron in the dual, with any kernel (Yuille 2.5).

    Trains :math:`f(x) = \sum_l \alpha_l y_l k(x_l, x) + b`. Each mistake adds 1 to its
    :math:`\alpha_l` and :math:`y_l R^2` to the bias, with R the radius of the smallest ball that
    holds the examples in feature space. More than two classes are learnt one against the rest.
    If mistakes are left when training stops, `fit` returns the epoch with the fewest mistakes on
    the training set (the pocket, as in `Perceptron`).

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        The kernel: a name from the table in `widemargin.kernels`, or "precomputed", when X is the
        matrix of kernel values. A callable gets two sets of (scaled) examples and returns the
        matrix of kernel values.
    gamma : {"scale", "auto"} or float, default="scale"
        γ of all kernels but linear, as in `SVC`.
    degree : float, default=3
        The degree of poly.
    coef0 : float, default=0.0
        The constant of poly and sigmoid.
    exponent : float, default=1.0
        q of exponential, 0 < q ≤ 2, and of laplacian, 0 < q ≤ 1.
    radius : float or None, default=None
        R of the bias step. None computes the radius of the smallest enclosing ball, to within a
        hundredth of a per cent.
    fit_intercept : bool, default=True
        Whether to train the bias b.
    scaling : {"standard", "minmax"} or None, default="standard"
        How inputs are scaled: "standard" gives every input mean 0 and variance 1, "minmax" maps
        its range to [0, 1], None leaves inputs as they are. Sparse inputs stay sparse. A
        precomputed kernel has no inputs to scale. `partial_fit` keeps the statistics of its first
        call, since the kernel must not change.
    max_iter : int, default=100
        The largest number of epochs.
    tol : float or None, default=1e-3
        Training stops when neither the criterion nor the training error has fallen by `tol` below
        its best value for `n_iter_no_change` epochs (with early stopping: the validation error).
        None turns this rule off, and the pocket with it: the last state is returned.
    shuffle : bool, default=True
        Whether each epoch visits the examples in a new random order.
    early_stopping : bool, default=False
        Whether to stop by the error on validation examples, and to return the state with the
        lowest one.
    validation_fraction : float, default=0.1
        The fraction of the training set held out for early stopping, unless `fit` gets `X_val`.
    n_iter_no_change : int, default=5
        How many epochs without progress to wait.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    time_limit : float or None, default=None
        Seconds after which training stops.
    warm_start : bool, default=False
        Whether `fit` resumes from the last state. A precomputed kernel must then hold the same
        examples in the same order; only their number can be checked.
    verbose : int, default=0
        Whether to print one line per epoch.
    random_state : int, RandomState instance or None, default=None
        Seeds the order of the examples and the choice of held-out examples.
    max_updates : int or None, default=None
        Updates after which `fit` stops; None means any number. The count is exact for two classes.
        With more, the last example may update several of the machines. Without ``tol=None``,
        the pocket may return an earlier state, and `n_updates_` is then its own.

    Attributes
    ----------
    support_vectors_ : ndarray or CSR array of shape (n_support, n_features)
        The examples with α > 0. Empty, of shape (0, 0), for a precomputed kernel, whose
        support vectors are known by their row numbers `support_` alone.
    support_ : ndarray of shape (n_support,)
        Their row numbers in the last training set; −1 for those of earlier calls.
    dual_coef_ : ndarray of shape (1 or n_classes, n_support)
        α y.
    intercept_ : ndarray of shape (1 or n_classes,)
        The bias.
    radius_, gamma_ : float
        R and γ as used.
    feature_offset_, feature_scale_ : ndarray of shape (n_features,) or None
        What is subtracted from the inputs, and what they are then divided by.
    n_updates_, classes_, n_iter_, best_iter_, converged_, stop_reason_, history_, fit_time_
        As in `Perceptron`.

    See Also
    --------
    Perceptron : The primal algorithm.
    KernelSGDSVC : The same kind of training with a margin and weight decay.

    References
    ----------
    A. Yuille, *Perceptron and Support Vector Machine*, lecture notes, 2014, section 2.5.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from widemargin import KernelPerceptron
    >>> X, y = make_circles(200, factor=0.4, noise=0.05, random_state=0)
    >>> clf = KernelPerceptron(random_state=0).fit(X, y)
    >>> clf.score(X, y)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **DualClassifier._parameter_constraints,
        "radius": [Interval(Real, 0, None, closed="left"), None],
        "max_updates": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        exponent: float = 1.0,
        radius: float | None = None,
        fit_intercept: bool = True,
        scaling: str | None = "standard",
        max_iter: int = 100,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: ArrayLike = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: ArrayLike = None,
        max_updates: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.exponent = exponent
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.max_updates = max_updates

    def _learner(self, examples: Examples, *, resume: bool) -> KernelLearner:
        X = examples.X
        if not resume:
            self._check_options(X)
            self._measure(examples)
        inputs = self._inputs(X)
        inputs_val = None if examples.X_val is None else self._inputs(examples.X_val)
        kernel = self._kernel()
        if not resume:
            self.radius_ = self._radius(kernel, inputs[examples.order])
        state = self._first_state(inputs, inputs_val, resume=resume)
        earlier = self._resume(state, X, inputs, inputs_val, kernel) if resume else None
        bias_step = self.radius_**2 if self.fit_intercept else 0.0
        pocket = self.tol is not None and not self.early_stopping and examples.repeated
        return KernelLearner(
            examples, inputs, inputs_val, kernel, state, earlier, bias_step, pocket=pocket
        )

    def _radius(self, kernel: Kernel, inputs: Inputs) -> float:
        if self.radius is not None or not self.fit_intercept:
            return float(self.radius or 0.0)
        every = np.arange(len(inputs))
        index = every if inputs.index is None else inputs.index

        @lru_cache(maxsize=64)
        def column(l: int) -> FloatArray:
            return kernel(inputs, inputs[l : l + 1])[:, 0]

        diagonal = inputs.x[every, index] if inputs.index is not None else kernel.diagonal(inputs)
        limit = current_limit()
        kept = (1.0 - BALL_SHARE) * limit.left
        with interrupt_flag() as interrupted:  # that of `fit`, so that training stops as well

            def stopped() -> bool:
                return interrupted.is_set() or limit.left < kept

            return enclosing_ball(column, diagonal, tol=BALL_TOLERANCE, stopped=stopped).radius

    @property
    def _convergence(self) -> frozenset[str]:
        return frozenset({"no_update"})

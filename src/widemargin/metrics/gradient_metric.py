r"""A metric learnt from a kernel machine's own gradients.

A kernel machine compares examples by their distance, to which an input that says nothing about the
target adds as much as one that decides it. The machine itself knows better: where f does not change
with an input, its derivative is small. `GradientMetric` scales each input by

.. math:: a_j = \sqrt{\frac1n \sum_x \left(\frac{\partial f}{\partial x_j}(x)\right)^2}

and trains the machine again, a few times. With ``structure="full"`` the directions are learnt too,
from the mean outer product of the gradients.
"""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from widemargin._runtime.warning import warn_caller
from widemargin._typing import ArrayLike
from widemargin.inputs.rows import checked_rows
from widemargin.inputs.scaling import Scaling, scaled
from widemargin.kernels import KERNELS, check_exponent, distance_exponent
from widemargin.metrics.examples import MetricTargets, Rows, enough_rows, nested_order, split
from widemargin.metrics.learning import Metric, MetricLearner, Settings
from widemargin.training.control import Control, interrupt_flag
from widemargin.training.display import CertificateDisplay
from widemargin.training.model import all_or_nothing
from widemargin.training.time_limit import current_limit, limited, now

__all__ = ["GradientMetric"]


class GradientMetric(CertificateDisplay, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Scales inputs by how much the target depends on them.

    A kernel machine is trained, each input is scaled by the root of the machine's mean squared
    derivative by it, and the machine is trained again in this metric:

    .. math:: A \leftarrow \left(\frac1n \sum_x \nabla f(x)\, \nabla f(x)^\top\right)^{1/2}

    or its diagonal. It begins with a few thousand examples and continues on more. The best
    iteration on validation examples is kept. Inputs whose scale vanishes are dropped.

    Parameters
    ----------
    structure : {"diagonal", "full"}, default="diagonal"
        Whether to learn one scale per input, or a symmetric matrix. The matrix also finds
        combinations of inputs; it needs dense inputs, and not many of them.
    kernel : str, default="exponential"
        The kernel of the machine: a name from the table in `widemargin.kernels`.
    exponent, degree, coef0 :
        Its parameters, as in `SVC`.
    sharpness : float or "auto", default="auto"
        γ of the machine, times the median distance to the power q. "auto" chooses from 1, 2 and 3,
        for the first machine.
    C : float, default=10.0
        The weight of the errors, as in `SVC` and `SVR`.
    epsilon : float, default=0.05
        The half-width of the tube of a regression, in units of the standard deviation of y.
    metric_power : float or None, default=None
        The power of the mean outer product of gradients that becomes the metric. None means ½, or
        ¼ for ``structure="full"``. 1 drops inputs several times faster, where most are noise.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether y holds classes or values. "auto" decides by its type: fractions are values.
    max_rows : int or None, default=None
        The most examples of a machine. None means 50,000, or a third of all if that is more.
    gradient_rows : int, default=3000
        The most examples at which the gradient is computed.
    max_iter : int, default=8
        The most iterations on a subset. If there are several, the first has at most four, and
        larger ones five.
    tol : float, default=0.1
        The tolerance of the machines, as in `SVC`. Gradients need no exact solution.
    min_share : float, default=1e-6
        Inputs are dropped if they change a squared distance by less than this, relative to the
        input that changes it most. Inputs that are kept count at least 2e-4 of that input.
    scaling : {"auto", "standard", "minmax"} or None, default="auto"
        How inputs are scaled before the first machine. "auto" standardises them, but for inputs
        with two values, which become 0 and 1 up to an offset. Inputs that are mostly zero are not
        centred, so that sparse inputs stay sparse.
    validation_fraction : float, default=0.2
        The fraction of the examples, at most 5,000, that judges the iterations, unless `fit` gets
        `X_val`.
    time_limit : float or None, default=None
        Seconds after which training stops.
    n_jobs : int or None, default=None
        The largest number of threads, as in `SVC`.
    verbose : int, default=0
        Whether to print one line per iteration.
    random_state : int, RandomState instance or None, default=0
        Seeds the choice of examples.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
        The mean squared derivative by each scaled input in the metric that is kept, as a fraction
        of their sum.
    scale_ : ndarray of shape (n_features,) or (n_features, n_features)
        What inputs are multiplied by, after `feature_offset_` was subtracted: one factor per input,
        or a matrix. The machine that was trained in this metric had γ = 1.
    feature_offset_ : ndarray of shape (n_features,)
        What is subtracted from the inputs.
    history_ : list of dict
        One record per iteration: its number of rows, the loss on the validation examples, the
        sharpness, the number of inputs left, the number of support vectors, seconds.
    loss_ : float
        The loss on the validation examples in the metric that is kept: of classes the mean of
        (1 − y f)/2 clipped to [0, 1], otherwise the mean squared error of standardised values.
    sharpness_ : float
        γ times the median distance to the power q, as chosen.
    n_iter_ : int
        The number of iterations.
    stop_reason_ : str
        "tol" if the iterations ended by themselves, otherwise "time_limit" or "interrupted".
    converged_ : bool
        Whether `stop_reason_` is "tol".
    fit_time_ : float
        How many seconds `fit` took.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    See Also
    --------
    SVC : The machine to train on the result, with ``kernel="exponential"``.

    References
    ----------
    A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, *Mechanism for feature learning in
    neural networks and backpropagation-free machine learning models*, Science 383, 2024.
    D. Beaglehole, D. Holzmüller, A. Radhakrishnan and M. Belkin, *xRFM: Accurate, scalable, and
    interpretable feature learning models for tabular data*, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from widemargin import SVC, GradientMetric
    >>> X = np.random.default_rng(0).normal(size=(400, 10))
    >>> y = X[:, 3] * X[:, 7] > 0
    >>> model = make_pipeline(GradientMetric(), SVC(kernel="exponential", C=10.0))
    >>> model.fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.9
    True
    >>> np.argsort(model[0].feature_importances_)[-2:].tolist() in ([3, 7], [7, 3])
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "structure": [StrOptions({"diagonal", "full"})],
        "kernel": [StrOptions(set(KERNELS) - {"precomputed"})],
        "exponent": [Interval(Real, 0, 2, closed="right")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "sharpness": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "metric_power": [Interval(Real, 0, None, closed="neither"), None],
        "task": [StrOptions({"auto", "classification", "regression"})],
        "max_rows": [Interval(Integral, 1, None, closed="left"), None],
        "gradient_rows": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "min_share": [Interval(Real, 0, 1, closed="left")],
        "scaling": [StrOptions({"auto", "standard", "minmax"}), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        structure: str = "diagonal",
        kernel: str = "exponential",
        exponent: float = 1.0,
        degree: int = 3,
        coef0: float = 0.0,
        sharpness: float | str = "auto",
        C: float = 10.0,
        epsilon: float = 0.05,
        metric_power: float | None = None,
        task: str = "auto",
        max_rows: int | None = None,
        gradient_rows: int = 3000,
        max_iter: int = 8,
        tol: float = 0.1,
        min_share: float = 1e-6,
        scaling: str | None = "auto",
        validation_fraction: float = 0.2,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: ArrayLike = 0,
    ) -> None:
        self.structure = structure
        self.kernel = kernel
        self.exponent = exponent
        self.degree = degree
        self.coef0 = coef0
        self.sharpness = sharpness
        self.C = C
        self.epsilon = epsilon
        self.metric_power = metric_power
        self.task = task
        self.max_rows = max_rows
        self.gradient_rows = gradient_rows
        self.max_iter = max_iter
        self.tol = tol
        self.min_share = min_share
        self.scaling = scaling
        self.validation_fraction = validation_fraction
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    # --------------------------------------------------------------------------------------- fit

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @all_or_nothing
    @limited
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        X_val: ArrayLike = None,
        y_val: ArrayLike = None,
        sample_weight_val: ArrayLike = None,
    ) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,)
            Their classes or values.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0 of the examples; those of weight zero are left out.
        X_val, y_val, sample_weight_val : optional
            Validation examples; otherwise some of X are held out.

        Returns
        -------
        self
            The fitted transformer.
        """
        begun = now()
        check_exponent(self.kernel, self.exponent)
        X, y = validate_data(self, X, y, **self._input_options)
        X = checked_rows(X)
        if self.structure == "full" and sp.issparse(X):
            raise ValueError(
                "structure='full' mixes all inputs, which sparse inputs do not allow; use "
                "structure='diagonal', or X.toarray()"
            )
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        targets = MetricTargets.of(y, self.task)
        with interrupt_flag() as flag:
            control = Control(type(self).__name__, flag, current_limit(), int(self.verbose))
            scaling = Scaling.measured(self.scaling, X, centre="filled")
            given = (X_val, y_val, sample_weight_val)
            train, held_out = self._split(Rows(X, targets.coded(y), weights), targets, given)
            learner = MetricLearner(
                targets.machine(self),
                train.scaled(scaling),
                held_out.scaled(scaling),
                Settings.of(self),
                control,
                check_random_state(self.random_state),
            )
            self._keep(learner.learn(), scaling, learner)
        self.history_, self.fit_time_ = control.history, now() - begun
        return self

    @property
    def _input_options(self) -> dict[str, Any]:
        return {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}

    def _split(
        self, examples: Rows, targets: MetricTargets, given: tuple[Any, Any, Any]
    ) -> tuple[Rows, Rows]:
        """Training rows in the order of the subsets, at most `max_rows`, and validation rows."""
        random, (X_val, y_val, weights_val) = check_random_state(self.random_state), given
        if X_val is None:
            train, test = split(examples, targets, self.validation_fraction, random)
            held_out = examples[test]
        else:
            X_val = checked_rows(validate_data(self, X_val, reset=False, **self._input_options))
            if weights_val is not None:
                weights_val = _check_sample_weight(weights_val, X_val, dtype=np.float64)
            train = np.arange(len(examples))
            held_out = Rows(X_val, targets.coded(y_val), weights_val)
        stratified = targets.classes is not None
        order = nested_order(examples.y[train], stratified=stratified, random=random)
        return examples[train[order[: self.max_rows or enough_rows(len(train))]]], held_out

    def _keep(self, metric: Metric, scaling: Scaling, learner: MetricLearner) -> None:
        """The metric of the inputs as given, and what is known about it."""
        unit = metric.gamma ** (1.0 / distance_exponent(self.kernel, self.exponent))  # makes γ 1
        self.feature_offset_, inverse = scaling.offset, unit / scaling.scale
        self.scale_ = inverse[:, None] * metric.map if metric.full else inverse * metric.map
        squares = np.diagonal(metric.map @ metric.map) if metric.full else metric.map**2
        total = squares.sum()
        self.feature_importances_ = squares / total if total > 0 else squares
        self.loss_, self.sharpness_, self.n_iter_ = metric.loss, metric.sharpness, learner.iteration
        self.stop_reason_ = learner.stop_reason
        self.converged_ = self.stop_reason_ == "tol"
        if self.stop_reason_ == "time_limit" and not current_limit().share:
            warn_caller(
                f"GradientMetric stopped at time_limit={self.time_limit} s after {self.n_iter_} "
                f"iterations on up to {metric.rows:,} rows; allow more time, or lower max_rows",
                UserWarning,
            )

    # --------------------------------------------------------------------------------- transform

    def transform(self, X: ArrayLike) -> ArrayLike:
        """Map inputs into the metric.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_kept)
            The inputs that were not dropped, scaled; with ``structure="full"``, all combinations.
        """
        check_is_fitted(self)
        X = checked_rows(validate_data(self, X, reset=False, **self._input_options))
        kept, dtype = self.get_support(indices=True), X.dtype
        if self.scale_.ndim == 2:
            if sp.issparse(X):
                X = X.toarray()
            return np.asarray((X - self.feature_offset_) @ self.scale_).astype(dtype, copy=False)
        found = scaled(X[:, kept], self.feature_offset_[kept], 1.0 / self.scale_[kept])
        return found.astype(dtype, copy=False)

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """The inputs that were not dropped.

        Parameters
        ----------
        indices : bool, default=False
            Whether to return their numbers instead of a mask.

        Returns
        -------
        ndarray
            A mask of shape (n_features,), or the numbers of the inputs.
        """
        check_is_fitted(self)
        mask = np.any(self.scale_ != 0, axis=1) if self.scale_.ndim == 2 else self.scale_ != 0
        return np.flatnonzero(mask) if indices else np.asarray(mask)

    def get_feature_names_out(self, input_features: ArrayLike = None) -> NDArray[Any]:
        """Names of what `transform` returns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the inputs.

        Returns
        -------
        ndarray of str
            The names of the inputs that were kept; numbered names for ``structure="full"``.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        if self.scale_.ndim == 2:
            return np.array([f"gradientmetric{j}" for j in range(len(names))], dtype=object)
        return np.asarray(names[self.get_support()], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.structure == "diagonal"
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

r"""Forms of the inputs of a table, each of which suits other tables.

``robust``
    (x − median) / scale, where the scale is that of the middle half, then
    :math:`x / \sqrt{1 + (x/3)^2}`, which bends the tails to at most ±3.
``standard``
    (x − mean) / standard deviation.
``ranks``
    The robust form, and beside it the rank of the value among those of the training rows.
``steps``
    The robust form, and beside it one indicator per threshold, 1 where x is above it. Thresholds
    are where the target changes (see `widemargin.tabular.thresholds`). In a learnt metric each of
    them has a weight of its own.
``stairs``
    The same with many more thresholds. A linear machine of them is a sum of step functions, one
    per input.
``shapes``
    The robust form, and beside it the terms of that sum: a linear machine of the stairs is trained,
    and each input gets its term of each class. Distances between rows then count how much
    an input moves the target, also where that is no straight line.
``levels``
    The robust form, and beside it one indicator per value of integers with few values.

Inputs with two values are 0 and 1 in all forms but ``standard``.
"""

from collections import Counter
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.tabular.levels import few_levels
from widemargin.tabular.shapes import learn_shapes, shape_terms
from widemargin.tabular.thresholds import input_thresholds, target_thresholds

__all__ = ["FORMS", "InputForm"]

FORMS = ("robust", "standard", "ranks", "steps", "stairs", "shapes", "levels")
MOST_STEPS = {"steps": 8, "stairs": 64, "shapes": 64}  # thresholds per input
MOST_STEP_INPUTS = 1500  # thresholds of all inputs together, but one per input there may be

NORMAL_QUARTILES = 1.349  # the distance between the quartiles of a normal distribution of scale 1
FAR = 1e100  # from the middle, in scales: more would overflow
BEND = 3.0  # the largest absolute value of the robust form
MAX_RANKS = 1000  # quantiles that ranks are interpolated between
UNIFORM_SCALE = float(np.sqrt(12.0))  # makes the variance of ranks in [0, 1] one


class InputForm(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Inputs in one of several forms.

    Parameters
    ----------
    form : {"robust", "standard", "ranks", "steps", "stairs", "shapes", "levels"}, default="robust"
        The form, as in the table of `widemargin.tabular.forms`. Sparse inputs have only
        "standard", which does not centre them.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether y holds classes or values; "auto" decides by its type. Used by the forms
        "steps", "stairs" and "shapes".
    max_steps : int, default=None
        The most thresholds per input. None: 8 in the form "steps", otherwise 64; fewer if
        there are more than 1,500 of all inputs together.
    random_state : int, RandomState instance or None, default=0
        Seeds the search for thresholds.

    Attributes
    ----------
    origin_ : ndarray of shape (n_outputs,)
        Which input each output was made of.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.tabular import InputForm
    >>> X = np.array([[0.0], [1.0], [2.0], [1000.0]])
    >>> InputForm("robust").fit_transform(X).round(1).ravel()
    array([-0. , -0. ,  0. ,  2.6])
    >>> InputForm("levels").fit(X).origin_  # values that are integers, and few
    array([0, 0, 0, 0, 0])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "form": [StrOptions(set(FORMS))],
        "task": [StrOptions({"auto", "classification", "regression"})],
        "max_steps": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        form: str = "robust",
        *,
        task: str = "auto",
        max_steps: int | None = None,
        random_state: ArrayLike = 0,
    ) -> None:
        self.form = form
        self.task = task
        self.max_steps = max_steps
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: ArrayLike = None, sample_weight: ArrayLike = None) -> Self:
        """Measure the inputs.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The inputs.
        y : array-like of shape (n_samples,), optional
            The target, which only the forms "steps", "stairs" and "shapes" need.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the examples, for the forms "steps", "stairs" and "shapes".

        Returns
        -------
        self
            The fitted transformer.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        if sp.issparse(X):
            if self.form != "standard":
                raise ValueError(
                    f"form={self.form!r} does not take sparse inputs; use form='standard', or "
                    "X.toarray()"
                )
            squares = X.multiply(X).mean(axis=0)
            self._scale = _positive(np.sqrt(np.asarray(squares).ravel()))
            self.origin_ = np.arange(X.shape[1])
            return self
        values = [np.unique(column) for column in X.T]
        if self.form in MOST_STEPS:
            self._fit_steps(X, y, sample_weight, values)
        else:
            getattr(self, f"_fit_{self.form}")(X, values)
        return self

    def transform(self, X: ArrayLike) -> ArrayLike:
        """Bring inputs into the form.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_outputs)
            The form.
        """
        check_is_fitted(self, "origin_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        if sp.issparse(X):
            return (X @ sp.diags_array(1.0 / self._scale)).tocsr()
        form = "steps" if self.form == "stairs" else self.form
        return getattr(self, f"_apply_{form}")(X)

    def get_feature_names_out(self, input_features: ArrayLike = None) -> NDArray[Any]:
        """Names of what `transform` returns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the inputs.

        Returns
        -------
        ndarray of str
            The name of an input; of what was made of it beside, the name and a number.
        """
        check_is_fitted(self, "origin_")
        names = _check_feature_names_in(self, input_features)
        made: Counter[int] = Counter()
        found = []
        for j in self.origin_.tolist():
            found.append(f"{names[j]}~{made[j]}" if made[j] else names[j])
            made[j] += 1
        return np.array(found, dtype=object)

    # ----------------------------------------------------------------------------------- standard

    def _fit_standard(self, X: FloatArray, values: list[FloatArray]) -> None:
        self._kept = _varying(values)
        self._offset = X.mean(axis=0)[self._kept]
        self._scale = _positive(X.std(axis=0)[self._kept])
        self.origin_ = self._kept

    def _apply_standard(self, X: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray(np.clip((X[:, self._kept] - self._offset) / self._scale, -FAR, FAR))

    # ------------------------------------------------------------------------------------- robust

    def _fit_robust(self, X: FloatArray, values: list[FloatArray]) -> None:
        self._kept = _varying(values)
        low, self._offset, high = np.percentile(X[:, self._kept], [25, 50, 75], axis=0)
        smallest = np.array([values[j][0] for j in self._kept])
        spread = np.array([values[j][-1] for j in self._kept]) - smallest
        quartiles = (high - low) / NORMAL_QUARTILES
        # A middle half of one value says nothing about the others: the deviation has to do.
        with np.errstate(over="ignore"):
            deviations = X[:, self._kept].std(axis=0)
        self._scale = np.where(quartiles > 0.0, quartiles, deviations)
        two = np.array([len(values[j]) == 2 for j in self._kept], dtype=bool)
        self._offset = np.where(two, smallest, self._offset)
        self._scale = _positive(np.where(two, spread, self._scale))
        self._bent = np.flatnonzero(~two)
        self.origin_ = self._kept

    def _apply_robust(self, X: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            Z = np.asarray(np.clip((X[:, self._kept] - self._offset) / self._scale, -FAR, FAR))
        bent = Z[:, self._bent]
        Z[:, self._bent] = bent / np.hypot(1.0, bent / BEND)
        return Z

    # -------------------------------------------------------------------------------------- ranks

    def _fit_ranks(self, X: FloatArray, values: list[FloatArray]) -> None:
        self._fit_robust(X, values)
        self._ranked = np.array([j for j in self._kept if len(values[j]) > 2], dtype=np.int64)
        self._known, self._rank_of = [], []
        for j in self._ranked:
            ordered = np.sort(X[:, j])
            some = values[j]
            if len(some) > MAX_RANKS:
                some = some[np.linspace(0, len(some) - 1, MAX_RANKS).astype(np.int64)]
            before = np.searchsorted(ordered, some, "left")
            until = np.searchsorted(ordered, some, "right")  # equal values share their mean rank
            self._known.append(some)
            self._rank_of.append(((before + until) / (2.0 * len(X)) - 0.5) * UNIFORM_SCALE)
        self.origin_ = np.concatenate([self._kept, self._ranked])

    def _apply_ranks(self, X: FloatArray) -> FloatArray:
        ranks = [
            np.interp(X[:, j], known, rank)
            for j, known, rank in zip(self._ranked, self._known, self._rank_of, strict=True)
        ]
        return np.column_stack([self._apply_robust(X), *ranks])

    # -------------------------------------------------------------------------------------- steps

    def _fit_steps(
        self, X: FloatArray, y: ArrayLike, weights: FloatArray | None, values: list[FloatArray]
    ) -> None:
        if y is None:
            raise ValueError(f"form={self.form!r} finds thresholds by the target; give fit y")
        self._fit_robust(X, values)
        classes = self.task == "classification"
        if self.task == "auto":
            classes = not type_of_target(y, input_name="y").startswith("continuous")
        some = [j for j in self._kept if len(values[j]) > 2]  # two values are a step already
        most = self.max_steps or MOST_STEPS[self.form]
        most = min(most, max(1, MOST_STEP_INPUTS // max(1, len(some))))
        options = {"classes": classes, "most": most, "random_state": self.random_state}
        if self.form == "steps":
            of_all = target_thresholds(X, np.asarray(y), weights, **options)
            found = [of_all[j] for j in some]
        else:
            found = input_thresholds(X[:, some], np.asarray(y), weights, **options)
        self._step_of = np.repeat(some, [len(own) for own in found]).astype(np.int64)
        self._thresholds = np.concatenate([np.empty(0), *found])
        self.origin_ = np.concatenate([self._kept, self._step_of])
        if self.form == "shapes":
            self._fit_shapes(X, y, weights, classes=classes)

    def _apply_steps(self, X: FloatArray) -> FloatArray:
        indicators = (X[:, self._step_of] >= self._thresholds).astype(np.float64)
        return np.hstack([self._apply_robust(X), indicators])

    # ------------------------------------------------------------------------------------- shapes

    def _fit_shapes(
        self, X: FloatArray, y: ArrayLike, weights: FloatArray | None, *, classes: bool
    ) -> None:
        self._place_of = np.searchsorted(self._kept, self.origin_)
        self._stair_coef = learn_shapes(
            self._apply_steps(X), y, weights, self._place_of, classes=classes
        )
        self.origin_ = np.concatenate([self._kept, *[self._kept] * len(self._stair_coef)])

    def _apply_shapes(self, X: FloatArray) -> FloatArray:
        stairs = self._apply_steps(X)
        terms = shape_terms(stairs, self._stair_coef, self._place_of)
        return np.hstack([stairs[:, : len(self._kept)], terms])

    # ------------------------------------------------------------------------------------- levels

    def _fit_levels(self, X: FloatArray, values: list[FloatArray]) -> None:
        self._fit_robust(X, values)
        few = few_levels(values)
        self._level_of = np.repeat(few, [len(values[j]) for j in few]).astype(np.int64)
        self._levels = np.concatenate([values[j] for j in few]) if len(few) else np.empty(0)
        self.origin_ = np.concatenate([self._kept, self._level_of])

    def _apply_levels(self, X: FloatArray) -> FloatArray:
        indicators = (X[:, self._level_of] == self._levels).astype(np.float64)
        return np.hstack([self._apply_robust(X), indicators])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.form == "standard"
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _varying(values: list[FloatArray]) -> IntArray:
    """The inputs with several values; if there are none, one of the others."""
    found = np.flatnonzero([len(some) > 1 for some in values])
    return found if len(found) else np.zeros(1, dtype=np.int64)


def _positive(scale: FloatArray) -> FloatArray:
    return np.where(scale > 0.0, scale, 1.0)

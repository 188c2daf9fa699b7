r"""Hat functions: each number as two weights on a row of knots.

Between two knots :math:`k_i \le x \le k_{i+1}`,

.. math:: \varphi_i(x) = \frac{k_{i+1} - x}{k_{i+1} - k_i}, \qquad
          \varphi_{i+1}(x) = 1 - \varphi_i(x)

and all other hats are 0, so that a linear function of them is any piecewise linear function with
these knots, and a unit of a committee can bend along every input at the cost of two products.
"""

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from widemargin._typing import ArrayLike, FloatArray, IntArray

__all__ = ["HatEncoder"]

SAMPLE = 100_000  # rows from which knots are taken
FARTHEST = 5.0  # standardised inputs are clipped there: what is beyond is for the last hat


class HatEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Encodes numbers by hat functions on their quantiles, and keeps the numbers beside them.

    An input with more than two values becomes itself, standardised, and one hat a knot, two of
    which are not zero. An input with two values becomes an indicator, 0 or 1, and is not scaled:
    rare indicators stay as small as frequent ones. If one value has more than half of the rows,
    that value is encoded by nothing but zeros, so that sparse data stay sparse.

    Parameters
    ----------
    n_knots : int, default=16
        Knots of an input: quantiles of its values, or the values if they are not more.
    standardize : bool, default=True
        Whether inputs that are kept beside their hats are standardised, and clipped at ±5.

    Attributes
    ----------
    knots_ : ndarray of shape (n_features, n_knots)
        The knots of each input, ascending; NaN behind the last, or everywhere for indicators.
    base_ : ndarray of shape (n_features,)
        The value that is encoded by zeros; NaN if there is none.
    mean_, scale_ : ndarray of shape (n_features,)
        What is subtracted from an input that is kept, and what the rest is divided by.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    See Also
    --------
    SimpleMLPClassifier : Uses it by default on tables.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import HatEncoder
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> HatEncoder(n_knots=4, standardize=False).fit(X).transform([[1.5]]).toarray()
    array([[1.5, 0. , 0.5, 0.5, 0. ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_knots": [Interval(Integral, 2, None, closed="left")],
        "standardize": ["boolean"],
    }

    knots_: FloatArray
    base_: FloatArray
    mean_: FloatArray
    scale_: FloatArray

    def __init__(self, n_knots: int = 16, standardize: bool = True) -> None:
        self.n_knots = n_knots
        self.standardize = standardize

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: ArrayLike = None) -> Self:
        """Learns knots, means and deviations.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The inputs.
        y : ignored
            For scikit-learn's pipelines.

        Returns
        -------
        self
            The fitted encoder.
        """
        X = self._check(X, reset=True)
        sample = X[:: max(1, X.shape[0] // SAMPLE)]
        sample = sample.tocsc() if sp.issparse(sample) else sample
        width = X.shape[1]
        self.knots_ = np.full((width, self.n_knots), np.nan)
        self.base_, self.mean_ = np.full(width, np.nan), np.zeros(width)
        self.scale_ = np.ones(width)
        for j in range(width):
            self._learn(j, _column(sample, j))
        return self

    def transform(self, X: ArrayLike) -> ArrayLike:
        """Encodes inputs.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        CSR matrix of shape (n_samples, n_encoded)
            Each input and its hats, one input after the other.
        """
        check_is_fitted(self)
        X = self._check(X)
        first = self._first_columns
        columns = X.tocsc() if sp.issparse(X) else X
        entries = [self._encode(j, first[j], _column(columns, j)) for j in range(X.shape[1])]
        rows, places, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        shape = (X.shape[0], int(first[-1]))
        encoded = sp.csr_matrix((values.astype(X.dtype, copy=False), (rows, places)), shape=shape)
        encoded.sort_indices()
        return encoded

    def get_feature_names_out(self, input_features: ArrayLike = None) -> ArrayLike:
        """Names of the encoded columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the inputs.

        Returns
        -------
        ndarray of str
            An input's name, then that name with each of its knots.
        """
        check_is_fitted(self, "knots_")
        names = _check_feature_names_in(self, input_features)
        made = []
        for name, knots, base in zip(names, self.knots_, self.base_, strict=True):
            made.append(name)
            made += [f"{name}~{knot:g}" for knot in knots[~np.isnan(knots) & (knots != base)]]
        return np.asarray(made, dtype=object)

    # ----------------------------------------------------------------------------------- helpers

    def _check(self, X: ArrayLike, *, reset: bool = False) -> ArrayLike:
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32]
        )

    def _learn(self, j: int, x: FloatArray) -> None:
        """Knots and statistics of one input."""
        values, counts = np.unique(x, return_counts=True)
        mode = values[np.argmax(counts)]
        if len(values) <= 2:
            self.base_[j] = self.mean_[j] = mode
            self.scale_[j] = float(values[-1] - values[0]) or 1.0
            return
        others, common = x, counts.max() > len(x) / 2
        if common:
            self.base_[j], others = mode, x[x != mode]
        if self.standardize:
            self.mean_[j] = mode if common else x.mean(dtype=np.float64)
            deviation = np.sqrt(np.mean(np.square(others - self.mean_[j], dtype=np.float64)))
            self.scale_[j] = float(deviation) or 1.0
        if len(values) > self.n_knots:
            wanted = self.n_knots - int(common)
            values = np.quantile(others.astype(np.float64), np.linspace(0, 1, wanted))
            values = np.unique(np.append(values, mode) if common else values)
        self.knots_[j, : len(values)] = values

    @property
    def _first_columns(self) -> IntArray:
        """Where the encoding of each input begins, and at last where the whole ends."""
        hats = np.sum(~np.isnan(self.knots_) & (self.knots_ != self.base_[:, None]), axis=1)
        return np.concatenate([[0], np.cumsum(1 + hats)])

    def _encode(self, j: int, first: int, x: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Rows, columns and values of what one input becomes."""
        knots, base = self.knots_[j][~np.isnan(self.knots_[j])], self.base_[j]
        rows = np.flatnonzero(x != base) if base == base else np.arange(len(x))
        x = x[rows].astype(np.float64)
        itself = (x - self.mean_[j]) / self.scale_[j]
        if not len(knots):
            return rows, np.full(len(rows), first), itself
        if self.standardize:
            itself = np.clip(itself, -FARTHEST, FARTHEST)
        inside = np.clip(x, knots[0], knots[-1])
        left = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
        right = (inside - knots[left]) / (knots[left + 1] - knots[left])
        place = np.cumsum(knots != base)  # of each hat behind the input itself
        place[knots == base] = -1
        hats = np.stack([left, left + 1]).ravel()
        weights = np.concatenate([1.0 - right, right])
        kept = (place[hats] >= 0) & (weights != 0)
        return (
            np.concatenate([rows, np.tile(rows, 2)[kept]]),
            np.concatenate([np.full(len(rows), first), first + place[hats][kept]]),
            np.concatenate([itself, weights[kept]]),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _column(X: ArrayLike, j: int) -> FloatArray:
    return np.asarray(X[:, [j]].toarray().ravel() if sp.issparse(X) else X[:, j])

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
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.rows import as_rows

__all__ = ["HatEncoder"]

MANY = 2  # an input with more values than this times its knots gets hats
SAMPLE = 20_000  # rows from which knots are taken
FARTHEST = 5.0  # standardised inputs are clipped there: what is beyond is for the last hat


class HatEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Encodes numbers by hat functions on their quantiles, and keeps the numbers beside them.

    An input with many values becomes itself, standardised, and one hat a knot, two of which are not
    zero. One with few values (up to twice the knots) has no hats: they would learn each value by
    heart. One with two values becomes an indicator, 0 or 1, and is not scaled: rare indicators stay
    as small as frequent ones. If one value has more than half of the rows, that value is encoded by
    nothing but zeros, so that sparse data stay sparse.

    Parameters
    ----------
    n_knots : int or None, default=16
        Knots of an input: quantiles of its values. None: no hats, inputs are only scaled.
    scaling : "standard" or None, default="standard"
        Whether inputs that are kept beside their hats are standardised, and clipped at ±5.

    Attributes
    ----------
    knots_ : ndarray of shape (n_features, n_knots)
        The knots of each input, ascending; NaN behind the last, or everywhere without hats.
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
    >>> X = np.arange(101.0)[:, None]
    >>> HatEncoder(n_knots=5, scaling=None).fit(X).transform([[30.0]]).toarray()
    array([[30. ,  0. ,  0.8,  0.2,  0. ,  0. ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_knots": [Interval(Integral, 2, None, closed="left"), None],
        "scaling": [StrOptions({"standard"}), None],
    }

    knots_: FloatArray
    base_: FloatArray
    mean_: FloatArray
    scale_: FloatArray

    def __init__(self, n_knots: int | None = 16, scaling: str | None = "standard") -> None:
        self.n_knots = n_knots
        self.scaling = scaling

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
        return self.fit_validated(self._check(X, reset=True))

    def fit_validated(self, X: ArrayLike) -> Self:
        """`fit` for inputs that another model of this package has validated."""
        self._validate_params()
        _check_indices(X)
        self.n_features_in_ = X.shape[1]
        sample, width = X[:: max(1, X.shape[0] // SAMPLE)], X.shape[1]
        self.knots_ = np.full((width, self.n_knots or 0), np.nan)
        self.base_, self.mean_ = np.full(width, np.nan), np.zeros(width)
        self.scale_ = np.ones(width)
        some = np.arange(width)
        if sp.issparse(sample):
            sample = sample.tocsc()
            some = np.flatnonzero(self._learn_sparse(sample))
        for j in some.tolist():
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
        return self.transform_validated(self._check(X))

    def transform_validated(self, X: ArrayLike) -> ArrayLike:
        """`transform` for inputs that another model of this package has validated."""
        _check_indices(X)
        first, plain = self._first_columns, self._plain
        columns = X.tocsc() if sp.issparse(X) else X
        scaled = sp.coo_matrix(columns[:, plain])
        kept = np.flatnonzero(plain)[scaled.col]
        entries = [(scaled.row, first[kept], scaled.data / self.scale_[kept])]
        for j in np.flatnonzero(~plain).tolist():
            entries.append(self._encode(j, first[j], _column(columns, j)))
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

    @property
    def _plain(self) -> NDArray[np.bool_]:
        """Inputs that are only divided by their scale."""
        hats = ~np.isnan(self.knots_).all(axis=1)
        return np.asarray(~hats & (self.base_ == 0) & (self.mean_ == 0))

    def _learn_sparse(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Scales of inputs that are mostly zero, all at once; which inputs are left to look at."""
        X.eliminate_zeros()
        stored = np.diff(X.indptr)
        first, varied = np.zeros(X.shape[1]), np.zeros(X.shape[1], dtype=bool)
        first[stored > 0] = X.data[X.indptr[:-1][stored > 0]]
        column = np.repeat(np.arange(X.shape[1]), stored)
        varied[column[X.data != first[column]]] = True
        size = np.abs(first)  # of inputs with two values
        if self.scaling:
            squares = np.asarray(X.multiply(X).sum(axis=0)).ravel()
            size[varied] = np.sqrt(squares[varied] / stored[varied])
        else:
            size[varied] = 1.0
        sparse = stored < X.shape[0] / 2
        self.base_[sparse] = 0.0
        self.scale_[sparse] = np.where(size > 0, size, 1.0)[sparse]
        hats = False if self.n_knots is None else stored >= MANY * self.n_knots  # and 0
        return np.asarray(~sparse | hats)

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
            self.base_[j] = self.mean_[j] = mode
            others = x[x != mode]
        elif self.scaling:
            self.mean_[j] = x.mean(dtype=np.float64)
        if self.scaling:
            deviation = np.sqrt(np.mean(np.square(others - self.mean_[j], dtype=np.float64)))
            self.scale_[j] = float(deviation) or 1.0
        if self.n_knots is None or len(values) <= MANY * self.n_knots:
            return
        wanted = np.linspace(0, 1, self.n_knots - int(common))
        knots = np.quantile(others.astype(np.float64), wanted)
        knots = np.unique(np.append(knots, mode) if common else knots)
        self.knots_[j, : len(knots)] = knots

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
        if self.scaling:
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


def _check_indices(X: ArrayLike) -> None:
    """Raises an error for indices outside the matrix, which crash SciPy."""
    if sp.issparse(X):
        as_rows(X)


def _column(X: ArrayLike, j: int) -> FloatArray:
    return np.asarray(X[:, [j]].toarray().ravel() if sp.issparse(X) else X[:, j])

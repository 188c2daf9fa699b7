r"""Hat functions: each number becomes two weights on a row of knots.

Between two knots :math:`k_i \le x \le k_{i+1}`,

.. math:: \varphi_i(x) = \frac{k_{i+1} - x}{k_{i+1} - k_i}, \qquad
          \varphi_{i+1}(x) = 1 - \varphi_i(x)

and all other hats are 0. A linear function of the hats is any piecewise linear function with these
knots, so a unit of a committee can bend along every input at the cost of two products.
"""

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from widemargin._runtime.frames import wants_frame
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.rows import checked_rows
from widemargin.inputs.scaling import SCALING_CONSTRAINT

__all__ = ["HatEncoder"]

VALUES_PER_KNOT = 2  # an input with more values than this times its knots gets hats
SAMPLED_ROWS = 20_000  # rows from which knots are taken
ROWS_PER_CHUNK = 1 << 14  # dense rows that are encoded together
LIMITS = {"standard": 5.0, "minmax": 1.0}  # scaled inputs with hats are clipped to ± this

Entries = tuple[IntArray, IntArray, FloatArray]  # rows, columns, values


class HatEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Encodes numbers by hat functions on their quantiles, and keeps the numbers beside them.

    An input with many values becomes itself, scaled, and one hat per knot; at most two hats are not
    zero. An input with few values (up to twice the knots) has no hats, which would memorise each
    value. An input with two values becomes an indicator, 0 or 1, and is not scaled, so rare
    indicators stay as small as frequent ones. If more than half of the rows have the same value,
    that value is encoded by zeros only, so sparse data stay sparse.

    Parameters
    ----------
    n_knots : int or None, default=16
        Number of knots per input, at quantiles of its values. None makes no hats and only scales.
    scaling : {"standard", "minmax"} or None, default="standard"
        How inputs with more than two values are scaled: to mean 0 and variance 1, to [0, 1], or not
        at all. If one value is encoded by zeros, that value is subtracted instead, and the others
        are divided by their root mean square ("standard") or largest absolute value ("minmax").
        Scaled inputs with hats are clipped, to ±5 or ±1: beyond, the last hat tells more.

    Attributes
    ----------
    knots_ : ndarray of shape (n_features, n_knots)
        The knots of each input, ascending; NaN after the last one, or everywhere without hats.
    base_ : ndarray of shape (n_features,)
        The value that is encoded by zeros; NaN if there is none.
    offset_, scale_ : ndarray of shape (n_features,)
        What is subtracted from inputs that are kept, and what the difference is divided by.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    See Also
    --------
    SimpleMLPClassifier : Encodes its inputs so by default.

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
        "scaling": SCALING_CONSTRAINT,
    }

    knots_: FloatArray
    base_: FloatArray
    offset_: FloatArray
    scale_: FloatArray

    def __init__(self, n_knots: int | None = 16, scaling: str | None = "standard") -> None:
        self.n_knots = n_knots
        self.scaling = scaling

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: ArrayLike = None) -> Self:
        """Learns knots, offsets and scales.

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
        X = checked_rows(X)
        self.n_features_in_ = X.shape[1]
        sample, width = X[:: max(1, X.shape[0] // SAMPLED_ROWS)], X.shape[1]
        self.knots_ = np.full((width, self.n_knots or 0), np.nan)
        self.base_, self.offset_ = np.full(width, np.nan), np.zeros(width)
        self.scale_ = np.ones(width)
        columns = np.arange(width)
        if sp.issparse(sample):
            sample = sample.tocsc()
            columns = np.flatnonzero(self._learn_sparse(sample))
        for j in columns.tolist():
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
            Each input and its hats, one input after the other; dense for `set_output`.
        """
        check_is_fitted(self)
        encoded = self.transform_validated(self._check(X))
        return encoded.toarray() if wants_frame(self) else encoded

    def transform_validated(self, X: ArrayLike) -> ArrayLike:
        """`transform` for inputs that another model of this package has validated."""
        X = checked_rows(X)
        if sp.issparse(X):
            return self._transform_sparse(X)
        parts = [self._transform_dense(X[rows]) for rows in gen_batches(len(X), ROWS_PER_CHUNK)]
        return parts[0] if len(parts) == 1 else sp.vstack(parts, format="csr")

    def get_feature_names_out(self, input_features: ArrayLike = None) -> ArrayLike:
        """Names of the encoded columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the inputs.

        Returns
        -------
        ndarray of str
            The name of an input, then that name with each of its knots.
        """
        check_is_fitted(self, "knots_")
        names = _check_feature_names_in(self, input_features)
        made = []
        for name, knots, base in zip(names, self.knots_, self.base_, strict=True):
            made.append(name)
            made += [f"{name}~{knot:g}" for knot in knots[~np.isnan(knots) & (knots != base)]]
        return np.asarray(made, dtype=object)

    # ----------------------------------------------------------------------------------- helpers

    def _transform_sparse(self, X: ArrayLike) -> ArrayLike:
        first, plain, columns = self._first_columns, self._plain, X.tocsc()
        scaled = sp.coo_matrix(columns[:, plain])
        inputs = np.flatnonzero(plain)[scaled.col]
        entries = [(scaled.row, first[inputs], scaled.data / self.scale_[inputs])]
        for j in np.flatnonzero(~plain).tolist():
            entries += self._encode(j, first[j], _column(columns, j))
        rows, places, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        shape = (X.shape[0], int(first[-1]))
        encoded = sp.csr_matrix((values.astype(X.dtype, copy=False), (rows, places)), shape=shape)
        encoded.sort_indices()
        return encoded

    def _transform_dense(self, X: FloatArray) -> ArrayLike:
        """Some rows. Entries come in the order of their columns, so each row takes the next."""
        first, columns = self._first_columns, np.ascontiguousarray(X.T)
        starts, entries = np.zeros(len(X) + 1, dtype=np.int32), []
        for j, x in enumerate(columns):
            for rows, places_of_rows, values_of_rows in self._encode(j, first[j], x):
                some = slice(None) if len(rows) == len(X) else rows  # a slice is faster
                starts[1:][some] += 1
                entries.append((some, places_of_rows, values_of_rows))
        np.cumsum(starts, out=starts)
        places, values = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1], dtype=X.dtype)
        free = starts[:-1].copy()
        for some, places_of_rows, values_of_rows in entries:
            at = free[some]
            places[at], values[at] = places_of_rows, values_of_rows
            free[some] += 1
        encoded = sp.csr_matrix((values, places, starts), shape=(len(X), int(first[-1])))
        encoded.has_canonical_format = True
        return encoded

    def _check(self, X: ArrayLike, *, reset: bool = False) -> ArrayLike:
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32]
        )

    @property
    def _plain(self) -> NDArray[np.bool_]:
        """Inputs that are only divided by their scale."""
        hats = ~np.isnan(self.knots_).all(axis=1)
        return np.asarray(~hats & (self.base_ == 0) & (self.offset_ == 0))

    def _learn_sparse(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Learns the scales of all inputs that are mostly zero; which inputs are left to learn."""
        X.eliminate_zeros()
        stored = np.diff(X.indptr)
        first, varied = np.zeros(X.shape[1]), np.zeros(X.shape[1], dtype=bool)
        first[stored > 0] = X.data[X.indptr[:-1][stored > 0]]
        column = np.repeat(np.arange(X.shape[1]), stored)
        varied[column[X.data != first[column]]] = True
        scale = np.abs(first)  # of inputs with two values
        if self.scaling == "standard":
            squares = np.asarray(X.multiply(X).sum(axis=0)).ravel()
            scale[varied] = np.sqrt(squares[varied] / stored[varied])
        elif self.scaling == "minmax":
            scale[varied] = np.asarray(abs(X).max(axis=0).toarray()).ravel()[varied]
        else:
            scale[varied] = 1.0
        sparse = stored < X.shape[0] / 2
        self.base_[sparse] = 0.0
        self.scale_[sparse] = np.where(scale > 0, scale, 1.0)[sparse]
        if self.n_knots is None:
            return np.asarray(~sparse)
        hats = stored >= VALUES_PER_KNOT * self.n_knots  # non-zeros; zero is one more value
        return np.asarray(~sparse | hats)

    def _learn(self, j: int, x: FloatArray) -> None:
        """Learns knots, offset and scale of one input."""
        values, counts = np.unique(x, return_counts=True)
        mode = values[np.argmax(counts)]
        if len(values) <= 2:
            self.base_[j] = self.offset_[j] = mode
            self.scale_[j] = float(values[-1] - values[0]) or 1.0
            return
        others, common = x, counts.max() > len(x) / 2
        if common:
            self.base_[j] = self.offset_[j] = mode
            others = x[x != mode]
        elif self.scaling == "standard":
            self.offset_[j] = x.mean(dtype=np.float64)
        elif self.scaling == "minmax":
            self.offset_[j] = values[0]
        if self.scaling == "standard":
            deviation = np.sqrt(np.mean(np.square(others - self.offset_[j], dtype=np.float64)))
            self.scale_[j] = float(deviation) or 1.0
        elif self.scaling == "minmax":
            self.scale_[j] = float(np.abs(values - self.offset_[j]).max()) or 1.0
        if self.n_knots is None or len(values) <= VALUES_PER_KNOT * self.n_knots:
            return
        quantiles = np.linspace(0, 1, self.n_knots - int(common))
        knots = np.quantile(others.astype(np.float64), quantiles)
        knots = np.unique(np.append(knots, mode) if common else knots)
        self.knots_[j, : len(knots)] = knots

    @property
    def _first_columns(self) -> IntArray:
        """The first column of the encoding of each input, and the number of all columns."""
        hats = np.sum(~np.isnan(self.knots_) & (self.knots_ != self.base_[:, None]), axis=1)
        return np.concatenate([[0], np.cumsum(1 + hats)])

    def _encode(self, j: int, first: int, x: FloatArray) -> list[Entries]:
        """The encoding of one input: at most one entry per row in each part, in column order."""
        knots, base = self.knots_[j][~np.isnan(self.knots_[j])], self.base_[j]
        rows = np.flatnonzero(x != base) if base == base else np.arange(len(x))
        x = x[rows].astype(np.float64)
        itself = (x - self.offset_[j]) / self.scale_[j]
        if not len(knots):
            return [(rows, np.full(len(rows), first), itself)]
        if self.scaling is not None:
            limit = LIMITS[self.scaling]
            itself = np.clip(itself, -limit, limit)
        inside = np.clip(x, knots[0], knots[-1])
        left = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
        right = (inside - knots[left]) / (knots[left + 1] - knots[left])
        place = np.cumsum(knots != base)  # of each hat after the input itself
        place[knots == base] = -1
        entries = [(rows, np.full(len(rows), first), itself)]
        for hats, weights in ((place[left], 1.0 - right), (place[left + 1], right)):
            kept = (hats >= 0) & (weights != 0)
            entries.append((rows[kept], first + hats[kept], weights[kept]))
        return entries

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _column(X: ArrayLike, j: int) -> FloatArray:
    return np.asarray(X[:, [j]].toarray().ravel() if sp.issparse(X) else X[:, j])

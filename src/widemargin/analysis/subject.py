"""A fitted model with the rows to examine it on: what the checks of a certificate look at."""

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.analysis.hyperplane import Hyperplane
from widemargin.analysis.planes import PLANAR, chosen_machine, hyperplanes_of
from widemargin.analysis.space import FeatureSpace, feature_space
from widemargin.training.certified import CertifiedMachine

__all__ = ["Subject"]


class Subject:
    """The model, its training rows, and test rows if there are any.

    Parameters
    ----------
    model : estimator
        The fitted model, without the steps of a pipeline before it.
    X, y, sample_weight :
        The training rows as the model sees them.
    X_test, y_test :
        Rows that had no part in training, or None.
    eta : float
        The probability with which a bound may fail.
    margin : float or None
        ρ, fixed before the rows were seen.
    n_choices : int
        The number of models among which the test rows chose.
    max_rows : int
        The most rows whose outputs are computed.
    """

    def __init__(
        self,
        model: Any,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        *,
        X_test: ArrayLike = None,
        y_test: ArrayLike = None,
        eta: float = 0.05,
        margin: float | None = None,
        n_choices: int = 1,
        max_rows: int = 10_000,
    ) -> None:
        self.given, self.model = model, copy(chosen_machine(model))
        self.X = X.tocsr() if sp.issparse(X) else X
        self.y = None if y is None else np.asarray(y)
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight, float)
        self.X_test, self.y_test = X_test, None if y_test is None else np.asarray(y_test)
        self.eta, self.margin, self.n_choices, self.max_rows = eta, margin, n_choices, max_rows
        self.count = _num_samples(X)
        every = np.arange(self.count)
        if self.sample_weight is not None:
            every = every[self.sample_weight > 0]
        self.rows: IntArray = every
        self.counted = len(every)  # rows with a weight
        if len(every) > max_rows:
            self.rows = np.sort(np.random.default_rng(0).choice(every, max_rows, replace=False))
        self.sampled = len(self.rows) < len(every)
        self._found: dict[Any, Any] = {}

    def once(self, function: Callable[["Subject"], Any]) -> Any:
        """What a function says about this subject, computed the first time only."""
        if function not in self._found:
            self._found[function] = function(self)
        return self._found[function]

    @property
    def classification(self) -> bool:
        return bool(is_classifier(self.model))

    @property
    def regression(self) -> bool:
        return bool(is_regressor(self.model))

    @property
    def two_classes(self) -> bool:
        return self.classification and len(self.model.classes_) == 2

    # ------------------------------------------------------------------- rows that are examined

    @cached_property
    def some_X(self) -> ArrayLike:
        return self.X if len(self.rows) == self.count else _safe_indexing(self.X, self.rows)

    @cached_property
    def some_y(self) -> Any:
        return None if self.y is None else self.y[self.rows]

    @cached_property
    def some_weights(self) -> FloatArray | None:
        return None if self.sample_weight is None else self.sample_weight[self.rows]

    @cached_property
    def predictions(self) -> Any:
        """Of the rows that are examined."""
        return np.asarray(self.model.predict(self.some_X))

    @cached_property
    def training_error(self) -> float:
        """The fraction of the rows, by weight, that is misclassified."""
        return float(np.average(self.predictions != self.some_y, weights=self.some_weights))

    @cached_property
    def planes(self) -> list[Hyperplane]:
        """Hyperplanes of the examined rows; empty for a model that has none."""
        if not isinstance(self.model, PLANAR):
            return []
        most = {"max_support": self.max_rows}
        if self.sampled:
            return hyperplanes_of(self.model, self.some_X, self.some_y, X_train=self.X, **most)
        return hyperplanes_of(self.model, self.X, self.y, sample_weight=self.sample_weight, **most)

    @cached_property
    def space(self) -> FeatureSpace | None:
        """The examined rows in feature space; None where the model has no single one."""
        exact = isinstance(self.model, CertifiedMachine)
        weights = self.weights if exact else None
        return feature_space(self.model, self.some_X, self.rows, X_train=self.X, weights=weights)

    @cached_property
    def weights(self) -> FloatArray | None:
        """Weights of all rows, class weights included; None when all are one."""
        weights = getattr(self.model, "_weights", None)
        if weights is None:  # of tables and metrics
            return self.sample_weight
        found: FloatArray | None = weights(self.X, self.y, self.sample_weight)
        return found

    @property
    def all_rows(self) -> str:
        """Why a line needs more than a sample."""
        return (
            f"it needs all {self.count:,} rows, of which {len(self.rows):,} were examined; raise "
            f"max_rows={self.max_rows}"
        )

"""What the estimators for raw tables share: search, ensemble and last fits behind `fit`."""

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import _safe_indexing, check_random_state, gen_batches
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from widemargin._runtime.warning import warn_caller
from widemargin._typing import ArrayLike, FloatArray
from widemargin.metrics.examples import Rows
from widemargin.tables import TableEncoder
from widemargin.tabular.calibration import Calibration
from widemargin.tabular.combination import MAX_MODELS, Combination, combine
from widemargin.tabular.ensemble import weighted_mean
from widemargin.tabular.evaluation import Evaluator
from widemargin.tabular.folds import folds_of_table
from widemargin.tabular.leaderboard import column_importances, describe, record
from widemargin.tabular.levels import level_count
from widemargin.tabular.plan import Plan
from widemargin.tabular.scoring import NegativeScore
from widemargin.tabular.search import Search
from widemargin.tabular.targets import Target
from widemargin.tabular.views import CHUNK_ROWS
from widemargin.training.control import Control, interrupt_flag
from widemargin.training.display import CertificateDisplay
from widemargin.training.model import all_or_nothing
from widemargin.training.time_limit import current_limit, limited, now

__all__ = ["TabularModel"]

MOST_INPUT = 1e300
MOST_DENSE_NUMBERS = 100_000_000  # encoded tables with at most as many are dense


def _some_rows(X: ArrayLike, kept: NDArray[np.bool_]) -> ArrayLike:
    """Rows of a table of any library, or of a sparse matrix."""
    if sp.issparse(X):
        X = sp.csr_array(X)
    return _safe_indexing(X, np.flatnonzero(kept))


class TabularModel(CertificateDisplay, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators for raw tables."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "scoring": [str, callable, None],
        "cv": ["cv_object", None],
        "ensemble": ["boolean"],
        "effort": [Interval(Real, 0, None, closed="neither")],
        "max_predict_ms": [Interval(Real, 0, None, closed="neither"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    scoring: Any
    cv: Any
    ensemble: bool
    effort: float
    max_predict_ms: float | None
    time_limit: float | None
    n_jobs: int | None
    verbose: int
    random_state: ArrayLike

    # ---------------------------------------------------------------------- what models override

    @abstractmethod
    def _targets(self, y: ArrayLike) -> FloatArray:
        """y as codes or standardised values, whose decoding is learnt here."""

    @property
    @abstractmethod
    def _target(self) -> Target:
        """What the target asks for."""

    @abstractmethod
    def _conclude(self, combination: Combination) -> None:
        """Learns what depends on the predictions of unseen rows."""

    # ---------------------------------------------------------------------------------------- fit

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @all_or_nothing
    @limited
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None, groups: ArrayLike = None
    ) -> Self:
        """Find, train and combine the best machines for a table.

        Parameters
        ----------
        X : DataFrame, Arrow table, array or sparse matrix of shape (n_samples, n_features)
            The table as it is: numbers, categories, dates, missing values.
        y : array-like of shape (n_samples,)
            The target.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0 of the rows. Only their ratios matter, and rows of weight zero are left
            out.
        groups : array-like of shape (n_samples,), optional
            Groups of rows that stay together: for a `cv` that knows groups, or, if `cv` is None,
            for five folds of groups.

        Returns
        -------
        self
            The fitted model.
        """
        begun = now()
        with interrupt_flag() as flag:
            control = Control(type(self).__name__, flag, current_limit(), int(self.verbose))
            rows, groups, kept = self._rows(X, y, sample_weight, groups)
            target = self._target
            loss = target.loss(self.scoring)
            if isinstance(loss, NegativeScore):  # an error now rather than after the first machine
                loss.check(target.constant(rows.y, rows.weights), rows.y, rows.weights)
            random = int(check_random_state(self.random_state).randint(2**31 - 1))
            folds = folds_of_table(
                rows, self.cv, groups, random, stratified=not target.regression, kept=kept
            )
            plan = Plan.of(
                len(rows),
                rows.X.shape[1],
                len(folds),
                float(self.effort),
                classes=0 if target.regression else len(self.classes_),
                seconds=current_limit().seconds,
                sparse=sp.issparse(rows.X),
                levels=level_count(rows.X),
            )
            evaluator = Evaluator(
                rows,
                target,
                loss,
                control,
                plan.metric_rows,
                self.n_jobs,
                random,
            )
            search = Search(evaluator, folds, plan, self.max_predict_ms)
            finals = search.run()
            combination = combine(
                evaluator, finals, MAX_MODELS if self.ensemble else 1, self.max_predict_ms
            )
            self._keep(evaluator, combination)
        self.stop_reason_ = control.reason() or ("time_limit" if search.shortened else "tol")
        self.converged_ = self.stop_reason_ == "tol"
        self.history_, self.fit_time_ = control.history, now() - begun
        if self.stop_reason_ == "time_limit" and not current_limit().share:
            warn_caller(
                f"{type(self).__name__} stopped at time_limit={self.time_limit} s after "
                f"{len(self.trials_)} trials; the model is the best so far",
                UserWarning,
            )
        return self

    def _rows(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike, groups: ArrayLike
    ) -> tuple[Rows, ArrayLike, NDArray[np.bool_] | None]:
        """The encoded table, the groups of its rows, and which rows of X have a weight."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        weights, kept = None, None
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            if not np.all(weights > 0):
                kept = weights > 0
                X, weights = _some_rows(X, kept), weights[kept]
            weights = weights / weights.max()  # so that their sum is finite
            weights = weights / weights.mean()  # C of machines is multiplied by them
        self.encoder_ = TableEncoder().set_output(transform="default")
        encoded = self.encoder_.fit_transform(X)
        large = encoded.shape[0] * encoded.shape[1] > MOST_DENSE_NUMBERS
        self.sparse_inputs_ = bool(sp.issparse(encoded) and large)
        encoded = self._as_trained(encoded)
        self._check_size(encoded)
        self.n_features_in_ = self.encoder_.n_features_in_
        if hasattr(self.encoder_, "feature_names_in_"):
            self.feature_names_in_ = self.encoder_.feature_names_in_
        # As arrays, so that integers and truth values of pandas' nullable types stay what they are.
        y = column_or_1d(np.asarray(y) if hasattr(y, "__array__") else y, warn=True)
        count = encoded.shape[0] if kept is None else len(kept)
        if len(y) != count:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {count} rows, "
                f"y has {len(y)}"
            )
        if groups is not None:
            groups = column_or_1d(groups)
            check_consistent_length(y, groups)
        if kept is not None:
            y, groups = y[kept], None if groups is None else groups[kept]
        return Rows(encoded, self._targets(y), weights), groups, kept

    def _check_size(self, encoded: ArrayLike) -> None:
        """Raises an error for numbers whose sums and differences overflow."""
        numbers = encoded.data if sp.issparse(encoded) else encoded
        largest = float(np.max(np.abs(numbers), initial=0.0))  # float32 cannot hold the limit
        if largest > MOST_INPUT:
            raise ValueError(
                f"X holds {largest:.3g}, and sums of numbers beyond {MOST_INPUT:g} overflow; "
                "divide the column, or take logarithms"
            )

    def _as_trained(self, encoded: ArrayLike) -> ArrayLike:
        """Encoded rows, sparse if the machines are trained on sparse ones."""
        if self.sparse_inputs_:
            return sp.csr_array(encoded)
        return encoded.toarray() if sp.issparse(encoded) else encoded

    def _keep(self, evaluator: Evaluator, combination: Combination) -> None:
        self.members_ = [
            {
                "description": str(trial.candidate),
                "weight": float(weight),
                "model": model,
                "calibration": None if trial.calibration is None else tuple(trial.calibration),
            }
            for trial, weight, model in zip(
                combination.trials, combination.weights, combination.models, strict=True
            )
        ]
        self.loss_ = combination.loss
        regression = evaluator.target.regression
        self.trials_ = [record(trial, regression=regression) for trial in evaluator.trials]
        self.baseline_loss_ = evaluator.baseline(combination.test)
        self.feature_importances_ = column_importances(
            combination.models,
            combination.weights,
            self.encoder_.columns_,
            evaluator.rows,
            evaluator.target,
            self.n_jobs,
        )
        self._conclude(combination)

    # -------------------------------------------------------------------------------- predictions

    def _predictions(self, X: ArrayLike) -> FloatArray:
        """The weighted mean of the members' probabilities or standardised values."""
        check_is_fitted(self, "members_")
        encoded = self.encoder_.transform(X)
        if not encoded.shape[0]:
            raise ValueError(
                f"Found array with 0 sample(s) (shape={encoded.shape}) while a minimum of 1 is "
                f"required by {type(self).__name__}"
            )
        # A form may be a hundred times wider than the table, and so are outputs of many pairs.
        return np.concatenate(
            [
                self._mean_of_members(self._as_trained(encoded[some]))
                for some in gen_batches(encoded.shape[0], CHUNK_ROWS)
            ]
        )

    def _mean_of_members(self, Z: ArrayLike) -> FloatArray:
        target, found = self._target, []
        for member in self.members_:
            stored = member["calibration"]
            calibration = None if stored is None else Calibration(*stored)
            found.append(target.predictions(target.outputs(member["model"], Z), calibration))
        return weighted_mean(found, np.array([member["weight"] for member in self.members_]))

    @property
    def _loss_name(self) -> str:
        if self.scoring is not None:
            return "negative score"
        return (
            "squared error (of the standardised target)" if self._target.regression else "log loss"
        )

    @property
    def leaderboard_(self) -> Any:
        """A pandas DataFrame of all trials, best first."""
        check_is_fitted(self, "trials_")
        try:
            import pandas
        except ImportError:
            # Displays read every attribute, and leave out those that are absent.
            raise AttributeError(
                "leaderboard_ is a pandas DataFrame: pip install pandas, or read trials_"
            ) from None
        frame = pandas.DataFrame(self.trials_)
        return frame.sort_values(["rows", "loss"], ascending=[False, True], ignore_index=True)

    @property
    def best_(self) -> dict[str, Any]:
        """The first line of `leaderboard_`: the best single machine, trained on the most rows."""
        check_is_fitted(self, "trials_")
        return dict(min(self.trials_, key=lambda trial: (-trial["rows"], trial["loss"])))

    def report(self) -> str:
        """What was understood of each column, what was chosen and why.

        Returns
        -------
        str
            A text of several lines.
        """
        check_is_fitted(self, "members_")
        return describe(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

"""The choice of C by validation, for the …CV classes: machines along C on each fold, then one."""

from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import PredefinedSplit, check_cv
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted

from widemargin._runtime.warning import warn_caller
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.progress import reporter
from widemargin.training.certified import CertifiedMachine, WeightedExamples
from widemargin.training.model import all_or_nothing
from widemargin.training.path import along, grid_of
from widemargin.training.time_limit import Shares, TimeLimit, current_limit, limited, now

__all__ = ["ChosenMachine", "Fold"]

REFIT_SHARE = 0.3  # of a time limit, for the machine that is trained with the chosen C


class Fold(NamedTuple):
    """Examples to train on, and examples to score."""

    train: WeightedExamples
    test: WeightedExamples


class _Folds:
    """The folds that `cv` makes, one at a time; examples of weight zero are left out.

    Parameters
    ----------
    estimator : estimator
        The one that chooses.
    examples : WeightedExamples
        All examples.
    cv : int, splitter or iterable of pairs
        How to split. Splits that are still to be made are made of the rows that have a weight;
        pairs and `PredefinedSplit` number all rows.
    """

    def __init__(self, estimator: Any, examples: WeightedExamples, cv: Any) -> None:
        self.estimator, self.examples = estimator, examples
        count = _num_samples(examples.X)
        counts = np.ones(count, dtype=bool) if examples.weights is None else examples.weights > 0
        rows = np.flatnonzero(counts)
        if isinstance(cv, (Iterable, PredefinedSplit)):
            rows = np.arange(count)
        y = examples.y[rows]
        splits = check_cv(cv, y, classifier=is_classifier(estimator)).split(rows, y)
        self.splits = [
            tuple(part[counts[part]] for part in (rows[train], rows[test]))
            for train, test in splits
        ]

    def __len__(self) -> int:
        return len(self.splits)

    def __iter__(self) -> Iterator[Fold]:
        for train, test in self.splits:
            yield Fold(self._some(train), self._some(test, train))

    def _some(self, rows: IntArray, columns: IntArray | None = None) -> WeightedExamples:
        """These examples; of kernel values, the columns of the examples to train on."""
        X, y, weights = self.examples
        X, y = _safe_split(self.estimator, X, y, rows, columns)
        return WeightedExamples(X, y, None if weights is None else weights[rows])


#: Parameters of machines that a search does not have.
FIXED = (
    "C",
    "warm_start",
    "early_stopping",
    "n_iter_no_change",
    "shrinking_iterations",
    "shrinking_threshold",
)


class ChosenMachine(CertifiedMachine):
    """Base of machines that choose C, and perhaps more, by validation.

    A subclass is the machine that it trains but for C and `warm_start`, which it does not have.
    """

    #: The machine that is trained.
    _machine: ClassVar[type[Any]]
    #: Parameters of the search, which the machine does not have.
    _search_parameters: ClassVar[tuple[str, ...]] = ("Cs", "cv", "scoring", "refit")

    scores_: FloatArray
    C_: float

    @classmethod
    def _constraints(cls, machine: dict[str, Any]) -> dict[str, Any]:
        """Those of the machine, without what is chosen, and those of the search."""
        kept = {name: value for name, value in machine.items() if name not in FIXED}
        return {
            **kept,
            "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
            "cv": ["cv_object"],
            "scoring": [str, callable, None],
            "refit": ["boolean"],
        }

    # ------------------------------------------------------------------- what models override

    def _candidates(self, X: ArrayLike) -> list[dict[str, Any]]:
        """The parameters to try along C."""
        return [{}]

    def _fold_parameters(self) -> dict[str, Any]:
        """Parameters that differ in the folds from those of the chosen machine."""
        return {}

    def _keep_scores(self, scores: FloatArray) -> None:
        """Those of each candidate, C and fold."""
        self.scores_ = scores[0]
        self.validation_curve_ = self.scores_.mean(axis=-1)

    @property
    def _curve(self) -> FloatArray:
        """The scores of the chosen candidate, one row per C."""
        return self.scores_

    # -------------------------------------------------------------------------------------- fit

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
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
        """Choose C and train the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples; kernel values of shape (n_samples, n_samples) for a precomputed kernel.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0, which multiply C and count in the scores; examples of weight zero are left
            out.
        X_val, y_val, sample_weight_val : optional
            A validation set, which takes the place of the folds: `cv` is not used. With
            ``refit=True`` the chosen model is trained on it too.

        Returns
        -------
        self
            The fitted estimator.
        """
        given = X
        X, y = self._check_fit(X, y)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        examples = WeightedExamples(X, y, weights)
        held_out = self._check_validation(X_val, y_val, sample_weight_val)
        folds: Sequence[Fold] | _Folds = (
            [Fold(examples, held_out)] if held_out else _Folds(self, examples, self.cv)
        )
        if not self.refit and len(folds) > 1:
            raise ValueError(
                f"refit=False, but cv={self.cv!r} has {len(folds)} folds and no single model; "
                "use refit=True, or give fit a validation set as X_val and y_val"
            )
        final = WeightedExamples(given, y, sample_weight)
        if self.refit and held_out is not None:
            final = self._joined(examples, held_out)
        candidates, parameters = self._candidates(X), self.get_params(deep=False)
        for name in self._search_parameters:
            parameters.pop(name)
        self.Cs_ = grid_of(self.Cs)
        models = [
            self._machine(**{**parameters, **self._fold_parameters(), **candidate})
            for candidate in candidates
        ]
        scores = self._scores_along(models, folds)
        self._keep_scores(scores)
        mean = _mean_scores(scores)
        best, number = np.unravel_index(np.argmax(np.nan_to_num(mean, nan=-np.inf)), mean.shape)
        self.C_, self.best_score_ = float(self.Cs_[number]), float(mean[best, number])
        chosen = self._machine(**{**parameters, **candidates[best]}, C=self.C_)
        if self.refit:
            self._adopt(chosen, final)
        else:
            (fold,) = folds
            self._adopt(chosen, *fold)
        return self

    def _scores_along(self, models: Sequence[Any], folds: Any) -> FloatArray:
        """The score of each model, C and fold; NaN if the time was over before it came."""
        scorer = check_scoring(self, scoring=self.scoring)
        scores = np.full((len(models), len(self.Cs_), len(folds)), np.nan)
        limit, cut_off = current_limit(), 0
        deadline = limit.deadline - REFIT_SHARE * limit.left if limit.finite else np.inf
        shares, turns = Shares([1.0] * scores.size, deadline), iter(range(scores.size))
        shown = reporter(type(self).__name__)

        def path(model: Any, fold: Fold, out: FloatArray) -> int:
            """Scores along C; returns how many fits were cut off."""
            train, test = fold
            told = {} if test.weights is None else {"sample_weight": test.weights}
            fits = along(clone(model), *train, self.Cs_, lambda: shares.seconds(next(turns)))
            done = cut_off = 0
            for done, fitted in enumerate(fits, start=1):
                if fitted.stop_reason_ == "interrupted":
                    break
                cut_off += int(fitted.stop_reason_ == "time_limit")
                out[done - 1] = scorer(fitted, test.X, test.y, **told)
                if shown is not None:
                    shown.step({}, total=scores.size + 1)  # and the last fit
                if now() > deadline:
                    return cut_off
            if done < len(out) or fitted.stop_reason_ == "interrupted":
                raise KeyboardInterrupt(f"{type(self).__name__} was interrupted before it chose C")
            return cut_off

        for k, fold in enumerate(folds):
            for m, model in enumerate(models):
                if now() <= deadline:
                    cut_off += path(model, fold, scores[m, :, k])
            if now() > deadline:
                break
        self._warn_of_time(scores, cut_off, limit)
        return scores

    def _warn_of_time(self, scores: FloatArray, cut_off: int, limit: TimeLimit) -> None:
        missing = int(np.isnan(scores).sum())
        if limit.share or not (missing or cut_off):
            return
        warn_caller(
            f"{type(self).__name__} has time_limit={limit.seconds:.6g} s for {scores.size} fits of "
            f"its search and the last one: {cut_off} were cut off and {missing} left out, so C may "
            "not be the best; allow more time, or try fewer values on fewer folds",
            ConvergenceWarning,
        )

    def _joined(self, examples: WeightedExamples, held_out: WeightedExamples) -> WeightedExamples:
        """All examples, those of the validation set behind the others."""
        if getattr(self, "kernel", None) == "precomputed":
            raise ValueError(
                "refit=True cannot train on X_val as well: the kernel values between validation "
                "examples are not known; use refit=False, or put all examples into X and give the "
                "rows of the two sets as cv=[(train, test)]"
            )
        parts = [examples.X, held_out.X]
        if any(sp.issparse(part) for part in parts):
            X = sp.vstack(parts, format="csr")
        elif all(isinstance(part, np.ndarray) for part in parts):
            X = np.concatenate(parts)
        else:  # examples of any kind, for a kernel that is a function
            X = [*examples.X, *held_out.X]
        weights = None
        if examples.weights is not None or held_out.weights is not None:
            weights = np.concatenate([_weights_of(examples), _weights_of(held_out)])
        return WeightedExamples(X, np.concatenate([examples.y, held_out.y]), weights)

    def _adopt(
        self, chosen: Any, train: WeightedExamples, test: WeightedExamples | None = None
    ) -> None:
        """Train the chosen machine, under the callbacks of this one, and take what it learnt."""
        chosen.set_callbacks(*getattr(self, "_skl_callbacks", ()))
        chosen.fit(*train, *(test or ()))
        known = {*chosen.get_params(deep=False), "_skl_callbacks"}
        if test is None and hasattr(self, "validation_error_"):
            del self.validation_error_  # of an earlier fit
        self.__dict__.update({k: v for k, v in vars(chosen).items() if k not in known})

    # ------------------------------------------------------------------------------------- curve

    def plot_curve(self, ax: Any = None) -> Any:
        """Draw the validation error against C, its spread over the folds, and the chosen C.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; None makes new axes.

        Returns
        -------
        matplotlib axes
            With the error if the score is the accuracy, otherwise with the score.
        """
        from widemargin.plots import draw_validation_curve  # needs matplotlib

        check_is_fitted(self)
        scoring = self.scoring if is_classifier(self) else self.scoring or "r2"
        return draw_validation_curve(self.Cs_, self._curve, self.C_, scoring, ax)


def _mean_scores(scores: FloatArray) -> FloatArray:
    """The mean over the folds, of those that were scored on the most; NaN for others."""
    known = ~np.isnan(scores)
    most = known.sum(axis=2).max()
    whole = known.sum(axis=2) == most
    total = np.where(known, scores, 0.0).sum(axis=2)
    return np.asarray(np.where(whole, total / most, np.nan))


def _weights_of(examples: WeightedExamples) -> FloatArray:
    return np.ones(len(examples.y)) if examples.weights is None else examples.weights

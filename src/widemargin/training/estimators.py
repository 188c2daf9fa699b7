"""Iterative classifiers and regressions: labels or values, online learning, predictions."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.labels import check_labels, encode_labels, example_weights, target_moments
from widemargin.training.model import LOOP_CONSTRAINTS, Examples, IterativeModel, all_or_nothing
from widemargin.training.outputs import decision_values, predicted_codes

__all__ = [
    "Examples",
    "IterativeClassifier",
    "IterativeModel",
    "IterativeRegressor",
    "StandardizedRegressor",
    "all_or_nothing",
]


def _trains_online(model: IterativeModel) -> bool:
    model._require_online()
    return True


class IterativeClassifier(ClassifierMixin, IterativeModel):  # type: ignore[misc]
    """Base of classifiers trained by `widemargin.training.loop.train`."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LOOP_CONSTRAINTS,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    @available_if(_trains_online)  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike = None,
        sample_weight: ArrayLike = None,
    ) -> Self:
        """Trains on more examples: one pass, in the order given (online learning).

        Each call counts as one epoch of the learning rate's schedule.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like, optional
            All classes that will occur; needed at the first call, unless y holds them all.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0.

        Returns
        -------
        self
            The estimator.
        """
        first = not self._begun
        X, y = self._check_X(X, y, reset=first)
        if first:
            self._forget()
            self.classes_ = check_labels(y if classes is None else classes)
        else:
            self._check_unchanged()
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={np.asarray(classes).tolist()!r} differ from those of the first call of "
                f"partial_fit, {self.classes_.tolist()!r}; name the same classes, or none"
            )
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all labels at once and does not work with "
                "partial_fit; give a dict of weights, or sample_weight"
            )
        return self._train_on(X, y, sample_weight, first)

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """f(x): positive for the second class, or one score per class when there are more.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The scores.
        """
        check_is_fitted(self)
        return decision_values(self._scores(self._check_X(X)))

    def predict(self, X: ArrayLike) -> Any:
        """The class of each example; sign(0) = −1, the first class.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Their classes.
        """
        check_is_fitted(self)
        return self.classes_[predicted_codes(self._scores(self._check_X(X)))]

    # ----------------------------------------------------------------------------- helpers

    def _margin_unit(self) -> float:
        """|f(x)| of an example at the margin: β of criteria that have one, else 1.

        Mixtures divide the outputs of their experts by it.
        """
        return 1.0

    @property
    def _begun(self) -> bool:
        return hasattr(self, "classes_")

    def _take_targets(self, y: ArrayLike, *, resume: bool) -> None:
        classes = check_labels(y)
        if not resume:
            self.classes_ = classes

    def _encode(self, y: ArrayLike) -> FloatArray:
        return encode_labels(y, self.classes_)

    def _weights(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> FloatArray | None:
        return example_weights(X, y, sample_weight, self.class_weight, self.classes_)

    def _strata(self, y: ArrayLike) -> ArrayLike:
        return y


class IterativeRegressor(RegressorMixin, IterativeModel):  # type: ignore[misc]
    """Base of regressions trained by `widemargin.training.loop.train`, with one target or several.

    The error in the history, which early stopping watches, is 1 − R²: the unexplained fraction of
    the targets' variance, averaged over targets. So `tol` does not depend on the unit of y.
    """

    _y_options: ClassVar[dict[str, Any]] = {"multi_output": True, "y_numeric": True}

    @available_if(_trains_online)  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None) -> Self:
        """Trains on more examples: one pass, in the order given (online learning).

        Each call counts as one epoch of the learning rate's schedule.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The values to predict.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0.

        Returns
        -------
        self
            The estimator.
        """
        first = not self._begun
        X, y = self._check_X(X, y, reset=first)
        if first:
            self._forget()
        else:
            self._check_unchanged()
        self._take_targets(y, resume=not first)
        return self._train_on(X, y, sample_weight, first)

    def predict(self, X: ArrayLike) -> FloatArray:
        """The values f(x).

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions, in the shape that y had in `fit`; `MLPRegressor` flattens a single
            column, as in scikit-learn.
        """
        check_is_fitted(self)
        scores = self._scores(self._check_X(X))
        return scores[:, 0] if self._flat_targets else scores

    # ----------------------------------------------------------------------------- helpers

    @property
    def _begun(self) -> bool:
        return hasattr(self, "n_outputs_")

    def _take_targets(self, y: ArrayLike, *, resume: bool) -> None:
        outputs = 1 if y.ndim == 1 else y.shape[1]
        if not resume:
            self.n_outputs_, self._flat_targets = outputs, y.ndim == 1
        elif outputs != self.n_outputs_:
            raise ValueError(
                f"y has {outputs} columns, but the model was fitted to {self.n_outputs_}; fit "
                "without warm_start"
            )

    def _encode(self, y: ArrayLike) -> FloatArray:
        """One column per target."""
        return np.ascontiguousarray(y, dtype=np.float64).reshape(len(y), -1)

    def _weights(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> FloatArray | None:
        return example_weights(X, y, sample_weight, None, None)

    def _strata(self, y: ArrayLike) -> ArrayLike:
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class StandardizedRegressor(IterativeRegressor):
    """Base of regressions that standardise their targets, so that steps do not depend on units.

    Mean and standard deviation are those of the first examples, whatever the scaling of inputs is;
    ``scaling=None`` leaves targets as they are too.
    """

    def _standardize_targets(self, examples: Examples, *, resume: bool) -> None:
        """Replaces the targets by standardised ones, measured first unless training resumes."""
        if not resume:
            self._measure_targets(examples)
        examples.y = (examples.y - self._target_mean) / self._target_scale
        if examples.y_val is not None:
            examples.y_val = (examples.y_val - self._target_mean) / self._target_scale

    def _measure_targets(self, examples: Examples) -> None:
        """Means and standard deviations; 1 for constant targets."""
        mean, variance = target_moments(examples.y, examples.order, examples.weights)
        spread = np.sqrt(variance)
        scaled = self.scaling is not None
        self._target_mean = mean if scaled else np.zeros_like(mean)
        self._target_scale = spread if scaled else np.ones_like(mean)
        self._target_variance = (spread / self._target_scale) ** 2

    @property
    def _variance_shares(self) -> FloatArray:
        """1/(K · variance) of each of the K targets: how squared errors are counted."""
        return np.asarray(1.0 / (self.n_outputs_ * self._target_variance))

    def _in_units(self, outputs: FloatArray) -> FloatArray:
        """Standardised outputs, converted to the units of y."""
        return np.asarray(outputs * self._target_scale + self._target_mean)

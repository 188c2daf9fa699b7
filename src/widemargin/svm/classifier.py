"""Classifiers made of binary kernel machines: one against one, or one against the rest."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing, compute_class_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import _ovr_decision_function

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.labels import check_labels
from widemargin.svm.calibration import calibration_scores
from widemargin.svm.decomposition import Options, Solution
from widemargin.svm.machine import KernelMachine
from widemargin.svm.problem import machine
from widemargin.svm.solve import Task
from widemargin.training.certified import CertifiedClassifier, Finish
from widemargin.training.control import Control
from widemargin.training.outputs import ProbabilityMixin, predicted_codes
from widemargin.training.probability import MIN_PROBABILITY, couple, fit_sigmoid, sigmoid


class KernelClassifier(ProbabilityMixin, CertifiedClassifier, KernelMachine):
    """Base of classifiers: the classes, their pairs, votes and probabilities.

    Two classes have one machine, positive for the second class. More classes have one machine per
    pair i < j, positive for class i. Support vectors are sorted by class, and one of class i has
    its coefficient against class j in row j − 1 of `dual_coef_` if i < j, otherwise in row j.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "probability": ["boolean"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "multi_class": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
    }
    _several: ClassVar[bool] = True
    _numeric: ClassVar[bool] = False

    # ------------------------------------------------------------------------------- problems

    def _check_fit(self, X: ArrayLike, y: ArrayLike) -> tuple[ArrayLike, ArrayLike]:
        X, y = super()._check_fit(X, y)
        self.classes_ = check_labels(y)
        if self._one_against_rest and self.decision_function_shape == "ovo":
            raise ValueError(
                "decision_function_shape='ovo' needs machines for pairs of classes, which "
                "multi_class='ovr' does not train; use multi_class='ovo'"
            )
        return X, y

    def _targets(self, y: ArrayLike) -> FloatArray:
        return np.asarray(np.searchsorted(self.classes_, y), dtype=np.float64)

    def _weights(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> FloatArray | None:
        weights = super()._weights(X, y, sample_weight)
        self.class_weight_ = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        return weights

    @property
    def _one_against_rest(self) -> bool:
        return len(self.classes_) > 2 and self.multi_class == "ovr"

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.classes_)), 2))

    def _tasks(self, y: FloatArray, weights: FloatArray | None, rows: IntArray) -> list[Task]:
        codes = y[rows]

        def task(members: IntArray, positive: Any) -> Task:
            ids = rows[members]
            z = np.where(positive[members], 1.0, -1.0)
            return Task(ids, self._problem(z, None if weights is None else weights[ids]))

        everything = np.arange(len(rows))
        if len(self.classes_) == 2:
            return [task(everything, codes == 1)]
        if self._one_against_rest:
            return [task(everything, codes == k) for k in range(len(self.classes_))]
        of_class = [np.flatnonzero(codes == k) for k in range(len(self.classes_))]
        return [
            task(np.concatenate([of_class[i], of_class[j]]), codes == i) for i, j in self._pairs
        ]

    def _classes_of_problem(self, number: int) -> tuple[str, str]:
        """What the examples of a problem are called in messages."""
        names = [repr(name) for name in self.classes_.tolist()]
        if self._one_against_rest:
            return names[number], "the other classes"
        i, j = self._pairs[number]
        return names[i], names[j]

    # ------------------------------------------------------------------------------ expansion

    def _places(self, y: FloatArray, tasks: Sequence[Task]) -> Iterator[IntArray]:
        """The row of `dual_coef_` of every example of each problem."""
        if len(tasks) == 1 or self._one_against_rest:
            yield from (np.full(len(task.ids), k) for k, task in enumerate(tasks))
        else:
            for (i, j), task in zip(self._pairs, tasks, strict=True):
                yield np.where(y[task.ids] == i, j - 1, i)

    def _assemble(
        self, y: FloatArray, tasks: Sequence[Task], solutions: Sequence[Solution]
    ) -> dict[str, Any]:
        machines = [
            machine(task.problem, solution.beta, solution.biases)
            for task, solution in zip(tasks, solutions, strict=True)
        ]
        used = np.zeros(len(y), dtype=bool)
        for task, (coef, _) in zip(tasks, machines, strict=True):
            used[task.ids[coef != 0]] = True
        support = np.flatnonzero(used)
        support = support[np.argsort(y[support], kind="stable")]
        column = np.zeros(len(y), dtype=np.int64)
        column[support] = np.arange(len(support))
        dual_coef = np.zeros((self._n_rows, len(support)))
        for task, place, (coef, _) in zip(tasks, self._places(y, tasks), machines, strict=True):
            chosen = np.flatnonzero(coef)
            dual_coef[place[chosen], column[task.ids[chosen]]] = coef[chosen]
        counts = np.bincount(y[support].astype(np.int64), minlength=len(self.classes_))
        return {
            "support_": support,
            "dual_coef_": dual_coef,
            "intercept_": np.array([intercept for _, intercept in machines]),
            "_n_support": counts.astype(np.int32),
        }

    @property
    def _n_rows(self) -> int:
        """The number of rows of `dual_coef_`."""
        return len(self.classes_) - (0 if self._one_against_rest else 1)

    def _same_problems(self, before: Mapping[str, Any]) -> bool:
        return bool(
            super()._same_problems(before)
            and np.array_equal(before["classes_"], self.classes_)
            and len(before["dual_coef_"]) == self._n_rows
        )

    def _earlier_coefficients(self, y: FloatArray, tasks: Sequence[Task]) -> list[FloatArray]:
        column = np.full(len(y), -1)
        column[self.support_] = np.arange(len(self.support_))
        coef = np.pad(self.dual_coef_, ((0, 0), (0, 1)))  # column −1: no support vector
        places = self._places(y, tasks)
        return [coef[p, column[task.ids]] for task, p in zip(tasks, places, strict=True)]

    @property
    def _parts(self) -> list[slice]:
        """The support vectors of each class."""
        ends = np.cumsum(self._n_support)
        return [slice(end - n, end) for end, n in zip(ends, self._n_support, strict=True)]

    def _weights_of_inputs(self) -> FloatArray:
        if self._n_rows == 1 or self._one_against_rest:
            return super()._weights_of_inputs()
        found = [self._combined(part) for part in self._parts]
        return np.array([found[i][j - 1] + found[j][i] for i, j in self._pairs])

    def _outputs(self, X: ArrayLike) -> FloatArray:
        if self._n_rows == 1 or self._one_against_rest or self.kernel == "linear":
            return super()._outputs(X)
        found = self._expand(X, self._parts)
        pairs = [found[i][:, j - 1] + found[j][:, i] for i, j in self._pairs]
        return np.column_stack(pairs) + self.intercept_

    def expansions(self) -> Iterator[tuple[tuple[int, ...] | None, IntArray, FloatArray]]:
        if self._n_rows == 1 or self._one_against_rest:
            for coef in self.dual_coef_:
                (members,) = np.nonzero(coef)
                yield None, members, coef[members]
            return
        parts = self._parts
        for i, j in self._pairs:
            both = [(self.dual_coef_[j - 1], parts[i]), (self.dual_coef_[i], parts[j])]
            members = np.concatenate([np.arange(part.start, part.stop) for _, part in both])
            coef = np.concatenate([row[part] for row, part in both])
            yield (i, j), members[coef != 0], coef[coef != 0]

    # ---------------------------------------------------------------------------- predictions

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """f(x): positive for the second class, or scores when there are more than two.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples; kernel values of shape (n_samples, n_training_samples) for a
            precomputed kernel.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            With `decision_function_shape="ovr"`, one score per class: its votes, and between
            equal votes the sum of its outputs. Otherwise the output of each pair, positive for
            the first of the two.
        """
        return self._scores(self._outputs(self._check_predict(X)))

    def _scores(self, outputs: FloatArray) -> FloatArray:
        if outputs.shape[1] == 1:
            return outputs[:, 0]
        if self._one_against_rest or self.decision_function_shape == "ovo":
            return outputs
        return np.asarray(_ovr_decision_function(outputs < 0, -outputs, len(self.classes_)))

    def _check_ties(self) -> None:
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo'; "
                "use decision_function_shape='ovr'"
            )

    def _check_targets(self, y_val: ArrayLike) -> ArrayLike:
        self._check_ties()  # before the fit, not after it
        return super()._check_targets(y_val)

    def _decide(self, outputs: FloatArray) -> Any:
        """The class with the most votes; of equal ones the first, or that of the highest score."""
        self._check_ties()
        if outputs.shape[1] == 1 or self._one_against_rest:
            return self.classes_[predicted_codes(outputs)]
        if self.break_ties:
            return self.classes_[predicted_codes(self._scores(outputs))]
        votes = np.zeros((len(outputs), len(self.classes_)), dtype=np.int64)
        for column, (i, j) in zip(outputs.T, self._pairs, strict=True):
            votes[:, i] += column > 0
            votes[:, j] += column <= 0
        return self.classes_[votes.argmax(axis=1)]

    # -------------------------------------------------------------------------- probabilities

    def _fit_probabilities(
        self,
        X: ArrayLike,
        y: FloatArray,
        weights: FloatArray | None,
        options: Options,
        control: Control,
        fold_seconds: float,
    ) -> Finish:
        self.probA_ = self.probB_ = np.empty(0)
        self.n_calibration_folds_ = 0
        if not self.probability:
            return Finish()
        quiet = control.quiet()

        def fit(
            train: IntArray, within: Control
        ) -> tuple[list[Solution], Callable[[IntArray], FloatArray]]:
            tasks, fold = self._tasks(y, weights, train), copy(self)
            solutions = self._solve(X, tasks, options, within)
            fold.__dict__.update(self._expansion(X, y, tasks, solutions))
            return solutions, lambda test: fold._outputs(_safe_indexing(X, test))

        rows, scores, self.n_calibration_folds_, finish = calibration_scores(
            fit, y, weights, self.random_state, quiet, fold_seconds
        )
        self._fit_sigmoids(y[rows], scores, None if weights is None else weights[rows])
        return finish

    def _fit_sigmoids(self, y: FloatArray, scores: FloatArray, weights: FloatArray | None) -> None:
        sides = self._pairs[:1] if len(self.classes_) == 2 else self._pairs
        if self._one_against_rest:
            sides = [(k, -1) for k in range(len(self.classes_))]
        fitted = []
        for k, (i, j) in enumerate(sides):
            among = np.full(len(y), True) if j < 0 else (y == i) | (y == j)
            positive = y == (1 if len(self.classes_) == 2 else i)
            some = None if weights is None else weights[among]
            intercept = len(self.classes_) > 2
            fitted.append(fit_sigmoid(scores[among, k], positive[among], some, intercept=intercept))
        self.probA_, self.probB_ = np.array(fitted).T

    def _require_probabilities(self) -> None:
        if not self.probability:
            raise AttributeError("predict_proba is not available when probability=False")

    def _probabilities(self, X: ArrayLike) -> FloatArray:
        """By Platt's sigmoids; of two classes, the predicted one has more than one half."""
        outputs = self._outputs(self._check_predict(X))
        if len(self.probA_) == 0:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False; fit again"
            )
        p = sigmoid(outputs, self.probA_, self.probB_)
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - p[:, 0], p[:, 0]])
        if not self._one_against_rest:
            return couple(p)
        p = np.maximum(p, MIN_PROBABILITY)
        return np.asarray(p / p.sum(axis=1, keepdims=True))

"""Views: rows to train on and rows to judge by, in the forms and metrics that candidates use."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_batches

from widemargin._typing import ArrayLike, FloatArray
from widemargin.kernels import DISTANCE_KERNELS
from widemargin.metrics import GradientMetric
from widemargin.metrics.examples import Rows
from widemargin.metrics.learning import median_distance
from widemargin.tabular.candidates import Candidate
from widemargin.tabular.forms import InputForm
from widemargin.tabular.targets import Target
from widemargin.training.time_limit import now

__all__ = ["Fit", "View"]

FORM_ROWS = 200_000  # that a form is measured by
METRIC_TEST_ROWS = 5000  # that a metric holds out
CHUNK_ROWS = 50_000  # that are transformed at a time
LARGE_NUMBERS = 10_000_000  # rows times inputs of a table in single precision


@dataclass(frozen=True, eq=False)
class Fit:
    """A candidate that was trained on a view."""

    model: Pipeline
    outputs: FloatArray  # of the rows to judge by
    seconds: float  # of training: the form and metric, the machine
    predict_seconds: float


@dataclass(eq=False)
class _Inputs:
    """The rows of a view in one form and metric, which are computed when they are needed."""

    rows: ArrayLike  # to train on, as encoded
    test_rows: ArrayLike
    steps: list[tuple[str, Any]]
    seconds: float  # of training the steps
    _medians: dict[Any, float] = field(default_factory=dict)

    @cached_property
    def train(self) -> ArrayLike:
        return self._transformed(self.rows)

    @cached_property
    def test(self) -> tuple[ArrayLike, float]:
        """The rows to judge by, and the seconds that it took to transform them."""
        begun = now()
        return self._transformed(self.test_rows), now() - begun

    def median(self, kernel: str, random_state: int) -> float:
        """The median distance of rows to train on, in the norm of a kernel."""
        norm = DISTANCE_KERNELS.get(kernel)
        if norm not in self._medians:
            random = np.random.RandomState(random_state)
            self._medians[norm] = median_distance(self.train, kernel, random)
        return self._medians[norm]

    def first(self, count: int) -> ArrayLike:
        """Some of the rows to train on."""
        few = "train" not in vars(self) and count < self.rows.shape[0]
        return self._transformed(self.rows[:count]) if few else self.train[:count]

    def _transformed(self, X: ArrayLike) -> ArrayLike:
        """Rows after all steps, chunk by chunk: a form may be much wider than what is left of it.

        Large tables are in single precision.
        """
        parts = []
        for some in gen_batches(X.shape[0], CHUNK_ROWS):
            part = X[some]
            for _, step in self.steps:
                part = step.transform(part)
            large = X.shape[0] * part.shape[1] > LARGE_NUMBERS
            parts.append(part.astype(np.float32) if large else part)
        if len(parts) == 1:
            return parts[0]
        return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


@dataclass(eq=False)
class View:
    """Rows to train on and rows to judge by; their forms and metrics are learnt once."""

    train: Rows
    test: Rows
    target: Target
    metric_rows: int
    random_state: int
    _inputs: dict[tuple[str, str], _Inputs] = field(default_factory=dict)

    def prepare(self, form: str, metric: str, n_jobs: int | None) -> None:
        """Learns a form and metric."""
        if (form, metric) not in self._inputs:
            plain = metric == "none"
            found = self._in_form(form) if plain else self._in_metric(form, metric, n_jobs)
            self._inputs[form, metric] = found

    def adopt(self, candidate: Candidate, transformers: Pipeline) -> None:
        """Uses the form and metric that a candidate was trained with elsewhere."""
        found = _Inputs(self.train.X, self.test.X, list(transformers.steps), 0.0)
        self._inputs[candidate.form, candidate.metric] = found

    def fit(self, candidate: Candidate, n_jobs: int | None) -> Fit:
        """Trains a candidate; its form and metric must be prepared."""
        begun = now()
        inputs = self._inputs[candidate.form, candidate.metric]
        median = inputs.median(candidate.kernel, self.random_state) if candidate.kernelised else 1.0
        machine = candidate.machine(
            median,
            len(self.train),
            regression=self.target.regression,
            n_jobs=n_jobs,
            random_state=self.random_state,
        )
        machine.fit(inputs.train, self._y, sample_weight=self.train.weights)
        trained = now()
        Z, transform_seconds = inputs.test  # other candidates may have these inputs, too
        asked = now()
        outputs = self.target.outputs(machine, Z)
        predict_seconds = transform_seconds + now() - asked
        model = Pipeline([*inputs.steps, ("machine", machine)])
        return Fit(model, outputs, trained - begun + inputs.seconds, predict_seconds)

    @property
    def _y(self) -> ArrayLike:
        return self.train.y if self.target.regression else self.train.y.astype(np.int64)

    def _in_form(self, form: str) -> _Inputs:
        begun = now()
        shape = InputForm(form, task=self.target.task, random_state=self.random_state)
        shape.set_output(transform="default")
        some = self.train[:FORM_ROWS]
        shape.fit(some.X, self._y[:FORM_ROWS], some.weights)
        return _Inputs(self.train.X, self.test.X, [("form", shape)], now() - begun)

    def _in_metric(self, form: str, structure: str, n_jobs: int | None) -> _Inputs:
        self.prepare(form, "none", n_jobs)
        begun, plain = now(), self._inputs[form, "none"]
        learnt = GradientMetric(
            structure=structure,
            scaling=None,
            task=self.target.task,
            max_rows=self.metric_rows,
            n_jobs=n_jobs,
            random_state=self.random_state,
        ).set_output(transform="default")
        count = self.metric_rows + METRIC_TEST_ROWS
        some = self.train[:count]
        learnt.fit(plain.first(count), self._y[:count], some.weights)
        steps = [*plain.steps, ("metric", learnt)]
        return _Inputs(self.train.X, self.test.X, steps, plain.seconds + now() - begun)

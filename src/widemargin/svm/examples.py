"""The examples of a problem, as its solver and its verifier take them: alone or shared.

The problems of a classifier of many classes are over the same examples. These are examined,
encoded and packed once, and each problem takes its rows from the packed ones. If the problems need
most of the kernel matrix and it fits, it is computed once, too.
"""

import threading
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from widemargin import _core
from widemargin._typing import FloatArray, IntArray
from widemargin.inputs.rows import as_rows
from widemargin.svm.kernel_source import KernelInputs, KernelSource
from widemargin.svm.rounding import KernelRounding, Rounding
from widemargin.training.control import Control

Packed: TypeAlias = "_core.KernelExamples | _core.MatrixExamples"

__all__ = ["Examples", "SharedExamples"]

MATRIX_SHARE = 0.5  # of the memory for kernel values, which a matrix of all examples may take
READ_COST = 100.0  # of a kernel value; reading a cheaper one takes longer
LAYOUT = ("sparse", "inputs", "words", "groups", "cancels")  # what rounding depends on
ROWS_NEEDED = 2560  # of the kernel matrix of a problem; smaller ones need all of theirs


class Examples:
    """The examples of one problem.

    Parameters
    ----------
    inputs : KernelInputs
        All examples, as the kernel takes them.
    ids : ndarray of shape (n_examples,)
        Which of them are the examples of the problem.
    """

    def __init__(self, inputs: KernelInputs, ids: IntArray) -> None:
        self.inputs, self.ids = inputs, ids
        self._rounding: KernelRounding | None = None

    def source(self, kernel: KernelSource, control: Control) -> tuple[Any, FloatArray | None]:
        """What the solver computes with: examples, or a function and the diagonal."""
        return kernel.over(self.inputs, self.ids)

    def rounding(self, kernel: KernelSource, packed: Packed) -> Rounding:
        """The bounds of rounding errors, if the core stores the examples as it does these."""
        single = not packed.double_precision
        if self._rounding is None or (single and not self._rounding.single):
            X, centre = self.inputs
            some = X if len(self.ids) == X.shape[0] else X[self.ids]
            self._rounding = KernelRounding(kernel, some, single, centre)
        return self._rounding.of(packed)

    def packed(self, kernel: KernelSource, parts: list[IntArray]) -> list[_core.KernelExamples]:
        """Some of the examples after others, packed together."""
        x = as_rows(self.inputs.x)
        return kernel.pack([(x, self.ids[some]) for some in parts], self.inputs.centre)


class SharedExamples:
    """The examples of all problems of a fit with a named kernel.

    Parameters
    ----------
    inputs : KernelInputs
        All examples, as the kernel takes them.
    problems : sequence of ndarray
        Which of them are the examples of each problem.
    memory : int
        Bytes for kernel values.
    """

    def __init__(self, inputs: KernelInputs, problems: Sequence[IntArray], memory: int) -> None:
        self.inputs, self.memory = inputs, memory
        # in the order in which the problems have them, so that a class lies together
        self._place, found = np.full(inputs.x.shape[0], -1), [np.empty(0, dtype=np.int64)]
        count = 0
        for ids in problems:
            fresh = ids[self._place[ids] < 0]
            if len(fresh):
                self._place[fresh] = np.arange(count, count + len(fresh))
                found.append(fresh)
                count += len(fresh)
        self.ids = np.concatenate(found)
        # whether their problems need most of the kernel matrix
        needed = sum(len(ids) * min(len(ids), ROWS_NEEDED) for ids in problems)
        self._dense = needed >= len(self.ids) ** 2
        self._lock = threading.RLock()
        self._packed: dict[bool | None, _core.KernelExamples] = {}
        self._every = Examples(inputs, self.ids)
        self._rounding: dict[tuple[int, ...], Rounding] = {}
        self._matrix: dict[bool, _core.KernelMatrix] = {}

    def of(self, ids: IntArray) -> Examples:
        """The examples of one problem."""
        return _Taken(self, ids, self._place[ids])

    def packed(self, kernel: KernelSource) -> _core.KernelExamples:
        """All examples in the precision of this kernel."""
        with self._lock:
            key = kernel.double_precision
            if key not in self._packed:
                sets = [(as_rows(self.inputs.x), self.ids)]
                (self._packed[key],) = kernel.pack(sets, self.inputs.centre)
            return self._packed[key]

    def rounding(self, kernel: KernelSource, packed: Packed) -> Rounding:
        """The bounds of rounding errors for all examples."""
        layout = packed.layout
        key = (packed.double_precision, *(layout[name] for name in LAYOUT))
        with self._lock:
            if key not in self._rounding:
                self._rounding[key] = self._every.rounding(kernel, packed)
            return self._rounding[key]

    def matrix_bytes(self, kernel: KernelSource) -> int:
        """The size of the kernel matrix of all examples, or 0 if it is not worth computing."""
        if not self._dense:
            return 0
        packed = self.packed(kernel)
        fits = packed.matrix_bytes <= MATRIX_SHARE * self.memory
        return packed.matrix_bytes if fits and packed.cost > READ_COST else 0

    def matrix(self, kernel: KernelSource, control: Control) -> _core.KernelMatrix | None:
        """The kernel matrix of all examples, unless there is a reason to stop computing it."""
        packed = self.packed(kernel)
        with self._lock:
            key = packed.double_precision
            if key not in self._matrix:
                self._matrix[key] = _core.KernelMatrix(packed)
            matrix = self._matrix[key]
            threads = kernel.threads_for(self.inputs.x, len(self.ids) ** 2)
            while not matrix.compute(control.slice(), threads):
                if control.reason() is not None:
                    return None
            return matrix


class _Taken(Examples):
    """The examples of one problem, taken from shared ones."""

    def __init__(self, shared: SharedExamples, ids: IntArray, places: IntArray) -> None:
        super().__init__(shared.inputs, ids)
        self.shared, self.places = shared, places

    def source(self, kernel: KernelSource, control: Control) -> tuple[Any, FloatArray | None]:
        if self.shared.matrix_bytes(kernel):
            matrix = self.shared.matrix(kernel, control)
            if matrix is not None:
                return matrix.take(self.places), None
        return self._take(kernel, self.places), None

    def rounding(self, kernel: KernelSource, packed: Packed) -> Rounding:
        return self.shared.rounding(kernel, packed).of_rows(self.places)

    def packed(self, kernel: KernelSource, parts: list[IntArray]) -> list[_core.KernelExamples]:
        if 8 * np.prod(self.inputs.x.shape) > self.shared.memory:
            return super().packed(kernel, parts)  # no copy of all examples in float64
        return [self._take(kernel, self.places[some]) for some in parts]

    def _take(self, kernel: KernelSource, places: IntArray) -> _core.KernelExamples:
        return self.shared.packed(kernel).take(places)

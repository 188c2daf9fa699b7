"""Makes a certificate true: f with bounds of its rounding errors, recomputed where they matter.

The solver updates f after each step with the kernel values that it works with. `Verifier` bounds
how far rounding has taken that f from the exact one, in float32 or float64. A certificate that
holds for every f within these bounds is true. Where the bounds are too wide for it, f is recomputed
from β in float64: only on examples that are free or near their margin, since the others satisfy
their conditions whatever the rounding.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin import _core
from widemargin._typing import FloatArray, IntArray
from widemargin.svm.examples import Examples
from widemargin.svm.kernel_source import KernelSource
from widemargin.svm.problem import Problem, doubtful
from widemargin.svm.rounding import UNIT, Rounding
from widemargin.training.control import Control

__all__ = ["Verifier"]

NEGLIGIBLE = 2.0**-8  # bounds that are this fraction of tol are narrow enough
SUPPORT_PER_SUM = 1024  # support vectors whose terms are summed before the sums are
EXAMPLES_PER_PACK, EXAMPLES_PER_CALL = 16_384, 4096
GIVEN_ROWS_PER_CALL = 64
MORE_VALUES = 2.0  # times the kernel values that are needed, if it saves packing


class Verifier:
    """Bounds of the rounding errors of f for one problem, and f in float64.

    Parameters
    ----------
    kernel : KernelSource
        The kernel.
    examples : Examples
        The examples of the problem.
    source : _core.KernelExamples, _core.MatrixExamples or callable
        What the solver computes with.
    diagonal : ndarray, optional
        k(x, x) of every example, for a source that is a function.
    """

    def __init__(
        self,
        kernel: KernelSource,
        examples: Examples,
        source: Any,
        diagonal: FloatArray | None,
    ) -> None:
        self.kernel, self.examples, self.source = kernel, examples, source
        count = len(examples.ids)
        if diagonal is None:
            self.rounding = examples.rounding(kernel, source)
        else:
            zero = np.zeros((count, 1))
            size = np.full(count, np.sqrt(np.abs(diagonal).max()))
            self.rounding = Rounding(UNIT[True], zero, zero, size)
        # f of these coefficients was given to the solver, with these bounds
        self.coef, self.known = np.zeros(count), np.zeros(count)
        self.kernel_values = 0  # that were computed

    def bounds(
        self, problem: Problem, beta: FloatArray, f: FloatArray, progress: dict[str, Any]
    ) -> FloatArray:
        """Bounds for the f of the solver, which made `progress` since f was last given to it."""
        values = self.rounding.of_values(problem.coefficients(beta) - self.coef)
        sums = self.rounding.of_updates(progress["traffic"], 1 + progress["rows_wanted"])
        return np.asarray(self.known + values + sums + _last_bits(problem, f))

    def rescale(self, factor: float, coef: FloatArray) -> None:
        """The solver has multiplied f by this factor, and has these coefficients."""
        moved = self.rounding.largest_sum(coef - factor * self.coef)
        self.coef, self.known = coef, factor * self.known + moved

    def verify(
        self,
        problem: Problem,
        beta: FloatArray,
        f: FloatArray,
        error: FloatArray,
        tol: float,
        control: Control,
    ) -> tuple[FloatArray, FloatArray]:
        """f and its bounds, with every f recomputed on which a certificate of `tol` depends.

        If there is a reason to stop, the rest stays as it is, with bounds that are still right.
        """
        wide = error > NEGLIGIBLE * tol
        if not wide.any():
            return f, error
        coef, f, error = problem.coefficients(beta), f.copy(), error.copy()
        # twice the bounds, because biases may move with the f that are recomputed
        rows = np.flatnonzero(wide & doubtful(problem, beta, f, 2 * error))
        for start in range(0, len(rows), EXAMPLES_PER_PACK):
            for some, values, bounds in self._recompute(coef, rows[start:][:EXAMPLES_PER_PACK]):
                f[some], error[some] = values, bounds
                self.kernel_values += len(some) * int(np.count_nonzero(coef))
                error[some] += _last_bits(problem, f)[some]
                if control.reason() is not None:
                    return f, error
        return f, error

    def _recompute(
        self, coef: FloatArray, rows: IntArray
    ) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        """f in float64 from these coefficients, and its bounds, for some of the rows at a time."""
        if not self.kernel.named:
            bounds = self.rounding.of_sum(coef, len(coef))
            for some in _pieces(rows, GIVEN_ROWS_PER_CALL):
                yield some, self.source(some) @ coef, bounds[some]
            return
        support = np.flatnonzero(coef)
        if len(support) == 0:
            yield rows, np.zeros(len(rows)), np.zeros(len(rows))
            return
        parts, batches = _pieces(support, SUPPORT_PER_SUM), _pieces(rows, EXAMPLES_PER_CALL)
        sets, both = parts + batches, np.union1d(support, rows)
        most = MORE_VALUES * len(support) * len(rows)
        if len(both) <= SUPPORT_PER_SUM and len(both) ** 2 <= most:
            parts = batches = sets = [both]  # packing most of them twice would take longer
        n = len(batches)
        double = replace(self.kernel, double_precision=True)
        packed = self.examples.packed(double, sets)
        additions = min(len(support), SUPPORT_PER_SUM) + len(parts)
        bounds = self.examples.rounding(double, packed[0]).of_sum(coef, additions)
        threads = self.kernel.threads_for(self.examples.inputs.x, len(support) * len(rows))
        for some, examples in zip(batches, packed[-n:], strict=True):
            out = np.zeros(len(some))
            for part, vectors in zip(parts, packed[: len(parts)], strict=True):
                sums = np.zeros((1, len(some)))
                _core.expand(vectors, coef[None, part], examples, sums, threads)
                out += sums[0]
            yield some, out, bounds[some]


def _pieces(rows: IntArray, size: int) -> list[IntArray]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _last_bits(problem: Problem, f: FloatArray) -> FloatArray:
    """How far rounding takes f + s."""
    slopes = np.abs(problem.s).reshape(-1, problem.examples).max(axis=0)
    return np.asarray(4 * UNIT[True] * (np.abs(f) + slopes))

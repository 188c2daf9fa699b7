r"""Training by L-BFGS: SciPy's quasi-Newton method on the criterion of all examples.

.. math:: J = \frac{\sum_l c_l\, Q(y_l, f(x_l))}{\sum_l c_l} + \frac\mu2 \|W^D\|^2
              + \frac\nu2 \sum_{k<D} \|W^k\|^2

with example weights c. An iteration is an epoch of the training loop: one evaluation of J and its
gradient, or a few where the line search needs more. The core adds up the gradient in calls of tens
of milliseconds, so that a fit can be stopped within an evaluation.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from widemargin._typing import FloatArray
from widemargin.mlp.network import OPERATIONS_PER_CALL, NetworkState, Steps, TrainedNetwork
from widemargin.training.loop import Ending, Epochs, Tally

FTOL = 2.2e-9  # relative fall of J that ends training, as in SciPy, unless the precision is less
PLAIN_STEP = Steps("sgd", batch=2)  # rate 1, momentum 0, no decay: the momentum is -gradient


class _Stopped(Exception):
    """The loop asks to stop within an evaluation, after `visited` examples."""

    def __init__(self, tally: Tally, visited: int) -> None:
        super().__init__()
        self.tally, self.visited = tally, visited


class LBFGSLearner(TrainedNetwork):
    """Trains a network by L-BFGS; see `widemargin.training.loop.SolverLearner`.

    Parameters
    ----------
    arguments, options :
        As in `TrainedNetwork`.
    tol : float or None
        Training stops when no component of the gradient is larger, or J falls no more in this
        precision; None: never.
    max_fun : int
        The largest number of evaluations.
    """

    def __init__(self, *arguments: Any, tol: float | None, max_fun: int, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.tol, self.max_fun = tol, max_fun
        self.rows_per_call = max(1, OPERATIONS_PER_CALL // self.operations_per_example)

    def run(self, epochs: Epochs) -> Ending | None:
        dtype = self.state.parameters.dtype
        evaluated: tuple[FloatArray, Tally] | None = None  # the last point, and its sums
        accepted: Tally | None = None  # sums at the weights so far

        def objective(theta: FloatArray) -> tuple[float, FloatArray]:
            nonlocal evaluated, accepted
            epochs.begin()
            tally, gradient = self._sums(theta, epochs)
            evaluated = theta.copy(), tally
            accepted = accepted or tally
            return self._penalised(theta, tally, gradient)

        def iterated(theta: FloatArray) -> None:
            nonlocal accepted
            assert evaluated is not None
            same = np.array_equal(evaluated[0], theta)
            accepted = evaluated[1] if same else self._sums(theta, epochs)[0]
            self.state.parameters = theta.astype(dtype)
            if self._end_iteration(accepted, epochs):
                raise StopIteration

        try:
            found = minimize(
                objective,
                self.state.parameters.astype(np.float64),
                jac=True,
                method="L-BFGS-B",
                callback=iterated,
                options={
                    "gtol": 0.0 if self.tol is None else float(self.tol),
                    "ftol": 0.0 if self.tol is None else max(FTOL, float(np.finfo(dtype).eps)),
                    "maxfun": self.max_fun,
                    "maxiter": np.iinfo(np.int32).max,  # the loop counts iterations
                },
            )
        except _Stopped as stop:
            epochs.end(stop.tally, stop.visited)
            return None
        if epochs.open:  # the last evaluations led to no other weights
            assert accepted is not None
            if self._end_iteration(accepted, epochs):
                return None
        return self._ending(found.status)

    def _end_iteration(self, tally: Tally, epochs: Epochs) -> bool:
        self.state.steps += 1
        self.state.updates += tally.updates
        return epochs.end(tally, len(self.order))

    def _ending(self, status: int) -> Ending | None:
        """What SciPy's status means; None if the loop stopped."""
        if self.tol is None and status in (0, 2):
            return Ending("precision")
        if status == 0:
            return Ending("tol")
        if status == 1:
            return Ending(
                "max_fun",
                f"evaluated its objective max_fun={self.max_fun} times; raise max_fun or tol",
            )
        if status == 2:
            return Ending(
                "precision",
                "found no lower objective along its last direction; use dtype='float64', scale the "
                "inputs, or raise tol",
            )
        return None

    def _sums(self, theta: FloatArray, epochs: Epochs) -> tuple[Tally, FloatArray]:
        """Sums over all examples: those of a tally, and the gradient of the criterion."""
        parameters = theta.astype(self.state.parameters.dtype)
        tally, gradient = Tally(0, 0.0, 0.0, 0.0), np.zeros_like(theta)
        for first in range(0, len(self.order), self.rows_per_call):
            if first and epochs.stopped():
                raise _Stopped(tally, first)
            order = self.order[first : first + self.rows_per_call]
            momentum = np.zeros_like(parameters)
            state = NetworkState(
                parameters.copy(), momentum, momentum[:0], 0, 0, self.state.scaling
            )
            step = replace(PLAIN_STEP, batch=max(2, len(order)))  # 1 would be another loop
            tally += self._pass(order, state, step, 1.0)
            gradient -= len(order) * momentum.astype(np.float64)
        return tally, gradient

    def _penalised(
        self, theta: FloatArray, tally: Tally, gradient: FloatArray
    ) -> tuple[float, FloatArray]:
        """J and its gradient."""
        gradient /= tally.weight
        value = tally.criterion / tally.weight
        layers = self.architecture.layers
        decays = [self.steps.nu] * (len(self.architecture.units) - 2) + [self.steps.mu]
        for decay, (W, _), (slope, _) in zip(decays, layers(theta), layers(gradient), strict=True):
            value += 0.5 * decay * float(np.sum(W**2))
            slope += decay * W
        return value, gradient

"""Machines for many C, each started from the previous one.

A machine that can be on a path is a `CertifiedMachine` with a parameter C. Its `_path_state` is
handed from one fit to the next.
"""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.training.control import interrupt_flag
from widemargin.training.time_limit import now, share_of_time

__all__ = ["Path", "along", "grid_of", "unfitted"]


@dataclass(frozen=True, eq=False)
class Path:
    """Fitted models, one per C; arrays have one row per C."""

    Cs: FloatArray
    models: list[Any]
    seconds: FloatArray
    primal_objective: FloatArray
    dual_objective: FloatArray
    duality_gap: FloatArray
    n_iter: IntArray

    @classmethod
    def of(
        cls, model: Any, X: ArrayLike, y: ArrayLike, Cs: ArrayLike, sample_weight: ArrayLike
    ) -> Self:
        """Train copies of the model in ascending order of C; results are in the given order."""
        values = checked_Cs(Cs)
        order = np.argsort(values, kind="stable")
        found: dict[int, tuple[Any, float]] = {}
        begin = now()
        fits = along(model, X, y, sample_weight, values[order])
        for number, fitted in zip(order, fits, strict=False):  # an interrupted path is shorter
            found[int(number)] = fitted, now() - begin
            begin = now()
        kept = sorted(found)
        models = [found[number][0] for number in kept]
        seconds = np.array([found[number][1] for number in kept])
        learnt = [field.name for field in fields(cls)][3:]
        measures = {name: np.array([getattr(m, f"{name}_") for m in models]) for name in learnt}
        return cls(values[kept], models, seconds, **measures)


def unfitted(
    estimator: Any, default: Any, parameters: dict[str, Any], base: type[Any], use: str
) -> Any:
    """A copy of the estimator with these parameters, if it is such a machine and has a C."""
    model = (default if estimator is None else clone(estimator)).set_params(**parameters)
    if not isinstance(model, base) or "C" not in model.get_params(deep=False):
        raise TypeError(f"estimator={estimator!r} has no C to vary; use {use}")
    return model


def checked_Cs(Cs: ArrayLike) -> FloatArray:
    values = np.array(Cs, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.all(values > 0):
        raise ValueError(f"Cs={Cs!r} must be a list of positive numbers")
    return values


def grid_of(Cs: ArrayLike) -> FloatArray:
    """The values of C, ascending; an integer asks for that many from 0.01 to 100, equal ratios."""
    return np.logspace(-2, 2, Cs) if isinstance(Cs, Integral) else np.sort(checked_Cs(Cs))


def along(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike,
    Cs: FloatArray,
    seconds: Callable[[], float | None] = lambda: None,
) -> Iterator[Any]:
    """A fitted copy of the model per C, up to the one that Ctrl-C interrupts.

    `seconds` gives the share of time of each fit, if there is a limit for all.
    """
    state = model._path_state(Cs)
    for C in Cs:
        # the flag also if it came too late to stop the fit
        with interrupt_flag() as interrupted, share_of_time(seconds()):
            model.set_params(C=float(C))._fit_on_path(state, X, y, sample_weight)
        yield copy(model)
        if interrupted.is_set():
            return

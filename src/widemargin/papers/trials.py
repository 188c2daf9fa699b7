"""Models that are chosen on validation rows, trained with several seeds, and tested once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import Bunch

from widemargin.papers.item import Measured
from widemargin.theory import mcnemar

__all__ = ["Results", "Trial", "compared", "error", "exponent", "fitted", "tuned"]


@dataclass(frozen=True)
class Trial:
    """The candidate with the lowest validation error, one fit per seed."""

    fits: list[Any]
    errors: list[float]  # on the test rows, in percent
    setting: str  # its parameters that are not the defaults

    @property
    def error(self) -> float:
        return float(np.mean(self.errors))

    @property
    def spread(self) -> float | None:
        return float(np.std(self.errors, ddof=1)) if len(self.errors) > 1 else None

    @property
    def seconds(self) -> float:
        return float(np.mean([fit.fit_time_ for fit in self.fits]))


def tuned(
    candidates: Sequence[Any], data: Bunch, seeds: Sequence[int], *, together: bool = False
) -> Trial:
    """Chooses with the first seed, fits the choice with every seed; only it sees the test rows.

    With `together`, models that use one thread each are fitted side by side; their times then say
    little.
    """
    first = [_seeded(candidate, data, seeds[0]) for candidate in candidates]
    errors = [error(fit, data, "valid") for fit in first]
    if not first or not np.isfinite(errors).any():
        raise ValueError("no candidate has a validation error")
    best = int(np.nanargmin(errors))
    others = Parallel(n_jobs=-1 if together else 1, prefer="threads")(
        delayed(_seeded)(candidates[best], data, seed) for seed in seeds[1:]
    )
    fits = [first[best], *others]
    setting = " ".join(repr(candidates[best]).split())
    return Trial(fits, [error(fit, data, "test") for fit in fits], setting)


def _seeded(candidate: Any, data: Bunch, seed: int) -> Any:
    return fitted(clone(candidate).set_params(random_state=seed), data)


def compared(where: str, y: Any, ours: tuple[str, Any], rival: tuple[str, Any]) -> str:
    """McNemar's test of two models' predictions on the same test rows, as a sentence.

    Only the numbers of errors are kept.
    """
    (name, first), (other, second) = ours, rival
    found = mcnemar(y, first, second)
    return (
        f"{where}: on {len(y):,} test rows, {found.only_first:,} are wrong with {name} only and "
        f"{found.only_second:,} with {other} only; McNemar's test has p = {found.p_value:.2g}."
    )


def fitted(model: Any, data: Bunch) -> Any:
    """The model, trained on the training rows; early stopping gets the validation rows."""
    held_out = {}
    if getattr(model, "early_stopping", False):
        held_out = {"X_val": data.X_valid, "y_val": data.y_valid}
    return model.fit(data.X_train, data.y_train, **held_out)


def error(fit: Any, data: Bunch, part: str) -> float:
    """The error in percent on the "train", "valid" or "test" rows."""
    return float(100 * (1 - fit.score(data[f"X_{part}"], data[f"y_{part}"])))


def exponent(x: Any, y: Any) -> float:
    """The slope of log y over log x, where y is not 0; NaN without two such points."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    known = y > 0
    if known.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(x[known]), np.log(y[known]), 1)[0])


@dataclass
class Results:
    """Collects the numbers of a table."""

    here: dict[str, float] = field(default_factory=dict)
    best: dict[str, float] = field(default_factory=dict)
    spread: dict[str, float] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, trial: Trial) -> Trial:
        """A row with the settings of the document."""
        self.here[name], self.settings[name] = trial.error, trial.setting
        if trial.spread is not None:
            self.spread[name] = trial.spread
        return trial

    def measured(self, *notes: str) -> Measured:
        return Measured(self.here, self.best, self.spread, self.settings, notes)

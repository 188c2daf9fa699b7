r"""The search for a table's best machines.

1. **Screening.** The portfolio is trained on few rows and judged on others. The best candidates
   climb: neighbours in γ, C and ε are tried as long as the loss falls, beyond any fixed grid.
2. **Rungs.** The best of several kinds are trained on more rows, and fewer of them on more again
   (successive halving), until the last ones have all training rows of each fold. Their predictions
   of the other rows are what calibration and the ensemble are chosen by. A table that is too large
   for one exact machine has mixtures of them on the last rung.

What is tried depends on the table and the seed alone, not on the clock, unless there is a time
limit. With one, no fit begins that is not expected to end in time, and a rung has fewer rows if
there is no time for all of them. Whatever was tried before counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from widemargin._typing import IntArray
from widemargin.tabular.candidates import Candidate
from widemargin.tabular.combination import MAX_MODELS
from widemargin.tabular.evaluation import Evaluator, Trial
from widemargin.tabular.plan import Plan, Rung
from widemargin.tabular.views import View

__all__ = ["Search"]

LEAST_GAIN = 1e-3  # of the loss, relative, for which a candidate climbs on
LAST_FITS = 1.3  # their time, relative to that of the fits before

RUNGS_SHARE = 0.65  # of a time limit, which climbing on few rows leaves for more rows
FEWER = 0.8  # of the rows, until a fit is short enough
WORTH = 1.5  # times the rows before: fewer are not worth another rung

Arm = tuple[str | float, ...]


@dataclass(eq=False)
class Search:
    """Tries the candidates of a plan on the folds of a table."""

    evaluator: Evaluator
    folds: list[tuple[IntArray, IntArray]]
    plan: Plan
    max_predict_ms: float | None = None
    shortened: bool = field(default=False, init=False)  # whether a time limit left something out
    kept: float = field(default=0.0, init=False)  # seconds that climbing leaves to the rungs

    def run(self) -> list[Trial]:
        """The trials of the last rung that was reached, best first."""
        plan, limited = self.plan, self.evaluator.control.limited
        few = self.folds[: plan.screen_folds]
        if limited and plan.rungs:
            self.kept = RUNGS_SHARE * self.evaluator.control.left
        best = self._screen(self.evaluator.views(few, plan.screen_rows, plan.screen_test))
        self.kept = 0.0
        reached: list[Trial] = []
        for rung in plan.rungs:
            found = self._promoted(rung, best)
            # What a limit cut off may be worse than what had fewer rows and the same test rows.
            comparable = limited and rung.folds == len(self.folds)
            reached = [*reached, *found] if comparable else found
            best = found or best
        while self.shortened and reached and not self.evaluator.control.over:
            found = self._promoted(plan.rungs[-1], best, least=WORTH)  # with the time that is left
            if not found:
                break
            reached, best = [*reached, *found], found
        return sorted(reached or best, key=lambda trial: trial.loss)

    def _screen(self, views: list[View]) -> list[Trial]:
        found: list[Trial] = []
        for wave in self.plan.portfolio:
            found += self.evaluator.evaluate(wave, views, "screening")
        return found + self._climbed(found, views, self.plan.climbers, self.plan.climbs)

    def _climbed(
        self, found: Sequence[Trial], views: list[View], climbers: int, rounds: int
    ) -> list[Trial]:
        """Trials of neighbours of the best ones, as long as they are better."""
        tried = {trial.candidate for trial in found}
        climbing, added = best_of_arms(found, climbers), []
        for _ in range(rounds):
            parents = self._in_time(self._parents(climbing, tried), found)
            trials = self.evaluator.evaluate(list(parents), views, "climbing")
            tried.update(parents)
            added += trials
            climbing = _higher(trials, parents)
        return added

    def _parents(self, climbing: Sequence[Trial], tried: set[Candidate]) -> dict[Candidate, Trial]:
        """The neighbours to try, with the trial whose neighbours they are."""
        regression = self.evaluator.target.regression
        return {
            near: trial
            for trial in climbing
            for near in trial.candidate.neighbours(regression=regression)
            if near not in tried
        }

    def _in_time(
        self, parents: dict[Candidate, Trial], found: Sequence[Trial]
    ) -> dict[Candidate, Trial]:
        """As many of the neighbours as leave time for the last fits of the best ones."""
        control = self.evaluator.control
        if not control.limited:
            return parents
        finalists = best_of_arms(found, MAX_MODELS)
        last = LAST_FITS * sum(trial.seconds_per_fit for trial in finalists)
        left = control.left - max(last, self.kept)
        kept = {}
        for near, trial in parents.items():
            left -= trial.seconds
            if left > 0.0:
                kept[near] = trial
        self.shortened |= len(kept) < len(parents)
        return kept

    def _promoted(self, rung: Rung, before: Sequence[Trial], least: float = 0.0) -> list[Trial]:
        """The best trials of a rung again, with more rows: `least` times as many."""
        views: dict[int, list[View]] = {}  # by their rows, fewer for what is slow
        trials: dict[int, list[Trial]] = {}
        found: list[Trial] = []
        for trial in self._with_a_quick_one(best_of_arms(before, rung.candidates), before, rung):
            rows = self._affordable(rung, trial, found)
            if rows is None or rows < least * trial.rows:
                continue
            if rows not in views:
                views[rows] = self.evaluator.views(self.folds[: rung.folds], rows)
            candidate = trial.candidate.of_size(rows)
            made = self.evaluator.evaluate([candidate], views[rows], f"{rows:,} rows")
            trials.setdefault(rows, []).extend(made)
            found += made
        if not views:
            return found
        most = max(views)  # what a limit gave fewer rows does not climb
        return found + self._climbed(trials[most], views[most], rung.climbers, rung.climbs)

    def _with_a_quick_one(
        self, best: list[Trial], before: Sequence[Trial], rung: Rung
    ) -> list[Trial]:
        """These trials, of which one is expected to predict in `max_predict_ms`."""
        if self.max_predict_ms is None:
            return best
        rows = self._most_rows(rung)
        quick = [
            trial
            for trial in best_of_arms(before, len(before))
            if trial.predict_ms * trial.candidate.predict_growth(trial.rows, rows)
            <= self.max_predict_ms
        ]
        return best if not quick or quick[0] in best else [*best[:-1], quick[0]]

    def _most_rows(self, rung: Rung) -> int:
        sizes = [len(train) for train, _ in self.folds[: rung.folds]]
        # Folds that differ by a row are made equal; those of a splitter may differ by much.
        every = min(sizes) if max(sizes) - min(sizes) <= 1 else max(sizes)
        return every if rung.rows is None else min(rung.rows, every)

    def _affordable(self, rung: Rung, before: Trial, done: Sequence[Trial] = ()) -> int | None:
        """The rows of a rung, or as many as there is time for; None if that is hardly more."""
        rows = self._most_rows(rung)
        while self._too_long(before, before.candidate.of_size(rows), done, rows, rung):
            rows = int(FEWER * rows)
            if rows < WORTH * before.rows:
                return None
        return rows

    def _too_long(
        self, before: Trial, candidate: Candidate, done: Sequence[Trial], rows: int, rung: Rung
    ) -> bool:
        """Whether a fit on more rows, and the last fits of all finalists, would end too late."""
        control = self.evaluator.control
        if not control.limited:
            return False
        one = before.seconds_per_fit * candidate.growth(before.rows, rows)
        last = one + sum(trial.seconds_per_fit for trial in done)
        later = LAST_FITS * last if rung is self.plan.rungs[-1] else 0.0
        too_long = bool(one * rung.folds + later > control.left)
        self.shortened |= too_long
        return too_long


def best_of_arms(trials: Sequence[Trial], most: int) -> list[Trial]:
    """The best trial of each of the best arms."""
    best: dict[Arm, Trial] = {}
    for trial in sorted(trials, key=lambda trial: trial.loss):
        best.setdefault(trial.candidate.arm, trial)
    return list(best.values())[:most]


def _higher(trials: Sequence[Trial], parents: dict[Candidate, Trial]) -> list[Trial]:
    """Of each arm the best trial, if it is better than its parent."""
    better: dict[Arm, Trial] = {}
    for trial in trials:
        arm = trial.candidate.arm
        rival = better.get(arm, parents[trial.candidate])
        if trial.loss < rival.loss - LEAST_GAIN * abs(rival.loss):
            better[arm] = trial
    return list(better.values())

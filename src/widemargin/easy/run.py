"""A run: from a data file to a saved model that was judged, and its report."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from widemargin._runtime.files import atomic_path, is_stream
from widemargin.easy.clock import Clock
from widemargin.easy.models import (
    BASELINE,
    BASELINE_ROWS,
    answered,
    fit_baseline,
    fit_search,
    new_search,
)
from widemargin.easy.notes import (
    columns,
    facts_of_baseline,
    facts_of_search,
    versions,
)
from widemargin.easy.options import Options
from widemargin.easy.preparation import Prepared, Say, prepare
from widemargin.easy.program import program
from widemargin.easy.quiet import quiet
from widemargin.easy.saved import bounded, remember
from widemargin.easy.stages import Stages
from widemargin.persistence import save
from widemargin.report import evaluate, render_html
from widemargin.report.record import Decision, Finding, Record
from widemargin.training.control import interrupt_flag

__all__ = ["Outcome", "run"]

INDEX_BASE_ATTRIBUTE = "svmlight_index_base_"  # of models trained on svmlight files
INTERRUPTED = "interrupted"
HURRIED_SECONDS = 30.0  # a shorter search judges by one part of the rows, not by folds
SECONDS_TO_JUDGE = 30.0  # without a limit
SECONDS_AFTER_INTERRUPT = 3.0
CLOSING = 0.45  # fraction of the time after the search that is kept for files and the report


@dataclass(frozen=True, eq=False)
class Outcome:
    """A finished run.

    Attributes
    ----------
    model : estimator
        What was saved.
    record : Record
        What was found.
    report : Path or None
        The report that was written.
    interrupted : bool
        Whether Ctrl-C ended it.
    resumed : bool
        Whether stages of an earlier run were used.
    seconds : float
        From the first byte read to the report.
    """

    model: Any
    record: Record
    report: Path | None
    interrupted: bool
    resumed: bool
    seconds: float


def run(options: Options, *, say: Say = lambda _: None, clock: Clock | None = None) -> Outcome:
    """Reads, decides, trains, judges, saves and reports.

    Parameters
    ----------
    options : Options
        What was asked for.
    say : callable
        Told which stage begins.
    clock : Clock or None
        The clock of the run; None starts one.
    """
    clock = clock or Clock(options.time_limit)
    prepared = prepare(options, clock, say)
    return _Run(options, prepared, clock, say).complete()


class _Run:
    """The second half of a run: models, evaluation, files."""

    def __init__(self, options: Options, prepared: Prepared, clock: Clock, say: Say) -> None:
        self.options, self.prepared, self.clock, self.say = options, prepared, clock, say
        self.stages = Stages(options, enabled=not is_stream(options.output))
        self.findings = list(prepared.findings)
        self.interrupted: Callable[[], bool] = lambda: False

    def complete(self) -> Outcome:
        """All stages; whatever ends them early, the best model so far is saved."""
        with interrupt_flag() as flag, quiet():
            self.interrupted = flag.is_set
            baseline = self._baseline()
            try:
                search = self._search()
            except (KeyboardInterrupt, MemoryError, ValueError, ArithmeticError) as error:
                self._rescue(baseline, error)
                raise
            model = baseline if search is None else search
            self._judge(model, baseline, search)
            cut_off = flag.is_set()
        if not cut_off:
            self.stages.clear()
        return Outcome(
            model,
            self.record,
            self.report,
            cut_off,
            self.stages.resumed,
            self.clock.elapsed,
        )

    # ------------------------------------------------------------------------------------- models

    def _baseline(self) -> Any:
        """The linear machine, saved at once, so that there is a model from now on."""
        prepared, clock = self.prepared, self.clock
        rows = (
            prepared.rows[-BASELINE_ROWS:]
            if prepared.split.ordered
            else (prepared.rows[:BASELINE_ROWS])
        )
        with clock.stage("baseline"):
            model = self.stages.find("baseline", rows=len(rows))
            if model is None:
                if not self.stages.resumed:
                    self.stages.clear()
                self.say(f"training a baseline ({BASELINE})")
                X, y = prepared.data.take(rows), prepared.y[rows]
                model = fit_baseline(X, y, prepared.task, clock.for_baseline())
                self._mark(model)
                self.stages.keep("baseline", model, rows=len(rows))
                if not is_stream(self.options.output):
                    save(model, self.options.output)
        return model

    def _search(self) -> Any:
        """The tabular model; None if there is no time for one."""
        prepared, clock = self.prepared, self.clock
        facts = {"rows": len(prepared.rows), "metric": prepared.metric}
        earlier = self.stages.find("search", **facts)
        if earlier is not None and self.stages.complete("search"):
            return earlier
        seconds = clock.for_search()
        if seconds == 0.0 or self.interrupted():
            if not self.interrupted():
                self._too_late()
            return earlier
        self.say(f"searching for the best model on {len(prepared.rows):,} rows")
        with clock.stage("search"):
            model = new_search(prepared.task, self.options.settings)
            own = model.time_limit
            limits = [limit for limit in (seconds, own) if limit is not None]
            model.set_params(time_limit=min(limits, default=None), scoring=prepared.metric)
            groups = prepared.data.role("group")
            rows = prepared.rows
            hurried = seconds is not None and seconds < HURRIED_SECONDS
            folds = prepared.split.folds(
                len(rows),
                self.options.holdout,
                hurried=hurried,
                groups=None if groups is None else groups[rows],
                classes=prepared.y[rows] if prepared.task == "classification" else None,
            )
            model = fit_search(model, prepared.data.take(rows), prepared.y[rows], folds)
        if earlier is not None and earlier.loss_ < model.loss_:
            model = earlier  # the search that was interrupted had found a better one
        self._mark(model)
        if self.interrupted() or clock.limit == np.inf or clock.left > clock.reserve:
            done = model.stop_reason_ != INTERRUPTED
            self.stages.keep("search", model, complete=done, **facts)
        return model

    def _mark(self, model: Any) -> None:
        if self.prepared.data.index_base is not None:
            setattr(model, INDEX_BASE_ATTRIBUTE, self.prepared.data.index_base)

    def _too_late(self) -> None:
        self.findings.insert(
            0,
            Finding(
                "warning",
                "time limit",
                f"the time limit of {self.clock.limit:g} s left no time for a search: the model is "
                f"the baseline, a {BASELINE}",
                "use a longer --time-limit",
            ),
        )

    def _rescue(self, baseline: Any, error: BaseException) -> None:
        """The search ended with an error: the baseline stays, and the message says so."""
        if is_stream(self.options.output):
            save(baseline, self.options.output)
        place = f"the baseline, a {BASELINE}, was saved to {self.options.output}"
        known = str(error)
        error.args = (f"{known}; {place}" if known else place,)

    # ----------------------------------------------------------------------- evaluation and files

    def _judge(self, model: Any, baseline: Any, search: Any) -> None:
        """Measures the model and the baseline, and writes model and report."""
        self.record = self._record(model, search)
        remember(model, self.record)
        if search is not None and not is_stream(self.options.output):
            save(model, self.options.output)  # before anything can go wrong or be interrupted
        self.say("measuring the model on held-out rows")
        with self.clock.stage("evaluation"):
            found, base = self._scores(model, baseline)
        if search is not None and _clearly_better(base, found, self.prepared.task):
            self._fall_back()
            model, found = baseline, base
            self.record = self._record(model, search)
        with self.clock.stage("report"):
            self.record = replace(
                self.record,
                evaluation=found,
                baseline={} if base is found else base,
                test_rows=int(found.get("rows", 0)),
                findings=tuple([*self.findings, *self._judgement(found, base)]),
                seconds=dict(self.clock.seconds),
            )
            remember(model, self.record)
            self.say(f"saving {self.options.output.name}")
            save(model, self.options.output)
            self.report = self.options.report
            if self.report is not None:
                text = render_html(self.record)
                with atomic_path(self.report) as temporary:
                    temporary.write_text(text, "utf-8")

    def _scores(self, model: Any, baseline: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The evaluations of both on as many held-out rows as there is time for."""
        prepared, clock = self.prepared, self.clock
        take, y = prepared.judged_by()
        if not len(y):
            return {}, {}
        seconds = SECONDS_TO_JUDGE
        if clock.limit < np.inf:
            seconds = max(0.0, (1.0 - CLOSING) * clock.left)
        if self.interrupted():
            seconds = min(seconds, SECONDS_AFTER_INTERRUPT)
        order = np.random.RandomState(1).permutation(len(y))
        known, rows = answered(model, take, order, seconds)
        if len(rows) < len(y):
            self._note_judged(len(rows), len(y))
        X, y, task = take(rows), y[rows], prepared.task
        found = evaluate(known, X, y, task=task)
        base = found if baseline is model else evaluate(baseline, X, y, task=task)
        return found, base

    def _note_judged(self, count: int, rows: int) -> None:
        self.findings.append(
            Finding(
                "note",
                "sample",
                f"the model was measured on {count:,} of {rows:,} held-out rows, because more "
                "would have taken too long",
                "measure it on all rows of a file with: widemargin evaluate",
            )
        )

    def _fall_back(self) -> None:
        """The baseline is clearly better on the held-out rows, so it is the model."""
        self.findings.insert(
            0,
            Finding(
                "warning",
                "baseline",
                f"the search found nothing as good as the baseline, a {BASELINE}, which is "
                "therefore the model",
                "use a longer --time-limit",
            ),
        )

    def _judgement(self, found: dict[str, Any], base: dict[str, Any]) -> list[Finding]:
        """A note if the search was not worth it."""
        ours, other = (_loss(one, self.prepared.task) for one in (found, base))
        if ours is None or other is None or base is found or ours["value"] <= other["value"]:
            return []
        return [
            Finding(
                "note",
                "baseline",
                "the held-out rows do not show that the model is better than the baseline",
                "use a longer --time-limit, more rows, or other columns",
            )
        ]

    def _record(self, model: Any, search: Any) -> Record:
        prepared, options = self.prepared, self.options
        data = prepared.data
        found = tuple(columns(data, prepared.inspection, model, prepared.dropped))
        facts: dict[str, Any] = {"stop_reason": INTERRUPTED if self.interrupted() else "time_limit"}
        facts |= {} if search is None else facts_of_search(search)
        if model is not search:
            facts |= facts_of_baseline(model)
        return bounded(
            Record(
                task=prepared.task,
                target=str(data.target),
                file=options.data.name,
                rows=data.rows,
                train_rows=len(prepared.rows),
                test_rows=0,
                classes=tuple(str(c) for c in getattr(model, "classes_", ())),
                decisions=(*prepared.decisions, self._model_decision(model, search)),
                findings=tuple(self.findings),
                columns=found,
                versions=versions(),
                seconds=dict(self.clock.seconds),
                command=options.command(),
                code=program(options, data, found, model, prepared.dropped),
                baseline_name=BASELINE,
                **facts,
            )
        )

    def _model_decision(self, model: Any, search: Any) -> Decision:
        if model is not search:
            why = "there was no time for a search" if search is None else "the search is not better"
            return Decision("model", BASELINE, why, "--time-limit")
        members = len(model.members_)
        value = f"{members} machines combined" if members > 1 else "one machine"
        tried = len(model.trials_)
        why = f"of {tried} trial{'s' * (tried != 1)}, on rows that they did not see"
        return Decision("model", value, why, "--model NAME, --set ensemble=false")


def _loss(found: dict[str, Any], task: str) -> Any:
    """The error rate or the root mean squared error, with its interval; None if it is unknown."""
    return found.get("metrics", {}).get("error" if task == "classification" else "rmse")


def _clearly_better(first: dict[str, Any], second: dict[str, Any], task: str) -> bool:
    """Whether the intervals of the losses do not even touch."""
    one, other = _loss(first, task), _loss(second, task)
    if one is None or other is None or one["high"] is None or other["low"] is None:
        return False
    return bool(one["high"] < other["low"])

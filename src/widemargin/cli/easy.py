"""`widemargin train` without `--model`: the run from a data file to a judged model."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn
from rich.progress_bar import ProgressBar
from rich.text import Text

from widemargin._runtime.files import is_stream
from widemargin._runtime.text import visible
from widemargin.cli.console import err, facts_grid, number, print_facts
from widemargin.cli.files import FORMATS
from widemargin.progress import Step, progress_bar

MOST_DECISIONS, MOST_FINDINGS, MOST_KINDS = 6, 6, 4
MOST_LINES = 29  # of a summary
OTHER_LINES = 5  # of it: the head, two blank lines, how to predict, how many findings are left
SUFFIXES = (".gz", ".bz2", ".xz")
MODEL_SUFFIX, REPORT_SUFFIX = ".safetensors", ".html"
TOLD = ("id", "constant")  # kinds of findings that decisions or columns tell too
METRICS = {
    "classification": ("error", "balanced_accuracy", "auc", "log_loss"),
    "regression": ("r2", "rmse", "mae"),
}


def default_output(data: Path) -> Path:
    """The model file of a data file, in the current folder."""
    if is_stream(data):
        return Path(f"model{MODEL_SUFFIX}")
    stem = data.with_suffix("") if data.suffix.lower() in SUFFIXES else data
    return Path(f"{stem.stem or 'model'}{MODEL_SUFFIX}")


def report_beside(output: Path) -> Path | None:
    """The report of a model file; None if that is no file."""
    if is_stream(output):
        return None
    known = output.suffix.lower() in (MODEL_SUFFIX, ".model")
    return output.with_suffix(REPORT_SUFFIX) if known else Path(f"{output}{REPORT_SUFFIX}")


class _Bar(BarColumn):
    """The part of the time limit that is over."""

    def __init__(self, clock: Any) -> None:
        super().__init__(bar_width=20)
        self.clock = clock

    def render(self, task: Any) -> ProgressBar:
        """A bar of the seconds of the whole run."""
        return ProgressBar(self.clock.limit, min(self.clock.elapsed, self.clock.limit), width=20)


class _Seconds(ProgressColumn):
    """How many seconds the run has taken, of how many."""

    max_refresh = 0.5

    def __init__(self, clock: Any) -> None:
        super().__init__()
        self.clock = clock

    def render(self, task: Any) -> Text:
        """The seconds as text."""
        limit = f" of {self.clock.limit:g}" if self.clock.limit < float("inf") else ""
        return Text(f"{self.clock.elapsed:.0f}{limit} s")


@contextmanager
def stages(clock: Any, *, quiet: bool) -> Iterator[Any]:
    """Function that shows which stage begins; on a terminal with the time and its fits."""
    if quiet or not err.is_terminal:
        yield lambda _: None
        return
    columns = [SpinnerColumn(), TextColumn("{task.description}", markup=False)]
    columns += [_Bar(clock)] if clock.limit < float("inf") else []
    with Progress(*columns, _Seconds(clock), console=err, transient=True) as bars:
        task, stage = bars.add_task("starting", total=None), ""

        def show(text: str) -> None:
            nonlocal stage
            stage = text
            bars.update(task, description=visible(text))

        def report(step: Step) -> None:
            words = stage if step.finished else f"{stage}: {step.words}"
            bars.update(task, description=visible(words))

        with progress_bar(report):
            yield show


def plan_of(prepared: Any, clock: Any) -> dict[str, Any]:
    """What `--dry-run` tells: decisions, columns and findings."""
    return {
        "file": prepared.data.path.name,
        "rows": prepared.data.rows,
        "task": prepared.task,
        "target": prepared.data.target,
        "train_rows": len(prepared.rows),
        "decisions": list(prepared.decisions),
        "findings": list(prepared.findings),
        "columns": list(prepared.inspection.columns),
        "search_seconds": clock.for_search(),
    }


def print_plan(plan: Mapping[str, Any], console: Console) -> None:
    """The plan for a reader."""
    seconds = plan["search_seconds"]
    _print_head(plan["file"], plan["rows"], plan["columns"], console)
    print_decisions(plan["decisions"], console)
    print_findings(plan["findings"], console)
    shown = "would take as long as it takes"
    if seconds is not None:
        shown = f"would take about {seconds:.0f} s" if seconds else "would have no time"
    console.print(
        f"Nothing was trained. A search on {plan['train_rows']:,} rows {shown}; "
        "leave out --dry-run to train.",
        soft_wrap=True,
    )


def _print_head(file: str, rows: int, columns: Sequence[Any], console: Console) -> None:
    from widemargin.report.formats import plural

    kinds: dict[str, int] = {}
    for column in columns:
        if column.role in ("input", "left out"):
            kinds[column.kind or "dropped"] = kinds.get(column.kind or "dropped", 0) + 1
    most = sorted(kinds.items(), key=lambda pair: -pair[1])
    shown = ", ".join(f"{count:,} {kind}" for kind, count in most[:MOST_KINDS])
    more = f", {sum(c for _, c in most[MOST_KINDS:]):,} other" if len(most) > MOST_KINDS else ""
    sizes = f"{rows:,} rows, {plural(sum(kinds.values()), 'column')}"
    console.print(
        visible(f"{file}: {sizes} ({shown}{more})"),
        style="bold",
        soft_wrap=True,
    )


def print_decisions(decisions: Sequence[Any], console: Console) -> None:
    """What was decided, and why."""
    print_facts(_facts_of(decisions), console=console)


def _facts_of(decisions: Sequence[Any]) -> dict[str, str]:
    return {d.what: f"{d.value} ({d.why})" for d in decisions}


def print_findings(
    findings: Sequence[Any],
    console: Console,
    most: int = MOST_FINDINGS,
    room: float = float("inf"),
) -> None:
    """What to look at, in at most `room` lines: warnings with advice, then notes."""
    findings = [finding for finding in findings if finding.kind not in TOLD]
    warnings = [finding for finding in findings if finding.level != "note"]
    shown = 0
    for finding in [*warnings, *(f for f in findings if f.level == "note")][:most]:
        warns = finding.level != "note"
        lines = [Text(visible(f"{finding.level}: {finding.text}"), "yellow" if warns else "")]
        lines += [Text(visible(f"  → {finding.advice}"))] if warns else []
        room -= sum(len(console.render_lines(line)) for line in lines)
        if room < 0:
            break
        console.print(*lines, sep="\n")
        shown += 1
    if len(findings) > shown:
        console.print(f"… and {len(findings) - shown:,} more in the report")


def print_outcome(outcome: Any, options: Any, console: Console) -> None:
    """The summary of a run, in less than thirty lines."""
    record = outcome.record
    decisions = facts_grid(_facts_of(_first_and_last(record.decisions)))
    scores = facts_grid(scores_of_record(record))
    files = facts_grid(
        {
            "time": f"{outcome.seconds:.1f} s; {_ending(record.stop_reason)}",
            "model": None if is_stream(options.output) else options.output,
            "report": outcome.report,
        }
    )
    room = MOST_LINES - OTHER_LINES
    room -= sum(len(console.render_lines(part)) for part in (decisions, scores, files))
    _print_head(record.file, record.rows, record.columns, console)
    console.print(decisions)
    print_findings(record.findings, console, most=4, room=room)
    console.print()
    console.print(scores)
    console.print(files)
    print_next(options.output, options.data, console)


def _first_and_last(decisions: Sequence[Any]) -> list[Any]:
    """The first decisions and the last, which is about the model."""
    found = [d for d in decisions if d.what != "time limit"]
    return found if len(found) <= MOST_DECISIONS else [*found[: MOST_DECISIONS - 1], found[-1]]


def print_next(model: Path, data: Path, console: Console) -> None:
    """How to use a model that was just saved."""
    if is_stream(model):
        return
    console.print()
    command = ["widemargin", "predict", str(model), f"new{_data_suffix(data)}"]
    console.print(
        "To predict:", visible(shlex.join([*command, "-o", "predictions.csv"])), soft_wrap=True
    )


def _data_suffix(path: Path) -> str:
    known = FORMATS.replace(" or", ",").split(", ")
    return path.suffix if path.suffix in known else ".csv"


def scores_of_record(record: Any) -> dict[str, str]:
    """The most important metrics with intervals, beside those of the baseline."""
    from widemargin.report.evaluation import METRICS as LABELS

    ours, base = record.evaluation.get("metrics", {}), record.baseline.get("metrics", {})
    found = {}
    for name in METRICS[record.task]:
        if name not in ours:
            continue
        label = LABELS[name]
        text = measure(ours[name], label.form)
        if name in base and base is not ours and base != ours:
            value = base[name]["value"]
            text += f"; baseline ({record.baseline_name}) {amount(value, label.form)}"
        found[label.label] = text
    return found


def measure(one: Mapping[str, Any], form: str) -> str:
    """A value with its interval."""
    text = amount(one["value"], form)
    if one.get("low") is None or one.get("high") is None:
        return text
    return f"{text} ({amount(one['low'], form)} to {amount(one['high'], form)})"


def amount(value: float | None, form: str) -> str:
    """A share as percent, other numbers with a few digits."""
    if value is None:
        return "unknown"
    return f"{100 * value:.2f} %" if form == "percent" else str(number(value))


def _ending(reason: str) -> str:
    return {
        "tol": "the search ended by itself",
        "time_limit": "more time may give a better model: --time-limit",
        "interrupted": "interrupted",
    }.get(reason, reason)

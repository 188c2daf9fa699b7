"""What a run was asked for."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from widemargin.tables.raw import Reading

__all__ = ["DEFAULT_SECONDS", "Options"]

DEFAULT_SECONDS = 300.0
HELD_OUT = 0.2


@dataclass(frozen=True)
class Options:
    """The options of a run; see the command `widemargin train`.

    Attributes
    ----------
    data, output, test : Path
        The data file, the model file, and a file of rows to measure on.
    report : Path or None
        The HTML file to write; None: none.
    target : str or None
        The column to predict, by name or position.
    task : {"classification", "regression"} or None
        What the target holds; None is found.
    metric : str or None
        What is best, a name of scikit-learn or a short form of it.
    groups, time_column : str or None
        The column of groups that stay together; the column whose last rows are held out.
    drop, keep, text : tuple of str
        Columns left out, columns used although they look like identifiers, and columns whose
        numbers are codes of categories.
    holdout : float
        The fraction of the rows that is held out.
    time_limit : float or None
        Seconds of the whole run; None: no limit.
    max_rows : int or None
        The most rows to train on.
    settings : mapping
        Parameters of the tabular model.
    resume : bool
        Whether to use the finished stages of an interrupted run.
    """

    data: Path
    output: Path
    target: str | None = None
    report: Path | None = None
    test: Path | None = None
    task: str | None = None
    metric: str | None = None
    groups: str | None = None
    time_column: str | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    holdout: float = HELD_OUT
    time_limit: float | None = DEFAULT_SECONDS
    max_rows: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    resume: bool = False
    format: str | None = None
    index_base: int | None = None
    n_features: int | None = None
    reading: Reading = field(default_factory=lambda: Reading(dates=True, mostly=True))

    def command(self) -> str:
        """The command that repeats the run."""
        words = ["widemargin", "train", str(self.data)]
        pairs: list[tuple[str, Any]] = [
            ("--target", self.target),
            ("--task", self.task),
            ("--metric", self.metric),
            ("--groups", self.groups),
            ("--time-column", self.time_column),
            ("--test", self.test),
            *(("--drop", name) for name in self.drop),
            *(("--keep", name) for name in self.keep),
            *(("--text", name) for name in self.text),
            ("--holdout", None if self.holdout == HELD_OUT else f"{self.holdout:g}"),
            ("--max-rows", self.max_rows),
            ("--format", self.format),
            ("--separator", self.reading.separator),
            ("--encoding", self.reading.encoding),
            ("--decimal", self.reading.decimal),
            ("--index-base", self.index_base),
            ("--n-features", self.n_features),
            *(("--set", f"{key}={value}") for key, value in self.settings.items()),
            ("--output", self.output),
        ]
        if self.time_limit != DEFAULT_SECONDS:
            pairs.append(("--time-limit", f"{self.time_limit or 0:g}"))
        for option, value in pairs:
            if value is not None:
                words += (
                    [f"{option}={value}"] if str(value).startswith("-") else [option, str(value)]
                )
        if self.reading.header is not None:
            words.append("--header" if self.reading.header else "--no-header")
        return shlex.join(words)

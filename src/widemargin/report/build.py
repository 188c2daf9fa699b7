"""From a record to a document: which sections a report has, in which order."""

from widemargin.report.data_section import data, importances
from widemargin.report.document import Document
from widemargin.report.formats import name_of
from widemargin.report.overview import decisions, headline
from widemargin.report.record import Record
from widemargin.report.reproduction import certificate, reproduction
from widemargin.report.scores_section import scores
from widemargin.report.search_section import leaderboard, learning_curve

__all__ = ["build"]

SECTIONS = (
    *(headline, decisions, data, leaderboard, scores, importances, learning_curve),
    *(certificate, reproduction),
)


def build(record: Record) -> Document:
    """The report of a record.

    Parameters
    ----------
    record : Record
        What a run found.

    Returns
    -------
    Document
        Sections from the most to the least wanted.
    """
    title = f"{name_of(record.target)} from {name_of(record.file)}"
    return Document(title, tuple(section(record) for section in SECTIONS))

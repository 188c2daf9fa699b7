"""What a run found: one structure, shown as HTML, Markdown and JSON."""

from widemargin.report.evaluation import evaluate
from widemargin.report.record import Column, Decision, Finding, Record
from widemargin.report.to_html import render_html
from widemargin.report.to_json import render_json
from widemargin.report.to_markdown import render_markdown

__all__ = [
    "Column",
    "Decision",
    "Finding",
    "Record",
    "evaluate",
    "render_html",
    "render_json",
    "render_markdown",
]

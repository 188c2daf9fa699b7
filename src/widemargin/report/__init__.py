"""What a run found: one structure, shown as HTML, Markdown and JSON."""

from widemargin.report.record import Column, Decision, Finding, Record

__all__ = ["Column", "Decision", "Finding", "Record"]

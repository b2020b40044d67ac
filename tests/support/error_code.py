"""The error of a report."""

from __future__ import annotations

from tidemill.contract.report import Report


def code_of(report: Report) -> str:
    """The name of its class."""
    assert report.error is not None
    return str(report.error["code"])

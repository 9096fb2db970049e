"""Reports: one HTML page about a fitted model."""

from spinney.reporting.report import Report, report

__all__ = ["Report", "report"]

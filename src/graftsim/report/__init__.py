"""The report of a fit: one page, the numbers as JSON, and the fitted robot."""

from graftsim.report.write import write_report

__all__ = ["write_report"]

"""The report of a fit: one page, the numbers as JSON, and the fitted robot."""

from graftsim.report.write import check_report, write_report

__all__ = ["check_report", "write_report"]

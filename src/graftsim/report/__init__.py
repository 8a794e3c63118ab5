"""The report of a fit: one page, the numbers as JSON, and the fitted robot."""

from graftsim.report.page import SECTIONS
from graftsim.report.section import Section, Subject
from graftsim.report.write import check_report, write_report

__all__ = ["SECTIONS", "Section", "Subject", "check_report", "write_report"]

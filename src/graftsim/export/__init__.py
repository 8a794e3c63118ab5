"""Fits for other programs: robot files, configurations of actuators, actuator nets."""

from graftsim.export.export import Exported, export
from graftsim.export.format import ExportFormat
from graftsim.export.formats import EXPORT_FORMATS

__all__ = ["EXPORT_FORMATS", "ExportFormat", "Exported", "export"]

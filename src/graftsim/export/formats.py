"""The formats that the package exports to. A new one is one more line here."""

from __future__ import annotations

from graftsim.export.format import ExportFormat
from graftsim.export.isaac import IsaacLab
from graftsim.export.mjlab import Mjlab
from graftsim.export.onnx_actuator import OnnxActuator
from graftsim.export.robot_files import CalibratedMJCF, CalibratedURDF

EXPORT_FORMATS: tuple[ExportFormat, ...] = (
    CalibratedMJCF(),
    CalibratedURDF(),
    IsaacLab(),
    Mjlab(),
    OnnxActuator(),
)

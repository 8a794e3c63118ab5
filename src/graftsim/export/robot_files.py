"""The calibrated robot, as MJCF and as URDF."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, final

from graftsim.export.fitted import Fitted
from graftsim.export.format import ExportFormat, Logs
from graftsim.io.write import write_mjcf, write_urdf


@final
class CalibratedMJCF(ExportFormat):
    """MuJoCo's own file."""

    name: ClassVar[str] = "mjcf"
    help: ClassVar[str] = "the calibrated robot as MJCF"
    target: ClassVar[str] = "calibrated.xml"

    def write(self, fit: Fitted, out: Path, dt: float, logs: Logs) -> list[str]:
        """With actuators, delays and friction."""
        return write_mjcf(fit.model, out)


@final
class CalibratedURDF(ExportFormat):
    """The description of ROS, which has no actuators."""

    name: ClassVar[str] = "urdf"
    help: ClassVar[str] = "the calibrated robot as URDF"
    target: ClassVar[str] = "calibrated.urdf"

    def write(self, fit: Fitted, out: Path, dt: float, logs: Logs) -> list[str]:
        """Links, joints, their damping and friction."""
        return write_urdf(fit.model, out, lossy=True)

"""The calibrated robot, as MJCF and as URDF."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, final

from graftsim.export.fitted import Fitted
from graftsim.export.format import ExportFormat, Logs
from graftsim.io.write import write_mjcf, write_urdf
from graftsim.viewer.files import write_atomically


@final
class CalibratedMJCF(ExportFormat):
    """MuJoCo's own file."""

    name: ClassVar[str] = "mjcf"
    help: ClassVar[str] = "the calibrated robot as MJCF"
    target: ClassVar[str] = "calibrated.xml"

    def write(self, fit: Fitted, out: Path, dt: float, logs: Logs) -> list[str]:
        """With actuators, delays and friction.

        Of a folder it is the file that is there; its head says what MJCF cannot express.
        """
        if fit.folder is None:
            return write_mjcf(fit.model, out)
        write_atomically(out, (fit.folder / "robot.xml").read_text(encoding="utf-8"))
        return []


@final
class CalibratedURDF(ExportFormat):
    """The description of ROS, which has no actuators."""

    name: ClassVar[str] = "urdf"
    help: ClassVar[str] = "the calibrated robot as URDF"
    target: ClassVar[str] = "calibrated.urdf"

    def write(self, fit: Fitted, out: Path, dt: float, logs: Logs) -> list[str]:
        """Links, joints, their damping and friction."""
        return write_urdf(fit.model, out, lossy=True)

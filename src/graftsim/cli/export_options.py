"""What `graftsim export` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import tyro

from graftsim.cli.choices import described, names
from graftsim.cli.options import Step, shown
from graftsim.export.format import PHYSICS_DT
from graftsim.export.formats import EXPORT_FORMATS

FORMATS = {f.name: f for f in EXPORT_FORMATS}
if TYPE_CHECKING:
    FormatName = str
else:
    FormatName = names(strategies=FORMATS)


class ExportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Write a fit for another program: robot files, actuator configurations, an actuator net.

    Example: graftsim export fit-out --as isaac --dt 0.005

    Standard deviations of the fit become ranges to randomise over.
    """

    fit: Annotated[str, tyro.conf.Positional, shown("FIT_FOLDER")]
    """Folder of graftsim fit (its --out), with fit.json and robot.xml."""
    form: Annotated[FormatName, tyro.conf.arg(name="as"), described("", FORMATS)]
    out: Annotated[str | None, shown("FILE")] = None
    """File to write, of onnx-actuator a folder; default: in the fit's folder."""
    dt: Annotated[Step, shown("S")] = PHYSICS_DT
    """Step of the other program's physics, in which delays are counted; default: 0.005 s."""

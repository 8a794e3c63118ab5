"""What `graftsim import` takes."""

from __future__ import annotations

from typing import Annotated

import msgspec
import tyro

from graftsim.cli.choices import LOGS
from graftsim.cli.options import Base, Flag, Strings, shown


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Look at a log and write a run file for `graftsim fit`: which column is what, in what unit,
    what is a command. All of it is guessed, and each line says why.

    Example: graftsim import run1.csv --robot arm.urdf && graftsim fit --run run.toml
    """

    logs: Annotated[Strings, tyro.conf.Positional, shown("LOG...", LOGS)]
    robot: Annotated[str | None, shown("ROBOT")] = None
    """Robot file, URDF or MJCF, whose joints and actuators the log is about; without it channels
    are called as the log calls its joints."""
    out: Annotated[str, shown("FILE")] = "run.toml"
    """Run file to write; default: run.toml."""
    force: Flag = False
    """Write over a file that is there."""
    base: Base = "auto"
    """Of a URDF: whether its root is fixed to the world or floats."""
    repair_inertia: Flag = False
    """Mend impossible inertias of a URDF instead of refusing the file."""

"""What `graftsim check` takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import tyro

from graftsim.cli import run_file
from graftsim.cli.choices import LOGS
from graftsim.cli.fit_options import TABLES, FitOptions
from graftsim.cli.groups import DataOptions, EffortName, SimulationOptions
from graftsim.cli.options import Flag, Strings, TouchOptions, shown


class CheckOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Look at recordings beside a robot file: what would spoil a fit, and the flag that mends it.

    Example: graftsim check arm.urdf run*.csv --scale 'joint.q[*]=deg'

    It takes the options of graftsim fit on recordings and simulation, and ends with 1 if something
    makes a fit meaningless.
    """

    robot: Annotated[str, tyro.conf.Positional, shown("ROBOT")] = ""
    """Robot file, URDF or MJCF."""
    logs: Annotated[Strings, tyro.conf.Positional, shown("LOG...", LOGS)] = ()
    run: Annotated[str | None, shown("FILE")] = None
    """TOML file of graftsim fit; what only a fit needs in it is left alone."""
    json: Annotated[str | None, shown("FILE")] = None
    """Also write the findings to this file, one by one."""
    quiet: Flag = False
    """No table of the channels."""
    effort: EffortName = "torque"
    """current: effort is proportional to torque by factors that the fit finds."""
    data: DataOptions = DataOptions()
    simulation: SimulationOptions = SimulationOptions()
    touch: TouchOptions = TouchOptions()


def parse_check(args: Sequence[str]) -> tuple[CheckOptions, dict[str, Any]]:
    """Options of `check` and the tables of its run file.

    Raises ProblemError: a run file that is wrong, no robot, no recording.
    """
    return run_file.parse_with_file(CheckOptions, "check", args, TABLES, also=FitOptions)

"""What `graftsim discover` takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import tyro

from graftsim.cli import run_file
from graftsim.cli.choices import LOGS
from graftsim.cli.groups import ComparisonOptions, DataOptions, SimulationOptions
from graftsim.cli.options import Count, Flag, Seed, Share, Strings, TouchOptions, shown

TABLES = ("free", "candidates", "columns", "noise", "sensors", "start")


class SearchOptions(ComparisonOptions, frozen=True, kw_only=True):
    """Options on the comparison with the data and the search."""

    shared: Flag = False
    """Look for one law that all rows of a candidate follow, not for one of each row."""
    level: Annotated[Share, shown("P")] = 0.001
    """Probability with which chance may look like an effect, over all pairs; default: 0.001."""
    hidden: Annotated[tuple[Count, ...], shown("N...")] = (8, 8)
    """Widths of the hidden layers of the networks; default: 8 8."""
    seed: Annotated[Seed, tyro.conf.arg(metavar="N")] = 0
    """Seed of the networks' first weights."""


class DiscoverOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Find which effects a robot's model lacks, and write them down as sentences, curves, formulas.

    Example: graftsim discover arm.urdf run*.csv --heldout check.csv --free 'joint.damping[*]'

    Each joint's passive torque is tried with all joint positions and velocities, each actuator's
    torque with itself. What counts must lower the error of recordings that took no part.
    """

    robot: Annotated[str, tyro.conf.Positional, shown("ROBOT")] = ""
    """Robot file, URDF or MJCF; one that was fitted says more."""
    logs: Annotated[Strings, tyro.conf.Positional, shown("LOG...", LOGS)] = ()
    free: Annotated[Strings, shown("SELECTOR[=DOMAIN]...")] = ()
    """Parameters that are fitted all along, as in graftsim fit; default: nothing is free, the
    numbers of the robot file hold."""
    candidates: Annotated[Strings, shown("VARIABLE=INPUT,...")] = ()
    """What to try instead of the default, 'joint.tau_passive[*]=joint.q,joint.qd': without a
    bracket each variable is tried with the inputs of all joints, with [*] with its own."""
    out: Annotated[str, shown("FOLDER")] = "discover-out"
    """Folder for report.html, fit.json, the robot and its networks; default: discover-out."""
    run: Annotated[str | None, shown("FILE")] = None
    """TOML file with any of these options by the names of their flags, and tables for free,
    candidates, columns, noise, sensors and start."""
    json: Flag = False
    """Print the result as JSON on standard output, and nothing else there."""
    quiet: Flag = False
    """No progress and no sentences."""
    data: DataOptions = DataOptions()
    simulation: SimulationOptions = SimulationOptions()
    touch: TouchOptions = TouchOptions()
    search: SearchOptions = SearchOptions()


def parse_discover(args: Sequence[str]) -> tuple[DiscoverOptions, dict[str, Any]]:
    """Options of `discover` and the tables of its run file (`TABLES`).

    Raises ProblemError: a run file that is wrong, no robot, no recording.
    """
    return run_file.parse_with_file(DiscoverOptions, "discover", args, TABLES)

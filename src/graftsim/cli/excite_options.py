"""What `graftsim excite` takes."""

from __future__ import annotations

from typing import Annotated

import msgspec
import tyro

from graftsim.cli.groups import SimulationOptions
from graftsim.cli.options import Count, Deviation, Flag, Seconds, Seed, Strings, shown


class ExciteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Propose the next trajectory to play on the robot: the one that would teach most.

    Example: graftsim excite fit-out/robot.xml --after fit-out/fit.json --velocity 2 --out next.csv

    The log has a column of commands for each actuator, control[...], and the motion that they
    should give, signal[desired.q:...] and signal[desired.qd:...], for a controller to follow.
    """

    robot: Annotated[str, tyro.conf.Positional, shown("ROBOT")]
    """Robot file, URDF or MJCF."""
    free: Annotated[Strings, shown("SELECTOR[=DOMAIN]...")] = ()
    """What shall become known; default: as graftsim fit."""
    after: Annotated[str | None, shown("FILE")] = None
    """fit.json of an earlier fit: what is known already counts as known."""
    out: Annotated[str, shown("FILE")] = "next.csv"
    """Log to write; default: next.csv."""
    nuisances: Annotated[Strings, shown("SELECTOR=SIZE...")] = ()
    """How wrong numbers that are not free may be, as graftsim fit; 0: exact."""
    seconds: Annotated[Seconds, shown("S")] = 10.0
    """Length of the recording; default: 10 s."""
    velocity: Annotated[Strings, shown("VALUE | JOINT=VALUE...")] = ()
    """Greatest speed (rad/s, m/s), of all joints or by joint; default: 2 rad/s, 0.3 m/s."""
    middle: Annotated[Strings, shown("JOINT=VALUE...")] = ()
    """Where to move about; default: the middle of each joint's travel."""
    noise: Annotated[Deviation, shown("STD")] = 1e-3
    """Noise of the joint sensors (rad, m); default: 0.001."""
    harmonics: Annotated[Count, tyro.conf.arg(metavar="N")] = 5
    """Waves of each joint."""
    generations: Annotated[Count, tyro.conf.arg(metavar="N")] = 40
    """Improvements of the trajectory."""
    seed: Annotated[Seed, tyro.conf.arg(metavar="N")] = 0
    """Of the search's random numbers."""
    json: Flag = False
    """Print what is expected as JSON instead of a table."""
    simulation: SimulationOptions = SimulationOptions()

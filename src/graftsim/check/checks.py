"""The checks of the package in order, and how they are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graftsim.check.bursts import Bursts
from graftsim.check.check import Check
from graftsim.check.clocks import ClockSlope
from graftsim.check.delay import Delay
from graftsim.check.effort import Effort
from graftsim.check.finding import Finding, named
from graftsim.check.gaps import Gaps
from graftsim.check.names import Names
from graftsim.check.quantum import Quantum
from graftsim.check.repeats import Repeats
from graftsim.check.robot import Robot
from graftsim.check.runs import RepeatedRuns
from graftsim.check.saturation import Saturation
from graftsim.check.short import Short
from graftsim.check.sign import Sign
from graftsim.check.steps import Steps
from graftsim.check.unit import UnitByRange
from graftsim.check.zero import Zero
from graftsim.errors import LogError
from graftsim.model.model import Model
from graftsim.recordings.recording import Recording

if TYPE_CHECKING:
    from graftsim.engine.simulator import Simulator

CHECKS: tuple[Check, ...] = (
    Names(),
    UnitByRange(),
    Sign(),
    Zero(),
    Effort(),
    Delay(),
    Gaps(),
    Repeats(),
    Bursts(),
    ClockSlope(),
    Saturation(),
    Quantum(),
    Short(),
    Steps(),
    RepeatedRuns(),
)


def check(
    robot: Model | Robot | Simulator,
    recordings: Recording | Sequence[Recording],
    *,
    checks: Sequence[Check] = CHECKS,
) -> list[Finding]:
    """Look at recordings beside a robot, before anything is fitted to them.

    robot: a model; a simulator, whose step is looked at too; or a `Robot`. checks: `gs.CHECKS`, or
    others beside them.

    Returns: findings in the order of the checks; each has a level, a sentence with its number, and
    the flags of the command line that mend it.

    Raises LogError: no recording.
    """
    several = [recordings] if isinstance(recordings, Recording) else list(recordings)
    if not several:
        raise LogError("there is no recording to check.")
    beside = _robot(robot)
    return [
        named(finding, each.name)
        for each in checks
        if each.applies(beside, several)
        for finding in each.findings(beside, several)
    ]


def not_made(
    robot: Robot, recordings: Sequence[Recording], checks: Sequence[Check] = CHECKS
) -> list[Check]:
    """Checks for which nothing is recorded."""
    return [each for each in checks if not each.applies(robot, recordings)]


def _robot(given: Model | Robot | Simulator) -> Robot:
    if isinstance(given, Robot):
        return given
    if isinstance(given, Model):
        return Robot(given)
    return Robot(given.model, float(given.dt), given.substeps)

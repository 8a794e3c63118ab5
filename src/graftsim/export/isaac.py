"""Configuration of actuators for Isaac Lab 2 and 3.

Its classes and their fields (`isaaclab.actuators`): `DelayedPDActuatorCfg` where a command is
delayed by a step and more, `DCMotorCfg` where effort falls with speed, else `IdealPDActuatorCfg`.
Of both, the delay counts, since no class there has the two. Numbers by joint stand in one object of
each class and delay, as the program computes such a group at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, final

from graftsim.export import python_text as py
from graftsim.export.servo_module import ServoModule
from graftsim.export.servos import Servo, lags

USES = """Each value of ACTUATORS is one for ArticulationCfg(actuators=ACTUATORS). RANGES: where a
number may lie, by joint, for events of mdp.randomize_actuator_gains and randomize_joint_parameters
with operation='abs'. ENCODER_ZERO (rad, m) is to be added to the targets of positions. Frictions
are efforts (N m, N), as Isaac Sim takes them from version 5 on. Fields named effort_limit and
velocity_limit are those of Isaac Lab 2, which version 3 also takes."""


class Group(NamedTuple):
    """What one object has one of: its class, delays (steps), greatest effort at rest."""

    kind: str
    least: int = 0
    most: int = 0
    stall: float = math.inf


_FIELDS: dict[str, Callable[[Servo], float]] = {
    "stiffness": lambda s: s.stiffness.value,
    "damping": lambda s: s.damping.value,
    "armature": lambda s: s.armature.value,
    "friction": lambda s: s.breakaway.value,
    "dynamic_friction": lambda s: s.friction.value,
    "viscous_friction": lambda s: s.viscous.value,
}


@final
class IsaacLab(ServoModule):
    """A module of actuator configurations."""

    name: ClassVar[str] = "isaac"
    help: ClassVar[str] = "actuator configurations for Isaac Lab, with ranges to randomise over"
    target: ClassVar[str] = "isaac_actuators.py"
    program: ClassVar[str] = "Isaac Lab"
    package: ClassVar[str] = "isaaclab.actuators"
    uses: ClassVar[str] = USES
    brackets: ClassVar[str] = "{}"

    def kind(self, servo: Servo, dt: float) -> str:
        """See `ServoModule.kind`."""
        return _group(servo, dt).kind

    def lost(self, servo: Servo, dt: float) -> list[str]:
        """See `ServoModule.lost`."""
        if _group(servo, dt).most == 0 or not math.isfinite(servo.stall):
            return []
        line = f"{servo.stall:.4g} at rest to none at {servo.no_load:.4g} a second"
        return [f"{servo.name}: has a delay, so that its effort from {line} is left out."]

    def actuators(self, found: Sequence[Servo], dt: float) -> list[str]:
        """See `ServoModule.actuators`: servos of one group in one object."""
        groups: dict[Group, list[Servo]] = {}
        for servo in found:
            groups.setdefault(_group(servo, dt), []).append(servo)
        return [x for i, (g, own) in enumerate(groups.items()) for x in _config(g, own, i)]


def _group(s: Servo, dt: float) -> Group:
    least, most = lags(s.delay, dt)
    if most > 0:
        return Group("DelayedPDActuatorCfg", least, most)
    if math.isfinite(s.stall):
        return Group("DCMotorCfg", stall=s.stall)
    return Group("IdealPDActuatorCfg")


def _config(group: Group, own: Sequence[Servo], index: int) -> list[str]:
    lines = [f'    "servos_{index}": {group.kind}(', "        joint_names_expr=["]
    lines += [*(f"            {py.pattern(s.joint)}," for s in own), "        ],"]
    for field, of in _FIELDS.items():
        lines += _by_joint(field, own, of)
    lines += _limit("effort_limit", own, lambda s: min(s.effort, s.stall))
    lines += _limit("velocity_limit", own, lambda s: s.no_load)
    if math.isfinite(group.stall):
        lines.append(f"        saturation_effort={py.number(group.stall)},")
    if group.most > 0:
        lines += [f"        min_delay={group.least},", f"        max_delay={group.most},"]
    return [*lines, "    ),"]


def _by_joint(field: str, own: Sequence[Servo], of: Callable[[Servo], float]) -> list[str]:
    pairs = [f"            {py.pattern(s.joint)}: {py.number(of(s))}," for s in own]
    return [f"        {field}={{", *pairs, "        },"]


def _limit(field: str, own: Sequence[Servo], of: Callable[[Servo], float]) -> list[str]:
    """A limit where there is one; without it, the robot's file says."""
    limited = [s for s in own if math.isfinite(of(s))]
    return _by_joint(field, limited, of) if limited else []

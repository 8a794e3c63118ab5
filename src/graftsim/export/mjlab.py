"""Configuration of actuators for mjlab 1.6.

Its classes and their fields (`mjlab.actuator`): `DcMotorActuatorCfg` where effort falls with speed,
else `BuiltinPositionActuatorCfg`, whose damping MuJoCo integrates implicitly. Each takes one number
for all of its joints, so each joint has an object of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, final

from graftsim.export import python_text as py
from graftsim.export.fitted import Known
from graftsim.export.servo_module import ServoModule
from graftsim.export.servos import Servo, lags

USES = """EntityArticulationInfoCfg(actuators=ACTUATORS) takes them. RANGES: where a number may lie,
by joint, for events of dr.pd_gains, joint_armature, joint_friction and joint_damping with
operation='abs'. ENCODER_ZERO (rad, m) is to be added to the targets of positions: it is minus the
encoder_bias."""


@final
class Mjlab(ServoModule):
    """A module of actuator configurations."""

    name: ClassVar[str] = "mjlab"
    help: ClassVar[str] = "the same for mjlab"
    target: ClassVar[str] = "mjlab_actuators.py"
    program: ClassVar[str] = "mjlab"
    package: ClassVar[str] = "mjlab.actuator"
    uses: ClassVar[str] = USES
    brackets: ClassVar[str] = "()"

    def kind(self, servo: Servo, dt: float) -> str:
        """See `ServoModule.kind`."""
        return _kind(servo)

    def lost(self, servo: Servo, dt: float) -> list[str]:
        """See `ServoModule.lost`."""
        extra = servo.breakaway.value - servo.friction.value
        if not extra:
            return []
        return [
            f"{servo.name}: breakaway friction of {extra:.4g} above sliding friction is left out."
        ]

    def actuators(self, found: Sequence[Servo], dt: float) -> list[str]:
        """See `ServoModule.actuators`."""
        return [line for s in found for line in _config(s, dt)]


def _kind(s: Servo) -> str:
    return "DcMotorActuatorCfg" if math.isfinite(s.stall) else "BuiltinPositionActuatorCfg"


def _config(s: Servo, dt: float) -> Sequence[str]:
    least, most = lags(s.delay, dt)
    numbers: list[tuple[str, Known]] = [
        ("stiffness", s.stiffness),
        ("damping", s.damping),
        ("armature", s.armature),
        ("frictionloss", s.friction),
        ("viscous_damping", s.viscous),
    ]
    lines = [
        f"    {_kind(s)}(",
        f"        target_names_expr=({py.pattern(s.joint)},),",
        *(f"        {f}={py.number(x.value)},  # {py.comment(x.remark)}" for f, x in numbers),
    ]
    if math.isfinite(effort := min(s.effort, s.stall)):
        lines.append(f"        effort_limit={py.number(effort)},")
    if math.isfinite(s.stall):
        lines.append(f"        saturation_effort={py.number(s.stall)},")
        lines.append(f"        velocity_limit={py.number(s.no_load)},")
    if most > 0:
        # Drawn where an episode begins, and kept: the delay of a bus does not jump.
        lines += [
            f"        delay_min_lag={least},",
            f"        delay_max_lag={most},",
            "        delay_update_period=1_000_000_000,",
            "        delay_per_env_phase=False,",
        ]
    return [*lines, "    ),"]

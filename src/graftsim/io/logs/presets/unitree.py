"""Unitree's low-level state and commands: q, dq, tau, kp and kd by number of motor."""

from __future__ import annotations

import re
from typing import ClassVar, final

import numpy as np

from graftsim.io.logs.names import RobotNames
from graftsim.io.logs.presets.preset import Family, Preset, Proposal, guesses_of, labelled
from graftsim.io.logs.tables import Table
from graftsim.selectors import row_name

_STATE = {"q": "joint.q", "dq": "joint.qd", "tau_est": "joint.tau", "tauEst": "joint.tau"}
_COMMAND = {"q": "joint.q", "dq": "joint.qd", "tau": "joint.tau", "kp": "kp", "kd": "kd"}
_LEGS, _PARTS = ("FR", "FL", "RR", "RL"), ("hip", "thigh", "calf")
"""Order of the motors of A1, Go1, Go2, B1, B2, AlienGo (unitree_legged_sdk, `FR_0 = 0`)."""


@final
class Unitree(Preset):
    """`unitree_go` and `unitree_hg` LowState, LowCmd, and those of unitree_legged_msgs."""

    name: ClassVar[str] = "Unitree low-level topics"

    def propose(self, table: Table, robot: RobotNames | None) -> Proposal | None:
        """Motors of a quadruped in Unitree's order of legs, of others in the robot's."""
        families, motors = [], set()
        for array, fields, commanded in (
            ("motor_?[sS]tate", _STATE, False),
            ("motor_?[cC]md", _COMMAND, True),
        ):
            for field, quantity in fields.items():
                pattern = rf"(?P<path>.*\.?{array})\[(?P<label>\d+)\]\.{field}"
                for path, columns in labelled(table, pattern).items():
                    motors |= {int(i) for i in columns}
                    families.append(Family(quantity, columns, f"{path}.{field}", commanded))
        if not families:
            return None
        names, how = _joints(sorted(motors), robot)
        named = [
            Family(f.quantity, {names[k]: c for k, c in f.columns.items() if k in names}, f.origin,
                   f.commanded)
            for f in families
        ]  # fmt: skip
        held, start = _held_gains(named, table, robot)
        guesses, notes = guesses_of([f for f in named if f not in held], robot)
        if held:
            said = ", ".join(dict.fromkeys(f.origin for f in held))
            notes.append(
                f"{said}: the same throughout, so parameters of the servos and no channels"
            )
        return Proposal(tuple(guesses), (how, *notes), start)


def _held_gains(
    families: list[Family], table: Table, robot: RobotNames | None
) -> tuple[list[Family], dict[str, float]]:
    """Gains that never change, and the parameters of servos that they are."""
    held, start = [], {}
    for family in families:
        if family.quantity not in ("kp", "kd"):
            continue
        cells = table.load(family.columns.values())
        values = {joint: cells[column].values for joint, column in family.columns.items()}
        if any(np.ptp(v) > 0 or not np.isfinite(v).all() for v in values.values()):
            continue
        held.append(family)
        for drive in robot.drives if robot else ():
            if drive.dof in values and drive.kind == "position":
                parameter = row_name(f"actuator.{family.quantity}", drive.name)
                start[parameter] = float(values[drive.dof][0])
    return held, start


def _joints(motors: list[int], robot: RobotNames | None) -> tuple[dict[str, str], str]:
    """Joint of each motor by its number, and how it was found."""
    if robot is None:
        return {str(i): f"motor{i}" for i in motors}, "motors are called by their numbers"
    legs = {
        (leg, part): joint
        for leg in _LEGS
        for part in _PARTS
        for joint in robot.joints
        if re.fullmatch(rf"(?:.*[^A-Za-z])?{leg}_{part}(?:_.*)?", joint)
    }
    if len(legs) == 12:
        order = [legs[leg, part] for leg in _LEGS for part in _PARTS]
        how = "motors in Unitree's order of legs: FR, FL, RR, RL; hip, thigh, calf"
    else:
        order = list(robot.joints)
        how = (
            f"motors 0 to {len(order) - 1} taken in the order of the robot's joints, "
            f"{', '.join(order)}: map them by --columns if theirs is another"
        )
    return {str(i): order[i] for i in motors if i < len(order)}, how

"""Actuators as a chain: command, delay, limits and lag, drive, limits, gear, joint or tendon."""

from graftsim.dynamics.actuation.delay import (
    Commands,
    control_owners,
    delay_shares,
    delayed,
    delayed_controls,
    held_before,
    next_held,
    owners,
    steps_back,
)
from graftsim.dynamics.actuation.drive import Driven, actuator_forces, drive_signal
from graftsim.dynamics.actuation.memory import (
    Seen,
    act_after,
    command,
    lag_steps,
    next_act,
    settled_act,
)
from graftsim.dynamics.actuation.transmission import moment

__all__ = [
    "Commands",
    "Driven",
    "Seen",
    "act_after",
    "actuator_forces",
    "command",
    "control_owners",
    "delay_shares",
    "delayed",
    "delayed_controls",
    "drive_signal",
    "held_before",
    "lag_steps",
    "moment",
    "next_act",
    "next_held",
    "owners",
    "settled_act",
    "steps_back",
]

"""Fits for export, made by hand: robots whose numbers are known, and what a fit said of them."""

import numpy as np

import graftsim as gs
from graftsim.export.fitted import Fitted, _checked


def arm(dtype="float64"):
    """A chain of four hinges: a geared servo with delay, a servo on a line of speed, a smart servo
    and a torque motor.
    """
    b = gs.Builder("arm")
    for i, name in enumerate(("hip", "knee", "ankle", "toe")):
        numbers = {"armature": 0.01 * (i + 1), "damping": 0.1, "friction": 0.2, "stribeck": 0.05}
        b.link(name, parent(i), joint_name=f"{name}_joint", axis=(0, 1, 0), mass=0.5,
               com=(0, 0, -0.1), inertia=1e-3, **numbers)  # fmt: skip
    b.actuator("hip", "hip_joint", "position", gear=2.0, kp=10.0, kd=0.5, zero=0.02, delay=0.006,
               longest_delay=0.02, force_range=(-8.0, 8.0))  # fmt: skip
    b.actuator("knee", "knee_joint", "position", kp=30.0, kd=1.0, stall_force=20.0,
               no_load_speed=15.0, force_range=(-12.0, 12.0))  # fmt: skip
    b.actuator("ankle", "ankle_joint", "voltage_servo", kp=2.0, kd=0.1, supply=12.0,
               motor_constant=1.5, resistance=4.0, duty_limit=0.8)  # fmt: skip
    b.actuator("toe", "toe_joint", "torque")
    return b.build(dtype)


def parent(i):
    """Name of the link above."""
    return ("world", "hip", "knee", "ankle")[i]


def row(name, value, std, status="identified", **more):
    """A row of fit.json, as it is read."""
    facts = {"name": name, "value": value, "std": std, "status": status}
    facts |= {"lower": None, "upper": None, "std_with_file": None, "causes": {}}
    return _checked(facts | more)


ROWS = (
    row("joint.armature[hip_joint]", 0.01, 0.002),
    row("joint.friction[*]", 0.2, 0.15, "weak", lower=0.0),
    row("joint.damping[knee_joint]", 0.1, 0.01, "conditional", causes={"actuator.kp[knee]": 0.9},
        std_with_file=0.03, lower=0.0),
    row("joint.armature[ankle_joint]", 0.03, None, "without effect", lower=0.001, upper=0.05),
    row("joint.armature[toe_joint]", 0.04, 9.0, "not identifiable", lower=0.0),
    row("actuator.delay[hip]", 0.006, 0.0005, lower=0.0, upper=0.02),
    row("actuator.kp[hip]", 10.0, 0.5, lower=9.5, upper=40.0),
    row("link.com[hip].x", 0.0, 0.1),
)  # fmt: skip


def fitted():
    """The arm with those rows."""
    return Fitted(arm(), ROWS, "graftsim fit arm.xml run.csv")


def log(model, seconds=6.0, dt=0.005, seed=0):
    """Steps and sweeps of every position servo, and the motion of a joint that follows them."""
    rng = np.random.default_rng(seed)
    time = np.arange(0, seconds, dt)
    channels = {}
    for i, name in enumerate(model.actuator.names):
        steps = np.repeat(rng.uniform(-0.4, 0.4, len(time) // 40 + 1), 40)[: len(time)]
        command = steps + 0.3 * np.sin((2 + i) * time)
        q = np.zeros_like(time)
        for k in range(1, len(time)):
            q[k] = q[k - 1] + 8 * dt * (command[k - 1] - q[k - 1])
        joint = model.tree.dofs[model.actuator.dof[i]]
        channels[f"control[{name}]"] = gs.Channel(f"control[{name}]", time, command, "SI")
        channels[f"joint.q[{joint}]"] = gs.Channel(f"joint.q[{joint}]", time, q, "rad")
    return gs.Recording(channels, "log")

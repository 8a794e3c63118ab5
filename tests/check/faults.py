"""For each check a log that it finds fault with: robot, recordings, level, number, channel.

Numbers are those put into the log.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from swings import (
    DT,
    INERTIA,
    LENGTH,
    MASS,
    changed,
    clock,
    motion,
    pendulum,
    recording,
    swing,
    torque,
)

from graftsim.check import Robot
from graftsim.recordings.recording import Recording


@dataclass(frozen=True)
class Fault:
    """One log with one thing wrong; rel: how near the number must be; mends: the finding goes when
    its remedy is followed by a correction of the recordings."""

    check: str
    robot: Any
    recordings: list[Recording]
    level: str
    number: float
    channel: str
    mends: bool = True
    rel: float = 0.05


def _noise(n, seed=1):
    return np.random.default_rng(seed).standard_normal(n)


def faults():
    """By name."""
    right, t = swing(), clock()
    q, qd, qdd = motion(t)
    tau = torque(q, qd, qdd)
    quiet, rad = changed(right, tau=None), 180 / np.pi
    servo, free = pendulum("position"), pendulum(None)
    held = np.repeat(q[::4], 4)
    burst = (0.05 * np.arange(200)[:, None] + 0.0004 * np.arange(10)).ravel()
    gap = (t < 3.0) | (t > 4.0)
    steps = np.round(q / 0.1) * 0.1
    rising = 0.8 * np.tanh(t[:200] - 0.5)
    stopped = np.clip(1.5 * q, -0.9, 0.9)
    decay = np.exp(-t) * np.sin(6 * t) + 0.2
    kicked = np.where((t > 2) & (t < 4), q + 0.3, q)
    short = recording(t[:200], q=rising)
    again = [changed(swing(f"r{k}", seed=k), tau=None, u=q) for k in range(3)]
    odd = changed(swing("odd", seed=9), tau=None, u=q, q=kicked + 1e-4 * _noise(len(t)))
    wrapped = (np.pi + q + np.pi) % (2 * np.pi) - np.pi
    return {
        "a joint by a name near its own": Fault(
            "names", free, [quiet.rename({"joint.q[j]": "joint.q[jj]"})],
            "error", 1, "joint.q[jj]",
        ),
        "a command of no actuator": Fault(
            "names", pendulum(), [changed(right, tau=None).with_channel(
                recording(t, u=tau)["control[a]"].replace(name="control[elbow]"))],
            "error", 1, "control[elbow]",
        ),
        "a torque that no actuator takes": Fault(
            "names", servo, [right], "error", 1, "joint.tau[j]", mends=False,
        ),
        "degrees beyond the limits": Fault(
            "unit", free, [recording(t, q=q * rad)], "error", np.ptp(q) * rad, "joint.q[j]",
        ),
        "degrees of a joint without limits": Fault(
            "unit", pendulum(None, lower=-np.inf, upper=np.inf), [recording(t, q=q * rad)],
            "error", np.ptp(q) * rad, "joint.q[j]",
        ),
        "speed in degrees": Fault(
            "unit", free, [recording(t, q=q, qd=qd * rad)], "error", 1 / rad, "joint.qd[j]",
        ),
        "full turns": Fault(
            "unit", pendulum(None, lower=-np.inf, upper=np.inf), [recording(t, q=wrapped)],
            "error", np.sum(np.abs(np.diff(wrapped)) > 3), "joint.q[j]",
        ),
        "a clock in milliseconds": Fault(
            "unit", free, [recording(1e3 * t, q=q)], "error", 1e3 * DT, "",
        ),
        "torque with the wrong sign": Fault(
            "sign", pendulum(), [changed(right, tau=-tau)], "error", -1, "joint.tau[j]",
        ),
        "command with the wrong sign": Fault(
            "sign", servo, [changed(right, tau=None, u=-q)], "error", -1, "control[a]",
        ),
        "speed with the wrong sign": Fault(
            "sign", free, [changed(right, tau=None, qd=-qd)], "error", -1, "joint.qd[j]",
        ),
        "zero off, by gravity's torque": Fault(
            "zero", pendulum(), [changed(right, q=q + 0.2)], "warning", -0.2, "joint.q[j]",
        ),
        "zero off, by the pose at rest": Fault(
            "zero", free, [recording(t, q=decay)], "warning", -0.2, "joint.q[j]",
        ),
        "effort in other units": Fault(
            "effort", pendulum(), [changed(right, tau=tau / 0.12)],
            "warning", 1 / 0.12, "joint.tau[j]", mends=False,
        ),
        "effort that is noise": Fault(
            "effort", pendulum(), [changed(right, tau=20 * _noise(len(t)))],
            "warning", 0, "joint.tau[j]", rel=0.1,
        ),
        "a feed-forward torque that is the servo's own": Fault(
            "feed-forward", servo, [recording(t, **{
                "q": q, "qd": qd, "u": q + tau / 30, "control[a.torque]": tau - qd})],
            "error", 1.0, "control[a.torque]", rel=0.005,
        ),
        "encoders that are 20 ms late": Fault(
            "delay", pendulum(), [changed(right, q=motion(t - 0.02)[0], qd=None)],
            "warning", 0.02, "joint.tau[j]", mends=False,
        ),
        "a pause of a second": Fault(
            "gaps", free, [recording(t[gap], q=q[gap])],
            "warning", 1 / 10, "joint.q[j]",
        ),
        "held samples": Fault(
            "repeats", free, [recording(t, q=held)], "warning", 4, "joint.q[j]",
        ),
        "bursts": Fault(
            "bursts", free, [recording(burst, q=motion(burst)[0])],
            "warning", 0.9, "joint.q[j]",
        ),
        "a stamp that runs slow": Fault(
            "clock", free, [recording(t, q=q, stamp=100 + 0.998 * t)],
            "warning", -0.002, "signal[stamp]", mends=False,
        ),
        "a joint on its stop": Fault(
            "saturation", pendulum(None, lower=-0.9, upper=2.5), [recording(t, q=stopped)],
            "warning", np.mean(stopped == -0.9), "joint.q[j]", mends=False, rel=0.15,
        ),
        "torque cut off": Fault(
            "saturation", pendulum(), [changed(right, tau=np.clip(tau, -3, 1e3))],
            "note", np.mean(tau <= -3), "joint.tau[j]", mends=False,
        ),
        "a coarse encoder": Fault(
            "quantum", free, [recording(t, q=steps)], "warning", 0.1, "joint.q[j]", mends=False,
        ),
        "less than one motion": Fault(
            "short", free, [short], "warning", t[199], "", mends=False,
        ),
        "a step longer than the interval": Fault(
            "step", Robot(free, 0.01), [quiet], "warning", 0.5, "", mends=False,
        ),
        "a step that is no part of the interval": Fault(
            "step", Robot(free, 0.003), [quiet], "note", DT / 0.003, "", mends=False,
        ),
        "a servo stiffer than the step": Fault(
            "step", Robot(servo, 0.05), [changed(swing(dt=0.05), tau=None)],
            "note", 0.05 * np.sqrt(30 / (INERTIA + MASS * LENGTH**2)), "control[a]", mends=False,
        ),
        "repeated runs": Fault(
            "runs", servo, again, "note", 1e-4, "joint.q[j]", mends=False, rel=0.3,
        ),
        "one run unlike its repeats": Fault(
            "runs", servo, [*again, odd], "warning",
            0.3 * np.sqrt(0.2) / (np.sqrt(2) * 1e-4), "joint.q[j]", mends=False, rel=0.1,
        ),
    }  # fmt: skip


FAULTS = faults()

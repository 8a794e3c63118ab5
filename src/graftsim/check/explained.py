"""How well a recorded effort is what inverse dynamics of the robot's file asks for.

Of one joint with recorded effort u, the torque tau of the file, and its derivative tau' by the
joint's own position, least squares over the instants of a recording:

    u = s tau + s z tau' + c tanh(qd / w) + b qd + o.

s is the scale of the effort (1 for a torque as the file has it), z the zero of its encoder (true
minus read), c and b friction, o an offset. Deviations by a jackknife over blocks of time, since
the errors of neighbouring instants hang together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from graftsim.check.check import of
from graftsim.check.robot import Motion, Robot
from graftsim.model.catalogue import acts_on
from graftsim.recordings.recording import Channel, Recording

BLOCKS = 10
# Width of friction's change of sign, as a share of the usual speed.
SIGN_WIDTH = 0.1
# A torque says nothing below this share of its parts, inertia's and gravity's: what is left of two
# that cancel, as in a free swing, is the file's errors. And its derivative below this share of it.
CANCELLED, DISTINCT = 0.3, 0.02
# Share of the torque's spread by which it may hang on the smoothing; instants where it does not.
RESOLVED, MOST, FEWEST = 0.3, 0.5, 50


@dataclass(frozen=True)
class Explained:
    """The regression of one effort channel: `scale` s and `zero` z with deviations; `correlation`
    of effort and torque once friction and offset are taken out of both; `acceleration`: that of
    effort and the joint's acceleration alone; `share` of the effort's variance that torque and
    friction explain together; `size` of effort over torque, both by their spread. NaN where the
    motion does not tell.
    """

    label: str
    channel: Channel
    scale: float
    scale_std: float
    correlation: float
    zero: float
    zero_std: float
    acceleration: float
    share: float
    size: float


def explained(robot: Robot, recording: Recording) -> Iterator[Explained]:
    """The regression of each effort of a recording: measured torques, else commanded ones."""
    efforts = list(efforts_of(robot, recording))
    motion = robot.motion(recording) if efforts else None
    if motion is None:
        return
    for label, channel, factor in efforts:
        v = robot.dofs[label]
        effort = motion.smoothed(channel)
        if motion.measured[v] and robot.carries(motion, v):
            yield _explain(label, channel, factor * effort, motion, v)


def efforts_of(robot: Robot, recording: Recording) -> Iterator[tuple[str, Channel, float]]:
    """Effort channels: label of the degree of freedom, channel, joint torque for one unit of it."""
    seen = set()
    for label, channel in of(recording, "joint.tau"):
        if label in robot.dofs and channel.width == 1:
            seen.add(label)
            yield label, channel, 1.0
    a, joints = robot.model.actuator, acts_on(robot.model)
    for label, channel in of(recording, "control"):
        if label in a.names and channel.width == 1:
            i = a.names.index(label)
            joint = joints[i]
            alone = joints.count(joint) == 1
            if a.kinds[i] == "torque" and alone and joint in robot.dofs and joint not in seen:
                yield joint, channel, float(a.gear[i] * a.gain[i])


@dataclass(frozen=True)
class Regressors:
    """Of one joint where its motion is resolved: instants `good` [n]; columns [k, c] of tau, of
    tau' if it `tells`, of friction; tau without what friction explains (`lone` [k]).
    """

    good: Bool[np.ndarray, " n"]
    columns: Float[np.ndarray, "k c"]
    friction: Float[np.ndarray, "k 3"]
    lone: Float[np.ndarray, " k"]
    tells: bool


def regressors(motion: Motion, v: int) -> Regressors | None:
    """None where the motion is not resolved, or inertia's torque and gravity's cancel."""
    # Where the sampling does not resolve the motion, its acceleration is wrong.
    good = motion.unsure[:, v] <= RESOLVED * np.std(motion.tau[:, v])
    if good.mean() < MOST or good.sum() < FEWEST:
        return None
    tau, turned, qd = motion.tau[good, v], motion.turned[good, v], motion.qd[good, v]
    usual = max(float(np.sqrt(np.mean(qd**2))), 1e-9)
    friction = np.stack([np.tanh(qd / (SIGN_WIDTH * usual)), qd, np.ones_like(qd)], axis=1)
    lone = without(friction, tau)
    size, gravity = float(np.std(lone)), motion.gravity[good, v]
    largest = max(float(np.std(without(friction, x))) for x in (gravity, tau - gravity))
    if size <= CANCELLED * largest or size == 0:
        return None
    alone = np.concatenate([tau[:, None], friction], axis=1)
    tells = float(np.std(without(alone, turned))) > DISTINCT * size
    columns = np.insert(alone, 1, turned, axis=1) if tells else alone
    return Regressors(good, columns, friction, lone, tells)


def _explain(
    label: str, channel: Channel, effort: Float[np.ndarray, " n"], motion: Motion, v: int
) -> Explained:
    nan, x = float("nan"), regressors(motion, v)
    if x is None or np.ptp(effort[x.good]) == 0:
        return Explained(label, channel, nan, nan, nan, nan, nan, nan, nan, nan)
    effort = effort[x.good]
    beta, std = _jackknife(x.columns, effort)
    rest = without(x.friction, effort)
    zero = zero_std = nan
    if x.tells and beta[0] != 0:
        zero, zero_std = beta[1] / beta[0], std[1] / abs(beta[0])
    faster = without(x.friction, motion.qdd[x.good, v])
    return Explained(
        label,
        channel,
        scale=beta[0],
        scale_std=std[0],
        correlation=float(np.corrcoef(x.lone, rest)[0, 1]),
        zero=zero,
        zero_std=zero_std,
        acceleration=float(np.corrcoef(faster, rest)[0, 1]) if np.ptp(faster) > 0 else nan,
        share=explained_share(x, effort),
        size=float(np.std(effort) / np.std(x.lone)),
    )


def explained_share(x: Regressors, effort: Float[np.ndarray, " k"]) -> float:
    """Share of the variance of an effort that torque and friction explain."""
    return 1 - float(np.var(without(x.columns, effort)) / np.var(effort))


def without(columns: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What columns [n, k] do not explain of y [n]."""
    return y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]


def _jackknife(columns: np.ndarray, y: np.ndarray) -> tuple[list[float], list[float]]:
    """Coefficients of least squares, and their deviations by leaving out blocks of time."""
    size = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    X = columns / size
    beta = np.linalg.lstsq(X, y, rcond=None)[0]
    block = np.arange(len(y)) * BLOCKS // len(y)
    left = [
        np.linalg.lstsq(X[block != k], y[block != k], rcond=None)[0] for k in range(block.max() + 1)
    ]
    spread = np.sqrt((len(left) - 1) / len(left) * ((left - np.mean(left, 0)) ** 2).sum(0))
    return (beta / size).tolist(), (spread / size).tolist()

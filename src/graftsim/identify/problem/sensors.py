"""Sensors: what a measurement channel should have read, given the simulated motion.

A sensor is named by its channel (`joint.q[elbow]`, `link.heading[tip]`). Its reading is
scale * value + offset, taken `delay` seconds late; all three can be fitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.kinematics import attachment, world_transforms
from graftsim.dynamics.mechanism import Mechanism
from graftsim.dynamics.motion import joint_motion, link_velocity
from graftsim.dynamics.passive import displacement
from graftsim.errors import ProblemError, suggest
from graftsim.model.model import Model
from graftsim.selectors import Selector
from graftsim.spatial import rotation, safe
from graftsim.spatial.transform import rotate

# Width of a reading, of a residual, and the variables a reading needs beside q and qd.
KINDS: dict[str, tuple[int, int, tuple[str, ...]]] = {
    "joint.q": (1, 1, ()),
    "joint.qd": (1, 1, ()),
    "joint.tau": (1, 1, ("joint.tau_actuator",)),
    "link.position": (3, 3, ()),
    "link.pose": (7, 6, ()),
    "link.heading": (3, 3, ()),
    "link.angular_velocity": (3, 3, ()),
    "link.linear_acceleration": (3, 3, ("link.acceleration",)),
}
_UNITS = {
    "link.position": "m",
    "link.pose": "m, rad",
    "link.heading": "1",
    "link.angular_velocity": "rad/s",
    "link.linear_acceleration": "m/s^2",
}


@dataclass(frozen=True)
class SensorSpec:
    """One channel: its kind, and the label of the joint, link or frame it looks at.

    `axis` (unit vector in the link) is what a heading points along; None: from the joint to the
    centre of mass.
    """

    kind: str
    label: str
    axis: tuple[float, float, float] | None = None

    @property
    def channel(self) -> str:
        """Name of the channel it explains."""
        return f"{self.kind}[{self.label}]"


class Sensors(eqx.Module):
    """The sensors of a problem: static descriptions, and the numbers of each as leaves [ns]."""

    specs: tuple[SensorSpec, ...] = eqx.field(static=True)
    scale: Float[Array, " ns"]
    offset: Float[Array, " ns"]
    delay: Float[Array, " ns"]

    @property
    def labels(self) -> tuple[str, ...]:
        """Row labels for selectors: `joint.q:elbow`."""
        return tuple(f"{s.kind}:{s.label}" for s in self.specs)

    @property
    def needs(self) -> tuple[str, ...]:
        """Variables to record for these sensors."""
        return tuple(dict.fromkeys(v for s in self.specs for v in KINDS[s.kind][2]))


def make_sensors(
    model: Model, channels: Sequence[str], options: Mapping[str, Any] | None = None
) -> Sensors:
    """Sensors for the given channels, checked against the model.

    `options[channel]` may set `scale`, `offset`, `delay`, and `axis` of a heading. Raises
    ProblemError: unknown kind or label, options for a channel that is not there.
    """
    options = dict(options or {})
    specs, numbers = [], []
    for name in channels:
        selector = Selector.parse(name)
        given = dict(options.pop(name, {}))
        axis = _axis(name, given.pop("axis", None))
        spec = SensorSpec(selector.name, selector.pattern or "", axis)
        _check(model, spec)
        numbers.append(
            [given.pop(k, d) for k, d in (("scale", 1.0), ("offset", 0.0), ("delay", 0.0))]
        )
        if given:
            raise ProblemError(f"Sensor {name}: unknown options {sorted(given)}.")
        specs.append(spec)
    if options:
        raise ProblemError(
            f"Options for sensors that are not recorded: {', '.join(options)}. "
            f"Recorded: {', '.join(channels)}."
        )
    table = jnp.asarray(np.array(numbers, float).reshape(-1, 3), model.link.mass.dtype)
    return Sensors(tuple(specs), table[:, 0], table[:, 1], table[:, 2])


def _axis(name: str, given: Sequence[float] | None) -> tuple[float, float, float] | None:
    if given is None:
        return None
    if len(given) != 3 or not any(given):
        raise ProblemError(f"Sensor {name}: axis must be three numbers, not all zero: {given}.")
    x, y, z = map(float, given)
    return x, y, z


def _check(model: Model, spec: SensorSpec) -> None:
    if spec.kind not in KINDS:
        raise ProblemError(
            f"Channel {spec.channel}: no sensor explains '{spec.kind}'. {suggest(spec.kind, KINDS)}"
        )
    if spec.kind.startswith("joint."):
        if spec.label not in model.tree.dofs:
            known = suggest(spec.label, model.tree.dofs)
            raise ProblemError(
                f"Channel {spec.channel}: no degree of freedom of that name. {known}"
            )
    else:
        attachment(model, spec.label)


def unit(model: Model, spec: SensorSpec) -> str:
    """Unit of a sensor's readings; a joint's is that of turning or of sliding."""
    if not spec.kind.startswith("joint."):
        return _UNITS[spec.kind]
    turning = model.tree.dof_units[model.tree.dofs.index(spec.label)] == "rad"
    if spec.kind == "joint.tau":
        return "N m" if turning else "N"
    return ("rad" if turning else "m") + ("/s" if spec.kind == "joint.qd" else "")


def readings(
    sensors: Sensors,
    m: Mechanism,
    q: Float[Array, "t nq"],
    qd: Float[Array, "t nv"],
    recorded: Mapping[str, Array],
    *,
    one_by_one: bool = False,
) -> list[Float[Array, "t d"]]:
    """What each sensor reads at each instant of a motion, before its delay.

    The instants go side by side, or `one_by_one` as kernels want them. `recorded` has the
    variables of `Sensors.needs`, on the same instants.
    """

    def instant(q: Array, qd: Array, recorded: Mapping[str, Array]) -> list[Array]:
        motion = joint_motion(m, q, qd)
        X = world_transforms(m.tree, motion)
        v = link_velocity(m.tree, motion)
        neutral = jnp.asarray(m.tree.neutral, q.dtype)
        context = _Instant(m, rotation.transpose(X.E), X.r, v, qd, recorded, q, neutral)
        return [
            context.value(s) * sensors.scale[i] + sensors.offset[i]
            for i, s in enumerate(sensors.specs)
        ]

    if one_by_one:
        once = jax.checkpoint(instant)
        return jax.lax.map(lambda each: once(*each), (q, qd, dict(recorded)))
    return jax.vmap(instant)(q, qd, dict(recorded))


@dataclass
class _Instant:
    m: Mechanism
    R: Array
    p: Array
    v: Array
    qd: Array
    recorded: Mapping[str, Array]
    q: Array
    neutral: Array

    def value(self, spec: SensorSpec) -> Array:
        model = self.m.model
        if spec.kind.startswith("joint."):
            i = model.tree.dofs.index(spec.label)
            if spec.kind == "joint.q":
                return displacement(model.tree, self.neutral, self.q)[i : i + 1]
            source = self.qd if spec.kind == "joint.qd" else self.recorded["joint.tau_actuator"]
            return source[i : i + 1]
        link, r, quat = attachment(model, spec.label)
        if link < 0:
            raise ProblemError(f"Sensor {spec.channel} is fixed to the world and sees no motion.")
        R, R_f = self.R[link], rotation.matrix(quat)
        if spec.kind == "link.position":
            return self.p[link] + rotate(R, r)
        if spec.kind == "link.heading":
            axis = model.link.com[link] if spec.axis is None else jnp.asarray(spec.axis, R.dtype)
            axis = axis if spec.axis is None else rotate(R_f, axis)
            return rotate(R, safe.normalise(axis))
        if spec.kind == "link.pose":
            R_w = R @ R_f
            return jnp.concatenate([self.p[link] + rotate(R, r), R_w.reshape(-1)])
        w, u = self.v[link, :3], self.v[link, 3:]
        if spec.kind == "link.angular_velocity":
            return rotate(R_f.T, w)
        alpha, a = (
            self.recorded["link.acceleration"][link, :3],
            self.recorded["link.acceleration"][link, 3:],
        )
        # Classical acceleration of the point, gravity subtracted: what an accelerometer feels.
        point = (
            a
            + rotation.cross(w, u)
            + rotation.cross(alpha, r)
            + rotation.cross(w, rotation.cross(w, r))
        )
        return rotate(R_f.T, point)


def mismatch(
    spec: SensorSpec, read: Float[Array, "n d"], measured: Float[Array, "n w"]
) -> Float[Array, "n r"]:
    """Measured minus read; for poses, position (m) and rotation vector (rad) between them."""
    if spec.kind != "link.pose":
        return measured - read
    R = rotation.matrix(measured[:, 3:])
    relative = jnp.swapaxes(read[:, 3:].reshape(-1, 3, 3), -1, -2) @ R
    # Half the skew part times a smooth factor is the logarithm, exact to third order.
    skew = jnp.stack(
        [
            relative[:, 2, 1] - relative[:, 1, 2],
            relative[:, 0, 2] - relative[:, 2, 0],
            relative[:, 1, 0] - relative[:, 0, 1],
        ],
        -1,
    )
    cosine = (relative[:, 0, 0] + relative[:, 1, 1] + relative[:, 2, 2] - 1) / 2
    return jnp.concatenate(
        [measured[:, :3] - read[:, :3], skew / jnp.maximum(1 + cosine, 0.1)[:, None]], -1
    )

"""The sensors: encoders, torques, positions, poses, headings, gyroscopes, accelerometers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.kinematics import attachment
from graftsim.dynamics.passive import displacement
from graftsim.errors import ProblemError, suggest
from graftsim.model.model import Model
from graftsim.sensors.sensor import Instant, Sensor
from graftsim.spatial import rotation, safe
from graftsim.spatial.transform import rotate


class JointSensor(Sensor):
    """A sensor of one degree of freedom."""

    # Units for what turns and for what slides.
    units: ClassVar[tuple[str, str]]

    def check(self, model: Model) -> None:
        """Raises ProblemError: no degree of freedom of that name."""
        if self.label not in model.tree.dofs:
            known = suggest(self.label, model.tree.dofs)
            raise ProblemError(
                f"Channel {self.channel}: no degree of freedom of that name. {known}"
            )

    def unit(self, model: Model) -> str:
        """That of turning or of sliding."""
        turning = model.tree.dof_units[model.tree.dofs.index(self.label)] == "rad"
        return self.units[0] if turning else self.units[1]

    def of_joint(self, at: Instant, values: Float[Array, " nv"]) -> Float[Array, " 1"]:
        """The entry of its degree of freedom."""
        i = at.m.tree.dofs.index(self.label)
        return values[i : i + 1]


@dataclass(frozen=True)
class JointPosition(JointSensor):
    """An encoder: from the joint's zero."""

    kind = "joint.q"
    units = ("rad", "m")

    def read(self, at: Instant) -> Float[Array, " 1"]:
        """The joint's displacement from its neutral position."""
        neutral = jnp.asarray(at.m.tree.neutral, at.q.dtype)
        return self.of_joint(at, displacement(at.m.tree, neutral, at.q))


@dataclass(frozen=True)
class JointVelocity(JointSensor):
    """A tachometer."""

    kind = "joint.qd"
    units = ("rad/s", "m/s")

    def read(self, at: Instant) -> Float[Array, " 1"]:
        """The joint's velocity."""
        return self.of_joint(at, at.qd)


@dataclass(frozen=True)
class JointTorque(JointSensor):
    """A sensor of the actuator's torque or force."""

    kind = "joint.tau"
    units = ("N m", "N")
    needs = ("joint.tau_actuator",)

    def read(self, at: Instant) -> Float[Array, " 1"]:
        """What the actuators do to the joint."""
        return self.of_joint(at, at.recorded["joint.tau_actuator"])


class LinkSensor(Sensor):
    """A sensor that is fixed to a link or a frame."""

    quantity_unit: ClassVar[str]

    def check(self, model: Model) -> None:
        """Raises what `attachment` raises: no link and no frame of that name."""
        attachment(model, self.label)

    def unit(self, model: Model) -> str:
        """That of the quantity."""
        return self.quantity_unit

    def place(self, at: Instant) -> tuple[int, Float[Array, " 3"], Float[Array, "3 3"]]:
        """Its link, and its origin (m) and axes in it. Raises ProblemError: fixed to the world."""
        link, r, quaternion = attachment(at.m.model, self.label)
        if link < 0:
            raise ProblemError(f"Sensor {self.channel} is fixed to the world and sees no motion.")
        return link, r, rotation.matrix(quaternion)


@dataclass(frozen=True)
class LinkPosition(LinkSensor):
    """A marker."""

    kind = "link.position"
    width = 3
    quantity_unit = "m"

    def read(self, at: Instant) -> Float[Array, " 3"]:
        """Where its origin is in the world."""
        link, r, _ = self.place(at)
        return at.p[link] + rotate(at.R[link], r)


@dataclass(frozen=True)
class LinkPose(LinkSensor):
    """A tracked body: x y z, then the quaternion w x y z; it is read as x y z and a matrix."""

    kind = "link.pose"
    width = 7
    residual_width = 6
    quantity_unit = "m, rad"
    drawn = 3
    additive = False

    def read(self, at: Instant) -> Float[Array, " 12"]:
        """Position (m) and the nine numbers of its axes in the world."""
        link, r, R = self.place(at)
        return jnp.concatenate([at.p[link] + rotate(at.R[link], r), (at.R[link] @ R).reshape(-1)])

    def mismatch(
        self, read: Float[Array, "n 12"], measured: Float[Array, "n 7"]
    ) -> Float[Array, "n 6"]:
        """Position (m) and rotation vector (rad) from the reading to the measurement."""
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

    def residual_noise(self, noise: Float[np.ndarray, " 7"]) -> Float[np.ndarray, " 6"]:
        """Of a rotation vector: it is twice the quaternion's vector part."""
        return np.concatenate([noise[:3], np.full(3, 2 * noise[4:].mean())])


@dataclass(frozen=True)
class LinkHeading(LinkSensor):
    """A direction, as from two markers: `axis` (unit vector in the frame) seen from the world.

    axis None: from the joint to the link's centre of mass.
    """

    kind = "link.heading"
    width = 3
    quantity_unit = "1"
    options = ("axis",)

    axis: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        if self.axis is None:
            return
        try:
            axis = tuple(map(float, self.axis))
        except (TypeError, ValueError):
            axis = ()
        if len(axis) != 3 or not any(axis) or not np.all(np.isfinite(axis)):
            raise ProblemError(
                f"Sensor {self.channel}: axis must be three numbers, not all zero: {self.axis}."
            )
        object.__setattr__(self, "axis", axis)

    def read(self, at: Instant) -> Float[Array, " 3"]:
        """The unit vector."""
        link, _, R = self.place(at)
        if self.axis is None:
            axis = at.m.model.link.com[link]
        else:
            axis = rotate(R, jnp.asarray(self.axis, R.dtype))
        return rotate(at.R[link], safe.normalise(axis))


@dataclass(frozen=True)
class Gyroscope(LinkSensor):
    """An angular velocity in its own axes."""

    kind = "link.angular_velocity"
    width = 3
    quantity_unit = "rad/s"

    def read(self, at: Instant) -> Float[Array, " 3"]:
        """The link's angular velocity."""
        link, _, R = self.place(at)
        return rotate(R.T, at.v[link, :3])


@dataclass(frozen=True)
class Accelerometer(LinkSensor):
    """The classical acceleration of its origin less gravity, in its own axes."""

    kind = "link.linear_acceleration"
    width = 3
    quantity_unit = "m/s^2"
    needs = ("link.acceleration",)

    def read(self, at: Instant) -> Float[Array, " 3"]:
        """a + w x u + alpha x r + w x (w x r), with the spatial acceleration (alpha, a)."""
        link, r, R = self.place(at)
        w, u = at.v[link, :3], at.v[link, 3:]
        acceleration = at.recorded["link.acceleration"][link]
        alpha, a = acceleration[:3], acceleration[3:]
        point = (
            a
            + rotation.cross(w, u)
            + rotation.cross(alpha, r)
            + rotation.cross(w, rotation.cross(w, r))
        )
        return rotate(R.T, point)

"""What the fitted chain of an actuator gives along a log: samples of its inputs and its torque.

Without an integral the chain is a function of the commands up to now and of the joint's position
and velocity. So it is asked at the positions that were measured, and nothing is simulated. Commands
act as in a step of the other program, delayed, by their mean over it. Encoder zeros are left out:
they belong to the targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.actuation import (
    Commands,
    actuator_forces,
    delay_shares,
    delayed,
    held_before,
    next_act,
    next_held,
    settled_act,
    steps_back,
)
from graftsim.dynamics.paths import Arms, tendon_arms
from graftsim.dynamics.tendons import tendon_forces
from graftsim.errors import ProblemError
from graftsim.export.servos import Servo
from graftsim.identify.problem.parts import with_inputs
from graftsim.identify.problem.windows import Cutting, cut
from graftsim.model.catalogue import with_leaf
from graftsim.model.model import Model
from graftsim.recordings.filters import SavitzkyGolay
from graftsim.recordings.recording import Channel, Recording
from graftsim.recordings.signals import differentiate, low_pass
from graftsim.selectors import row_name
from graftsim.sensors.sensors import make_sensors

# A net sees the present sample and two before it.
HISTORY = 3
# Length of the stretches (s) that a log is cut into, and of their beginnings that are left out.
STRETCH, SETTLED = 1.0, 0.1
# Window (s) of the polynomials that positions and velocities are taken from.
SMOOTH = 0.05


@dataclass(frozen=True)
class Samples:
    """Along a log, newest first: error (target - position), velocity, and the error of the present
    position from earlier targets; the chain's torque.
    """

    error: Float[np.ndarray, "n 3"]
    velocity: Float[np.ndarray, "n 3"]
    late: Float[np.ndarray, "n 3"]
    torque: Float[np.ndarray, " n"]

    def __len__(self) -> int:
        return len(self.torque)

    def only(self, rows: np.ndarray) -> Samples:
        """Some of them."""
        return Samples(self.error[rows], self.velocity[rows], self.late[rows], self.torque[rows])

    @classmethod
    def together(cls, parts: Sequence[Samples]) -> Samples:
        """All of several."""
        names = ("error", "velocity", "late", "torque")
        return cls(*(np.concatenate([getattr(p, k) for p in parts]) for k in names))


@dataclass(frozen=True)
class Chain:
    """The chains of a robot's servos in steps of `dt` s."""

    model: Model
    dt: float

    def samples(self, own: Sequence[Servo], log: Recording, seed: int | None = None) -> Samples:
        """Of some servos along a log, by time.

        seed: moves positions and velocities at random by up to a deviation of the errors and of the
        velocities, which fills the range about the log. Raises ProblemError: a log without
        positions of them, or one too short.
        """
        model = with_inputs(self.model, log.names)
        commands, q, qd = self._stretches(model, own, log)
        a = model.actuator
        index, dofs = ([x.index(s) for s in names] for x, names in (
            (a.names, [s.name for s in own]), (model.tree.dofs, [s.joint for s in own])
        ))  # fmt: skip
        target = commands[..., index] / np.asarray(a.gear, float)[index]
        position, velocity = q[..., dofs], qd[..., dofs]
        p, v = np.zeros_like(position), np.zeros_like(velocity)
        if seed is not None:
            rng = np.random.default_rng(seed)
            p = rng.uniform(-1, 1, p.shape) * (target - position).std((0, 1))
            v = rng.uniform(-1, 1, v.shape) * velocity.std((0, 1))
        q[..., dofs], qd[..., dofs] = position + p, velocity + v
        dt, back = jnp.asarray(self.dt, a.gear.dtype), steps_back(a, self.dt)
        tau = np.asarray(_torques(model, dt, commands, q, qd, back=back))[..., dofs]

        n = commands.shape[1]
        rows = np.arange(max(HISTORY - 1, round(SETTLED / self.dt)), n)
        moved = position[:, rows] + p[:, rows]
        error, speed, late = [], [], []
        for k in range(HISTORY):
            # A sample k steps ago lay k dt times the added velocity behind.
            then = position[:, rows - k] + p[:, rows] - self.dt * k * v[:, rows]
            error.append(target[:, rows - k] - then)
            speed.append(velocity[:, rows - k] + v[:, rows])
            late.append(target[:, rows - k] - moved)
        flat = [np.stack(x, -1).reshape(-1, HISTORY) for x in (error, speed, late)]
        return Samples(flat[0], flat[1], flat[2], tau[:, rows].reshape(-1))

    def _stretches(
        self, model: Model, own: Sequence[Servo], log: Recording
    ) -> tuple[
        Float[np.ndarray, "w s nu"], Float[np.ndarray, "w s nv"], Float[np.ndarray, "w s nv"]
    ]:
        """Commands, positions and velocities of stretches of a log, on the grid of steps."""
        names = [row_name("joint.q", s.joint) for s in own]
        missing = [n for n in names if n not in log]
        if missing:
            raise ProblemError(f"{log.name}: {', '.join(missing)} is needed to train a net.")
        begin, end = log.overlap
        length = min(STRETCH, end - begin - 2 * self.dt)
        if length < 3 * SETTLED:
            raise ProblemError(
                f"{log.name}: {end - begin:.3g} s are too short for a net to learn from or to be "
                f"judged by; {3 * SETTLED:.2g} s and more are needed in each part."
            )
        how = Cutting(self.dt, length)
        windows = cut(model, make_sensors(model, names), [log], how)
        t = windows.start[:, None] + self.dt * np.arange(windows.steps)
        q, qd = np.zeros((2, *t.shape, model.nv))
        for s, name in zip(own, names, strict=True):
            d = model.tree.dofs.index(s.joint)
            for x, channel in zip((q, qd), _motion(log[name]), strict=True):
                x[..., d] = np.interp(t, channel.time, channel.values[:, 0])
        controls = windows.controls.copy()
        controls[..., added(model)] = 0.0
        return controls, q, qd


def added(model: Model) -> list[int]:
    """Places among the controls of what is added to a servo's force from outside: feed-forward
    torques, and velocities that are asked for. A net has no inputs for them.
    """
    a = model.actuator
    further = [what for own in a.inputs for what in own]
    return [len(a.names) + k for k, what in enumerate(further) if what in ("torque", "velocity")]


@partial(jax.jit, static_argnames="back")
def _torques(
    model: Model, dt: Float[Array, ""], commands: Array, q: Array, qd: Array, *, back: int
) -> Float[Array, "w s nv"]:
    """Of the actuators, encoder zeros left out: of commands [w, s, nu], q and qd [w, s, nv]."""
    model = with_leaf(model, "actuator.zero", jnp.zeros_like(model.actuator.zero))
    a = model.actuator
    share = delay_shares(a, dt, 1, back)[0] if back else None

    def step(memory: tuple[Array, Array], now: tuple[Array, ...]) -> tuple[Any, Array]:
        (act, held), (u, q_dof, rate) = memory, now
        late = u
        if share is not None:
            late = delayed(a, Commands(u, share[0], jnp.sum(share[1:] * held, 0)), u)
        # What depends on the pose acts on no joint of a servo.
        tendons = tendon_forces(model.tendon, tendon_arms(model.tendon, q_dof, None), rate)
        none = jnp.zeros((len(a.sites), model.nv), rate.dtype)
        tendons = tendons.beside(Arms(none[:, 0], none), rate)
        driven = actuator_forces(a, late, act, q_dof, rate, tendons)
        after = next_act(a, driven.seen, act, dt)
        return (after, next_held(a, held, u) if back else held), driven.tau

    def stretch(u: Array, q_dof: Array, rate: Array) -> Array:
        start = settled_act(a, u[0]), held_before(a, u[0], back)
        return jax.lax.scan(step, start, (u, q_dof, rate))[1]

    return jax.vmap(stretch)(commands, q, qd)


def _motion(channel: Channel) -> tuple[Channel, Channel]:
    """Position, smoothed, and velocity of a joint, both of the same polynomials.

    In a simulator the two belong together; of a log, measured velocities lag or lead.
    """
    smooth = SavitzkyGolay(window_s=max(SMOOTH, 6 * channel.interval))
    return low_pass(channel, smooth), differentiate(channel, smooth)

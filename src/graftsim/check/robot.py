"""The robot that recordings are looked at beside, and what its file says of a recorded motion."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from graftsim.check.smoothing import (
    INSTANTS,
    INTERVALS,
    derivatives,
    instants,
    smooth_at,
    smoothing,
)
from graftsim.compilation import BRIEF
from graftsim.dynamics.crba import mass_matrix
from graftsim.dynamics.rnea import inverse_dynamics
from graftsim.model.model import Model
from graftsim.recordings.recording import Channel, Recording
from graftsim.selectors import row_name

# Unmeasured links below a joint may weigh this share of what it carries.
NEGLIGIBLE = 0.05
# A smoothing so many times longer shows what the smoothing does.
LONGER = 1.5
# Angle (rad) and length (m) over which a gravity torque is differentiated.
NUDGE = 1e-4


@dataclass(frozen=True, eq=False)
class Motion:
    """A recorded motion at some instants, smoothed: time [n] s, q, qd, qdd [n, nv].

    measured [nv]: which degrees of freedom have a channel; those without stand at zero.
    tau [n, nv] (N m, N): what the file's inverse dynamics asks of the joints, without friction;
    turned [n, nv]: its derivative by the joint's own position; gravity [n, nv]: its part at rest.
    unsure [n, nv]: by how much tau changes with a longer smoothing. window (s): of the smoothing.
    """

    time: Float[np.ndarray, " n"]
    q: Float[np.ndarray, "n nv"]
    qd: Float[np.ndarray, "n nv"]
    qdd: Float[np.ndarray, "n nv"]
    measured: Bool[np.ndarray, " nv"]
    tau: Float[np.ndarray, "n nv"]
    turned: Float[np.ndarray, "n nv"]
    gravity: Float[np.ndarray, "n nv"]
    unsure: Float[np.ndarray, "n nv"]
    window: float

    def smoothed(self, channel: Channel) -> Float[np.ndarray, " n"]:
        """A channel's first column at these instants, with the same smoothing."""
        return smooth_at(channel, self.time, self.window)[:, 0]


@dataclass(frozen=True, eq=False)
class Robot:
    """A model, and the step it is to be simulated with: `dt` (s) in `substeps`, None if open.

    effort: "torque" if effort channels are torques, "current" if only proportional to them.
    """

    model: Model
    dt: float | None = None
    substeps: int = 1
    effort: str = "torque"
    _motions: dict[int, tuple[Recording, Motion | None]] = field(default_factory=dict)

    @cached_property
    def dofs(self) -> dict[str, int]:
        """Degrees of freedom of hinges and slides by label."""
        tree = self.model.tree
        return {
            tree.dofs[v]: int(v)
            for kind, own in zip(tree.joint_types, tree.v_index, strict=True)
            if kind.one_by_one
            for v in own
        }

    @property
    def angular(self) -> frozenset[str]:
        """Labels of those that turn."""
        units = self.model.tree.dof_units
        return frozenset(label for label, v in self.dofs.items() if units[v] == "rad")

    def number(self, name: str, label: str) -> float:
        """A number of `model.joint` of the degree of freedom of this label."""
        return float(np.asarray(getattr(self.model.joint, name))[self.dofs[label]])

    @cached_property
    def inertia(self) -> Float[np.ndarray, " nv"]:
        """Inertia (kg m^2, kg) that each degree of freedom moves at the zero pose."""
        q = np.asarray(self.model.tree.neutral)
        return np.diag(np.asarray(jax.jit(mass_matrix, compiler_options=BRIEF)(self.model, q)))

    def tells(self, recording: Recording) -> bool:
        """Does a recording tell the motion of a robot whose base stands, at least in part?"""
        hinged = len(self.dofs) == self.model.tree.nv
        return hinged and any(row_name("joint.q", label) in recording for label in self.dofs)

    def motion(self, recording: Recording) -> Motion | None:
        """What was recorded of all joints together; None without a hinge's or slide's position,
        or of a robot that floats.
        """
        found = self._motions.get(id(recording))
        if found is None:
            # The recording is kept with what was made of it, so that its id stays its own.
            found = self._motions[id(recording)] = (recording, self._motion(recording))
        return found[1]

    def carries(self, motion: Motion, v: int) -> bool:
        """Is all that degree of freedom v moves measured, but for a negligible part?

        Where loops are closed their forces act too, which inverse dynamics does not know.
        """
        if self.model.closed:
            return False
        tree, mass = self.model.tree, np.asarray(self.model.link.mass)
        below = tree.ancestor[tree.link_of_dof[v]]
        open_ = np.zeros(tree.nl, bool)
        for w in np.flatnonzero(~motion.measured):
            open_ |= tree.ancestor[tree.link_of_dof[w]]
        above = tree.ancestor[:, tree.link_of_dof[v]]
        if any(above[tree.link_of_dof[w]] for w in np.flatnonzero(~motion.measured)):
            return False
        return float(mass[below & open_].sum()) <= NEGLIGIBLE * float(mass[below].sum())

    def _motion(self, recording: Recording) -> Motion | None:
        tree = self.model.tree
        channels = {
            v: recording[name]
            for label, v in self.dofs.items()
            if (name := row_name("joint.q", label)) in recording
            and recording[name].width == 1
            and len(recording[name].time) > INTERVALS
        }
        if not channels or not self.tells(recording):
            return None
        speeds = {v: recording.channels.get(row_name("joint.qd", tree.dofs[v])) for v in channels}
        window = smoothing(list(channels.values()))
        time = instants(next(iter(channels.values())), window)
        if len(time) < 8:
            return None
        measured = np.isin(np.arange(tree.nv), list(channels))

        def smoothed(window: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            q, qd, qdd = (np.zeros((len(time), tree.nv)) for _ in range(3))
            for v, channel in channels.items():
                q[:, v], qd[:, v], qdd[:, v] = derivatives(channel, speeds[v], time, window)
            return q, qd, qdd

        motion = smoothed(window)
        tau, turned, gravity = self._inverse(*motion)
        unsure = np.abs(self._inverse(*smoothed(LONGER * window))[0] - tau)
        return Motion(time, *motion, measured, tau, turned, gravity, unsure, window)

    def _inverse(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Torques, their derivatives by the own joint's position, and gravity's, [n, nv] each."""
        # All recordings have arrays of one length, so that one program is compiled for them.
        n = len(q)
        padded = [jnp.asarray(np.pad(x, ((0, INSTANTS - n), (0, 0)))) for x in (q, qd, qdd)]
        found = np.asarray(_torques(self.model, *padded))[:n]
        return found[:, 0], found[:, 1], found[:, 2]


@partial(jax.jit, compiler_options=BRIEF)
def _torques(model: Model, q: jax.Array, qd: jax.Array, qdd: jax.Array) -> jax.Array:
    """Of many instants [n, nv]: torque, its derivative by the own joint, gravity's [n, 3, nv]."""

    def one(q: jax.Array, qd: jax.Array, qdd: jax.Array) -> jax.Array:
        # Nudged, as it is, at rest: side by side, since it is tracing that takes time.
        nudged = q + NUDGE * jnp.eye(len(q), dtype=q.dtype)
        moving = jnp.append(jnp.ones(len(q) + 1, q.dtype), 0.0)[:, None]
        places = jnp.concatenate([nudged, q[None], q[None]])
        each = partial(inverse_dynamics, model)
        found = jax.vmap(each)(places, moving * qd, moving * qdd)
        moved, tau, gravity = found[:-2], found[-2], found[-1]
        return jnp.stack([tau, (jnp.diagonal(moved) - tau) / NUDGE, gravity])

    return jax.vmap(one)(q, qd, qdd)

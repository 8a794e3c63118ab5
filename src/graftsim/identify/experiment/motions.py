"""Motions within a machine's limits as Fourier series, and the commands that make them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from graftsim.dynamics.actuation.drive import by_drive, drive_signal
from graftsim.dynamics.mechanism import prepare
from graftsim.dynamics.passive import passive_forces
from graftsim.dynamics.rnea import inverse_dynamics
from graftsim.errors import ProblemError
from graftsim.model.model import Model

# Share of the travel and of the force that is used; the rest is for what the model does not know.
SAFE = 0.9
# Half a travel where a joint has no limits (rad, m), and its speed if none is given (rad/s, m/s).
TRAVEL, SPEED = {"rad": 1.5, "m": 0.3}, {"rad": 2.0, "m": 0.3}
# The slowest wave lasts at most so many seconds.
SLOWEST = 10.0


class Motions:
    """Motions of all joints from coefficients [n, nv * 2 * harmonics], n side by side.

    q = c + e(t) sum_k a_k sin(k w t) + b_k cos(k w t) about the middle c of each joint's travel,
    with e rising from rest and falling back to it (Swevers et al. 1997), made smaller where travel
    or speed would not do.

    Raises ProblemError: a joint that nothing drives or that is no hinge or slide; no room to move.
    """

    def __init__(
        self,
        model: Model,
        time: np.ndarray,
        harmonics: int,
        middle: Mapping[str, float],
        velocity: float | Mapping[str, float] | None,
    ) -> None:
        _check(model)
        self.time, self.dt, self.shape = time, time[1] - time[0], (model.nv, 2, harmonics)
        self.centre, self.travel, self.speed = _room(model, middle, velocity)
        self._commands = jax.jit(jax.vmap(jax.vmap(partial(_commands, model))))
        T = time[-1]
        w = 2 * np.pi * np.arange(1, harmonics + 1) / min(T, SLOWEST)
        self._waves = np.stack([np.sin(np.outer(time, w)), np.cos(np.outer(time, w))])
        ramp = np.clip(np.minimum(time, T - time) / (0.1 * T), 0.0, 1.0)
        self._envelope = ramp**3 * (10 - 15 * ramp + 6 * ramp**2)

    @property
    def size(self) -> int:
        """Coefficients of a motion."""
        return int(np.prod(self.shape))

    def sines(self) -> np.ndarray:
        """What an engineer would try first: one sine on each joint, of different frequencies."""
        nv, _, harmonics = self.shape
        x = np.zeros(self.shape)
        x[np.arange(nv), 0, np.arange(nv) % harmonics] = 1.0
        return x.ravel()

    def motion(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, qd, qdd [n, t, nv] of coefficients x, within travel and speed."""
        s = np.einsum("nvck,ctk->ntv", x.reshape(-1, *self.shape), self._waves)
        s = s * self._envelope[:, None]
        rate = np.gradient(s, self.dt, axis=1)
        room = np.minimum(
            self.travel / np.maximum(np.abs(s).max(1), 1e-12),
            self.speed / np.maximum(np.abs(rate).max(1), 1e-12),
        )
        s = s * np.minimum(room, 1.0)[:, None]
        rate = np.gradient(s, self.dt, axis=1)
        return self.centre + s, rate, np.gradient(rate, self.dt, axis=1)

    def command(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> tuple[Any, Any]:
        """Commands [n, t, nu] for motions, and the largest share of a limit that each uses."""
        u, share = self._commands(jnp.asarray(q), jnp.asarray(qd), jnp.asarray(qdd))
        return np.asarray(u), np.asarray(share).max(1)


def _check(model: Model) -> None:
    """Raises ProblemError: other joints than hinges and slides, or one without its actuator."""
    tree = model.tree
    if tree.nq != tree.nv:
        raise ProblemError("excite plans motions of hinges and slides; this robot has others.")
    if model.closed:
        raise ProblemError(
            "excite plans motions of open chains; this robot has loops or couplings."
        )
    if model.actuator.sites:
        raise ProblemError("excite knows no actuators on sites.")
    driven = set(model.actuator.dof)
    alone = [name for i, name in enumerate(tree.dofs) if i not in driven]
    if alone:
        raise ProblemError(
            f"Nothing drives {', '.join(alone)}: excite plans motions in which every joint has an "
            "actuator."
        )
    if len(driven) < len(model.actuator.names):
        raise ProblemError("Two actuators drive one joint: excite cannot share a force among them.")
    if model.tendon.names or any(model.actuator.inputs):
        raise ProblemError("excite knows no tendons, and no further inputs of actuators.")


def _room(
    model: Model, middle: Mapping[str, float], velocity: float | Mapping[str, float] | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centre, half travel and greatest speed of each joint [nv]."""
    tree = model.tree
    for name in middle:
        if name not in tree.dofs:
            raise ProblemError(f"middle of '{name}': the joints are {', '.join(tree.dofs)}.")
    lower, upper = np.asarray(model.joint.lower), np.asarray(model.joint.upper)
    both = np.isfinite(lower) & np.isfinite(upper)
    centre = np.clip(0.0, lower, upper)
    centre[both] = (lower[both] + upper[both]) / 2
    centre = np.array([middle.get(n, c) for n, c in zip(tree.dofs, centre, strict=True)])
    wide = np.array([TRAVEL[u] for u in tree.dof_units])
    room = SAFE * np.minimum(upper - centre, centre - lower)
    if (room <= 0).any():
        name = tree.dofs[int(np.argmin(room))]
        raise ProblemError(f"{name} has no room to move about {middle.get(name, 0.0):g}.")
    speed = np.array([SPEED[u] for u in tree.dof_units])
    if isinstance(velocity, Mapping):
        speed = np.array([velocity.get(n, s) for n, s in zip(tree.dofs, speed, strict=True)])
    elif velocity is not None:
        speed = np.full(model.nv, float(velocity))
    if not (speed > 0).all():
        raise ProblemError("velocity must be positive.")
    return centre, np.minimum(room, wide), speed


def _commands(model: Model, q: Any, qd: Any, qdd: Any) -> tuple[Any, Any]:
    """Commands [nu] that give accelerations qdd, and shares of the actuators' limits [nu]."""
    m, a = prepare(model), model.actuator
    tau = inverse_dynamics(m, q, qd, qdd) - passive_forces(m, q, qd)
    dof = np.array(a.dof)
    force = tau[dof] / a.gear
    nothing = jnp.zeros(a.nu), jnp.zeros(a.na)
    at = drive_signal(a, *nothing, a.gear * q[dof], a.gear * qd[dof])
    u = by_drive(a, lambda drive, at, own: drive.command(force[own], at), at)

    def share(x: Any, low: Any, high: Any) -> Any:
        return jnp.maximum(
            jnp.where(jnp.isfinite(high), x / jnp.where(high > 0, high, 1e-12), 0.0),
            jnp.where(jnp.isfinite(low), x / jnp.where(low < 0, low, -1e-12), 0.0),
        )

    forces = share(force, a.force_lower, a.force_upper)
    return u, jnp.maximum(forces, share(u, a.control_lower, a.control_upper))

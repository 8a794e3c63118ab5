"""Drives: from commands to forces, through their limits, and on to the joints."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.actuation.memory import Seen, command, limited
from graftsim.dynamics.actuation.transmission import targets
from graftsim.dynamics.mechanism import assemble, rows
from graftsim.dynamics.tendons import Stretched
from graftsim.model.drive_type import DriveType, Signal
from graftsim.model.model import Actuators
from graftsim.model.numbers import ACTUATOR
from graftsim.taps import OFF, Tapper


class Driven(NamedTuple):
    """Joint forces of the actuators [nv], and what their memory follows."""

    tau: Float[Array, " nv"]
    seen: Seen


def drive_signal(
    actuator: Actuators,
    u: Float[Array, " nu"],
    act: Float[Array, " na"],
    length: Float[Array, " n"],
    rate: Float[Array, " n"],
    *,
    scope: Tapper = OFF,
) -> Signal:
    """What reaches the drives of all actuators: u after the delay, lengths and rates."""
    lags, memories = sum(actuator.lagged), np.flatnonzero([d.memory for d in actuator.drives])
    zero = jnp.zeros_like(length)
    memory = zero.at[memories].set(act[lags:]) if len(memories) else zero
    further = _further(actuator, u)
    names = (*ACTUATOR, *actuator.own)
    return Signal(
        command=scope.tap("actuator.command", command(actuator, u, act)),
        velocity=further("velocity", zero),
        torque=further("torque", zero),
        length=length,
        rate=rate,
        memory=memory,
        numbers={name: further(name, getattr(actuator, name)) for name in names},
    )


def _further(actuator: Actuators, u: Float[Array, " nu"]) -> Callable[[str, Array], Array]:
    """(name, value [n] without an input) -> value, replaced where an input has that name."""
    pairs = [(i, x) for i, own in enumerate(actuator.inputs) for x in own]
    n = len(actuator.names)

    def replaced(name: str, value: Array) -> Array:
        places = [(i, n + k) for k, (i, x) in enumerate(pairs) if x == name]
        if not places:
            return value
        owners, columns = (np.array(p) for p in zip(*places, strict=True))
        return value.at[owners].set(rows(u, columns))

    return replaced


def by_drive(
    actuator: Actuators, f: Callable[[DriveType, Signal, np.ndarray], Array], at: Signal
) -> Float[Array, " n"]:
    """f(drive, signal, rows) for all actuators of a drive at once, put in order."""
    groups: dict[DriveType, list[int]] = {}
    for i, drive in enumerate(actuator.drives):
        groups.setdefault(drive, []).append(i)
    index = [np.array(own) for own in groups.values()]
    pieces = [f(d, _part(at, own), own) for d, own in zip(groups, index, strict=True)]
    return assemble(pieces, index) if pieces else at.command


def _part(at: Signal, own: np.ndarray) -> Signal:
    every = {k: rows(v, own) for k, v in at.numbers.items()}
    return Signal(*(rows(x, own) for x in at[:-1]), numbers=every)


def actuator_forces(
    actuator: Actuators,
    u: Float[Array, " nu"],
    act: Float[Array, " na"],
    q_dof: Float[Array, " nv"],
    qd: Float[Array, " nv"],
    tendons: Stretched,
    *,
    scope: Tapper = OFF,
) -> Driven:
    """Joint forces of commands u after their delay; `q_dof` are displacements of the joints.

    With length = gear q and rate = gear qd, of a joint, a tendon or a site, the drive makes a force
    f, f is limited, then the joint feels gear f. tendons: with the sites behind them.
    """
    nv, n = qd.shape[0], len(actuator.names)
    target = targets(actuator, nv, len(tendons.length) - len(actuator.sites))
    places = jnp.concatenate([q_dof, tendons.length]), jnp.concatenate([qd, tendons.rate])
    length, rate = (actuator.gear * rows(x, target) for x in places)
    at = drive_signal(actuator, u, act, length, rate, scope=scope)
    f = by_drive(actuator, lambda drive, at, _: drive.force(at), at)
    f = scope.tap("actuator.drive", f)
    f = scope.tap("actuator.force", _limited(actuator, f, rate))
    # One actuator a joint is the common case; the incidence matrix covers the others.
    every = jnp.asarray(np.arange(nv + len(tendons.length))[:, None] == target, qd.dtype)
    felt = every @ (actuator.gear * f) if n else jnp.zeros(every.shape[0], qd.dtype)
    tau = felt[:nv] if not len(tendons.length) else felt[:nv] + felt[nv:] @ tendons.C
    return Driven(scope.tap("joint.tau_actuator", tau), _seen(actuator, u, at))


def _limited(actuator: Actuators, f: Float[Array, " n"], rate: Float[Array, " n"]) -> Array:
    """Within the limits of force, and on or below the line from stall to no load."""
    f = jnp.clip(f, actuator.force_lower, actuator.force_upper)
    own = np.flatnonzero(actuator.speed_limited)
    if not len(own):
        return f
    stall, speed = rows(actuator.stall_force, own), rows(actuator.no_load_speed, own)
    share = rows(rate, own) / speed
    upper, lower = (stall * jnp.maximum(1 - x, 0.0) for x in (share, -share))
    within = jnp.clip(rows(f, own), -lower, upper)
    return within if len(own) == len(actuator.names) else f.at[own].set(within)


def _seen(actuator: Actuators, u: Float[Array, " nu"], at: Signal) -> Seen:
    with_memory = np.flatnonzero([d.memory for d in actuator.drives])
    none = jnp.zeros(0, u.dtype)
    if not actuator.na:
        return Seen(none, none, none)

    def zero_without(f: Callable[[DriveType, Signal], Array | float]) -> Array:
        def own(drive: DriveType, at: Signal, own: np.ndarray) -> Array:
            return jnp.broadcast_to(f(drive, at), own.shape) if drive.memory else 0 * at.length

        return rows(by_drive(actuator, own, at), with_memory)

    rate = zero_without(lambda drive, at: drive.memory_rate(at))
    limit = zero_without(lambda drive, at: drive.memory_limit(at))
    return Seen(limited(actuator, u), rate, limit)

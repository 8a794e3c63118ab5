"""Tendons: what their springs, dampers, friction and limits do at a length and its rate."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.dynamics.paths import Arms
from graftsim.model.model import Joints, Tendons
from graftsim.taps import OFF, Tapper


class Stretched(NamedTuple):
    """Lengths and rates of the tendons [nt], what they do to the joints [nv], moment arms."""

    length: Float[Array, " nt"]
    rate: Float[Array, " nt"]
    tau: Float[Array, " nv"]
    C: Float[Array, "nt nv"]

    def beside(self, arms: Arms, qd: Float[Array, " nv"]) -> Stretched:
        """Further lengths behind those of the tendons, which nothing resists."""
        length = jnp.concatenate([self.length, arms.length])
        rate = jnp.concatenate([self.rate, arms.C @ qd])
        return Stretched(length, rate, self.tau, jnp.concatenate([self.C, arms.C]))


def ramp(x: Float[Array, " n"], width: Float[Array, " n"]) -> Float[Array, " n"]:
    """max(x, 0) with its corner rounded: a parabola over |x| < width/2, exact beyond.

    ramp(x) - ramp(-x) = x for every width.
    """
    half = width / 2
    curved = (x + half) ** 2 / (2 * jnp.where(width > 0, width, 1.0))
    return jnp.where(x >= half, x, jnp.where(x > -half, curved, 0.0))


def ramp_integral(x: Float[Array, " n"], width: Float[Array, " n"]) -> Float[Array, " n"]:
    """Integral of `ramp` from minus infinity to x."""
    half = width / 2
    curved = (x + half) ** 3 / (6 * jnp.where(width > 0, width, 1.0))
    return jnp.where(x >= half, x * x / 2 + width * width / 24, jnp.where(x > -half, curved, 0.0))


def stretch(tendon: Tendons, length: Float[Array, " nt"]) -> Float[Array, " nt"]:
    """How far each is outside its slack."""
    above = ramp(length - tendon.slack_upper, tendon.rounding)
    return above - ramp(tendon.slack_lower - length, tendon.rounding)


def limit(
    of: Joints | Tendons, x: Float[Array, " n"], rate: Float[Array, " n"]
) -> Float[Array, " n"]:
    """Force of limits of travel or length: k d (1 + c d_dot), never pulling back (Hunt & Crossley
    1975).

    d is the depth beyond the limit, d_dot its rate. Continuous at first touch, exactly zero inside.
    """

    def push(depth: Float[Array, " n"], rate: Float[Array, " n"]) -> Float[Array, " n"]:
        inside = jnp.isfinite(depth) & (depth > 0)
        d = jnp.where(inside, depth, 0.0)
        return of.limit_stiffness * d * jnp.maximum(1 + of.limit_damping * rate, 0.0)

    return push(of.lower - x, -rate) - push(x - of.upper, rate)


def tendon_energy(tendon: Tendons, length: Float[Array, " nt"]) -> Float[Array, ""]:
    """Energy stored in the springs of tendons (J)."""
    above = ramp_integral(length - tendon.slack_upper, tendon.rounding)
    below = ramp_integral(tendon.slack_lower - length, tendon.rounding)
    return jnp.sum(tendon.stiffness * (above + below))


def tendon_forces(
    tendon: Tendons,
    arms: Arms,
    qd: Float[Array, " nv"],
    *,
    scope: Tapper = OFF,
) -> Stretched:
    """Joint forces C^T (limits - k stretch - d rate - friction) at lengths and velocities."""
    nv, C = qd.shape[0], arms.C
    if not tendon.names:
        none = arms.length
        length, rate = scope.tap("tendon.length", none), scope.tap("tendon.rate", none)
        scope.tap("tendon.force", none)
        return Stretched(length, rate, scope.tap("joint.tau_tendon", jnp.zeros(nv, qd.dtype)), C)
    length = scope.tap("tendon.length", arms.length)
    rate = scope.tap("tendon.rate", C @ qd)
    width = jnp.where(tendon.friction > 0, tendon.friction_velocity, 1.0)
    dry = tendon.friction * jnp.tanh(rate / width)
    pull = -(tendon.stiffness * stretch(tendon, length) + tendon.damping * rate + dry)
    pull = pull + limit(tendon, length, rate)
    pull = scope.tap("tendon.force", pull)
    return Stretched(length, rate, scope.tap("joint.tau_tendon", pull @ C), C)

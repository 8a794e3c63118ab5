"""The backward pass of iLQR [Tassa 2012] with limits on commands [Tassa 2014], as one kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from graftsim.control.cost import Quadratic
from graftsim.solvers.small import solve

# Projected Newton steps of one time step, and the lengths that each tries.
_NEWTON, _LENGTHS = 20, (1.0, 0.5, 0.25, 0.1, 0.03, 0.01)
# Of the decrease that the slope promises, so much is enough.
_ENOUGH = 0.1


class Improvement(NamedTuple):
    """u + alpha k + K dx changes the cost by about alpha slope + alpha^2 curvature.

    definite: is every Q_uu positive? The rest means nothing where one is not.
    """

    k: Float[Array, "t m"]
    K: Float[Array, "t m n"]
    slope: Float[Array, ""]
    curvature: Float[Array, ""]
    definite: Bool[Array, ""]


class Limits(NamedTuple):
    """How far commands may go from where they are, down and up."""

    low: Float[Array, "*t m"]
    high: Float[Array, "*t m"]


def riccati(
    F: Float[Array, "t n z"],
    running: Quadratic,
    terminal: Quadratic,
    room: Limits | None,
    mu: Float[Array, ""],
) -> Improvement:
    """Feedback and feed-forward of all steps, from the last to the first.

    F = (A, B). Q = l + F' V' F; k and K come from Q with mu (I + B' B) more in uu and mu B' A in
    ux: mu pulls states and commands to where they are [Tassa 2012, 10; the term of
    commands is Levenberg's]. The value function follows from Q itself [ibid., 11].
    """
    n = F.shape[1]
    slope = curvature = jnp.zeros((), F.dtype)

    def step(carry: Any, given: Any) -> tuple[Any, tuple[Array, Array]]:
        v, V, slope, curvature, definite = carry
        F, (_, g, L), room = given
        q, Q = g + F.T @ v, L + F.T @ V @ F
        near = mu * (F.T @ F[:, n:])
        m = near.shape[1]
        Q_uu, Q_ux = Q[n:, n:] + near[n:] + mu * jnp.eye(m, dtype=F.dtype), Q[n:, :n] + near[:n].T
        definite = definite & _positive(Q_uu)
        if room is None:
            found = solve(Q_uu, jnp.concatenate([q[n:, None], Q_ux], 1))
            k, K = -found[:, 0], -found[:, 1:]
        else:
            k, free = box_newton(Q_uu, q[n:], room)
            K = -solve(_only(Q_uu, free), jnp.where(free[:, None], Q_ux, 0.0))
        Quu_k = Q[n:, n:] @ k
        slope, curvature = slope + k @ q[n:], curvature + 0.5 * k @ Quu_k
        v = q[:n] + K.T @ (Quu_k + q[n:]) + Q[n:, :n].T @ k
        cross = K.T @ Q[n:, :n]
        V = Q[:n, :n] + K.T @ Q[n:, n:] @ K + cross + cross.T
        return (v, 0.5 * (V + V.T), slope, curvature, definite), (k, K)

    start = (terminal.gradient, terminal.hessian, slope, curvature, jnp.asarray(True))
    end, (k, K) = jax.lax.scan(step, start, (F, running, room), reverse=True)
    return Improvement(k, K, *end[2:])


def box_newton(
    H: Float[Array, "m m"], g: Float[Array, " m"], room: Limits
) -> tuple[Float[Array, " m"], Bool[Array, " m"]]:
    """The u within its limits that makes g' u + u' H u / 2 least, and which of it are free.

    Projected Newton [Tassa 2014, I.C]: what pushes against its limit is held, a Newton step of the
    others is projected onto the limits, and the longest of a few lengths is taken that lowers the
    cost by a tenth of what its slope promises.
    """
    low, high = room
    lengths = jnp.asarray(_LENGTHS, g.dtype)

    def cost(u: Array) -> Array:
        return u @ (g + 0.5 * (H @ u))

    def held(u: Array, slope: Array) -> Array:
        return ((u <= low) & (slope > 0)) | ((u >= high) & (slope < 0))

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        count, _, moving = carry
        return (count < _NEWTON) & moving

    def newton(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        count, u, _ = carry
        slope = g + H @ u
        free = ~held(u, slope)
        right = jnp.where(free, slope, 0.0)
        step = -solve(_only(H, free), right[:, None])[:, 0]
        tried = jnp.clip(u + lengths[:, None] * step, low, high)
        promised = (tried - u) @ slope
        good = jax.vmap(cost)(tried) - cost(u) <= _ENOUGH * promised
        new = tried[jnp.argmax(good)]
        size = jnp.max(jnp.abs(new - u))
        moving = jnp.any(good) & (size > 1e-12 * (1.0 + jnp.max(jnp.abs(u))))
        return count + 1, jnp.where(moving, new, u), moving

    start = jnp.asarray(0), jnp.clip(jnp.zeros_like(g), low, high), jnp.asarray(True)
    u = jax.lax.while_loop(unfinished, newton, start)[1]
    return u, ~held(u, g + H @ u)


def _only(H: Array, free: Array) -> Array:
    """H of what is free, the identity of the rest."""
    both = free[:, None] & free
    return jnp.where(both, H, jnp.eye(len(free), dtype=H.dtype))


def _positive(H: Array) -> Array:
    """Are all pivots of Gaussian elimination positive?"""
    good = jnp.asarray(True)
    for _ in range(H.shape[0]):
        good = good & (H[0, 0] > 0)
        H = H[1:, 1:] - H[1:, :1] * (H[:1, 1:] / H[0, 0])
    return good

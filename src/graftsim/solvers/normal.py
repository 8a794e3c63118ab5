"""Non-negative impulses along normals: 0 <= x is complementary to A x + b >= 0.

Made for short code, not for speed or the last digit: all of it is loops.
Projected Gauss-Seidel finds x; the derivative is that of the solution, A_aa dx_a = -(dA x + db)_a
over those a that press.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from graftsim.solvers.general import solve_damped

# Passes over all rows at most, and the change of velocities to be content with, of the largest.
_SWEEPS, _ENOUGH = 100, 1e-8


def _slopes(A: Float[Array, "n n"]) -> tuple[Float[Array, " n"], Bool[Array, " n"]]:
    """The diagonal, one where an impulse moves nothing, and where it moves something.

    Two shapes may overlap where no coordinate can part them: a planar swimmer in a floor.
    """
    slope = jnp.diagonal(A)
    moved = slope > float(jnp.finfo(A.dtype).eps) * jnp.max(slope)
    return jnp.where(moved, slope, 1.0), moved


@jax.custom_jvp
def press(A: Float[Array, "n n"], b: Float[Array, " n"]) -> Float[Array, " n"]:
    """x for a symmetric, positive semidefinite A; a row that no impulse moves does not press."""
    slope, moved = _slopes(A)
    enough = _ENOUGH * jnp.max(jnp.abs(b))

    def row(carry: tuple[Array, Array], i: Array) -> tuple[tuple[Array, Array], None]:
        x, most = carry
        new = x[i] - (A[i] @ x + b[i]) / slope[i]
        new = jnp.where(moved[i] & (new > 0), new, 0.0)
        change = jnp.abs(new - x[i]) * slope[i]
        return (x.at[i].set(new), jnp.where(change > most, change, most)), None

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        k, _, change = carry
        return (k < _SWEEPS) & (change > enough)

    def sweep(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        k, x, _ = carry
        x, change = jax.lax.scan(row, (x, jnp.zeros((), b.dtype)), jnp.arange(len(b)))[0]
        return k + 1, x, change

    start = jnp.asarray(0), jnp.zeros_like(b), jnp.asarray(jnp.inf, b.dtype)
    return jax.lax.while_loop(unfinished, sweep, start)[1]


@press.defjvp
def _press_jvp(primals, tangents):
    A, b = primals
    dA, db = tangents
    x = press(A, b)
    on = x > 0
    slope, _ = _slopes(A)
    J = jnp.where(on[:, None], jnp.where(on, A, 0.0), jnp.diag(slope))
    right = jnp.where(on, -(dA @ x + db), 0.0)
    return x, solve_damped(J, right[:, None], slope, unroll=False)[:, 0]

"""Non-negative impulses along normals: 0 <= x is complementary to A x + b >= 0.

For what need not be solved to the last digit nor quickly: all of it is loops, so its code is short.
Projected Gauss-Seidel finds x; the derivative is that of the solution, A_aa dx_a = -(dA x + db)_a
over those a that press.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.solvers.general import solve_damped

# Passes over all rows; each takes the error down by a factor that depends on the coupling.
_SWEEPS = 30


@jax.custom_jvp
def press(A: Float[Array, "n n"], b: Float[Array, " n"]) -> Float[Array, " n"]:
    """x for a symmetric, positive semidefinite A with positive diagonal."""
    slope = jnp.diagonal(A)

    def row(x: Array, i: Array) -> tuple[Array, None]:
        new = x[i] - (A[i] @ x + b[i]) / slope[i]
        return x.at[i].set(jnp.where(new > 0, new, 0.0)), None

    def sweep(x: Array, _: None) -> tuple[Array, None]:
        return jax.lax.scan(row, x, jnp.arange(len(b)))[0], None

    return jax.lax.scan(sweep, jnp.zeros_like(b), None, length=_SWEEPS)[0]


@press.defjvp
def _press_jvp(primals, tangents):
    A, b = primals
    dA, db = tangents
    x = press(A, b)
    on = x > 0
    slope = jnp.diagonal(A)
    J = jnp.where(on[:, None], jnp.where(on, A, 0.0), jnp.diag(slope))
    right = jnp.where(on, -(dA @ x + db), 0.0)
    return x, solve_damped(J, right[:, None], slope, unroll=False)[:, 0]

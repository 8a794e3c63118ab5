"""Projected Gauss-Seidel for the contact problem.

Sweeps visit the contacts in turn and solve each for its own impulse (Jean 1999; Duriez et al.
2006): robust, and slow where contacts are coupled. So Newton's method, which needs a step or two
once it is known who sticks and who slides, is tried after every few sweeps. Neither is ever
differentiated: derivatives are those of the solution (`cone.solve_contact`).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.solvers.cone import Problem, goal, newton, slopes
from graftsim.solvers.sections import Section, contains, project

# Sweeps between tries of Newton.
_FEW = 5


class GaussSeidel(NamedTuple):
    """At most so many sweeps, fewer when the residual is below the tolerance.

    `newton`: steps in each try; 0 leaves it to the sweeps. `tolerance`: relative to the velocities
    of approach and sliding; None: eps^(2/3); 0: always all sweeps.
    """

    sweeps: int = 50
    newton: int = 3
    tolerance: float | None = None
    section: Section = "cone"
    unroll: bool = True

    def solve(self, problem: Problem, start: Float[Array, "n 3"]) -> Float[Array, "n 3"]:
        """Impulses, from a first guess."""
        enough = goal(problem, self.tolerance)
        rate = _sweep(problem, self.section)

        def unfinished(carry: tuple[Array, Array, Array]) -> Array:
            k, _, error = carry
            return (k < self.sweeps) & (error > enough)

        def sweep(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            return (carry[0] + 1, *rate(carry[1]))

        def approach(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            k, x, _ = carry
            x, error = newton(problem, x, self.newton, enough, self.section, self.unroll)
            last = jnp.minimum(k + _FEW, self.sweeps)
            # `error` is Newton's residual here. A sweep returns another measure, the change of
            # velocity that it caused, which is dropped: if Newton's residual is too large, all
            # sweeps up to the next try are made.
            n, x, _ = jax.lax.while_loop(
                lambda c: (c[0] < last) & (error > enough), sweep, (k, x, error)
            )
            return jnp.maximum(n, k + 1), x, error

        large = jnp.asarray(jnp.inf, problem.b.dtype)
        step = approach if self.newton else sweep
        return jax.lax.while_loop(unfinished, step, (jnp.asarray(0), start, large))[1]


def _sweep(problem: Problem, section: Section):
    """One pass over the contacts: new impulses, and the largest change of velocity it caused."""
    n = problem.n
    A = problem.A.reshape(n, 3, 3 * n)
    blocks = problem.blocks()
    steep_n, steep_t = slopes(blocks)
    a, b, c = blocks[:, 1, 1], blocks[:, 1, 2], blocks[:, 2, 2]
    det = a * c - b * b
    inverse = jnp.stack([jnp.stack([c, -b], -1), jnp.stack([-b, a], -1)], -2) / det[:, None, None]

    def visit(i: int, x: Array) -> tuple[Array, Array]:
        w = A[i] @ x.reshape(-1) + problem.b[i]
        old = x[i]
        normal = jnp.maximum(0.0, old[0] - w[0] / steep_n[i])
        w_t = w[1:] + blocks[i, 1:, 0] * (normal - old[0])
        r = problem.mu[i] * normal
        # The exact minimum of the block where it lies inside the cone, else a projected step.
        sticking = old[1:] - inverse[i] @ w_t
        stepped = project((old[1:] - w_t / steep_t[i])[None], r[None], section).point[0]
        inside = contains(sticking[None], r[None], section)[0]
        tangent = jnp.where(inside, sticking, stepped)
        new = jnp.concatenate([normal[None], tangent])
        steep = jnp.stack([steep_n[i], steep_t[i], steep_t[i]])
        return x.at[i].set(new), jnp.max(jnp.abs(new - old) * steep)

    def rate(x: Array) -> tuple[Array, Array]:
        change = jnp.zeros((), x.dtype)
        for i in range(n):
            # Without the barrier XLA may fuse the chain of visits, and compute each many times.
            x, moved = jax.lax.optimization_barrier(visit(i, x))
            change = jnp.maximum(change, moved)
        return x, change

    return rate

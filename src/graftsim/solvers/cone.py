"""The contact problem: non-negative normal impulses and friction within a cone.

For n contacts, impulses lambda = (normal, tangent 1, tangent 2) each, and the relative velocities
w = A lambda + b that they leave behind:

    0 <= lambda_n  is complementary to  w_n >= 0,
    lambda_t = the point of K(mu lambda_n) nearest to lambda_t - w_t / s,   any s > 0,

K(r) a section of the cone at a height where a disc has radius r. That fixed point is the solution;
its residual says how far one is from it, and its derivative gives Newton's method and, by the
implicit function theorem, the derivative of the solution (Alart, Curnier 1991).

A is symmetric and positive semidefinite. A small multiple of its diagonal is added (`regularised`):
that makes impulses unique where contacts are redundant (a box on four corners), and changes
velocities by that fraction only.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.solvers.general import factor, solve_damped
from graftsim.solvers.sections import Section, project
from graftsim.spatial import safe


class Problem(NamedTuple):
    """A [3n, 3n] (1/kg), b [n, 3] (m/s), mu [n]; per contact: normal, tangent 1, tangent 2."""

    A: Float[Array, "3n 3n"]
    b: Float[Array, "n 3"]
    mu: Float[Array, " n"]

    @property
    def n(self) -> int:
        """Number of contacts."""
        return self.b.shape[0]

    def blocks(self) -> Float[Array, "n 3 3"]:
        """Diagonal blocks of A."""
        n = self.n
        A = self.A.reshape(n, 3, n, 3)
        return jnp.stack([A[i, :, i] for i in range(n)])


def regularised(problem: Problem) -> Problem:
    """With eps^(2/3) of the diagonal added, and one where a direction cannot move at all."""
    A = problem.A
    diagonal = jnp.diagonal(A)
    small = float(jnp.finfo(A.dtype).eps) ** (2 / 3)
    extra = jnp.where(diagonal > 0, small * diagonal, 1.0)
    return problem._replace(A=A + jnp.diag(jax.lax.stop_gradient(extra)))


def velocities(problem: Problem, impulse: Float[Array, "n 3"]) -> Float[Array, "n 3"]:
    """w = A lambda + b."""
    return (problem.A @ impulse.reshape(-1)).reshape(-1, 3) + problem.b


def slopes(blocks: Float[Array, "n 3 3"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """A_nn, and the larger eigenvalue of the tangential block, the steepest slope of friction."""
    a, b, c = blocks[:, 1, 1], blocks[:, 1, 2], blocks[:, 2, 2]
    return blocks[:, 0, 0], (a + c) / 2 + safe.sqrt((a - c) ** 2 / 4 + b * b)


def residual(
    problem: Problem, impulse: Float[Array, "n 3"], section: Section
) -> Float[Array, "n 3"]:
    """How far impulses are from the solution, as velocities (m/s)."""
    return _residual(problem, impulse, section)[0]


def _residual(problem: Problem, impulse: Float[Array, "n 3"], section: Section):
    """The residual, and what its derivative needs: which contacts are closed, P_z and P_r."""
    w = velocities(problem, impulse)
    steep_n, steep_t = (jax.lax.stop_gradient(s) for s in slopes(problem.blocks()))
    # What presses by less than the solver's own error is open, free to leave: a body that an impact
    # without restitution has stopped has the slope of one that leaves slowly.
    pressed = steep_n * impulse[:, 0]
    closed = w[:, 0] < pressed - float(jnp.finfo(w.dtype).eps) ** (2 / 3)
    normal = jnp.where(closed, w[:, 0], pressed)
    s = steep_t[:, None]
    z, r = impulse[:, 1:] - w[:, 1:] / s, problem.mu * impulse[:, 0]
    p = project(z, r, section)
    R = jnp.concatenate([normal[:, None], s * (impulse[:, 1:] - p.point)], -1)
    return R, (closed, p.by_z, p.by_r, steep_n, steep_t)


def jacobian(
    problem: Problem, impulse: Float[Array, "n 3"], section: Section
) -> Float[Array, "3n 3n"]:
    """Derivative of `residual` by the impulses, on the branch that they are on.

    Closed contacts have the row of A, sliding ones a mixture of it and of the cone's surface:
    s (dlambda_t - P_z (dlambda_t - A_t dlambda / s) - P_r mu dlambda_n).
    """
    n = problem.n
    _, (closed, P_z, P_r, steep_n, steep_t) = _residual(problem, impulse, section)
    A = problem.A.reshape(n, 3, 3 * n)
    own = jnp.asarray(np.eye(3 * n).reshape(n, 3, 3 * n), A.dtype)
    normal = jnp.where(closed[:, None], A[:, 0], steep_n[:, None] * own[:, 0])
    stay = own[:, 1:] - jnp.einsum("nij,njk->nik", P_z, own[:, 1:])
    pull = (problem.mu[:, None] * P_r)[:, :, None] * own[:, :1]
    s = steep_t[:, None, None]
    tangential = s * (stay - pull) + jnp.einsum("nij,njk->nik", P_z, A[:, 1:])
    return jnp.concatenate([normal[:, None], tangential], 1).reshape(3 * n, 3 * n)


class Method(Protocol):
    """How to find the solution; hashable, since programs are compiled for it."""

    @property
    def section(self) -> Section: ...
    @property
    def unroll(self) -> bool:
        """See `general.factor`."""
        ...

    def solve(self, problem: Problem, start: Float[Array, "n 3"]) -> Float[Array, "n 3"]:
        """Impulses of a regularised problem, from a first guess."""
        ...


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def solve_contact(
    problem: Problem, start: Float[Array, "n 3"], method: Method
) -> Float[Array, "n 3"]:
    """Impulses of the contact problem (N s), rows normal, tangent 1, tangent 2.

    `start` is a first guess; it has no influence on derivatives, which are those of the solution:
    J dlambda = -dR, in reverse mode with the transposed J. Where redundant contacts disagree,
    J is singular: there the derivative is that of slightly soft contacts (`general.solve_damped`).
    """
    return method.solve(regularised(problem), start)


@solve_contact.defjvp
def _solve_contact_jvp(method: Method, primals, tangents):
    problem, start = primals
    x = solve_contact(problem, start, method)
    at = jax.lax.stop_gradient(x)
    section = method.section
    _, dR = jax.jvp(lambda p: residual(regularised(p), at, section), (problem,), (tangents[0],))
    problem = regularised(problem)
    J = jacobian(problem, x, section)
    steep_n, steep_t = slopes(problem.blocks())
    scale = jnp.stack([steep_n, steep_t, steep_t], -1).reshape(-1)
    return x, -solve_damped(J, dR.reshape(-1, 1), scale, method.unroll).reshape(x.shape)


def speed(problem: Problem) -> Float[Array, ""]:
    """Size of the velocities that matter (m/s): approach and sliding, not the room of open gaps."""
    return jnp.maximum(jnp.max(-problem.b[:, 0]), jnp.max(jnp.abs(problem.b[:, 1:])))


def goal(problem: Problem, tolerance: float | None) -> Float[Array, ""]:
    """Residual (m/s) to be content with."""
    default = float(jnp.finfo(problem.b.dtype).eps) ** (2 / 3)
    return (default if tolerance is None else tolerance) * speed(problem)


def newton(
    problem: Problem,
    x: Float[Array, "n 3"],
    steps: int,
    enough: Float[Array, ""],
    section: Section,
    unroll: bool,
) -> tuple[Float[Array, "n 3"], Float[Array, ""]]:
    """At most so many Newton steps, each kept only if it lowers the residual; and the residual."""

    def size(x: Array) -> Array:
        return jnp.max(jnp.abs(residual(problem, x, section)))

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        k, _, error = carry
        return (k < steps) & (error > enough)

    def step(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        k, x, error = carry
        J = jacobian(problem, x, section)
        R = residual(problem, x, section).reshape(-1, 1)
        new = x - factor(J, unroll)(R).reshape(x.shape)
        after = size(new)
        better = after < error
        k = jnp.where(better, k + 1, steps)
        return k, jnp.where(better, new, x), jnp.where(better, after, error)

    _, x, error = jax.lax.while_loop(unfinished, step, (jnp.asarray(0), x, size(x)))
    return x, error

"""Rigid contact by impulses: what a step's complementarity problem is, and what its solution does.

Velocities of a step that meets no contact, u, are what the problem starts from. In the step of
length h each contact with gap g is in one of three situations:

- it closes: g + h u_n <= 0. The impact comes after t = -g / u_n (0 if closed already), at the speed
  reached by then. Newton's law asks for v_n >= -e u_n(t), and what acts after t still accelerates;
- it is open: it must not close faster than it can, v_n >= -g / h;
- it overlaps: v_n >= alpha depth / h pushes it apart (Baumgarte).

An impulse acts from its own time of impact on. Positions therefore move with
v - sum_k (t_k / h) H^-1 J_k^T lambda_k, which is where the derivative of the time of impact enters:
through it a bounce has the derivative of a bounce (the saltation matrix), whatever the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.contact.detect import Places, detect, places
from graftsim.contact.kinetics import relative_velocities, unit_impulses
from graftsim.contact.law import ContactLaw, Free
from graftsim.dynamics.mechanism import Mechanism, rows
from graftsim.errors import ModelError
from graftsim.solvers.cone import Method, Problem, regularised, residual, solve_contact
from graftsim.solvers.interior_point import InteriorPoint
from graftsim.solvers.pgs import GaussSeidel
from graftsim.taps import Tapper


class ImpulseLaw(ContactLaw):
    """A law that changes velocities at once, by impulses (N s)."""

    impulsive: ClassVar[bool] = True
    alpha: eqx.AbstractVar[Float[Array, ""]]

    method: eqx.AbstractVar[Method]

    def velocities(
        self,
        m: Mechanism,
        free: Free,
        qd: Float[Array, " nv"],
        h: Float[Array, ""],
        scope: Tapper,
    ) -> tuple[Float[Array, " nv"], Float[Array, " nv"]]:
        """One contact problem for all contacts of all bodies."""
        at = places(m.model)
        found = detect(m, free.X_0)
        depth = scope.tap("contact.depth", found.depth)
        found = found._replace(depth=depth)
        before, after = (
            relative_velocities(found, at, free.X_0, free.link_velocity(m, x))
            for x in (qd, free.qd)
        )
        scope.offer(
            lambda: {"contact.position": found.position, "contact.normal": found.frame[:, 0]}
        )
        after_n = scope.tap("contact.velocity_n", after[:, 0])
        after_t = scope.tap("contact.velocity_t", after[:, 1:])
        pair = m.model.pair
        mu = scope.tap("contact.friction", rows(pair.friction, at.pair))
        target, delay = self._target(m, at, depth, before[:, 0], after_n, h)
        unit = unit_impulses(free.articulated, found, at, free.X_0)
        softness = jnp.repeat(rows(pair.cfm, at.pair), 3)
        problem = Problem(
            A=unit.delassus() + jnp.diag(softness),
            b=jnp.concatenate([(after_n - target)[:, None], after_t], -1),
            mu=mu,
        )
        impulse = solve_contact(problem, jnp.zeros_like(problem.b), self.method)
        scope.offer(lambda: {"contact.residual": self._residual(problem, impulse)})
        force_n = scope.tap("contact.force_n", impulse[:, 0] / h)
        force_t = scope.tap("contact.force_t", impulse[:, 1:] / h)
        impulse = h * jnp.concatenate([force_n[:, None], force_t], -1)
        # What networks add must not act where nothing touches.
        impulse = jnp.where((problem.b[:, :1] < 0) | (impulse[:, :1] > 0), impulse, 0.0)
        late = impulse * (1 - delay / h)[:, None]
        change = unit.respond(jnp.stack([impulse.reshape(-1), late.reshape(-1)], -1))
        return free.qd + change[:, 0], free.qd + change[:, 1]

    def _residual(self, problem: Problem, impulse: Float[Array, "nc 3"]) -> Float[Array, " nc"]:
        error = residual(regularised(problem), impulse, self.method.section)
        return jnp.max(jnp.abs(error), -1)

    def _target(
        self,
        m: Mechanism,
        at: Places,
        depth: Float[Array, " nc"],
        before: Float[Array, " nc"],
        after: Float[Array, " nc"],
        h: Float[Array, ""],
    ) -> tuple[Float[Array, " nc"], Float[Array, " nc"]]:
        """Least normal velocity that each contact may be left with, and its time of impact (s)."""
        gap = jnp.maximum(-depth, 0.0)
        e = rows(m.model.pair.restitution, at.pair)
        closes = gap + h * after <= 0
        approach = jnp.where(closes & (after < 0), after, -1.0)
        delay = jnp.where(closes, -gap / approach, 0.0)
        share = delay / h
        arrival = before + share * (after - before)
        bounce = -e * jnp.minimum(arrival, 0.0) + (1 - share) * (after - before)
        bounce = jnp.where((e > 0) & (arrival < 0), jnp.maximum(bounce, 0.0), 0.0)
        apart = self.alpha * jnp.maximum(depth, 0.0) / h
        return jnp.where(closes | (depth > 0), jnp.maximum(bounce, apart), -gap / h), delay


class Complementarity(ImpulseLaw):
    """Rigid contact with Coulomb's cone, by projected Gauss-Seidel.

    `alpha`: share of an overlap that is pushed out in a step. `sweeps`: at most, fewer when
    converged; a Newton iteration of at most `newton` steps finishes them. `cone`: "cone", or
    "pyramid" for friction bounded in each tangent direction by itself.
    """

    alpha: Float[Array, ""]
    method: GaussSeidel = eqx.field(static=True)

    def __init__(
        self,
        alpha: float = 0.2,
        *,
        sweeps: int = 50,
        newton: int = 5,
        tolerance: float | None = None,
        cone: Literal["cone", "pyramid"] = "cone",
    ) -> None:
        self.alpha = jnp.asarray(alpha, float)
        self.method = GaussSeidel(sweeps, newton, tolerance, cone)


class LinearComplementarity(ImpulseLaw):
    """Rigid contact with a polyhedral cone, as a linear complementarity problem by interior point.

    `directions`: number of friction directions, evenly spread from the first tangent, or their
    angles (rad) in the tangent plane. `iterations`: at most.
    """

    alpha: Float[Array, ""]
    method: InteriorPoint = eqx.field(static=True)

    def __init__(
        self,
        alpha: float = 0.2,
        *,
        directions: int | Sequence[float] = 4,
        iterations: int = 40,
        newton: int = 5,
        tolerance: float | None = None,
    ) -> None:
        """Raises ModelError: directions that do not surround the contact."""
        self.alpha = jnp.asarray(alpha, float)
        if isinstance(directions, int):
            directions = [2 * np.pi * k / directions for k in range(directions)]
        angles = tuple(sorted(float(x) for x in directions))
        gaps = np.diff([*angles, angles[0] + 2 * np.pi]) if angles else np.array([7.0])
        if gaps.max() > np.pi + 1e-9:
            raise ModelError(
                f"Friction directions {angles} rad leave a gap of {gaps.max():.3g} rad, in which "
                "there would be no friction; at most half a turn may lie between two of them."
            )
        self.method = InteriorPoint(angles, iterations, newton, tolerance)

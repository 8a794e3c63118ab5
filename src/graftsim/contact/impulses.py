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

import abc
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from graftsim.contact.detect import Contacts, Places, detect, places
from graftsim.contact.kinetics import coupled, relative_velocities, signs_of, unit_impulses
from graftsim.contact.law import ContactLaw, Free
from graftsim.dynamics.mechanism import Mechanism, rows
from graftsim.errors import ModelError
from graftsim.model.model import Model
from graftsim.model.pairs import contact_counts
from graftsim.model.state import State
from graftsim.solvers.cone import Method, Problem, regularised, residual, solve_contact
from graftsim.solvers.general import straight
from graftsim.solvers.interior_point import InteriorPoint
from graftsim.solvers.pgs import GaussSeidel
from graftsim.taps import Tapper


def _number(x: Any) -> Float[Array, ""]:
    return jnp.asarray(x, float)


def _angles(directions: int | Sequence[float]) -> tuple[float, ...]:
    """Angles (rad) of friction directions, ascending."""
    if isinstance(directions, int):
        directions = [2 * np.pi * k / directions for k in range(directions)]
    angles = tuple(sorted(float(x) for x in directions))
    gaps = np.diff([*angles, angles[0] + 2 * np.pi]) if angles else np.array([7.0])
    if gaps.max() > np.pi + 1e-9:
        raise ModelError(
            f"Friction directions {angles} rad leave a gap of {gaps.max():.3g} rad, in which "
            "there would be no friction; at most half a turn may lie between two of them."
        )
    return angles


# Gaps below this (m) are contacts already, not impacts to come.
TOUCHING = 1e-9
# A velocity (m/s) that nothing reaches.
_FAR = 1e9


class ImpulseLaw(ContactLaw):
    """A law that changes velocities at once, by impulses (N s)."""

    impulsive: ClassVar[bool] = True
    alpha: eqx.AbstractVar[Float[Array, ""]]

    most: eqx.AbstractVar[int]
    impacts: eqx.AbstractVar[int]
    foresees: eqx.AbstractVar[bool]

    @abc.abstractmethod
    def method(self, unroll: bool) -> Method:
        """How the contact problem is solved; `unroll`: see `solvers.general.factor`."""

    def velocities(
        self,
        m: Mechanism,
        free: Free,
        state: State,
        h: Float[Array, ""],
        scope: Tapper,
    ) -> tuple[Float[Array, " nv"], Float[Array, " nv"], Float[Array, "nc 3"]]:
        """One contact problem for all contacts of all bodies."""
        at = places(m.model)
        found = detect(m, free.X_0)
        depth = scope.tap("contact.depth", found.depth)
        found = found._replace(depth=depth)
        before, after = (
            relative_velocities(found, at, free.X_0, free.link_velocity(m, x))
            for x in (state.qd, free.qd)
        )
        scope.offer(
            lambda: {"contact.position": found.position, "contact.normal": found.frame[:, 0]}
        )
        after_n = scope.tap("contact.velocity_n", after[:, 0])
        after_t = scope.tap("contact.velocity_t", after[:, 1:])
        pair = m.model.pair
        mu = scope.tap("contact.friction", rows(pair.friction, at.pair))
        target, delay = self._target(m, at, depth, before[:, 0], after_n, h)
        b = jnp.concatenate([(after_n - target)[:, None], after_t], -1)
        # Where there are too many for all: those that would close first.
        index = _least(b[:, 0], self.most) if len(at.pair) > self.most else None
        pick = _picker(index)
        signs = pick(jnp.asarray(signs_of(at, len(free.X_0.r)).T, b.dtype)).T
        unroll = index is None and straight(coupled(m.tree, at), 3)
        chosen = Contacts(*map(pick, found))
        unit = unit_impulses(free.articulated, chosen, signs, free.X_0, unroll)
        softness = jnp.diag(jnp.repeat(pick(rows(pair.cfm, at.pair)), 3))
        problem = Problem(unit.delassus() + softness, pick(b), pick(mu))
        method = self.method(unroll)
        solved = solve_contact(problem, pick(state.impulse), method)
        impulse = found_impulse = _put(index, solved, jnp.zeros_like(b))

        def residuals() -> dict[str, Array]:
            waiting = jnp.maximum(-b[:, 0], 0.0)
            left = _left_open(problem, solved, method)
            return {"contact.residual": _put(index, left, waiting)}

        scope.offer(residuals)
        force_n = scope.tap("contact.force_n", impulse[:, 0] / h)
        force_t = scope.tap("contact.force_t", impulse[:, 1:] / h)
        impulse = h * jnp.concatenate([force_n[:, None], force_t], -1)
        # What networks add must not act where nothing touches.
        impulse = jnp.where((b[:, :1] < 0) | (impulse[:, :1] > 0), impulse, 0.0)
        late = impulse * (1 - delay / h)[:, None]
        both = jnp.stack([pick(impulse).reshape(-1), pick(late).reshape(-1)], -1)
        after = free.qd[:, None] + unit.respond(both)
        return after[:, 0], after[:, 1], jax.lax.stop_gradient(found_impulse)

    def rest(self, m: Model) -> Float[Array, "nc 3"]:
        """No impulse yet."""
        return jnp.zeros((sum(contact_counts(m)), 3), m.link.mass.dtype)

    def located_impacts(self) -> int:
        """Impacts of a step that are met by a sub-step of their own."""
        return self.impacts

    def touching(self) -> ImpulseLaw:
        """The same law for a step that ends where an impact begins: only what touches acts."""
        return replace(self, foresees=False)

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
        target = jnp.where(closes | (depth > 0), jnp.maximum(bounce, apart), -gap / h)
        if not self.foresees:
            # What is apart stays so to the end of this step, and is as good as far away.
            away = gap > TOUCHING
            target, delay = jnp.where(away, -_FAR, target), jnp.where(away, 0.0, delay)
        return target, delay


def _least(x: Float[Array, " n"], k: int) -> Int[Array, " k"]:
    """Where the k least are."""

    def take(left: Array, _: None) -> tuple[Array, Array]:
        i = jnp.argmin(left)
        return left.at[i].set(jnp.inf), i

    return jax.lax.scan(take, jax.lax.stop_gradient(x), None, length=k)[1]


def _picker(index: Int[Array, " k"] | None) -> Callable[[Array], Array]:
    """Rows that are wanted: all, or some."""
    return (lambda x: x) if index is None else (lambda x: x[index])


def _put(index: Int[Array, " k"] | None, some: Array, others: Array) -> Array:
    """Rows for all contacts from those of some."""
    return some if index is None else others.at[index].set(some, unique_indices=True)


def _left_open(
    problem: Problem, impulse: Float[Array, "nc 3"], method: Method
) -> Float[Array, " nc"]:
    error = residual(regularised(problem), impulse, method.section)
    return jnp.max(jnp.abs(error), -1)


class Complementarity(ImpulseLaw):
    """Rigid contact with Coulomb's cone, by projected Gauss-Seidel.

    `alpha`: share of an overlap that is pushed out in a step. `sweeps`: at most, fewer when
    converged; a few sweeps at a time, followed by at most `newton` Newton steps (0: none).
    `tolerance`: of the residual, relative to the velocities of approach; None: eps^(2/3), 0:
    always all sweeps. `cone`: "cone", or "pyramid" for friction bounded in each tangent direction
    by itself. `most`: contacts solved for at a time, those nearest to closing; others wait, which
    `contact.residual` shows. `impacts`: so many in each step are met by a sub-step of their own,
    for exact sequences of bounces.
    """

    alpha: Float[Array, ""] = eqx.field(default=0.2, converter=_number)
    sweeps: int = eqx.field(default=50, static=True, kw_only=True)
    newton: int = eqx.field(default=3, static=True, kw_only=True)
    tolerance: float | None = eqx.field(default=None, static=True, kw_only=True)
    cone: Literal["cone", "pyramid"] = eqx.field(default="cone", static=True, kw_only=True)
    most: int = eqx.field(default=32, static=True, kw_only=True)
    impacts: int = eqx.field(default=0, static=True, kw_only=True)
    foresees: bool = eqx.field(default=True, static=True, kw_only=True)

    def method(self, unroll: bool) -> Method:
        """Sweeps."""
        return GaussSeidel(self.sweeps, self.newton, self.tolerance, self.cone, unroll)


class LinearComplementarity(ImpulseLaw):
    """Rigid contact with a polyhedral cone, as a linear complementarity problem by interior point.

    `directions`: number of friction directions, evenly spread from the first tangent, or their
    angles (rad) in the tangent plane. `iterations`: at most. Others: see `Complementarity`.
    Raises ModelError: directions that do not surround the contact.
    """

    alpha: Float[Array, ""] = eqx.field(default=0.2, converter=_number)
    directions: tuple[float, ...] = eqx.field(default=4, converter=_angles, static=True)
    iterations: int = eqx.field(default=40, static=True, kw_only=True)
    newton: int = eqx.field(default=5, static=True, kw_only=True)
    tolerance: float | None = eqx.field(default=None, static=True, kw_only=True)
    most: int = eqx.field(default=32, static=True, kw_only=True)
    impacts: int = eqx.field(default=0, static=True, kw_only=True)
    foresees: bool = eqx.field(default=True, static=True, kw_only=True)

    def method(self, unroll: bool) -> Method:
        """An interior point."""
        steps = self.iterations, self.newton
        return InteriorPoint(self.directions, *steps, self.tolerance, unroll)

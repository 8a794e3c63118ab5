"""Rigid contact by impulses: a step's contact problem, and what its solution does.

Velocities that a step would end with if nothing touched, u, are what the problem starts from;
`timing` says which normal velocities the contacts may be left with. A step is cut where an impact
begins, the impact is a piece of no length, and forces act on what it leaves behind. What closes
otherwise (pressed together from near rest, or beyond the number of cuts) acts from its time of
closing t on: positions move with v - sum_k (t_k / h) H^-1 J_k^T lambda_k.

Through the lengths of the pieces an impact has the derivative of an impact (the saltation matrix),
whatever the step.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from graftsim.contact.detect import Contacts, detect, places
from graftsim.contact.kinetics import (
    coupled,
    relative_velocities,
    signs_of,
    unit_impulses,
    wrenches,
)
from graftsim.contact.law import Felt, Free, ImpulseLaw, Passage
from graftsim.contact.push_out import push_out
from graftsim.contact.timing import timing
from graftsim.dynamics.mechanism import Mechanism, rows
from graftsim.model.model import Model
from graftsim.model.pairs import contact_counts
from graftsim.model.state import State
from graftsim.solvers.cone import Method, Problem, regularised, residual, solve_contact
from graftsim.solvers.general import straight
from graftsim.taps import OFF, Tapper


class RigidContact(ImpulseLaw):
    """Impulses that solve one contact problem for all contacts of all bodies."""

    inside: ClassVar[str] = "pushed out, without a throw"

    alpha: eqx.AbstractVar[Float[Array, ""]]
    push: eqx.AbstractVar[Float[Array, ""]]
    max_contacts: eqx.AbstractVar[int]
    max_impacts: eqx.AbstractVar[int]

    @abc.abstractmethod
    def method(self, unroll: bool) -> Method:
        """How the contact problem is solved; `unroll`: see `solvers.general.factor`."""

    def velocities(
        self,
        m: Mechanism,
        free: Free,
        state: State,
        h: Float[Array, ""],
        cut: Bool[Array, ""] | bool,
        scope: Tapper,
    ) -> Passage:
        """See `ContactLaw.velocities`."""
        at, pair = places(m.model), m.model.pair
        found, before, after = _detected(m, free, state, scope)
        mu = scope.tap("contact.friction", rows(pair.friction, at.pair))
        e = rows(pair.restitution, at.pair)
        when = timing(found.depth, before[:, 0], after[:, 0], e, h, cut)
        qd, after = (
            x if cut is False else jnp.where(when.end < h, y + when.share * (x - y), x)
            for x, y in ((free.qd, state.qd), (after, before))
        )
        h = when.end
        # A piece of no length has impulses and no forces, and moves nothing by velocities.
        flies = h > 0
        span = jnp.where(flies, h, 1.0)
        b = after.at[:, 0].add(-when.target)
        # Where there are too many for all: those that would close first.
        index = _least(b[:, 0], self.max_contacts) if len(at.pair) > self.max_contacts else None
        pick = _picker(index)
        signs = pick(jnp.asarray(signs_of(at, len(free.X_0.r)).T, b.dtype)).T
        unroll = index is None and straight(coupled(m.tree, at), 3)
        chosen = Contacts(*map(pick, found))
        unit = unit_impulses(free.articulated, chosen, signs, free.X_0, unroll)
        softness = jnp.diag(jnp.repeat(pick(rows(pair.cfm, at.pair)), 3))
        problem = Problem(unit.delassus() + softness, pick(b), pick(mu))
        method = self.method(unroll)
        solved = solve_contact(problem, pick(state.impulse), method)
        impulse = guess = _put(index, solved, jnp.zeros_like(b))
        left = jnp.maximum(-b[:, 0], 0.0)
        if scope is not OFF:
            left = _put(index, _left_open(problem, solved, method), left)
        scope.tap_lazily(lambda: {"contact.residual": left})
        impulse = _named(impulse, b, h, span, scope)
        felt = ()
        if scope is not OFF:
            felt = Felt(impulse, left, wrenches(found, at, free.X_0, impulse))
        impulse = pick(impulse)
        if felt:
            felt = felt._replace(loops=unit.held(impulse.reshape(-1)))
        late = impulse * pick((h - when.delay) / span)[:, None]
        A_n = problem.A[::3]
        moving = jnp.where(flies, pick(after[:, 0]), 0.0) + A_n @ late.reshape(-1)
        speed = jnp.where(flies, self.push, 0.0)
        apart = push_out(A_n[:, ::3], chosen.depth, moving, span, self.alpha, speed)
        late = late.at[:, 0].add(apart)
        change = unit.response(jnp.stack([impulse.reshape(-1), late.reshape(-1)], -1))
        mean = jnp.where(flies, qd, 0.0) + change[:, 1]
        return Passage(qd + change[:, 0], mean, jax.lax.stop_gradient(guess), h, span, felt)

    def rest(self, m: Model) -> Float[Array, "nc 3"]:
        """No impulse yet."""
        return jnp.zeros((sum(contact_counts(m)), 3), m.link.mass.dtype)

    def located_impacts(self) -> int:
        """How many times a step may be cut where an impact begins."""
        return self.max_impacts


def _detected(
    m: Mechanism, free: Free, state: State, scope: Tapper
) -> tuple[Contacts, Float[Array, "nc 3"], Float[Array, "nc 3"]]:
    """Contacts, and relative velocities in them before and after a step without impulses."""
    at = places(m.model)
    found = detect(m, free.X_0)
    found = found._replace(depth=scope.tap("contact.depth", found.depth))
    before, after = (
        relative_velocities(found, at, free.X_0, free.link_velocity(m, x))
        for x in (state.qd, free.qd)
    )
    scope.tap_lazily(
        lambda: {"contact.position": found.position, "contact.normal": found.frame[:, 0]}
    )
    after_n = scope.tap("contact.velocity_n", after[:, 0])
    after_t = scope.tap("contact.velocity_t", after[:, 1:])
    return found, before, jnp.concatenate([after_n[:, None], after_t], -1)


def _named(
    impulse: Float[Array, "nc 3"],
    b: Float[Array, "nc 3"],
    h: Float[Array, ""],
    span: Float[Array, ""],
    scope: Tapper,
) -> Float[Array, "nc 3"]:
    """Impulses with what networks add to the mean forces of the step."""
    force = impulse / span
    parts = force[:, 0], force[:, 1:]
    names = "contact.force_n", "contact.force_t"
    named = [scope.tap(name, x) for name, x in zip(names, parts, strict=True)]
    if any(x is not y for x, y in zip(named, parts, strict=True)):
        impulse = impulse + h * (jnp.concatenate([named[0][:, None], named[1]], -1) - force)
    # What networks add must not act where nothing touches.
    return jnp.where((b[:, :1] < 0) | (impulse[:, :1] > 0), impulse, 0.0)


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

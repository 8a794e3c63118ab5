"""One step of a simulator: what its state must bring, the scope of its variables, sub-steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.dynamics.actuation import (
    Commands,
    delay_shares,
    held_before,
    next_held,
)
from graftsim.dynamics.actuation.prescribed_motion import arrived, prescribed
from graftsim.dynamics.mechanism import Mechanism
from graftsim.engine.closing import closed
from graftsim.errors import ModelError, VariableError
from graftsim.model.state import State
from graftsim.taps import OFF, Augmentation, Scope, Tapper

if TYPE_CHECKING:
    from graftsim.engine.simulator import Simulator


def ready(simulator: Simulator, state: State, u: Any) -> State:
    """A state that was made without regard to grafts, contact, delays begins with fresh memory.

    u: the first commands. Raises VariableError: it has the memory of other grafts or delays.
    """
    if simulator.back:
        u = jnp.zeros(simulator.model.nu, state.q.dtype) if u is None else u
        held = held_before(simulator.model.actuator, u, simulator.back)
        if isinstance(state.held, tuple):
            state = replace(state, held=held)
        elif jnp.shape(state.held) != held.shape:
            raise VariableError(
                f"The state remembers commands of shape {jnp.shape(state.held)}, and delays of "
                f"this simulator need {held.shape}. dataclasses.replace(state, held=()) starts "
                "with the first command, held for long."
            )
    law = simulator.contact
    rest = () if law is None else law.rest(simulator.model)
    # Impulses are a first guess: those of other contacts are no use, and no harm.
    if _form(state.impulse) != _form(rest):
        state = replace(state, impulse=rest)
    if simulator.grafts is None:
        return state
    fresh = simulator.grafts.memory()
    # An empty tuple has no leaves: traced or not, this is a question about structure.
    if not jax.tree.leaves(state.memory):
        return replace(state, memory=fresh)
    if _form(state.memory) != _form(fresh):
        raise VariableError(
            "The state has the memory of other grafts than the simulator's. Start afresh with "
            "dataclasses.replace(state, memory=())."
        )
    return state


def scope_of(
    simulator: Simulator, state: State, augmentations: Mapping[str, Augmentation] | None = None, *,
    always: bool = False,
) -> Any:  # fmt: skip
    """Scope of a step: with the grafts first, then further augmentations; OFF for neither."""
    grafts = simulator.grafts
    found = {} if grafts is None else dict(grafts.augmentations(state.memory))
    for name, f in (augmentations or {}).items():
        found[name] = _both(found[name], f) if name in found else f
    return Scope(found) if found or always else OFF


def advance(
    simulator: Simulator, m: Mechanism, state: State, u: Float[Array, " nu"], scope: Any,
    shares: Any = (),
) -> State:  # fmt: skip
    """A step in a scope, with the `shares_of` a simulator with delays.

    What grafts remember is what they saw at its start.
    """
    memory, held = state.memory, state.held
    path = prescribed(m, state, u, simulator.dt)
    state = replace(state, memory=(), held=())
    state = _integrate(simulator, m, state, Commands(u, path=path), scope, (shares, held))
    state = arrived(m, path, state)
    if simulator.back:
        # A graft may have changed the commands.
        held = next_held(m.model.actuator, held, u if scope is OFF else scope["control.u"])
    if simulator.grafts is not None:
        memory = simulator.grafts.remember(scope, memory)
    return replace(state, memory=memory, held=held)


def shares_of(simulator: Simulator) -> Any:
    """Shares of present and earlier commands in each sub-step; () without delays."""
    if not simulator.back:
        if any(simulator.model.actuator.longest_delay):
            raise ModelError(
                "The model has delays, and the simulator was made for one without, or with a "
                "traced dt: make it anew, Simulator(model, dt), or give it `back`."
            )
        return ()
    return delay_shares(simulator.model.actuator, simulator.dt, simulator.substeps, simulator.back)


def _integrate(
    simulator: Simulator, m: Mechanism, state: State, u: Commands, scope: Tapper, delay: Any
) -> State:
    """All sub-steps; `delay` is (shares, held)."""
    h = simulator.dt / simulator.substeps
    mixed, left = _mixed(*delay), simulator.substeps
    if scope is not OFF or left == 1:
        # Variables are named in the first sub-step, at the start of the step.
        first, mixed = jax.tree.map(_head, mixed), jax.tree.map(_tail, mixed)
        state = _substep(simulator, m, state, _mix(u, first), h, scope)
        left -= 1
    if left == 0:
        return state

    def body(s: State, mixed: Any) -> tuple[State, None]:
        return _substep(simulator, m, s, _mix(u, mixed), h, scope.again()), None

    return jax.lax.scan(body, state, mixed, length=left)[0]


def _substep(
    simulator: Simulator, m: Mechanism, state: State, u: Commands, h: Array, scope: Tapper
) -> State:
    """h seconds on."""
    state = simulator.integrator.advance(m, state, u, h, scope, simulator.contact)
    return closed(m, state) if m.model.closed else state


def _mixed(shares: Any, held: Any) -> tuple[Any, Any]:
    """Share of the present command and what acts of earlier ones [substeps, nd]; () for none."""
    if isinstance(shares, tuple):
        return (), ()
    return shares[:, 0], jnp.sum(shares[:, 1:] * held, 1)


def _mix(u: Commands, mixed: tuple[Any, Any]) -> Commands:
    return u._replace(share=mixed[0], earlier=mixed[1])


def _head(x: Array) -> Array:
    return x[0]


def _tail(x: Array) -> Array:
    return x[1:]


def _form(memory: Any) -> Any:
    leaves, structure = jax.tree.flatten(memory)
    return structure, [jnp.shape(x) for x in leaves]


def _both(first: Augmentation, second: Augmentation) -> Augmentation:
    return lambda value, scope: second(first(value, scope), scope)

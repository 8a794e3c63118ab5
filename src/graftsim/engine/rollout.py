"""The roll-out over time: a scan of steps, on kernels or on XLA, and what it recorded."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.dynamics.mechanism import prepare
from graftsim.engine.backend import steps_on_kernels
from graftsim.engine.checkpoints import scan_keeping
from graftsim.engine.recorded import reader
from graftsim.engine.step import advance, ready, scope_of, shares_of
from graftsim.errors import GraftsimWarning, KernelError, ModelError, suggest
from graftsim.model.fuse import fuse
from graftsim.model.state import State
from graftsim.taps import Augmentation

if TYPE_CHECKING:
    from graftsim.engine.simulator import Simulator

Backend = Literal["auto", "kernel", "xla"]


class Trajectory(eqx.Module):
    """A roll-out: `states` at times 0, dt ... T dt (leading axis T + 1), and what was recorded.

    `recorded[name]` has leading axis T: the value in the step that starts at that time.
    """

    states: State
    time: Float[Array, " t"]
    recorded: dict[str, Array]

    @property
    def q(self) -> Float[Array, "t nq"]:
        """Joint positions."""
        return self.states.q

    @property
    def qd(self) -> Float[Array, "t nv"]:
        """Joint velocities."""
        return self.states.qd


def scan_steps(
    simulator: Simulator,
    state: State,
    controls: Float[Array, "t nu"],
    record: tuple[str, ...] = (),
    augmentations: Mapping[str, Augmentation] | None = None,
    *,
    checkpoint: bool = False,
) -> Trajectory:
    """The roll-out itself, to be traced inside a jitted function.

    With `checkpoint` reverse mode keeps the states alone and computes each step again.
    """
    kept = 1 if checkpoint else None
    after = _stack_steps(simulator, state, controls, record, kept, augmentations)
    return _trajectory(simulator.dt, *after)


def _stack_steps(
    simulator: Simulator,
    state: State,
    controls: Float[Array, "t nu"],
    record: tuple[str, ...],
    keep_every: int | None,
    augmentations: Mapping[str, Augmentation] | None = None,
) -> tuple[State, tuple[State, dict[str, Array]]]:
    """The state that the first step starts from; states after each, and what was recorded in it."""
    m = prepare(fuse(simulator.model))
    chosen = [(text, reader(simulator, m.model, text)) for text in record]
    first = ready(simulator, state, _first_command(simulator, controls))
    shares = shares_of(simulator)

    def body(s: State, u: Array) -> tuple[State, tuple[State, dict[str, Array]]]:
        scope = scope_of(simulator, s, augmentations, always=bool(chosen))
        new = advance(simulator, m, s, u, scope, shares)
        kept = {text: read(scope) for text, read in chosen}
        return new, (new, kept)

    return first, scan_keeping(body, first, controls, keep_every)[1]


def _trajectory(dt: Array, first: State, after: tuple[State, dict[str, Array]]) -> Trajectory:
    """With the initial state in front."""
    states, recorded = after
    states = jax.tree.map(lambda x, rest: jnp.concatenate([x[None], rest]), first, states)
    time = dt * jnp.arange(states.q.shape[0])
    return Trajectory(states=states, time=time, recorded=recorded)


def _rollout_kernel(
    simulator: Simulator, state: State, controls: Array, record: tuple[str, ...],
    keep_every: int | None,
) -> Trajectory:  # fmt: skip
    how = (record, keep_every or 1)
    stacked = steps_on_kernels(
        _stack_steps, simulator, state, controls, how, any_length=how[1] == 1
    )
    # Not with the simulator among the arguments: JAX would take its hundred arrays apart again.
    return _assemble(simulator.dt, *stacked)


_assemble = jax.jit(_trajectory)


def chosen(backend: Backend) -> Callable[..., Trajectory]:
    if backend == "kernel":
        return _rollout_kernel
    if backend == "xla" or (backend == "auto" and jax.default_backend() != "cpu"):
        return _rollout
    if backend != "auto":
        raise ModelError(f"backend '{backend}'. {suggest(backend, ('auto', 'kernel', 'xla'))}")

    def attempt(*arguments: Any) -> Trajectory:
        try:
            return _rollout_kernel(*arguments)
        except KernelError as error:
            warnings.warn(f"The roll-out runs on XLA: {error}", GraftsimWarning, stacklevel=3)
            return _rollout(*arguments)

    return attempt


@partial(jax.jit, static_argnums=(3, 4))
def _rollout(
    simulator: Simulator, state: State, controls: Array, record: tuple[str, ...],
    keep_every: int | None,
) -> Trajectory:  # fmt: skip
    return _trajectory(simulator.dt, *_stack_steps(simulator, state, controls, record, keep_every))


def _first_command(simulator: Simulator, controls: Array) -> Any:
    """[nu] where it matters; a slice, because kernels are made for any number of steps."""
    if not simulator.back or (isinstance(controls.shape[0], int) and controls.shape[0] == 0):
        return None
    return jax.lax.index_in_dim(controls, 0, keepdims=False)

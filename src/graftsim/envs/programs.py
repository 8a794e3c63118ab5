"""What is compiled of a task: an action of one environment, or of many in the lanes of a kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from graftsim.envs.task import Task
from graftsim.errors import GraftsimWarning, KernelError
from graftsim.kernels import compile
from graftsim.model.state import State


class Moved(NamedTuple):
    """After an action: state, what is seen, reward, whether the episode ends, and whether because
    the simulation left the finite numbers; the state is then that before the action, the reward 0.
    """

    state: State
    seen: Array
    reward: Array
    terminated: Array
    diverged: Array


class Programs(NamedTuple):
    """Compiled functions: `begin(seed)` gives (state, seen), `advance(state, action)` a `Moved`;
    for lanes, of arrays with a leading axis, and `again(states, seen, seeds, mask)` begins anew
    where the mask says so."""

    begin: Callable[..., Any]
    advance: Callable[..., Moved]
    again: Callable[..., Any] | None = None


def advance(task: Task, state: State, action: Array) -> Moved:
    """An action of one environment."""
    motion = task.move(state, action)
    after = jax.tree.map(lambda x: x[-1], motion.states)
    reward = task.reward(motion, action)
    real = [x for x in jax.tree.leaves((after, reward)) if jnp.issubdtype(x.dtype, jnp.floating)]
    fine = jnp.all(jnp.stack([jnp.all(jnp.isfinite(x)) for x in real]))
    after = jax.tree.map(lambda new, old: jnp.where(fine, new, old), after, state)
    ended = jnp.logical_or(task.terminated(after), ~fine)
    return Moved(after, task.observe(after), jnp.where(fine, reward, 0.0), ended, ~fine)


@lru_cache(maxsize=16)
def programs(task: Task, lanes: int | None = None) -> Programs:
    """Compiled for one environment, or for many side by side."""

    def begin(seed: Any) -> Any:
        state = task.begin(jax.random.key(seed))
        return state, task.observe(state)

    moved = _fast(task)
    if lanes is None:
        return Programs(jax.jit(begin), jax.jit(moved))

    def again(states: Any, seen: Any, seeds: Any, mask: Any) -> Any:
        def choose(new: Array, old: Array) -> Array:
            return jnp.where(mask.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

        return jax.tree.map(choose, jax.vmap(begin)(seeds), (states, seen))

    return Programs(jax.jit(jax.vmap(begin)), jax.jit(jax.vmap(moved)), jax.jit(again))


def _fast(task: Task) -> Callable[[State, Array], Moved]:
    """`advance` as a kernel on a CPU; what kernels do not know goes to XLA, with a warning."""

    def run(state: State, action: Array) -> Moved:
        return advance(task, state, action)

    if jax.default_backend() != "cpu":
        return run
    state = jax.eval_shape(task.begin, jax.random.key(0))
    u = jax.ShapeDtypeStruct((task.simulator.model.nu,), task.simulator.dt.dtype)
    try:
        return compile(run, state, u)
    except KernelError as error:
        warnings.warn(f"The environment runs on XLA: {error}", GraftsimWarning, stacklevel=4)
        return run

"""A controller and a simulator in a closed loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.control.locomotion.trot import Trot
from graftsim.engine.simulator import Simulator
from graftsim.errors import ModelError
from graftsim.model.state import State


class Walk(eqx.Module):
    """A walk: states at the time of each plan (leading axis n + 1), commands of the motors at the
    first step after each (n), and times (s).
    """

    states: State
    u: Float[Array, "n nu"]
    time: Float[Array, " m"]


Planner = Callable[[State, Any, Float[Array, " 3"]], tuple[Any, Any]]


def walker(
    simulator: Simulator, controller: Trot, plan: Planner | None = None
) -> Callable[..., Walk]:
    """A compiled function `walk(state, commands, push=None)` of the closed loop.

    commands [n, 3]: forward and left speed (m/s), yaw rate (rad/s), for each plan; push [n, nu]:
    added to the commands of the motors. plan: in place of `controller.plan`, a policy's. Works
    under vmap.
    Raises ModelError: the step of the simulator does not divide the period of the controller.
    """
    plan = controller.plan if plan is None else plan
    steps = round(controller.period / float(simulator.dt))
    if steps < 1 or abs(steps * float(simulator.dt) - controller.period) > 1e-9 * steps:
        raise ModelError(
            f"The controller plans every {controller.period:g} s, which is no whole number of the "
            f"simulator's steps of {float(simulator.dt):g} s."
        )

    def step(aim: Any, push: Array, state: State) -> tuple[State, Array]:
        u = controller.torques(aim, state) + push
        after = simulator.rollout(state, u[None]).states
        return jax.tree.map(lambda x: x[-1], after), u

    def period(carry: Any, given: Any) -> tuple[Any, Any]:
        (state, memory), (command, push) = carry, given
        aim, memory = plan(state, memory, command)
        state, u = jax.lax.scan(lambda s, _: step(aim, push, s), state, None, length=steps)
        return (state, memory), (state, u[0])

    @jax.jit
    def walk(state: State, commands: Array, push: Array | None = None) -> Walk:
        n = len(commands)
        push = jnp.zeros((n, simulator.model.nu), state.q.dtype) if push is None else push
        # One step gives the state the form that the loop carries.
        rest = jax.tree.map(lambda x: x[0], simulator.rollout(state, steps=1).states)
        _, (states, u) = jax.lax.scan(period, (rest, controller.start(state)), (commands, push))
        states = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), rest, states)
        return Walk(states, u, controller.period * jnp.arange(n + 1))

    return walk

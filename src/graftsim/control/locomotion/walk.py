"""A controller and a simulator in a closed loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.control.locomotion.trot import Aim, Memory, Trot
from graftsim.engine.simulator import Simulator
from graftsim.errors import ControlError
from graftsim.model.state import State


class Walk(eqx.Module):
    """A walk of n plans: states when each is made, and at the end (leading axis n + 1), what the
    controller remembered then and decided (n), commands of the motors (n) at first, and times (s).
    """

    states: State
    memory: Memory
    aim: Aim
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
    Raises ControlError: the step of the simulator does not divide the period of the controller.
    """
    plan = controller.plan if plan is None else plan
    steps = round(controller.period / float(simulator.dt))
    if steps < 1 or abs(steps * float(simulator.dt) - controller.period) > 1e-9 * steps:
        raise ControlError(
            f"The controller plans every {controller.period:g} s, which is no whole number of the "
            f"simulator's steps of {float(simulator.dt):g} s."
        )

    def step(aim: Any, push: Array, state: State) -> tuple[State, Array]:
        u = controller.torques(aim, state) + push
        after = simulator.rollout(state, u[None]).states
        return jax.tree.map(lambda x: x[-1], after), u

    def period(carry: Any, given: Any) -> tuple[Any, Any]:
        (state, memory), (command, push) = carry, given
        aim, after = plan(state, memory, command)
        state, u = jax.lax.scan(lambda s, _: step(aim, push, s), state, None, length=steps)
        return (state, after), (state, memory, aim, u[0])

    @jax.jit
    def walk(state: State, commands: Array, push: Array | None = None) -> Walk:
        n = len(commands)
        push = jnp.zeros((n, simulator.model.nu), state.q.dtype) if push is None else push
        # One step gives the state the form that the loop carries.
        rest = jax.tree.map(lambda x: x[0], simulator.rollout(state, steps=1).states)
        start = (rest, controller.start(state))
        _, (states, memory, aim, u) = jax.lax.scan(period, start, (commands, push))
        states = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), rest, states)
        return Walk(states, memory, aim, u, controller.period * jnp.arange(n + 1))

    return walk

"""REINFORCE (Williams 1992) with reward to go, a baseline for each step and Adam, for a graft.

The commands given are Gaussian noise, and the policy is a graft in mode "add": what acts is a
sample about its output, whose log-likelihood has a gradient without one of the simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import graftsim as gs
from graftsim.control.train import weights_of, with_weights


@dataclass(frozen=True)
class Reinforce:
    """rate: of Adam. sigma: deviation of the noise in the units of the commands, from the first
    iteration to the last. discount: of the costs to come, by step."""

    iterations: int
    rate: float = 3e-3
    sigma: tuple[float, float] = (0.5, 0.2)
    discount: float = 0.97


def reinforce(
    simulator: gs.Simulator,
    step_costs: Callable[[gs.Trajectory], Any],
    states: Any,
    steps: int,
    how: Reinforce,
    key: Any,
) -> tuple[gs.Simulator, list[float]]:
    """The simulator after training, and the mean cost with noise in each iteration.

    step_costs: of a trajectory with `control.u`, [steps].
    """
    labels = ("policy",)
    count, nu = states.q.shape[0], simulator.model.nu
    graft, record = simulator.grafts["policy"], ("control.u", "inputs.policy")
    fade = how.discount ** jnp.arange(steps)

    def sampled(weights: Any, state: Any, noise: Any) -> Any:
        own = with_weights(simulator, labels, weights)
        motion = own.rollout(state, noise, record=record)
        return motion.recorded["inputs.policy"], step_costs(motion)

    def surrogate(weights: Any, x: Any, u: Any, advantage: Any, sigma: Any) -> Any:
        own = graft.with_trainable(weights[0])
        mean = jax.vmap(jax.vmap(lambda x: own(x)[0][0]))(x)
        return jnp.mean(advantage * jnp.sum((u - mean) ** 2, -1)) / (2 * sigma**2)

    adam: Any = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(how.rate))

    @jax.jit
    def iterate(weights: Any, memory: Any, key: Any, sigma: Any) -> Any:
        noise = sigma * jax.random.normal(key, (count, steps, nu))
        x, costs = jax.vmap(sampled, (None, 0, 0))(weights, states, noise)
        faded = costs * fade
        to_go = jnp.cumsum(faded[:, ::-1], 1)[:, ::-1] / fade
        advantage = to_go - to_go.mean(0)
        # The policy is to go away from samples that cost more than the mean.
        advantage = -advantage / (advantage.std() + 1e-9)
        u = noise + jax.vmap(jax.vmap(lambda x: graft.with_trainable(weights[0])(x)[0][0]))(x)
        slope = jax.grad(surrogate)(weights, x, u, advantage, sigma)
        update, memory = adam.update(slope, memory)
        return optax.apply_updates(weights, update), memory, costs.mean()

    weights = weights_of(simulator, labels)
    memory, history = adam.init(weights), []
    for n, sigma in enumerate(np.geomspace(*how.sigma, how.iterations)):
        weights, memory, value = iterate(weights, memory, jax.random.fold_in(key, n), sigma)
        history.append(float(value))
    return with_weights(simulator, labels, weights), history

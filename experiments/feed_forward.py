"""The baseline of the experiments: a feed-forward network from state to change of state in a step.

Standardised inputs and outputs, tanh, Adam on the one-step error.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

BATCH = 1024


class Baseline(NamedTuple):
    """Layers, and means and scales of inputs and outputs."""

    layers: Any
    x_mean: Any
    x_scale: Any
    y_mean: Any
    y_scale: Any

    def step(self, state: Any) -> Any:
        """The state after a step."""
        return (
            state
            + _forward(self.layers, (state - self.x_mean) / self.x_scale) * (self.y_scale)
            + self.y_mean
        )

    def rollout(self, state: Any, steps: int) -> Any:
        """States [steps + 1, n] from a first one."""

        def body(x: Any, _: None) -> tuple[Any, Any]:
            new = self.step(x)
            return new, new

        return jnp.concatenate([state[None], jax.lax.scan(body, state, None, length=steps)[1]])


def _forward(layers: Any, x: Any) -> Any:
    for W, b in layers[:-1]:
        x = jnp.tanh(W @ x + b)
    W, b = layers[-1]
    return W @ x + b


def train(
    states: np.ndarray,
    following: np.ndarray,
    *,
    hidden: int = 64,
    updates: int = 10_000,
    seed: int = 0,
) -> Baseline:
    """Fit to pairs of states [n, d] and those that follow, by Adam 1e-3 with cosine decay."""
    change = following - states
    scales = [states.mean(0), states.std(0) + 1e-12, change.mean(0), change.std(0) + 1e-12]
    x = jnp.asarray((states - scales[0]) / scales[1], jnp.float32)
    y = jnp.asarray((change - scales[2]) / scales[3], jnp.float32)
    sizes = (states.shape[1], hidden, hidden, states.shape[1])
    key = jax.random.key(seed)
    layers = []
    for i, k in enumerate(jax.random.split(key, len(sizes) - 1)):
        bound = np.sqrt(6 / (sizes[i] + sizes[i + 1]))
        W = jax.random.uniform(k, (sizes[i + 1], sizes[i]), jnp.float32, -bound, bound)
        layers.append((W, jnp.zeros(sizes[i + 1], jnp.float32)))
    adam = optax.adam(optax.cosine_decay_schedule(1e-3, updates))
    batch = min(BATCH, len(x))

    def loss(layers: Any, chosen: Any) -> Any:
        predicted = jax.vmap(lambda x: _forward(layers, x))(x[chosen])
        return jnp.mean((predicted - y[chosen]) ** 2)

    @jax.jit
    def run(layers: Any, key: Any) -> Any:
        def update(carry: Any, key: Any) -> tuple[Any, None]:
            layers, state = carry
            gradient = jax.grad(loss)(layers, jax.random.randint(key, (batch,), 0, len(x)))
            step, state = adam.update(gradient, state)
            return (optax.apply_updates(layers, step), state), None

        keys = jax.random.split(key, updates)
        return jax.lax.scan(update, (layers, adam.init(layers)), keys)[0][0]

    found = run(tuple(layers), jax.random.fold_in(key, 1))
    return Baseline(
        jax.tree.map(lambda w: jnp.asarray(w, jnp.zeros(()).dtype), found),
        *(jnp.asarray(s) for s in scales),
    )

"""The sequence model of E9: two LSTM layers of 13 and 8 cells, 1900 weights in all.

Layer: i, f, g, o = W x + U h + b; c' = sig(f) c + sig(i) tanh(g); h' = sig(o) tanh(c'), with one
bias for each gate. The second layer's output, four times, is the next state, standardised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from swimmer import TORQUE, Run

CELLS, GAIN = (13, 8), 4.0


class Sequencer(NamedTuple):
    """Layers (W, U, b) and the scale of the states."""

    layers: Any
    mean: np.ndarray
    scale: np.ndarray

    @property
    def weights(self) -> int:
        """How many numbers it has."""
        return sum(w.size for layer in self.layers for w in layer)

    def continued(self, run: Run, known: int, steps: int) -> np.ndarray:
        """States [steps + 1, d]: true ones go in until `known`, its own from then on."""
        x = jnp.asarray((run.x - self.mean) / self.scale)
        u = jnp.asarray(run.u / TORQUE)

        def body(carry: Any, k: Any) -> Any:
            state, before = carry
            seen = jnp.where(k < known, x[jnp.minimum(k, known)], before)
            state, y = _cell(self.layers, state, jnp.concatenate([seen, u[k]]))
            return (state, y), y

        first = _rest(self.layers), x[0]
        found = jax.lax.scan(body, first, jnp.arange(steps))[1]
        return np.concatenate([run.x[:1], np.asarray(found) * self.scale + self.mean])


def _rest(layers: Any) -> Any:
    return tuple((jnp.zeros(U.shape[1]),) * 2 for _, U, _ in layers)


def _cell(layers: Any, state: Any, x: Any) -> Any:
    new = []
    for (W, U, b), (h, c) in zip(layers, state, strict=True):
        i, f, g, o = jnp.split(W @ x + U @ h + b, 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        new.append((h, c))
        x = h
    return tuple(new), GAIN * x


def train(runs: Sequence[Run], steps: int, *, updates: int, seed: int) -> Sequencer:
    """Teacher-forced on the first steps of runs, by Adam 1e-2 with cosine decay."""
    x = np.stack([r.x[: steps + 1] for r in runs])
    mean, scale = x.reshape(-1, x.shape[-1]).mean(0), x.reshape(-1, x.shape[-1]).std(0)
    x = jnp.asarray((x - mean) / scale)
    u = jnp.asarray(np.stack([r.u[:steps] for r in runs]) / TORQUE)
    rng = np.random.default_rng(seed)
    layers, width = [], x.shape[-1] + u.shape[-1]
    for n in CELLS:
        b = np.zeros(4 * n)
        b[n : 2 * n] = 1.0  # A new cell remembers (Gers et al. 2000).
        draw = [rng.normal(0, 1 / np.sqrt(k), (4 * n, k)) for k in (width, n)]
        layers.append(tuple(jnp.asarray(w) for w in (*draw, b)))
        width = n

    def loss(layers: Any) -> Any:
        def one(x: Any, u: Any) -> Any:
            def body(state: Any, now: Any) -> Any:
                return _cell(layers, state, now)

            y = jax.lax.scan(body, _rest(layers), jnp.concatenate([x[:-1], u], -1))[1]
            return jnp.mean((y - x[1:]) ** 2)

        return jnp.mean(jax.vmap(one)(x, u))

    adam = optax.adam(optax.cosine_decay_schedule(1e-2, updates))

    @jax.jit
    def trained(layers: Any) -> Any:
        def body(carry: Any, _: None) -> Any:
            layers, state = carry
            value, gradient = jax.value_and_grad(loss)(layers)
            update, state = adam.update(gradient, state)
            return (optax.apply_updates(layers, update), state), value

        return jax.lax.scan(body, (layers, adam.init(layers)), None, length=updates)

    (layers, _), _ = trained(layers)
    return Sequencer(layers, mean, scale)

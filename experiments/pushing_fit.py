"""Fits of the pushing scene: all pushes side by side in lanes, Adam on what they miss by."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from pushes import Pushes, Shape
from pushing import LOWER, NAMES, UPPER, Given, given, simulate, with_friction
from pushing_grafts import with_weights

import graftsim as gs

SURFACES = ("abs", "plywood")
# What counts as a miss of one: 2 mm, and 0.04 rad, by which an edge of an object moves as far.
MISS = np.array([2e-3, 2e-3, 0.04])
# Steps of Adam: of friction numbers, of weights; pushes in a batch; price of squared weights.
UNITS, WEIGHT_UNIT, BATCH, PRICE = (2e-3, 2e-3, 5e-4, 2e-3), 5e-3, 256, 1e-4


@dataclass(frozen=True)
class Candidate:
    """A scene with the numbers found: friction [surfaces, 4], and weights [k, w] of its graft, one
    set for all pushes, or one for each object of `objects`.
    """

    simulator: gs.Simulator
    friction: np.ndarray
    weights: np.ndarray
    objects: tuple[str, ...] = ()


class Lanes(NamedTuple):
    """Of each push: what its roll-out needs, its surface, and which weights it has."""

    given: Given
    surface: jax.Array
    which: jax.Array


class Errors(NamedTuple):
    """At the end of each push: distance (m), angle (rad)."""

    position: np.ndarray
    yaw: np.ndarray


def start(
    simulator: gs.Simulator, friction: np.ndarray, objects: tuple[str, ...] = ()
) -> Candidate:
    """A scene at given numbers; of a graft as it is."""
    grafts = simulator.grafts
    own = np.zeros(0) if grafts is None else np.asarray(grafts.grafts[0].trainable)
    weights = np.tile(own, (max(len(objects), 1), 1))
    shape = len(SURFACES), len(NAMES)
    return Candidate(simulator, np.broadcast_to(friction, shape), weights, objects)


def lanes(found: Candidate, shapes: dict[str, Shape], pushes: Pushes) -> Lanes:
    """Pushes side by side."""
    surface = [SURFACES.index(x) for x in pushes.surface]
    which = [found.objects.index(x) if found.objects else 0 for x in pushes.shape]
    return jax.tree.map(
        jnp.asarray, Lanes(given(shapes, pushes), np.array(surface), np.array(which))
    )


def poses(
    simulator: gs.Simulator, x: tuple[Any, Any], own: Lanes, record: tuple = ()
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Poses [n, t, 3] at x, friction and weights, and what is recorded."""

    def one(push: Given, friction: jax.Array, weights: jax.Array) -> tuple[jax.Array, dict]:
        s = simulator if simulator.grafts is None else with_weights(simulator, weights)
        return simulate(with_friction(s, friction), push, record)

    friction, weights = x
    if weights.shape[0] == 1:
        # One set of weights for all lanes costs less than one for each.
        return jax.vmap(one, (0, 0, None))(own.given, friction[own.surface], weights[0])
    return jax.vmap(one)(own.given, friction[own.surface], weights[own.which])


def run(
    found: Candidate, shapes: dict[str, Shape], pushes: Pushes, record: tuple = ()
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Poses [n, t, 3] of all pushes, and what is recorded."""
    x = jnp.asarray(found.friction), jnp.asarray(found.weights)
    path, recorded = poses(found.simulator, x, lanes(found, shapes, pushes), record)
    return np.asarray(path), {k: np.asarray(v) for k, v in recorded.items()}


def final(
    found: Candidate, shapes: dict[str, Shape], pushes: Pushes, chunk: int = 1024
) -> np.ndarray:
    """Final poses [n, 3] of many pushes, some at a time; all chunks have one length."""
    ends = []
    for first in range(0, len(pushes), chunk):
        rows = np.minimum(np.arange(first, first + chunk), len(pushes) - 1)
        path, _ = run(found, shapes, pushes[rows])
        ends.append(path[np.arange(chunk), pushes.last[rows]])
    return np.concatenate(ends)[: len(pushes)]


def errors(path: np.ndarray, pushes: Pushes) -> Errors:
    """By how much final poses are off; path [n, t, 3], or the final poses [n, 3]."""
    rows = np.arange(len(pushes)), pushes.last
    off = (path[rows] if path.ndim == 3 else path) - pushes.pose[rows]
    return Errors(np.linalg.norm(off[:, :2], axis=1), np.abs(off[:, 2]))


@lru_cache
def objective(simulator: gs.Simulator) -> Any:
    """(x, lanes, poses [n, t, 3], weight [n, t]) -> pseudo-Huber miss and its gradient by x."""

    @jax.jit
    @jax.value_and_grad
    def cost(x: Any, own: Lanes, real: jax.Array, weight: jax.Array) -> jax.Array:
        path, _ = poses(simulator, x, own)
        miss = jnp.sum(((path - real) / MISS) ** 2, -1)
        price = PRICE * jnp.sum(x[1] ** 2) / x[1].shape[0]
        return jnp.sum(weight * (jnp.sqrt(1 + miss) - 1)) + price

    return cost


def fit(
    found: Candidate,
    shapes: dict[str, Shape],
    pushes: Pushes,
    counts: np.ndarray,
    iterations: int,
    say: str,
    seed: int = 0,
) -> Candidate:
    """Least misses of those pushes that count [n] by Adam, in random batches of many.

    Gradients through sliding off a corner are large: each is cut to the median size of late ones.
    """
    cost, own = objective(found.simulator), lanes(found, shapes, pushes)
    weight, real = pushes.counts * counts[:, None], pushes.pose
    low, high = (np.tile(x, (len(SURFACES), 1)) for x in (LOWER, UPPER))
    x = jnp.clip(found.friction, low, high), jnp.asarray(found.weights)
    steps = optax.warmup_cosine_decay_schedule(0.0, 1.0, max(iterations // 10, 1), iterations)
    adam, rng = optax.adam(steps), np.random.default_rng(seed)
    units = jnp.broadcast_to(jnp.array(UNITS), x[0].shape), jnp.full(x[1].shape, WEIGHT_UNIT)
    state, sizes, mean, began = adam.init(x), [], np.nan, time.perf_counter()
    for k in range(iterations):
        rows = np.arange(len(pushes))
        if len(rows) > BATCH:
            rows = rng.choice(np.flatnonzero(counts), BATCH, replace=False)
        share = weight[rows] / weight[rows].sum()
        value, slope = cost(x, jax.tree.map(lambda a, r=rows: a[r], own), real[rows], share)
        slope = jax.tree.map(lambda g, u: jnp.nan_to_num(g) * u, slope, units)
        sizes.append(float(optax.global_norm(slope)))
        cut = min(1.0, float(np.median(sizes[-50:])) / max(sizes[-1], 1e-300))
        update, state = adam.update(jax.tree.map(lambda g, c=cut: c * g, slope), state)
        friction, weights = jax.tree.map(lambda a, d, u: a + d * u, x, update, units)
        x = jnp.clip(friction, low, high), weights
        mean = float(value) if k == 0 else 0.9 * mean + 0.1 * float(value)
        if (k + 1) % 50 == 0 or k + 1 == iterations:
            seconds = time.perf_counter() - began
            left = seconds / (k + 1) * (iterations - k - 1)
            print(f"{say}: {mean:.4f}, {k + 1} of {iterations}, {left:.0f} s left", flush=True)
    return Candidate(found.simulator, np.asarray(x[0]), np.asarray(x[1]), found.objects)

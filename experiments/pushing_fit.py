"""Fits of the pushing scene: all pushes side by side in lanes, Adam on what they miss by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from pushes import Pushes, Shape
from pushing import LOWER, NAMES, UPPER, Given, given, simulate
from pushing_grafts import with_weights

import graftsim as gs
from graftsim.optim.clipped_adam import Evaluate

SURFACES = ("abs", "plywood")
# What counts as a miss of one: 2 mm, and 0.04 rad, by which an edge of an object moves as far.
MISS = np.array([2e-3, 2e-3, 0.04])
# Steps of Adam: of friction numbers, of weights; pushes in a batch; price of squared weights.
UNITS, WEIGHT_UNIT, BATCH, PRICE = (0.02, 0.02, 2e-3, 0.02, 0.03), 5e-3, 256, 1e-4


@dataclass(frozen=True)
class Candidate:
    """A scene with the numbers found: friction [surfaces, 5], and weights [k, w] of its graft, one
    set for all pushes, or one for each of `kinds`, an object on a surface.
    """

    simulator: gs.Simulator
    friction: np.ndarray
    weights: np.ndarray
    kinds: tuple[str, ...] = ()


class Lanes(NamedTuple):
    """Of each push: what its roll-out needs, its surface, and which weights it has."""

    given: Given
    surface: jax.Array
    which: jax.Array


class Errors(NamedTuple):
    """At the end of each push: distance (m), angle (rad)."""

    position: np.ndarray
    yaw: np.ndarray


def start(simulator: gs.Simulator, friction: np.ndarray, kinds: tuple[str, ...] = ()) -> Candidate:
    """A scene at given numbers; of a graft as it is."""
    grafts = simulator.grafts
    own = np.zeros(0) if grafts is None else np.asarray(grafts.grafts[0].trainable)
    weights = np.tile(own, (max(len(kinds), 1), 1))
    shape = len(SURFACES), len(NAMES)
    return Candidate(simulator, np.broadcast_to(friction, shape), weights, kinds)


def lanes(found: Candidate, shapes: dict[str, Shape], pushes: Pushes) -> Lanes:
    """Pushes side by side."""
    surface = [SURFACES.index(x) for x in pushes.surface]
    which = [found.kinds.index(x) if found.kinds else 0 for x in pushes.kind]
    return jax.tree.map(
        jnp.asarray, Lanes(given(shapes, pushes), np.array(surface), np.array(which))
    )


def poses(
    simulator: gs.Simulator, x: tuple[Any, Any], own: Lanes, record: tuple = ()
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Poses [n, t, 3] at x, friction and weights, and what is recorded."""

    def one(push: Given, friction: jax.Array, weights: jax.Array) -> tuple[jax.Array, dict]:
        s = simulator if simulator.grafts is None else with_weights(simulator, weights)
        return simulate(s, friction, push, record)

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


class Set(NamedTuple):
    """Pushes that are fitted: side by side, as measured [n, t, 3], weights of samples [n, t]."""

    lanes: Lanes
    real: np.ndarray
    weight: np.ndarray


def chosen(found: Candidate, shapes: dict[str, Shape], pushes: Pushes) -> Set:
    """Pushes as a set."""
    return Set(lanes(found, shapes, pushes), pushes.pose, pushes.weights)


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


def fit(found: Candidate, sets: list[Set], iterations: int, say: str) -> Candidate:
    """Least misses of sets of pushes, in random batches of large ones; all sets weigh alike."""
    cost = objective(found.simulator)

    def batch(own: Set) -> Evaluate:
        def evaluate(x: Any, rng: np.random.Generator) -> Any:
            rows = np.arange(len(own.real))
            if len(rows) > BATCH:
                rows = rng.choice(rows, BATCH, replace=False)
            share = own.weight[rows] / own.weight[rows].sum()
            return cost(x, jax.tree.map(lambda a: a[rows], own.lanes), own.real[rows], share)

        return evaluate

    low, high = (np.tile(x, (len(SURFACES), 1)) for x in (LOWER, UPPER))
    start = jnp.clip(found.friction, low, high), jnp.asarray(found.weights)
    end = gs.ClippedAdam(iterations).minimise(
        [batch(own) for own in sets],
        start,
        (np.broadcast_to(UNITS, start[0].shape), np.full(start[1].shape, WEIGHT_UNIT)),
        project=lambda x: (jnp.clip(x[0], low, high), x[1]),
        progress=gs.time_left(say),
    )
    return replace(found, friction=np.asarray(end.x[0]), weights=np.asarray(end.x[1]))

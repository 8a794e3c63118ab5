"""Fits of the pushing scene: all pushes side by side in lanes, Adam on what they miss by."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from pushes import Pushes, Shape
from pushing import LOWER, NAMES, UPPER, Given, given, simulate, with_friction
from pushing_grafts import with_weights

import graftsim as gs
from graftsim.optim.first_order import Scaled

SURFACES = ("abs", "plywood")
# What counts as a miss of one: 2 mm, and 0.04 rad, by which an edge of an object moves as far.
MISS = np.array([2e-3, 2e-3, 0.04])
# Steps of Adam: of friction numbers, of weights.
UNITS, WEIGHT_UNIT = (0.02, 0.02, 0.005, 0.02), 0.05


@dataclass(frozen=True)
class Candidate:
    """A scene with the numbers found: friction [surfaces, 4], and weights of its graft."""

    simulator: gs.Simulator
    friction: np.ndarray
    weights: np.ndarray

    @property
    def numbers(self) -> np.ndarray:
        """All in one vector."""
        return np.concatenate([self.friction.reshape(-1), self.weights])

    def with_numbers(self, x: np.ndarray) -> Candidate:
        """With others."""
        n = self.friction.size
        return Candidate(self.simulator, x[:n].reshape(self.friction.shape), x[n:])


class Errors(NamedTuple):
    """At the end of each push: distance (m), angle (rad)."""

    position: np.ndarray
    yaw: np.ndarray


def start(simulator: gs.Simulator, friction: np.ndarray) -> Candidate:
    """A scene at given numbers; of a graft as it is."""
    grafts = simulator.grafts
    weights = np.zeros(0) if grafts is None else np.asarray(grafts.grafts[0].trainable)
    return Candidate(simulator, np.broadcast_to(friction, (len(SURFACES), len(NAMES))), weights)


def poses(
    simulator: gs.Simulator, x: jax.Array, pushes: Given, surface: jax.Array, record: tuple = ()
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Poses [n, t, 3] at numbers x, and what is recorded."""
    n = len(SURFACES) * len(NAMES)
    friction = x[:n].reshape(len(SURFACES), len(NAMES))
    s = simulator if simulator.grafts is None else with_weights(simulator, x[n:])

    def one(push: Given, friction: jax.Array) -> tuple[jax.Array, dict[str, jax.Array]]:
        return simulate(with_friction(s, friction), push, record)

    return jax.vmap(one)(pushes, friction[surface])


def inputs(shapes: dict[str, Shape], pushes: Pushes) -> tuple[Given, jax.Array]:
    """What a roll-out of all pushes takes."""
    surface = jnp.asarray([SURFACES.index(x) for x in pushes.surface])
    return jax.tree.map(jnp.asarray, given(shapes, pushes)), surface


def run(
    found: Candidate, shapes: dict[str, Shape], pushes: Pushes, record: tuple = ()
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Poses [n, t, 3] of all pushes, and what is recorded."""
    path, recorded = poses(
        found.simulator, jnp.asarray(found.numbers), *inputs(shapes, pushes), record
    )
    return np.asarray(path), {k: np.asarray(x) for k, x in recorded.items()}


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


def fit(
    found: Candidate,
    shapes: dict[str, Shape],
    pushes: Pushes,
    rounds: tuple[int, ...],
    say: str,
    slowest: float = LOWER[2],
) -> Candidate:
    """Least pseudo-Huber misses over the samples that are known, by rounds of Adam.

    The rate begins anew in each round, so that a network leaves what it was stuck at. slowest: the
    least speed (m/s) of the curve of friction that steps can follow.
    """
    cost = objective(found.simulator, shapes, pushes)
    n = found.friction.size
    floor = (*LOWER[:2], slowest, *LOWER[3:])
    low, high = (np.tile(x, len(SURFACES)) for x in (floor, UPPER))
    none = np.full(len(found.weights), np.inf)
    unit = np.concatenate([np.tile(UNITS, len(SURFACES)), np.full(len(none), WEIGHT_UNIT)])
    began = time.perf_counter()

    def tell(x: np.ndarray, value: float, gradient: float, k: int) -> None:
        if k % 50 == 0:
            print(f"{say}: {value:.4f} after {k}, {time.perf_counter() - began:.0f} s", flush=True)

    for iterations in rounds:
        problem = Scaled(
            cost, np.clip(found.numbers, [*low, *-none], [*high, *none]), unit,
            np.concatenate([low, -none]), np.concatenate([high, none]),
        )  # fmt: skip
        best = gs.Adam(iterations, rate=0.1).descend(problem, tell)
        found = found.with_numbers(best.x)
    print(f"{say}: {best.cost:.4f}, {np.round(found.numbers[:n], 3)}", flush=True)
    return found


def objective(
    simulator: gs.Simulator, shapes: dict[str, Shape], pushes: Pushes
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Cost and gradient of numbers."""
    own = inputs(shapes, pushes)
    real = jnp.asarray(pushes.pose)
    last = pushes.last[:, None] == np.arange(real.shape[1])
    counts = pushes.counts if pushes.wrench.shape[1] > 1 else last
    weight = jnp.asarray(counts / counts.sum())

    @jax.jit
    @jax.value_and_grad
    def cost(x: jax.Array) -> jax.Array:
        path, _ = poses(simulator, x, *own)
        miss = jnp.sum(((path - real) / MISS) ** 2, -1)
        return jnp.sum(weight * (jnp.sqrt(1 + miss) - 1))

    def evaluate(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = cost(jnp.asarray(x))
        return float(value), np.asarray(gradient)

    return evaluate

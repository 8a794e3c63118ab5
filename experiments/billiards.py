"""Billiards in a box: discs without friction, hit by hit, as a scene of the engine and by events.

A box of 64 px, three discs of radius 5 px, elastic, speeds of 10 to 40 px/s, a frame each 0.1 s;
places from the upper left corner, y downwards as in pictures. The engine's scene has the linear
complementarity law with located impacts. `paths` shares no code with it: it goes from event to
event with closed forms, and makes the data.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim.model.catalogue import with_leaf

BOX, RADIUS, DISCS = 64.0, 5.0, 3
FRAME, SLOWEST, FASTEST = 0.1, 10.0, 40.0
# One direction of friction that nothing uses: the coefficient is 0.
LAW = gs.contact.LinearComplementarity(directions=3, max_contacts=4, max_impacts=3)
# Quarter turns that lay a plane's normal (z) along -x, x, -y, y of the box.
_SIDES = {"right": ((BOX, 0), (0, -1, 0)), "left": ((0, 0), (0, 1, 0)),
          "bottom": ((0, BOX), (1, 0, 0)), "top": ((0, 0), (-1, 0, 0))}  # fmt: skip


@lru_cache
def simulator() -> gs.Simulator:
    """The scene with equal masses of 1; a step is a frame."""
    # It may be asked for first while JAX traces, and outlives that.
    with jax.ensure_compile_time_eval():
        return gs.Simulator(_model(), FRAME, contact=LAW)


def _model() -> gs.Model:
    b = gs.Builder("billiards", gravity=(0.0, 0.0, 0.0))
    for name, (at, axis) in _SIDES.items():
        turn = (np.sqrt(0.5), *(np.sqrt(0.5) * np.array(axis)))
        b.geom("plane", (), name=name, position=(*at, 0.0), rotation=turn)
    for i in range(DISCS):
        b.link(f"disc{i}", joint="planar", axis=(0, 0, 1), mass=1.0, inertia=RADIUS**2 / 2)
        b.geom("sphere", RADIUS, f"disc{i}", name=f"disc{i}")
    built = b.build()
    for name, value in (("pair.restitution", 1.0), ("pair.friction", 0.0)):
        built = with_leaf(built, name, jnp.full(len(built.pair.names), value))
    return built


def with_masses(scene: gs.Simulator, masses: Any) -> gs.Simulator:
    """The scene with other masses [discs]; turning plays no part."""
    heavy = with_leaf(scene.model, "link.mass", masses)
    return gs.Simulator(heavy, float(scene.dt), contact=scene.contact)


def rollout(scene: gs.Simulator, state: Any, frames: int) -> Any:
    """States [frames, discs, 4] (x, y, vx, vy) after each frame, from one of them [discs, 4]."""
    q, qd = (jnp.pad(part, ((0, 0), (0, 1))).ravel() for part in (state[:, :2], state[:, 2:]))
    run = scene.rollout(scene.initial_state(q=q, qd=qd), steps=frames)
    return jnp.concatenate([x[1:].reshape(-1, DISCS, 3)[..., :2] for x in (run.q, run.qd)], -1)


def draw(n: int, rng: np.random.Generator) -> np.ndarray:
    """First states [n, discs, 4]: places that do not overlap, speeds even, all directions."""
    places = np.zeros((n, DISCS, 2))
    for clip in places:
        while not _apart(clip):
            clip[:] = rng.uniform(RADIUS, BOX - RADIUS, (DISCS, 2))
    speed, angle = rng.uniform(SLOWEST, FASTEST, (n, DISCS)), rng.uniform(0, 2 * np.pi, (n, DISCS))
    return np.concatenate(
        [places, np.stack([speed * np.cos(angle), speed * np.sin(angle)], -1)], axis=-1
    )


def _apart(places: np.ndarray) -> bool:
    gaps = np.linalg.norm(places[:, None] - places[None], axis=-1)[np.triu_indices(DISCS, 1)]
    return bool(gaps.min() > 2 * RADIUS)


def paths(first: np.ndarray, frames: int, masses: Any = (1.0,) * DISCS) -> np.ndarray:
    """States [n, frames + 1, discs, 4] at all frames, from impact to impact in closed form."""
    m = np.asarray(masses, float)
    return np.stack([_path(state, frames, m) for state in first])


def _path(first: np.ndarray, frames: int, m: np.ndarray) -> np.ndarray:
    x, v = first[:, :2].copy(), first[:, 2:].copy()
    out, t = [first], 0.0
    for k in range(1, frames + 1):
        while t < k * FRAME:
            wait, event = _next(x, v)
            span = min(wait, k * FRAME - t)
            x, t = x + span * v, t + span
            if wait > span:
                break
            _bounce(x, v, m, event)
        t = k * FRAME
        out.append(np.concatenate([x, v], axis=1))
    return np.stack(out)


_PAIRS = [(i, j) for i in range(DISCS) for j in range(i)]


def _next(x: np.ndarray, v: np.ndarray) -> tuple[float, tuple[int, int]]:
    """Time to the next impact, and whose: (disc, disc), or (disc, -1 - axis) at a wall."""
    with np.errstate(divide="ignore", invalid="ignore"):
        to_wall = np.where(v > 0, BOX - RADIUS - x, x - RADIUS) / np.abs(v)
    i, axis = np.unravel_index(np.argmin(to_wall), to_wall.shape)
    first, event = max(float(to_wall[i, axis]), 0.0), (int(i), -1 - int(axis))
    for i, j in _PAIRS:
        d, w = x[i] - x[j], v[i] - v[j]
        closing, square = d @ w, w @ w
        inside = closing**2 - square * (d @ d - 4 * RADIUS**2)
        if closing < 0 and inside > 0:
            wait = max((-closing - np.sqrt(inside)) / square, 0.0)
            if wait < first:
                first, event = wait, (i, j)
    return first, event


def _bounce(x: np.ndarray, v: np.ndarray, m: np.ndarray, event: tuple[int, int]) -> None:
    i, j = event
    if j < 0:
        v[i, -1 - j] *= -1
        return
    normal = (x[i] - x[j]) / (2 * RADIUS)
    impulse = -2 * m[i] * m[j] / (m[i] + m[j]) * ((v[i] - v[j]) @ normal) * normal
    v[i] += impulse / m[i]
    v[j] -= impulse / m[j]

"""Tosses of a cube: recordings of two laboratories, the cube, and how far a simulation is off.

Lengths stay in the unit of the cameras, in which free fall is 9.62 m/s^2 and the cube rests 2 % too
low. So not the data are scaled but the model: a `scale` s makes the cube smaller by s, gravity too.
Errors of all models are then in one unit, whatever scale a fit finds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim.model.catalogue import with_leaf

DT, HALF, MASS, INERTIA, GRAVITY = 1 / 148, 0.0524, 0.37, 0.00081, 9.81
# As the cameras see it; a lowest corner higher than AIR (m) is in the air.
FALL, AIR = 9.62, 0.003
# What a window may be off by: position (m), rotation (rad).
SIGMA = (0.003, 0.06)
SETS = {"contactnets": "cube_toss_contactnets", "dair_pll": "cube_toss_dair_pll"}


@dataclass(frozen=True)
class Tosses:
    """Tosses side by side, as long as the longest: `q` [n, t, 7], `qd` [n, t, 6], `real` [n, t]."""

    q: np.ndarray
    qd: np.ndarray
    real: np.ndarray

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, rows: Any) -> Tosses:
        return Tosses(self.q[rows], self.qd[rows], self.real[rows])

    def trimmed(self, samples: int) -> Tosses:
        """Their first samples."""
        return Tosses(self.q[:, :samples], self.qd[:, :samples], self.real[:, :samples])


def read(folder: Path, name: str) -> Tosses:
    """All tosses in a folder of a set; behind its end a toss lies where it ended.

    Recorded velocities are differences of the last two positions, half a sample late: in the air,
    where every toss starts, that is half a sample of gravity.
    """
    archive = np.load(folder / "tosses.npz")
    columns = [str(c) for c in archive["columns"]]
    pick = {k: columns.index(k) for k in columns}
    unit = HALF if name == "contactnets" else 1.0
    table, ptr = archive["state"], archive["ptr"]
    position = table[:, [pick[c] for c in ("x", "y", "z")]] * unit
    turn = table[:, [pick[c] for c in ("qw", "qx", "qy", "qz")]]
    velocity = table[:, [pick[c] for c in ("vx", "vy", "vz")]] * unit
    spin = table[:, [pick[c] for c in ("wx", "wy", "wz")]]
    w, x, y, z = turn.T
    down = np.abs([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]).sum(0)
    velocity[:, 2] -= np.where(position[:, 2] - HALF * down > AIR, 0.5 * DT * FALL, 0.0)
    q, qd = np.concatenate([position, turn], 1), np.concatenate([velocity, spin], 1)
    length = np.diff(ptr)
    rows = np.minimum(ptr[:-1, None] + np.arange(length.max()), ptr[1:, None] - 1)
    return Tosses(q[rows], qd[rows], np.arange(length.max()) < length[:, None])


def cube() -> gs.Model:
    """The cube of the recordings on the ground, with the surface numbers that gs takes unasked."""
    b = gs.Builder("cube", gravity=(0, 0, -GRAVITY))
    b.link("cube", joint="free", mass=MASS, inertia=INERTIA)
    b.geom("plane", (), name="ground")
    b.geom("box", (HALF,) * 3, "cube", name="box")
    return b.build()


def shrunk(model: gs.Model, x: Any) -> gs.Model:
    """The model as cameras with lengths 1/x[0] see it."""
    model = with_leaf(model, "geom.size", model.geom.size / x[0])
    model = with_leaf(model, "link.inertia", model.link.inertia / x[0] ** 2)
    return with_leaf(model, "world.gravity", model.world.gravity / x[0])


def slower(model: gs.Model, x: Any) -> gs.Model:
    """The model with x[0] times the inertia."""
    return with_leaf(model, "link.inertia", model.link.inertia * x[0])


# From a solid cube to one whose mass is in its faces.
SOLID, HOLLOW = MASS * (2 * HALF) ** 2 / 6 / INERTIA, MASS * (2 * HALF) ** 2 * 5 / 18 / INERTIA
TURNING = gs.Custom(("inertia",), (1.0,), slower, "1", gs.Bounds(SOLID, HOLLOW))
SCALE = gs.Custom(("scale",), (1.0,), shrunk, "1", gs.Bounds(0.9, 1.1))


def recordings(tosses: Tosses) -> list[gs.Recording]:
    """One recording a toss: the pose of the cube."""
    out = []
    for k, length in enumerate(tosses.real.sum(1)):
        time = DT * np.arange(length)
        channel = gs.Channel("link.pose[cube]", time, tosses.q[k, :length], "m, rad")
        out.append(gs.Recording({channel.name: channel}, name=str(k)))
    return out


def states(tosses: Tosses) -> gs.State:
    """First samples as states, side by side."""
    empty = jnp.zeros((len(tosses), 0))
    return gs.State(jnp.asarray(tosses.q[:, 0]), jnp.asarray(tosses.qd[:, 0]), empty)


def simulate(simulator: gs.Simulator, tosses: Tosses) -> np.ndarray:
    """Whole tosses from their first samples [n, t, 7]."""
    steps = tosses.q.shape[1] - 1
    run = jax.vmap(lambda s: simulator.rollout(s, steps=steps).q)
    return np.asarray(run(states(tosses)))


def errors(q: np.ndarray, tosses: Tosses) -> tuple[np.ndarray, np.ndarray]:
    """Mean distance (m) and angle (rad) over each toss [n]; a motion that blows up: 1 m, pi."""
    distance = np.linalg.norm(q[..., :3] - tosses.q[..., :3], axis=-1)
    cosine = np.abs(np.sum(q[..., 3:] * tosses.q[..., 3:], -1))
    angle = 2 * np.arccos(np.clip(cosine, 0.0, 1.0))
    distance = np.minimum(np.where(np.isfinite(distance), distance, 1.0), 1.0)
    angle = np.where(np.isfinite(angle), angle, np.pi)
    count = tosses.real.sum(1)
    return (distance * tosses.real).sum(1) / count, (angle * tosses.real).sum(1) / count


def score(q: np.ndarray, tosses: Tosses) -> float:
    """One number to choose by: mean distance in half sides of the cube, plus mean angle in rad."""
    distance, angle = errors(q, tosses)
    return float(distance.mean() / HALF + angle.mean())


def fit_windows(
    simulator: gs.Simulator,
    tosses: Tosses,
    free: dict[str, Any],
    horizons: tuple[int, ...],
    iterations: int = 25,
) -> gs.Result:
    """Multiple shooting from recorded states on growing windows of so many steps, Huber's loss."""
    local = gs.LevenbergMarquardt(iterations, cost_tolerance=1e-4)
    return gs.fit(posed(simulator, tosses, free, horizons), local=local)


def posed(
    simulator: gs.Simulator, tosses: Tosses, free: dict[str, Any], horizons: tuple[int, ...]
) -> gs.Problem:
    """The problem of that fit."""
    longest = max(horizons)

    def recorded(recording: gs.Recording, time: float) -> tuple[np.ndarray, np.ndarray]:
        k, i = int(recording.name), round(time / DT)
        return tosses.q[k, i], tosses.qd[k, i]

    return gs.Problem(
        simulator,
        recordings(tosses),
        free,
        noise={"link.pose[cube]": np.repeat(SIGMA, 3)},  # type: ignore[dict-item]
        holdout=0,
        horizon=DT * longest,
        growth=tuple(h / longest for h in horizons),
        initial=recorded,
        fit_initial=False,
        loss=gs.Huber(2.0),
        max_windows=400,
    )


def windows(tosses: Tosses, steps: int) -> Tosses:
    """Stretches of so many steps, one after the other, as tosses of their own."""
    starts = range(0, tosses.q.shape[1] - steps, steps)

    def cut(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[:, i : i + steps + 1] for i in starts])

    found = Tosses(*map(cut, (tosses.q, tosses.qd, tosses.real)))
    return found[found.real.all(1)]


def residual(q: np.ndarray, tosses: Tosses) -> np.ndarray:
    """Distances and rotation vectors over their standard deviations [n, t, 6]; no padding."""
    conjugate = q[..., 3:] * np.array([1.0, -1, -1, -1])
    a, b = conjugate, tosses.q[..., 3:]
    w = np.sum(a * b * np.array([1.0, -1, -1, -1]), -1, keepdims=True)
    v = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    v, w = np.where(w < 0, -v, v), np.abs(w)
    turn = 2 * np.arctan2(np.linalg.norm(v, axis=-1, keepdims=True), w)
    turn = v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12) * turn
    out = np.concatenate([(q[..., :3] - tosses.q[..., :3]) / SIGMA[0], turn / SIGMA[1]], -1)
    return out * tosses.real[..., None]


def from_later(tosses: Tosses, starts: tuple[int, ...]) -> Tosses:
    """The same tosses from several of their first samples: many starts of one motion."""
    steps = tosses.q.shape[1] - max(starts)

    def cut(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[:, i : i + steps] for i in starts])

    return Tosses(*map(cut, (tosses.q, tosses.qd, tosses.real)))

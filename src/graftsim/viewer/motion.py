"""Where the links are over time, on the frames that are shown, and how much room that takes."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from graftsim.dynamics.kinematics import link_poses
from graftsim.dynamics.mechanism import prepare
from graftsim.io.robot.poses import matrix
from graftsim.model.model import Model
from graftsim.viewer.parts import Part, floats

FPS = 30.0
MAX_FRAMES = 1200


@dataclass(frozen=True)
class Motion:
    """Link positions [n, nl, 3] (m) and orientations [n, nl, 4]; `known` [n]: those to be shown."""

    position: np.ndarray
    rotation: np.ndarray
    known: np.ndarray


def frames(time: np.ndarray, fps: float = FPS, limit: int = MAX_FRAMES) -> np.ndarray:
    """Indices of the samples to show: at most `fps` a second and `limit` in all, ends included."""
    time = np.asarray(time, float)
    if len(time) < 2:
        return np.arange(len(time))
    span = float(time[-1] - time[0])
    count = int(min(limit, max(2, np.ceil(span * fps - 1e-6) + 1), len(time)))
    wanted = np.linspace(time[0], time[-1], count)
    after = np.clip(np.searchsorted(time, wanted), 1, len(time) - 1)
    nearer = np.abs(time[after - 1] - wanted) <= np.abs(time[after] - wanted)
    return np.unique(np.where(nearer, after - 1, after))


def motion(model: Model, q: np.ndarray) -> Motion:
    """Poses of all links for positions q [n, nq]; rows with a NaN are not known."""
    q = np.asarray(q, float)
    known = np.asarray(np.isfinite(q).all(1))
    filled = np.where(known[:, None], q, model.tree.neutral)
    R, p = _poses(model, jnp.asarray(filled, model.link.mass.dtype))
    return Motion(np.asarray(p, float), quaternions(np.asarray(R, float)), known)


@jax.jit
def _poses(model: Model, q: jax.Array) -> tuple[jax.Array, jax.Array]:
    m = prepare(model)
    return jax.vmap(lambda x: link_poses(m, x))(q)


def reach(model: Model, count: int = 64) -> np.ndarray:
    """Positions [n, nq] all over the limits of the joints that turn, for where a mechanism may get
    to: none of one that leaves its place.
    """
    tree, q = model.tree, np.tile(np.asarray(model.tree.neutral, float), (count, 1))
    if floats(model) or model.closed:
        return q[:0]
    share = np.random.default_rng(0).uniform(size=(count, tree.nv))
    for q_rows, v_rows in zip(tree.q_index, tree.v_index, strict=True):
        if len(q_rows) == len(v_rows) == 1 and tree.dof_units[v_rows[0]] == "rad":
            k = v_rows[0]
            low = max(float(model.joint.lower[k]), -np.pi)
            high = min(float(model.joint.upper[k]), np.pi)
            q[:, q_rows[0]] = low + (high - low) * share[:, k]
    return q


def quaternions(R: np.ndarray) -> np.ndarray:
    """Unit quaternions (w x y z) of rotation matrices [..., 3, 3]: Bar-Itzhack (2000), batched."""
    xx, xy, xz, yx, yy, yz, zx, zy, zz = np.moveaxis(R.reshape(*R.shape[:-2], 9), -1, 0)
    rows = [
        [xx + yy + zz, zy - yz, xz - zx, yx - xy],
        [zy - yz, xx - yy - zz, xy + yx, xz + zx],
        [xz - zx, xy + yx, yy - xx - zz, yz + zy],
        [yx - xy, xz + zx, yz + zy, zz - xx - yy],
    ]
    K = np.moveaxis(np.array(rows), (0, 1), (-2, -1))
    return np.linalg.eigh(K)[1][..., :, -1]


def bounds(parts: list[Part], motions: list[Motion]) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest corner (m) of the box that holds the parts over all the motions."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for part in parts:
        for point in part.position + _extremes(part):
            places = [point[None]]
            if part.link >= 0:
                places = [_carried(m, part.link, point)[m.known] for m in motions]
            for place in places:
                low = np.minimum(low, place.min(0, initial=np.inf))
                high = np.maximum(high, place.max(0, initial=-np.inf))
    if not np.all(np.isfinite(low)):
        return -0.5 * np.ones(3), 0.5 * np.ones(3)
    return low, high


def _extremes(part: Part) -> np.ndarray:
    """A few extreme points of a part's mesh, in the axes of its link."""
    v = part.mesh.vertices
    chosen = np.unique(np.concatenate([v.argmin(0), v.argmax(0)]))
    return v[chosen] @ matrix(part.rotation).T


def _carried(m: Motion, link: int, point: np.ndarray) -> np.ndarray:
    """A point of a link in the world over time: rotation by v + 2 w (u x v) + 2 u x (u x v)."""
    w, u = m.rotation[:, link, :1], m.rotation[:, link, 1:]
    once = np.cross(u, point)
    return m.position[:, link] + point + 2 * (w * once + np.cross(u, once))

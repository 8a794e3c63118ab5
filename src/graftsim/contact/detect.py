"""Where shapes meet: all candidate contacts of a model in one pose, a fixed number of rows."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.contact.collision import Points, Shape, collide
from graftsim.dynamics.kinematics import world_transforms
from graftsim.dynamics.mechanism import Mechanism, assemble, prepare
from graftsim.dynamics.motion import joint_motion
from graftsim.model.catalogue import labels
from graftsim.model.fuse import fuse
from graftsim.model.model import Model
from graftsim.model.pairs import contact_counts
from graftsim.model.shape_type import ShapeType
from graftsim.spatial import rotation
from graftsim.spatial.transform import Transform, rotate


class Contacts(NamedTuple):
    """Candidate contacts; depth (m, > 0: overlap), place in the world, and frame.

    `frame` rows: the normal, from the pair's first shape to its second, and two tangents.
    """

    depth: Float[Array, " nc"]
    position: Float[Array, "nc 3"]
    frame: Float[Array, "nc 3 3"]


class Places(NamedTuple):
    """Static facts of the contacts: their pair, and the links of its two shapes (-1: world)."""

    pair: np.ndarray
    first: np.ndarray
    second: np.ndarray


def places(model: Model) -> Places:
    """To which pair and links each contact belongs."""
    counts = contact_counts(model)
    pair = np.repeat(np.arange(len(counts)), counts)
    link = np.array(model.geom.link, int)
    geoms = np.array(model.pair.geoms, int).reshape(-1, 2)[pair]
    return Places(pair, link[geoms[:, 0]], link[geoms[:, 1]])


def overlaps(model: Model, q: Float[Array, " nq"]) -> dict[str, float]:
    """Depths (m) of contacts that overlap by more than a micrometre in a pose, deepest first."""
    m = prepare(fuse(model))
    motion = joint_motion(m, q, jnp.zeros(m.tree.nv, q.dtype))
    depth = np.asarray(detect(m, world_transforms(m.tree, motion)).depth)
    names = labels(m.model, "contact")
    return {names[k]: float(depth[k]) for k in np.argsort(-depth) if depth[k] > 1e-6}


def detect(m: Mechanism, X_0: Transform) -> Contacts:
    """Distances, normals and places of all pairs, given the poses of the links."""
    model = m.model
    shapes = _shapes(model, X_0)
    counts = contact_counts(model)
    start = np.concatenate([[0], np.cumsum(counts)])
    found: list[Points] = []
    index: list[np.ndarray] = []
    for kinds, pairs in _alike(model).items():
        a, b = (_stack([shapes[model.pair.geoms[k][side]] for k in pairs]) for side in (0, 1))
        f = collide(*kinds[:2])
        points = jax.vmap(f)(a, b)
        found.append(Points(*(x.reshape(-1, *x.shape[2:]) for x in points)))
        index.append(np.concatenate([np.arange(start[k], start[k + 1]) for k in pairs]))
    depth, position, normal = (
        assemble([getattr(x, field) for x in found], index) for field in Points._fields
    )
    # Rows of the frame: normal, tangents. Planar scenes keep their tangents in the plane.
    R = rotation.align_z(normal)
    return Contacts(depth, position, jnp.stack([R[..., 2], R[..., 0], R[..., 1]], -2))


def _shapes(model: Model, X_0: Transform) -> list[Shape]:
    g = model.geom
    R_own = rotation.matrix(g.rotation)
    out = []
    for k, link in enumerate(g.link):
        if link < 0:
            R, p = R_own[k], g.position[k]
        else:
            R_link = rotation.transpose(X_0.E[link])
            R, p = R_link @ R_own[k], X_0.r[link] + rotate(R_link, g.position[k])
        out.append(Shape(R, p, g.size[k], g.vertices[k]))
    return out


def _alike(model: Model) -> dict[tuple[ShapeType, ShapeType, int, int], list[int]]:
    """Pairs by the kinds of their shapes and the number of their corners."""
    groups: dict[tuple[ShapeType, ShapeType, int, int], list[int]] = {}
    g = model.geom
    for k, (i, j) in enumerate(model.pair.geoms):
        key = (g.types[i], g.types[j], len(g.vertices[i]), len(g.vertices[j]))
        groups.setdefault(key, []).append(k)
    return groups


def _stack(shapes: list[Shape]) -> Shape:
    return Shape(*(jnp.stack(x) for x in zip(*shapes, strict=True)))

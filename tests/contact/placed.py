"""Random shapes at random poses, and the numbers by which they can be moved."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import zoo
from graftsim.contact.collision import Shape, collide
from graftsim.model.contact_counts import contacts
from graftsim.model.shapes import SHAPE_TYPES
from graftsim.spatial import rotation

# Corners of a mesh (no two faces coplanar) and of a polygon, about the origin.
_rng = np.random.default_rng(8)
_ball = _rng.normal(size=(14, 3))
MESH = np.array([0.4, 0.3, 0.25]) * _ball / np.linalg.norm(_ball, axis=1)[:, None]
_angle = np.array([0.1, 1.3, 2.9, 3.6, 5.1])
POLYGON = np.stack([0.4 * np.cos(_angle), 0.3 * np.sin(_angle), 0 * _angle], 1)
CORNERS = {"mesh": MESH, "polygon": POLYGON}
USED = {"plane": 0, "sphere": 1, "capsule": 2, "cylinder": 2, "polygon": 0, "mesh": 0}
PAIRS = [
    pair
    for pair in itertools.combinations_with_replacement(SHAPE_TYPES, 2)
    if contacts(*pair, 8, 8) is not None
]
# Those found by the search for any two convex shapes take long to compile: a few stand for all,
# the others are slow tests.
SEARCHED = [
    pair
    for pair in PAIRS
    if pair[0] != "plane" and ("mesh" in pair or pair[1] in ("cylinder", "ellipsoid"))
    if pair[0] not in ("sphere", "capsule") or "mesh" in pair
]
STANDING_IN = [("box", "ellipsoid")]
# Poses in one call.
BATCH = 150


def parametrize(*, also=(), without=()):
    """One test a pair of kinds, without those that have one of some kinds."""
    quick = [*STANDING_IN, *also]
    return pytest.mark.parametrize(
        "pair",
        [
            pytest.param(p, marks=pytest.mark.slow if p in SEARCHED and p not in quick else ())
            for p in PAIRS
            if not set(without) & set(p)
        ],
        ids="-".join,
    )


def is_planar(pair):
    """Do the two move in a plane?"""
    return "polygon" in pair


def shape(kind, R=None, p=(0, 0, 0), size=(), vertices=None, dtype=float):
    """One shape; a mesh or polygon has the corners above unless others are given."""
    R = np.eye(3) if R is None else R
    size = [*size, 0, 0, 0][:3]
    if vertices is None:
        vertices = CORNERS.get(kind, np.zeros((0, 3)))
    return Shape(*(jnp.asarray(x, dtype) for x in (R, p, size, vertices)))


def turned(degrees, axis="x"):
    """Rotation matrix about an axis or several (as of SciPy)."""
    return Rotation.from_euler(axis, degrees, degrees=True).as_matrix()


def random_shapes(kind, n, rng, spread=0.6, planar=False):
    """n shapes of a kind, stacked: sizes 0.1 to 0.5 m, uniform orientations."""
    R, p = Rotation.random(n, random_state=rng).as_matrix(), rng.uniform(-spread, spread, (n, 3))
    if planar:
        about_z = Rotation.from_rotvec(np.outer(rng.uniform(0, 2 * np.pi, n), [0, 0, 1]))
        # The plane's normal, its z, must be in the plane of the mechanism.
        upright = turned(90) if kind == "plane" else np.eye(3)
        R, p = about_z.as_matrix() @ upright, p * [1, 1, 0]
    size = rng.uniform(0.1, 0.5, (n, 3)) * (np.arange(3) < USED.get(kind, 3))
    vertices = np.tile(CORNERS.get(kind, np.zeros((0, 3))), (n, 1, 1))
    return Shape(*map(jnp.asarray, (R, p, size, vertices)))


def random_pairs(pair, n, seed=0, spread=0.6):
    """Stacks of both shapes of a pair of kinds."""
    rng = np.random.default_rng(seed)
    return [random_shapes(kind, n, rng, spread, is_planar(pair)) for kind in pair]


def symmetric_pairs(pair):
    """Stacks of both shapes where nothing is generic: concentric, on faces, edges and corners of
    each other, aligned, crossed, upright, parallel, touching."""
    planar = is_planar(pair)
    ways = [("z", 0), ("x", 90), ("y", 90), ("z", 45), ("x", 180), ("x", 45)]
    R = [turned(angle, axis) for axis, angle in ways if axis == "z" or not planar]
    p = [(0, 0, 0), (0.2, 0, 0), (0.2, 0.3, 0), (0.3, 0.3, 0), (0, 0.6, 0), (0, 0.5, 0)]
    if not planar:
        p += [(0, 0, 0.2), (0.2, 0.3, 0.4), (0, 0.2, 0.2), (0, 0, 0.8), (0, 0, 0.4), (0, 0, 1.3)]
    sizes = [np.array([0.2, 0.3, 0.4]) * (np.arange(3) < USED.get(kind, 3)) for kind in pair]
    first = shape(
        pair[0], turned(90) if planar and pair[0] == "plane" else None, (0, 0, 0), sizes[0]
    )
    second = [shape(pair[1], *pose, sizes[1]) for pose in itertools.product(R, p)]
    return zoo.stack([first] * len(second)), zoo.stack(second)


def one_of(shapes, i):
    """Number i of a stack."""
    return Shape(*(x[i] for x in shapes))


def moved(shape, z, planar=False):
    """The shape moved by z [9]: rotation vector in its axes, shift in the world, sizes.

    Corners of meshes and polygons are scaled by 1 + the last three. Planar: only in the xy plane.
    """
    turn, shift, grow = z[:3], z[3:6], z[6:]
    if planar:
        # About the world's z, which the shape's axes know as its last row.
        turn, shift = turn[2] * shape.R[2], shift.at[2].set(0.0)
    R = shape.R @ rotation.matrix(rotation.exponential(turn))
    return Shape(R, shape.p + shift, shape.size + grow, shape.vertices * (1 + grow))


def flat(pair):
    """(z [18], first, second) to [k, 7]: depth, position and normal after moving both shapes."""
    planar = is_planar(pair)

    def function(z, a, b):
        points = collide(*pair)(moved(a, z[:9], planar), moved(b, z[9:], planar))
        return jnp.concatenate([points.depth[:, None], points.position, points.normal], 1)

    return function


@functools.cache
def _program(pair):
    return zoo.jit(jax.vmap(flat(pair)))


def evaluate(pair, z, a, b):
    """[n, k, 7] of `flat` for stacks of n, by one program of BATCH poses."""
    n = len(z)
    rows = np.minimum(np.arange(-(-n // BATCH) * BATCH), n - 1).reshape(-1, BATCH)
    z, a, b = jax.tree.map(np.asarray, (z, a, b))
    parts = [_program(pair)(*jax.tree.map(lambda x, i=i: x[i], (z, a, b))) for i in rows]
    return np.concatenate([np.asarray(x) for x in parts])[:n]


def differences(pair, a, b, step):
    """Fourth-order differences [n, k, 7, 18] of `flat` at z = 0."""
    n = len(a.p)
    shifts = np.array([-2.0, -1.0, 1.0, 2.0])[:, None, None] * step * np.eye(18)
    z = np.repeat(shifts.reshape(-1, 18), n, 0)
    many = jax.tree.map(lambda x: np.tile(x, (72, *[1] * (x.ndim - 1))), (a, b))
    v, w, x, y = (f := evaluate(pair, z, *many)).reshape(4, 18, n, *f.shape[1:])
    return np.moveaxis((v - 8 * w + 8 * x - y) / (12 * step), 0, -1)

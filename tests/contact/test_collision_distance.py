"""Depths, places and normals of contacts over random poses, against MuJoCo and by brute force."""

import numpy as np
import pytest
from mujoco_pairs import Pair
from placed import BATCH, CORNERS, SEARCHED, evaluate, one_of, parametrize, random_pairs

NOWHERE = np.zeros((BATCH, 18))


@parametrize(without=("polygon",), also=[("sphere", "mesh"), ("box", "cylinder")])
def test_deepest_contact_is_mujocos(pair):
    """Apart, and overlapping less than the shapes' size: depth, position and normal."""
    a, b = random_pairs(pair, BATCH)
    points = evaluate(pair, NOWHERE, a, b)
    oracle = Pair(*pair, *(CORNERS.get(kind) for kind in pair))
    results = [oracle.distance(one_of(a, i), one_of(b, i)) for i in range(BATCH)]
    distance, ends = np.array([r[0] for r in results]), np.array([r[1] for r in results])

    deepest = points[np.arange(BATCH), points[:, :, 0].argmax(1)]
    depth, position, normal = deepest[:, 0], deepest[:, 1:4], deepest[:, 4:]
    # Overlap up to which the nearest surface is the one by which two shapes are parted.
    shallow = {True: -np.inf, False: -0.03}[pair[0] == "plane"] if pair not in SEARCHED else -0.01
    compared = distance > shallow
    assert (compared & (distance > 0)).sum() > 15
    iterated = pair[0] != "plane" and {"ellipsoid", "cylinder"} & set(pair)
    # MuJoCo keeps the corners of meshes in float32, and iterates for curved surfaces.
    tolerance = np.full(BATCH, 1e-6 if "mesh" in pair else 1e-8 if iterated else 1e-12)
    if pair == ("box", "box"):
        # One of the faces' candidates may stand in for the nearest points by 1e-5 of the size, and
        # for an edge that overlaps 5 % less.
        tolerance = np.where(distance > 0, 5e-6, 0.05 * np.abs(distance) + 5e-6)
    assert (np.abs(-depth - distance) < tolerance)[compared].all()

    generic = (distance > 1e-3) & (tolerance < 2e-6)
    away = (ends[:, 1] - ends[:, 0]) / distance[:, None]
    far = 1e-4 if iterated or "mesh" in pair else 1e-11
    assert np.abs(normal - away)[generic].max(initial=0) < far
    if pair not in SEARCHED:
        # The ends of a flat contact are elsewhere than the point that stands for it.
        assert np.abs(position - ends.mean(1))[generic].max(initial=0) < far


def _edges(v):
    e = np.roll(v, -1, 0) - v
    return e, np.stack([e[:, 1], -e[:, 0]], 1) / np.linalg.norm(e, axis=1)[:, None]


def _corner_gap(x, v):
    """Smallest distance of points x from the outline of a polygon."""
    e, _ = _edges(v)
    t = np.clip(((x[:, None] - v) * e).sum(-1) / (e * e).sum(-1), 0, 1)
    return np.linalg.norm(x[:, None] - v - t[..., None] * e, axis=-1).min()


def polygon_distance(v, w):
    """Gap between two polygons, or minus the least shift that parts them."""
    axes = max(((b[:, None] - a) * _edges(a)[1]).sum(-1).min(0).max() for a, b in ((v, w), (w, v)))
    return axes if axes <= 0 else min(_corner_gap(v, w), _corner_gap(w, v))


@pytest.mark.parametrize("pair", [("sphere", "polygon"), ("polygon", "polygon")], ids="-".join)
def test_polygons_against_brute_force(pair):
    """A disc and a polygon, two polygons: all edges against all corners."""
    n = 2 * BATCH
    a, b = random_pairs(pair, n, spread=0.5)
    points = evaluate(pair, np.zeros((n, 18)), a, b)
    for i in range(n):
        v, w = (np.asarray(x.p + x.vertices @ x.R.T)[:, :2] for x in (one_of(a, i), one_of(b, i)))
        if pair[0] == "sphere":
            centre = np.asarray(a.p[i])[None, :2]
            inside = ((centre - w) * _edges(w)[1]).sum(-1).max() < 0
            expected = _corner_gap(centre, w) * (-1 if inside else 1) - a.size[i, 0]
        else:
            expected = polygon_distance(v, w)
        depth, _, normal = np.split(points[i, points[i, :, 0].argmax()], (1, 4))
        assert abs(-depth - expected) < 1e-12
        if pair[0] == "polygon":
            # Parted along the normal by the depth, the two just touch.
            assert abs(polygon_distance(v, w + (1 + 1e-6) * depth * normal[:2])) < 1e-5
    assert np.all(points[:, :, 6] == 0)

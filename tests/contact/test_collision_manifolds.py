"""Which candidates exist, and where: what lies on something is held at the ends of the contact."""

import numpy as np
import pytest
from placed import evaluate, shape, turned

import zoo

THIN = 1e-3
UNIT = (0.5, 0.5, 0.5)


def contacts(pair, *poses):
    """For each (first, second): (depths, positions, normals) of the candidates that exist."""
    a, b = (zoo.stack(list(x)) for x in zip(*poses, strict=True))
    out = []
    for points in evaluate(pair, np.zeros((len(poses), 18)), a, b):
        depth, position, normal = np.split(points[points[:, 0] > -100], (1, 4), axis=1)
        out.append((depth[:, 0], position, normal))
    return out


def same_points(got, wanted, tolerance=1e-9):
    """Are these the same sets of points?"""
    got, wanted = np.asarray(got), np.asarray(wanted)
    gaps = np.linalg.norm(got[:, None] - wanted, axis=-1)
    return len(got) == len(wanted) and gaps.min(0).max() < tolerance > gaps.min(1).max()


def around(x, y):
    """Corners of a rectangle about the origin."""
    return [(x, y), (-x, y), (-x, -y), (x, -y)]


def box(size, R=None, p=(0, 0, 0)):
    return shape("box", R, p, size)


def test_boxes_on_boxes():
    """A stack touches at the corners of the region that both faces share, once each."""
    below = box(UNIT)
    top = 1 - THIN
    octagon = np.sqrt(2) - 1
    cases = [
        (box(UNIT, p=(0, 0, top)), around(0.5, 0.5)),
        (box(UNIT, turned(90, "x"), (0, 0, top)), around(0.5, 0.5)),
        (box(UNIT, p=(0.3, 0, top)), [(x, y) for x in (-0.2, 0.5) for y in (-0.5, 0.5)]),
        (box((0.2, 0.3, 0.5), p=(0.1, 0, top)), np.add(around(0.2, 0.3), (0.1, 0))),
        (box((2, 2, 0.5), p=(0, 0, top)), around(0.5, 0.5)),
        (box((2, 0.1, 0.5), p=(0, 0, top)), around(0.5, 0.1)),
        (
            box(UNIT, turned(45, "z"), (0, 0, top)),
            0.5 * np.array(around(1, octagon) + around(octagon, 1)),
        ),
    ]
    found = contacts(("box", "box"), *((below, b) for b, _ in cases))
    for (depth, position, normal), (_, wanted) in zip(found, cases, strict=True):
        assert same_points(position[:, :2], wanted)
        np.testing.assert_allclose(depth, THIN, atol=1e-12)
        np.testing.assert_allclose(position[:, 2], 0.5 - THIN / 2, atol=1e-12)
        np.testing.assert_allclose(normal, np.tile([0, 0, 1], (len(depth), 1)), atol=1e-12)


@pytest.mark.parametrize("gap", [1e-3, -1e-3])
def test_crossed_edges_of_boxes(gap):
    """Two edges at right angles: one contact between them, apart or overlapping."""
    a, b = box(UNIT, turned(45, "x")), box(UNIT, turned(45, "y"), (0, 0, np.sqrt(2) + gap))
    ((depth, position, normal),) = contacts(("box", "box"), (a, b))
    best = depth.argmax()
    assert depth[best] == pytest.approx(-gap, abs=1e-12)
    np.testing.assert_allclose(position[best], [0, 0, (np.sqrt(2) + gap) / 2], atol=1e-12)
    np.testing.assert_allclose(normal[best], [0, 0, 1], atol=1e-12)
    assert gap > 0 or len(depth) == 1


def test_a_tilted_box_keeps_its_corners():
    """A stack that leans by a milliradian has the same four contacts, at depths that lean."""
    lean = turned(np.degrees(1e-3), "x")
    ((depth, position, _),) = contacts(
        ("box", "box"), (box((1, 1, 0.5)), box(UNIT, lean, (0, 0, 1)))
    )
    assert same_points(position[:, :2], around(0.5, 0.5), 1e-3)
    np.testing.assert_allclose(depth, -5e-4 * np.sign(position[:, 1]), rtol=1e-2)


def test_capsules_on_boxes():
    """Lying: held at both ends, or where the face ends; standing or leaning: once."""
    flat, high = turned(90, "y"), 0.6 - THIN
    size = (0.1, 0.3)
    poses = [
        (shape("capsule", flat, (0.1, 0, high), size), box(UNIT)),
        (shape("capsule", flat, (0.4, 0, high), size), box(UNIT)),
        (shape("capsule", flat, (0, 0, high), (0.1, 2.0)), box(UNIT)),
        (shape("capsule", np.eye(3), (0, 0, high + 0.3), size), box(UNIT)),
        (shape("capsule", turned(-45, "y"), (0.5, 0, 0.5 + np.sqrt(2) * 0.09), size), box(UNIT)),
    ]
    found = contacts(("capsule", "box"), *poses)
    ends = [(-0.2, 0.4), (0.1, 0.5), (-0.5, 0.5)]
    for (depth, position, normal), x in zip(found[:3], ends, strict=True):
        low = depth > 0
        assert {*position[low, 0].round(9)} == {*x}
        np.testing.assert_allclose(depth[low], THIN, atol=1e-12)
        np.testing.assert_allclose(normal[low][:, 2], -1, atol=1e-12)
    assert [(d > 0).sum() for d, _, _ in found[3:]] == [1, 1]
    assert found[4][0].max() == pytest.approx(0.01, abs=1e-12)


def test_capsules_on_capsules():
    """Parallel: held at both ends of what is side by side; crossed: once."""
    a = shape("capsule", size=(0.1, 0.5))
    places = [(0.2, 0, 0), (0.2, 0, 0.4), (0, 0, 1.2), (0.2, 0, 0)]
    turns = [np.eye(3)] * 3 + [turned(90, "x")]
    poses = [(a, shape("capsule", R, p, (0.1, 0.5))) for R, p in zip(turns, places, strict=True)]
    found = contacts(("capsule", "capsule"), *poses)
    heights = [sorted(position[:, 2].round(9)) for _, position, _ in found]
    assert heights == [[-0.5, 0.5], [-0.1, 0.5], [0.6], [0.0]]
    for depth, _, _ in found:
        np.testing.assert_allclose(depth, 0, atol=1e-12)


def test_cylinders_on_a_plane():
    """Upright: three points of the rim; lying: the two ends of the line; leaning: the lowest."""
    leaning = turned(30, "y")
    poses = [
        (shape("plane"), shape("cylinder", R, (0, 0, z), (0.3, 0.5)))
        for R, z in ((np.eye(3), 0.5), (turned(90, "y"), 0.3), (leaning, 1.0))
    ]
    upright, lying, lean = contacts(("plane", "cylinder"), *poses)
    low = np.abs(upright[0]) < 1e-12
    assert low.sum() == 3
    assert np.linalg.norm(upright[1][low].mean(0)) < 1e-12
    assert (np.abs(lying[0]) < 1e-12).sum() == 2
    expected = -(1 - 0.5 * np.cos(np.pi / 6) - 0.3 * np.sin(np.pi / 6))
    assert lean[0].max() == pytest.approx(expected, abs=1e-12)


def test_polygons_on_polygons():
    """An edge on an edge is held at both ends of what they share; a corner on an edge once."""
    square = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) / 2
    a = shape("polygon", vertices=square)
    poses = [
        (a, shape("polygon", R, p, vertices=square))
        for R, p in (
            (np.eye(3), (0.3, 0.999, 0)),
            (turned(45, "z"), (0.1, 0.5 + np.sqrt(0.5) - 1e-3, 0)),
            (np.eye(3), (1.3, 1.4, 0)),
        )
    ]
    edge, corner, apart = contacts(("polygon", "polygon"), *poses)
    assert same_points(edge[1], [(-0.2, 0.4995, 0), (0.5, 0.4995, 0)])
    np.testing.assert_allclose(edge[0], 1e-3, atol=1e-12)
    assert (corner[0] > 0).sum() == 1
    assert corner[0].max() == pytest.approx(1e-3, abs=1e-12)
    assert apart[0].max() == pytest.approx(-0.5, abs=1e-12)


def test_cylinders_on_boxes():
    """Standing: held at four points of the rim; lying: at both ends; tilted: at its lowest.

    Ends are found with one shape tilted by 1/100 rad, and misplaced by that part of the overlap.
    """
    poses = [
        (box((1, 1, 0.5)), shape("cylinder", R, (0.1, 0.2, z), (0.3, 0.4)))
        for R, z in (
            (np.eye(3), 0.9 - THIN),
            (turned(90, "y"), 0.8 - THIN),
            (turned(30, "y"), 0.5 + 0.4 * np.cos(np.pi / 6) + 0.3 * np.sin(np.pi / 6) - THIN),
        )
    ]
    standing, lying, tilted = contacts(("box", "cylinder"), *poses)
    assert len(standing[0]) == 4
    radii = np.linalg.norm(standing[1][:, :2] - [0.1, 0.2], axis=1)
    np.testing.assert_allclose(radii, 0.3, atol=1e-4)
    np.testing.assert_allclose(standing[1][:, :2].mean(0), [0.1, 0.2], atol=1e-5)
    assert same_points(lying[1][:, :2], [(-0.3, 0.2), (0.5, 0.2)], 1e-4)
    assert len(tilted[0]) == 1
    for depth, _, normal in (standing, lying, tilted):
        np.testing.assert_allclose(depth, THIN, atol=1e-6)
        np.testing.assert_allclose(normal[:, 2], 1, atol=1e-9)


def test_a_mesh_with_many_corners_stands_on_its_outermost():
    """Of a plate of 2 x 49 corners that lies on a plane, the four at the corners of the plate."""
    x, y, z = np.meshgrid(np.linspace(-1, 1, 7), np.linspace(-1, 1, 7), (0, 0.1))
    plate = np.stack([x.ravel(), y.ravel(), z.ravel()], 1)
    poses = shape("plane"), shape("mesh", turned(20, "z"), vertices=plate)
    ((depth, position, _),) = contacts(("plane", "mesh"), poses)
    corners = np.array([(*c, 0) for c in around(1, 1)]) @ turned(20, "z").T
    gaps = np.linalg.norm(position[:, None] - corners, axis=-1).min(0)
    assert gaps.max() < 1e-12
    np.testing.assert_allclose(depth, 0, atol=1e-12)

"""Shapes from outside the package: one with corners and a radius, and a smooth one."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import graftsim as gs
import zoo
from graftsim.contact.collision import Shape, collide
from graftsim.spatial.arithmetic import dot, sign


@dataclass(frozen=True)
class RoundedBox(gs.model.Convex):
    """A box about the origin whose edges and corners have the radius `rounding` (m)."""

    rounding: float

    name = "rounded box"
    sizes = ("half side x", "half side y", "half side z")

    def mark(self, vertices, n):
        return sign(n)

    def farthest(self, size, vertices, n, mark):
        return mark * (size - self.rounding)

    def moved_to(self, R, n, mark):
        return mark

    def radius(self, size):
        return jnp.asarray(self.rounding, size.dtype)


@dataclass(frozen=True)
class Spheroid(gs.model.Smooth):
    """An ellipsoid of revolution about z."""

    name = "spheroid"
    sizes = ("radius", "half height")

    def support(self, size, n):
        e = jnp.stack([size[0], size[0], size[1]])
        return e * e * n / jnp.sqrt(dot(e * n, e * n))


ROUND = RoundedBox(0.02)


def placed(size, R=None, p=(0.0, 0.0, 0.0), vertices=()):
    """A shape in the world."""
    arrays = (np.eye(3) if R is None else R, p, [*size, 0, 0, 0][:3])
    return Shape(
        *(jnp.asarray(x, float) for x in arrays), jnp.reshape(jnp.array(vertices), (-1, 3))
    )


def poses(n=20):
    """Random orientations, and directions away from the origin."""
    rng = np.random.default_rng(4)
    R = Rotation.random(n, random_state=rng).as_matrix()
    ways = rng.normal(size=(n, 3))
    return zip(R, ways / np.linalg.norm(ways, axis=1, keepdims=True), strict=True)


def test_a_plane_meets_its_lowest_corner():
    """Depth and normal in closed form, whatever its orientation."""
    size = np.array([0.2, 0.1, 0.15])
    for R, _ in poses():
        height = 0.02 + np.abs(R[2]) @ (size - 0.02)
        points = collide("plane", ROUND)(placed(()), placed(size, R, (0.1, 0.2, height - 0.01)))
        np.testing.assert_allclose(points.depth, [0.01], rtol=1e-10)
        np.testing.assert_allclose(points.normal, [[0, 0, 1]], atol=1e-14)


@pytest.mark.parametrize("other", ["sphere", "box", "ellipsoid"])
def test_any_convex_shape_meets_it_as_it_meets_an_ellipsoid(other):
    """The package's ellipsoid has functions of its own: same depth and normal, turned round."""
    size = {"sphere": (0.1,), "box": (0.1, 0.2, 0.15), "ellipsoid": (0.1, 0.2, 0.15)}[other]
    theirs, ours = zoo.jit(collide(other, "ellipsoid")), zoo.jit(collide(other, Spheroid()))
    for R, way in poses(6):
        a = placed(size)
        expected = theirs(a, placed((0.2, 0.2, 0.3), R, 0.4 * way))
        got = ours(a, placed((0.2, 0.3), R, 0.4 * way))
        np.testing.assert_allclose(got.depth, expected.depth, atol=1e-9)
        np.testing.assert_allclose(got.normal, expected.normal, atol=1e-6)


def test_it_falls_and_rests():
    """On its side, at the height of its half side, with rigid contact, by kernels and XLA alike."""
    builder = gs.Builder("dice")
    builder.link("die", joint="free", mass=0.5, inertia=2e-3)
    builder.geom(Spheroid(), (0.2, 0.1), "die").geom("plane", ())
    model = builder.build()
    assert model.geom.kinds == ("spheroid", "plane") and model.pair.geoms == ((1, 0),)
    simulator = gs.Simulator(model, 0.005, contact=gs.contact.Complementarity())
    start = simulator.initial_state({"die.z": 0.13})
    paths = [
        simulator.rollout(start, jnp.zeros((120, 0)), backend=backend)
        for backend in ("kernel", "xla")
    ]
    np.testing.assert_allclose(paths[0].q, paths[1].q, atol=1e-8)
    np.testing.assert_allclose(paths[0].q[-1, 2], 0.1, atol=1e-4)
    assert np.abs(np.asarray(paths[0].qd[-1])).max() < 1e-3


def test_what_files_and_polygons_make_of_it(tmp_path):
    """Writers name what they leave out, a pair that cannot touch is noted, the viewer draws it."""
    builder = gs.Builder("dice")
    builder.link("die", joint="free", mass=0.5, inertia=2e-3)
    builder.geom(ROUND, (0.2, 0.1, 0.15), "die", name="round")
    builder.geom("polygon", (), name="fence", vertices=np.array([[0, 0], [1, 0], [0, 1.0]]))
    model = builder.build()
    assert any("between polygon and rounded box" in note for note in model.notes)
    assert "shape round: a rounded box." in gs.write_mjcf(model, tmp_path / "robot.xml")
    lost = gs.write_urdf(model, tmp_path / "robot.urdf", lossy=True)
    assert any("a rounded box has no form in URDF" in sentence for sentence in lost)
    with pytest.raises(gs.ModelError, match="a rounded box needs 3 positive sizes"):
        builder.geom(ROUND, 0.1, "die")
    from graftsim.viewer.parts import parts

    drawn = next(part for part in parts(model) if part.name == "round")
    np.testing.assert_allclose(np.abs(drawn.mesh.vertices).max(0), [0.2, 0.1, 0.15], rtol=0.02)

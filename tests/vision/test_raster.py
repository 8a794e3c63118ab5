"""Pictures of planar shapes: areas, centroids, what is in front, and slopes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftsim import vision
from graftsim.errors import ModelError

SIZE = (48, 64)
ONE = jnp.ones((1, 1))


def disc(x, y, r, scale=1.0):
    """One white disc."""
    return vision.discs(jnp.array([[x, y]]), r, ONE, SIZE, scale=scale)[..., 0]


def moment(image, axis):
    """Centroid along x (1) or y (0), in pixels from the corner."""
    at = np.arange(image.shape[axis]) + 0.5
    return jnp.sum(jnp.sum(image, axis=1 - axis) * at) / jnp.sum(image)


@pytest.mark.parametrize(("x", "y", "r"), [(20.0, 20.0, 5.0), (31.37, 22.81, 9.3), (30.5, 20, 2)])
def test_area_and_centroid(x, y, r):
    """A disc covers pi (r^2 + 1/6), the second moment of the filter, and lies where it was put."""
    image = disc(x, y, r)
    assert abs(float(image.sum()) / (np.pi * (r * r + 1 / 6)) - 1) < 5e-3
    np.testing.assert_allclose([moment(image, 1), moment(image, 0)], [x, y], atol=0.02)
    assert 0 <= float(image.min()) <= float(image.max()) <= 1


def test_slopes_are_those_of_area_and_place():
    """d(area)/dr = 2 pi r, d(centroid)/dx = 1; slopes of a random sum against differences."""
    x = jnp.array([30.3, 21.7, 7.6])
    area = jax.grad(lambda p: jnp.sum(disc(*p)))(x)
    np.testing.assert_allclose(area, [0, 0, 2 * np.pi * 7.6], atol=0.4)
    np.testing.assert_allclose(jax.grad(lambda p: moment(disc(*p), 1))(x), [1, 0, 0], atol=0.02)
    weights = np.random.default_rng(0).normal(size=SIZE)

    def cost(p):
        return jnp.sum(weights * disc(*p))

    h = 1e-6
    found = [(cost(x + d) - cost(x - d)) / (2 * h) for d in h * np.eye(3)]
    np.testing.assert_allclose(jax.grad(cost)(x), found, rtol=1e-6, atol=1e-6)


def test_a_disc_on_a_pixels_middle_has_finite_slopes():
    """Where the distance has no direction."""
    slope = jax.grad(lambda p: jnp.sum(disc(*p) ** 2))(jnp.array([20.5, 20.5, 0.3]))
    assert np.all(np.isfinite(slope))


def test_scale_is_the_unit_of_length():
    """The same scene in millimetres and in metres."""
    np.testing.assert_allclose(disc(20, 18, 6), disc(0.02, 0.018, 0.006, scale=1e-3), atol=1e-9)


def test_the_last_is_in_front():
    """Over each other and over the background."""
    red, blue = [1.0, 0, 0], [0, 0, 1.0]
    centres = jnp.array([[20.0, 20.0], [26.0, 20.0]])
    image = vision.discs(centres, 6.0, jnp.array([red, blue]), SIZE, background=0.5)
    np.testing.assert_allclose(image[20, 22], blue, atol=1e-6)
    np.testing.assert_allclose(image[20, 15], red, atol=1e-6)
    np.testing.assert_allclose(image[40, 60], [0.5] * 3, atol=1e-6)


@pytest.mark.parametrize("order", [1, -1])
def test_polygon(order):
    """Area of a turned square, and its slope in a corner by the shoelace formula."""
    turn = 0.3
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    square = 9.0 * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])[::order] @ R.T + [30.2, 22.9]

    def area(corners):
        return jnp.sum(vision.polygons(corners[None], ONE, SIZE))

    assert abs(float(area(jnp.asarray(square))) / 324.0 - 1) < 0.01
    slope = np.asarray(jax.grad(area)(jnp.asarray(square)))
    after, before = np.roll(square, -1, 0), np.roll(square, 1, 0)
    exact = 0.5 * np.stack([after[:, 1] - before[:, 1], before[:, 0] - after[:, 0]], 1)
    exact *= np.sign(np.sum(square[:, 0] * after[:, 1] - square[:, 1] * after[:, 0]))
    np.testing.assert_allclose(slope, exact, atol=0.5)


def test_wrong_shapes_are_named():
    """What was given, and what a scene needs."""
    with pytest.raises(ModelError, match=r"centres of shape \(2, 2\) and colours"):
        vision.discs(jnp.zeros((2, 2)), 1.0, ONE, SIZE)
    with pytest.raises(ModelError, match="height, width"):
        vision.discs(jnp.zeros((1, 2)), 1.0, ONE, (0, 5))

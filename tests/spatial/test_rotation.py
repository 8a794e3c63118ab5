"""Rotations against jaxlie, and at the points where their formulas are 0/0."""

import itertools

import jax
import jax.numpy as jnp
import jaxlie
import numpy as np
import pytest

import zoo
from graftsim.spatial import rotation

# Angles near zero, at the seam of the series (|r|^2 / 4 = 0.01), ordinary, and near pi.
ANGLES = [0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-4, 0.1999, 0.2, 0.2001, 1.0, 3.0]
NEAR_PI = [np.pi - 1e-4, np.pi - 1e-8, np.pi - 1e-12]


def vectors(angles, seed=0):
    """One rotation vector of each length, in random directions."""
    rng = np.random.default_rng(seed)
    n = rng.normal(size=(len(angles), 3))
    return jnp.asarray(n / np.linalg.norm(n, axis=1, keepdims=True) * np.array(angles)[:, None])


def quaternions(n=50, seed=1):
    """Uniform random unit quaternions."""
    rng = np.random.default_rng(seed)
    return jnp.asarray(np.stack([zoo.random_quaternion(rng) for _ in range(n)]))


def test_matrix_agrees_with_jaxlie():
    """Matrices of quaternions are jaxlie's, whatever the quaternion's length."""
    q = quaternions()
    expected = jax.vmap(lambda w: jaxlie.SO3(w).as_matrix())(q)
    for scale in (1.0, 1.1, -0.3, 1e-3):
        assert np.allclose(rotation.matrix(scale * q), expected, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_right_angles_have_matrices_of_whole_numbers(dtype):
    """All 24 turns of a cube, by quaternions of 0, 1/2, sqrt(1/2) and 1: no rounding is left."""
    sizes = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]]) / [[1], [np.sqrt(2)], [2]]
    turns = {
        tuple(np.array(signs) * places)
        for row in sizes
        for places in itertools.permutations(row)
        for signs in itertools.product((1, -1), repeat=4)
    }
    q = jnp.asarray(sorted(turns), dtype)
    R = np.asarray(rotation.matrix(q))
    assert len(np.unique(R, axis=0)) == 24
    assert np.isin(R, (-1, 0, 1)).all()


def test_product_agrees_with_jaxlie():
    """multiply composes as jaxlie does, conjugate inverts."""
    p, q = quaternions(seed=1), quaternions(seed=2)
    expected = jax.vmap(lambda a, b: (jaxlie.SO3(a) @ jaxlie.SO3(b)).wxyz)(p, q)
    assert np.allclose(rotation.multiply(p, q), expected, atol=1e-15)
    identity = rotation.multiply(p, rotation.conjugate(p))
    assert np.allclose(identity, [1, 0, 0, 0], atol=1e-15)


def test_exponential_and_logarithm_agree_with_jaxlie():
    """Away from the singular points both are jaxlie's."""
    r = vectors([0.3, 1.0, 2.0, 3.0, 3.1])
    expected = jax.vmap(lambda x: jaxlie.SO3.exp(x).wxyz)(r)
    assert np.allclose(rotation.exponential(r), expected, atol=1e-15)
    logs = jax.vmap(lambda w: jaxlie.SO3(w).log())(expected)
    assert np.allclose(rotation.logarithm(expected), logs, atol=1e-14)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_logarithm_undoes_exponential(sign):
    """Round trip to machine precision from tiny angles to nearly pi, for q and for -q."""
    r = vectors(ANGLES + NEAR_PI)
    back = rotation.logarithm(sign * rotation.exponential(r))
    assert np.allclose(back, r, rtol=1e-14, atol=1e-15)


def test_logarithm_at_pi_is_a_half_turn():
    """At exactly pi the axis is one of the two, the angle pi, and nothing is NaN."""
    r = rotation.logarithm(jnp.array([[0.0, 1.0, 0.0, 0.0], [-0.0, 0.0, 0.0, -1.0]]))
    assert np.allclose(np.linalg.norm(r, axis=1), np.pi)


def test_exponential_undoes_logarithm():
    """exp(log q) is q up to sign, also for quaternions that are not normalised."""
    q = quaternions()
    back = rotation.exponential(rotation.logarithm(1.3 * q))
    assert np.allclose(back * jnp.sign(jnp.sum(back * q, -1, keepdims=True)), q, atol=1e-14)


@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_derivatives_at_the_identity(mode):
    """exp has slope 1/2 and log slope 2 at the identity, second derivatives are finite."""
    slope = jax.jit(mode(rotation.exponential))(jnp.zeros(3))
    assert np.allclose(slope, np.vstack([np.zeros(3), np.eye(3) / 2]), atol=1e-16)
    identity = jnp.array([1.0, 0, 0, 0])
    slope = jax.jit(mode(rotation.logarithm))(identity)
    assert np.allclose(slope, np.hstack([np.zeros((3, 1)), 2 * np.eye(3)]), atol=1e-15)
    second = jax.jit(mode(mode(rotation.exponential)))(jnp.zeros(3))
    assert np.allclose(second[0], -np.eye(3) / 4, atol=1e-15)
    assert np.all(np.isfinite(jax.jit(mode(mode(rotation.logarithm)))(identity)))


def test_rate_of_the_rotation_vector():
    """r' = rotvec_rate(r, w) where exp(r) turns with w in its own axes, to third order in |r|."""
    rng = np.random.default_rng(4)
    w = jnp.asarray(rng.normal(size=3))
    error = []
    for size in (0.2, 0.1):
        r = vectors([size], seed=5)[0]
        turn = lambda t, r=r: rotation.logarithm(  # noqa: E731
            rotation.multiply(rotation.exponential(r), rotation.exponential(t * w))
        )
        exact = jax.jvp(turn, (0.0,), (1.0,))[1]
        error.append(np.abs(exact - rotation.rotvec_rate(r, w)).max())
    assert error[0] < 1e-5
    assert error[1] < error[0] / 15


def test_about_a_coordinate_axis_nothing_moves_along_it():
    """The axis' own row and column are one and zeros, to the last bit."""
    for k in range(3):
        R = np.asarray(rotation.about_axis(jnp.eye(3)[k], jnp.linspace(-7, 7, 20)))
        assert (R[:, k] == np.eye(3)[k]).all()
        assert (R[:, :, k] == np.eye(3)[k]).all()


def test_about_axis_is_the_exponential():
    """Rodrigues' formula equals the exponential of axis times angle."""
    axis = vectors([1.0] * 20, seed=2)
    angle = jnp.linspace(-7, 7, 20)
    expected = rotation.matrix(rotation.exponential(axis * angle[:, None]))
    assert np.allclose(rotation.about_axis(axis, angle), expected, atol=1e-14)


def test_rpy_is_fixed_axis_roll_pitch_yaw():
    """R = Rz(yaw) Ry(pitch) Rx(roll), as jaxlie has it."""
    angles = jnp.asarray(np.random.default_rng(3).uniform(-3, 3, (20, 3)))
    expected = jax.vmap(lambda a: jaxlie.SO3.from_rpy_radians(*a).as_matrix())(angles)
    assert np.allclose(rotation.matrix(rotation.rpy(angles)), expected, atol=1e-14)


@pytest.mark.parametrize("tilt", [0.0, 1e-12, 1e-8, 1e-6, 1e-4, 1e-2, 1.0, 3.0])
def test_align_z_is_a_rotation_close_to_both_poles(tilt):
    """Columns are orthonormal, right-handed, and the last is the axis, also next to -z."""
    for pole in (1.0, -1.0):
        axis = jnp.array([np.sin(tilt) * 0.6, np.sin(tilt) * 0.8, pole * np.cos(tilt)])
        R = np.asarray(rotation.align_z(axis))
        assert np.allclose(R.T @ R, np.eye(3), atol=1e-13)
        assert np.isclose(np.linalg.det(R), 1)
        assert np.allclose(R[:, 2], axis, atol=1e-12)


def test_align_z_is_the_smallest_rotation():
    """It turns about z x axis by the angle between them."""
    for axis in vectors([1.0] * 20, seed=6):
        turn = np.cross([0, 0, 1], axis)
        r = turn / np.linalg.norm(turn) * np.arccos(axis[2])
        expected = rotation.matrix(rotation.exponential(jnp.asarray(r)))
        assert np.allclose(rotation.align_z(axis), expected, atol=1e-12)

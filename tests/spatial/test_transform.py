"""Plücker transforms and cross products against 6x6 matrices written from the book."""

import jax.numpy as jnp
import numpy as np

import zoo
from graftsim.spatial import rotation, vectors
from graftsim.spatial.transform import Transform


def skew(v):
    """3x3 matrix of the cross product."""
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def random_transform(seed):
    """A transform and its 6x6 matrix [RBDA 2.24]."""
    rng = np.random.default_rng(seed)
    E = np.asarray(rotation.matrix(jnp.asarray(zoo.random_quaternion(rng))))
    r = rng.normal(size=3)
    return Transform(jnp.asarray(E), jnp.asarray(r)), np.block(
        [[E, np.zeros((3, 3))], [-E @ skew(r), E]]
    )


def test_transform_is_its_matrix():
    """motion is X, force_inverse X^T, motion_inverse X^-1, inertia_inverse X^T I X."""
    rng = np.random.default_rng(0)
    for seed in range(5):
        X, M = random_transform(seed)
        v = rng.normal(size=6)
        A = rng.normal(size=(6, 6))
        I = A @ A.T
        assert np.allclose(X.matrix(), M, atol=1e-15)
        assert np.allclose(X.motion(v), M @ v, atol=1e-14)
        assert np.allclose(X.force_inverse(v), M.T @ v, atol=1e-14)
        assert np.allclose(X.motion_inverse(v), np.linalg.solve(M, v), atol=1e-13)
        assert np.allclose(X.inertia_inverse(I), M.T @ I @ M, atol=1e-12)


def test_composition_is_the_product():
    """X_c_b @ X_b_a has the product of the matrices."""
    X, M = random_transform(1)
    Y, N = random_transform(2)
    assert np.allclose((X @ Y).matrix(), M @ N, atol=1e-14)


def test_batched_transforms():
    """Leading axes are batch axes."""
    pairs = [random_transform(s) for s in range(4)]
    X = Transform(*(jnp.stack(x) for x in zip(*(p[0] for p in pairs), strict=True)))
    v = jnp.asarray(np.random.default_rng(1).normal(size=(4, 6)))
    assert np.allclose(X.motion(v), [M @ u for (_, M), u in zip(pairs, v, strict=True)])


def test_cross_products():
    """v x and v x* are RBDA 2.31 and 2.32, and each other's negative transpose."""
    rng = np.random.default_rng(2)
    v, m = rng.normal(size=(2, 6))
    w, u = skew(v[:3]), skew(v[3:])
    zero = np.zeros((3, 3))
    assert np.allclose(vectors.cross_motion(v, m), np.block([[w, zero], [u, w]]) @ m)
    assert np.allclose(vectors.cross_force(v, m), np.block([[w, u], [zero, w]]) @ m)


def test_power_does_not_depend_on_the_frame():
    """A force times a motion is the same number in every frame."""
    X, _ = random_transform(3)
    rng = np.random.default_rng(3)
    v, f = rng.normal(size=(2, 6))
    assert np.isclose(X.motion(v) @ f, v @ X.force_inverse(f))

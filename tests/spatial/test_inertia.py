"""Spatial inertias, closed forms of solids (conformance P7), and coordinates that stay physical."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

import zoo
from graftsim.spatial import inertia

MASS = 1.7
SOLIDS = {
    "sphere": (inertia.sphere(MASS, 0.3), "0.3"),
    "box": (inertia.box(MASS, (0.2, 0.4, 0.6)), "0.1 0.2 0.3"),
    "cylinder": (inertia.cylinder(MASS, 0.2, 0.7), "0.2 0.35"),
    "capsule": (inertia.capsule(MASS, 0.2, 0.7), "0.2 0.35"),
    "ellipsoid": (inertia.ellipsoid(MASS, (0.1, 0.2, 0.3)), "0.1 0.2 0.3"),
}


@pytest.mark.parametrize("kind", SOLIDS)
def test_closed_form_is_mujocos(kind):
    """Principal inertias equal those that MuJoCo compiles (sorted, as it keeps them)."""
    mine, size = SOLIDS[kind]
    xml = f"""<mujoco><worldbody><body><freejoint/>
        <geom type="{kind}" size="{size}" mass="{MASS}"/></body></worldbody></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(xml).body_inertia[1]
    assert np.allclose(sorted(mine), sorted(theirs), rtol=1e-12)


def test_capsule_by_sampling():
    """The capsule's inertia, MuJoCo's too, is that of points in its volume."""
    r, length = 0.2, 0.7
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400_000, 3)) * [r, r, length / 2 + r]
    beyond = np.maximum(np.abs(x[:, 2]) - length / 2, 0)
    x = x[x[:, 0] ** 2 + x[:, 1] ** 2 + beyond**2 < r * r]
    second = MASS * np.mean(x**2, 0)
    sampled = second.sum() - second
    assert np.allclose(sampled, inertia.capsule(MASS, r, length), rtol=1e-2)


def bodies(n=20):
    """Random masses, centres of mass and inertias that exist."""
    rng = np.random.default_rng(1)
    mass = rng.uniform(0.1, 5, n)
    six = np.stack([m * zoo.random_inertia(rng) for m in mass])
    return jnp.asarray(mass), jnp.asarray(rng.uniform(-0.5, 0.5, (n, 3))), jnp.asarray(six)


def test_spatial_inertia_round_trip():
    """from_spatial undoes spatial; a massless body has its centre at the origin, and no NaN."""
    back = inertia.from_spatial(inertia.spatial(*bodies()))
    for mine, given_ in zip(back, bodies(), strict=True):
        assert np.allclose(mine, given_, rtol=1e-12, atol=1e-13)
    nothing = inertia.from_spatial(jnp.zeros((6, 6)))
    assert all(np.all(np.asarray(x) == 0) for x in nothing)
    slope = jax.jacrev(lambda I: inertia.from_spatial(I)[1])(jnp.zeros((6, 6)))
    assert np.all(np.isfinite(slope))


def test_spatial_inertia_is_the_bodys_energy():
    """v^T I v / 2 is m |v_com|^2 / 2 + w^T I_com w / 2."""
    mass, com, six = (x[0] for x in bodies())
    rng = np.random.default_rng(2)
    w, u = rng.normal(size=(2, 3))
    v = np.concatenate([w, u])
    at_com = u + np.cross(w, com)
    expected = mass * at_com @ at_com / 2 + w @ inertia.symmetric(six) @ w / 2
    assert np.isclose(v @ inertia.spatial(mass, com, six) @ v / 2, expected)


def test_six_undoes_symmetric():
    """Six numbers to a matrix and back."""
    six = bodies()[2]
    assert np.array_equal(inertia.six(inertia.symmetric(six)), six)


def test_log_cholesky_round_trip():
    """A body's ten coordinates give the body back, and the coordinates themselves."""
    theta = inertia.log_cholesky(*bodies())
    for mine, given_ in zip(inertia.from_log_cholesky(theta), bodies(), strict=True):
        assert np.allclose(mine, given_, rtol=1e-11, atol=1e-12)
    again = inertia.log_cholesky(*inertia.from_log_cholesky(theta))
    assert np.allclose(again, theta, rtol=1e-9, atol=1e-9)


@given(arrays(float, 10, elements=st.floats(-3, 3)))
def test_every_ten_numbers_are_a_body(theta):
    """Any vector maps to positive mass, positive inertia, and the triangle inequality."""
    mass, _, six = (np.asarray(x) for x in inertia.from_log_cholesky(jnp.asarray(theta)))
    principal = np.linalg.eigvalsh(np.asarray(inertia.symmetric(jnp.asarray(six))))
    tolerance = 1e-12 * principal[2]
    assert mass > 0
    assert principal[0] > -tolerance
    assert principal[2] <= principal[0] + principal[1] + tolerance


@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_log_cholesky_jacobians_are_inverse(mode):
    """The derivatives of the two maps are each other's inverse."""
    body = jnp.concatenate([bodies()[0][:1], bodies()[1][0], bodies()[2][0]])

    def there(x):
        return inertia.log_cholesky(x[0], x[1:4], x[4:])

    def back(theta):
        mass, com, six = inertia.from_log_cholesky(theta)
        return jnp.concatenate([mass[None], com, six])

    product = zoo.jit(lambda x: mode(back)(there(x)) @ mode(there)(x))(body)
    assert np.allclose(product, np.eye(10), atol=1e-9)

"""Friction over the sliding speed: the published curves, their ends, and wrong use."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.contact.friction import FRICTION
from graftsim.errors import ModelError

MU, EXTRA, V_0 = 0.4, 0.15, 0.02
SPEED = np.geomspace(1e-6, 10.0, 60)
R = SPEED / V_0
CURVES = {
    "none": 0 * R,
    "coulomb": MU * np.tanh(R),
    "andersson": (MU + EXTRA * np.exp(-((R / 10) ** 2))) * np.tanh(R),
    "hollars": np.minimum(R, 1) * (MU + 2 * EXTRA / (1 + R**2)),
    "brown_mcphee": MU * np.tanh(4 * R) + EXTRA * R / (R**2 / 4 + 0.75) ** 2,
}


def curve(name, v):
    """The coefficient at a speed: its ratio to the speed, times the speed."""
    one = jnp.asarray(1.0)
    return v * FRICTION[name](jnp.asarray(v), MU * one, EXTRA * one, V_0 * one)


def test_every_curve_has_its_formula():
    assert set(CURVES) == set(FRICTION)


@pytest.mark.parametrize("name", FRICTION)
def test_published_formula(name):
    """At every speed; far beyond v_0 it is the coefficient of sliding."""
    np.testing.assert_allclose(curve(name, SPEED), CURVES[name], rtol=1e-12, atol=1e-15)
    if name != "none":
        np.testing.assert_allclose(curve(name, 1e4), MU, rtol=1e-6)


@pytest.mark.parametrize("name", FRICTION)
def test_at_rest(name):
    """The ratio is finite at rest, and its derivative by the speed is right next to it."""

    def ratio(v):
        return FRICTION[name](v, jnp.asarray(MU), jnp.asarray(EXTRA), jnp.asarray(V_0))

    at_rest = ratio(jnp.asarray(0.0))
    np.testing.assert_allclose(at_rest, ratio(jnp.asarray(1e-9)), rtol=1e-6)
    v, h = 0.6 * V_0, 1e-7
    slope = (ratio(jnp.asarray(v + h)) - ratio(jnp.asarray(v - h))) / (2 * h)
    np.testing.assert_allclose(jax.grad(ratio)(jnp.asarray(v)), slope, rtol=1e-6, atol=1e-9)
    assert np.isfinite(jax.grad(ratio)(jnp.asarray(0.0)))


def test_wrong_use():
    with pytest.raises(ModelError, match=r"is 1 or more: 0\.5"):
        gs.contact.SpringDamper(0.5)
    with pytest.raises(ModelError, match=r"'colomb'\. Nearest: coulomb"):
        gs.contact.SpringDamper(friction="colomb")

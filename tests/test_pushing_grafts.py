"""The network of E8 that sees the tip's contact in its own axes: turned and mirrored alike."""

import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

EXPERIMENTS = Path(__file__).parents[1] / "experiments"


@pytest.fixture
def network(monkeypatch):
    """With random weights in all layers, about the object's origin."""
    monkeypatch.setattr(sys, "path", [str(EXPERIMENTS), *sys.path])
    from pushing_grafts import Mirrored

    made, rng = Mirrored().build(7, 6, jax.random.key(0), jnp.float64), np.random.default_rng(0)
    moved = jax.tree.map(lambda a: a + rng.normal(size=a.shape) if eqx.is_array(a) else a, made)
    return eqx.tree_at(lambda m: m.centre, moved, jnp.zeros(2))


def seen(x, turn):
    """Inputs of the same contact in axes that are turned or mirrored by a matrix [2, 2]."""
    sign = np.linalg.det(turn)
    return np.concatenate([[sign * x[0]], *(turn @ x[k : k + 2] for k in (1, 3, 5))])


@pytest.mark.parametrize(
    "turn", [[[0.6, -0.8], [0.8, 0.6]], [[1, 0], [0, -1]], [[0.6, 0.8], [0.8, -0.6]]]
)
def test_forces_turn_and_mirror_with_the_contact(network, turn):
    """The force goes with the axes; the moment changes its sign in a mirror."""
    x, turn = np.random.default_rng(1).normal(size=7), np.array(turn)
    there, here = network(seen(x, turn)), network(x)
    np.testing.assert_allclose(there[3:5], turn @ here[3:5], atol=1e-6)
    np.testing.assert_allclose(there[2], np.linalg.det(turn) * here[2], atol=1e-6)
    assert np.abs(here[2]) > 1e-5 and np.abs(here[3:5]).min() > 1e-2


def test_a_centre_elsewhere_is_an_object_drawn_elsewhere(network):
    """About a centre c it gives what it gives of the lever from c and the velocity there; the
    moment is about the origin all the same."""
    c = np.array([0.3, -0.2])
    x = np.random.default_rng(2).normal(size=7)
    arm = c * 0.05
    moved = x.copy()
    moved[5:7] -= c
    moved[1:3] += x[0] / 0.04 * np.array([-arm[1], arm[0]])
    there, here = eqx.tree_at(lambda m: m.centre, network, jnp.asarray(c))(x), network(moved)
    np.testing.assert_allclose(there[3:5], here[3:5], rtol=1e-9)
    moment = here[2] + arm[0] * here[4] - arm[1] * here[3]
    np.testing.assert_allclose(there[2], moment, rtol=1e-9)

"""Accelerations on closed loops against free bodies with Lagrange multipliers (`maximal`)."""

import jax.numpy as jnp
import maximal
import numpy as np
import pytest

import closed_mechanisms as closed
import graftsim as gs
import zoo
from graftsim import dynamics
from graftsim.model import with_leaf


def ours(model, state):
    """Angular acceleration and that of the centre of mass of every link, and their motion."""
    simulator = gs.Simulator(model, 1e-3)

    @zoo.jit
    def all_of(state):
        run = gs.engine.rollout.scan_steps(
            simulator, state, jnp.zeros((1, model.nu)), ("link.acceleration",)
        )
        R, p = dynamics.link_poses(model, state.q)
        v = dynamics.link_velocities(model, state.q, state.qd)
        return run.recorded["link.acceleration"][0], R, p, v

    a, R, p, v = (np.asarray(x) for x in all_of(state))
    w, speed = (np.einsum("nij,nj->ni", R, x) for x in (v[:, :3], v[:, 3:]))
    alpha, linear = (np.einsum("nij,nj->ni", R, x) for x in (a[:, :3], a[:, 3:]))
    arm = np.einsum("nij,nj->ni", R, np.asarray(model.link.com))
    at_com = linear + np.cross(w, speed) + np.asarray(model.world.gravity)
    at_com += np.cross(alpha, arm) + np.cross(w, np.cross(w, arm))
    return np.concatenate([alpha, at_com], 1), maximal.Bodies(model, R, p, w, speed)


@pytest.mark.parametrize("name", ["four_bar", "stewart_leg", "ankle", "welded"])
def test_accelerations_are_those_of_free_bodies_held_together(name, tmp_path):
    """Of all links, to 1e-8, from a moving state; without damping and rotors."""
    model = closed.load(closed.MJCF[name], tmp_path, name)
    for leaf in ("joint.damping", "joint.armature"):
        model = with_leaf(model, leaf, jnp.zeros(model.nv))
    # One body a link.
    assert all(t != "fixed" for t in model.tree.types)
    state = closed.random_assembled(gs.Simulator(model), 7)
    found, bodies = ours(model, state)
    bodies.joints()
    bodies.loops()
    expected = bodies.accelerations()
    assert np.abs(expected).max() > 1
    assert np.abs(found - expected).max() < 1e-8 * np.abs(expected).max()

"""The scene of E12 against its event-driven reference, which shares no code with the engine."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.dynamics.kinematics import link_poses

FOLDER = str(Path(__file__).parents[2] / "experiments")


@pytest.fixture(scope="module")
def scene():
    """The modules of the experiment."""
    sys.path.insert(0, FOLDER)
    import chain
    import chain_events

    yield chain, chain_events
    sys.path.remove(FOLDER)


def test_poses_are_those_of_the_links(scene):
    """Closed forms of the middles against the engine's kinematics, links bent at random."""
    chain, _ = scene
    model = chain.model()
    q = np.random.default_rng(3).uniform(-1, 1, model.nq)
    R, origin = (np.asarray(x) for x in link_poses(model, jnp.asarray(q)))
    middle = origin + np.einsum("nij,nj->ni", R, np.asarray(model.link.com))
    found = np.asarray(chain.poses(jnp.asarray(q)))
    np.testing.assert_allclose(found[:, 1:], middle[:, :2], atol=1e-9)
    np.testing.assert_allclose(np.sin(found[:, 0]), R[:, 1, 0], atol=1e-12)


def test_reference_keeps_energy(scene):
    """Kinetic and potential energy after the impact, which takes some: e = 0.75, friction."""
    chain, events = scene
    times = np.arange(0.0, 3.0, 1 / 400)
    m, poses = np.full(10, 0.7), events.poses(7.0, times)
    v = np.gradient(poses, times, axis=0, edge_order=2)
    still = 0.5 * np.sum(m * np.sum(v[:, :10, 1:] ** 2, -1), 1)
    turning = 0.5 * np.sum(events.inertia(m) * v[:, :10, 0] ** 2, 1)
    ball = 0.5 * np.sum(v[:, 10, 1:] ** 2, -1) + 0.25 * chain.RADIUS**2 * v[:, 10, 0] ** 2
    high = 100.0 * np.sum(m[1:] * (poses[:, 1:10, 2] - poses[0, 1:10, 2]), 1)
    energy = still + turning + ball + high
    before, after = energy[80:400], energy[680:-2]
    np.testing.assert_allclose(before, 0.5 * 150.0**2, rtol=1e-9)
    assert np.ptp(after) < 1e-3 * before[0]
    assert after.max() < before[0]


@pytest.mark.slow
def test_steps_converge_to_events(scene):
    """Poses 2.5 s after the start, one second after the impact: errors fall with the step."""
    chain, events = scene
    right = events.poses(chain.TOTAL, np.array([0.0, 2.5]))[1]
    off = []
    for dt in (1 / 120, 1 / 480):
        simulator = gs.Simulator(chain.model(), dt, contact=chain.LAW)
        found = jax.jit(lambda m, s=simulator: chain.motion(s, m, 2.5)[-1])(jnp.full(10, 0.7))
        off.append(np.abs(np.asarray(found) - right).max())
    assert off[1] < 0.4 * off[0]
    assert off[1] < 1.0

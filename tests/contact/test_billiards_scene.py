"""The scene of E13 against its event-driven data, which share no code with the engine."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

FOLDER = str(Path(__file__).parents[2] / "experiments")
MASSES = np.array([1.0, 2.0, 4.0])
FRAMES = 12


@pytest.fixture(scope="module")
def billiards():
    """The module of the experiment."""
    sys.path.insert(0, FOLDER)
    import billiards

    yield billiards
    sys.path.remove(FOLDER)


@pytest.fixture(scope="module")
def first(billiards):
    """First states of 32 clips."""
    return billiards.draw(32, np.random.default_rng(5))


def test_events_keep_energy_and_distance(billiards, first):
    """Energy of unequal masses; discs neither overlap nor leave the box."""
    states = billiards.paths(first, 40, MASSES)
    energy = (MASSES * (states[..., 2:] ** 2).sum(-1)).sum(-1)
    np.testing.assert_allclose(energy, energy[:, :1] * np.ones(41), rtol=1e-12)
    assert np.abs(states[..., 2:] - states[:, :1, :, 2:]).max(axis=(1, 2, 3)).min() > 1
    i, j = np.triu_indices(billiards.DISCS, 1)
    gaps = np.linalg.norm(states[:, :, i, :2] - states[:, :, j, :2], axis=-1)
    assert gaps.min() > 2 * billiards.RADIUS - 1e-9
    inner = states[..., :2] - billiards.RADIUS
    assert inner.min() > -1e-9
    assert inner.max() < billiards.BOX - 2 * billiards.RADIUS + 1e-9


def test_events_of_two_discs_keep_momentum(billiards):
    """Head on, far from walls: the closed form of an elastic hit."""
    first = np.array([[20.0, 32.0, 20.0, 0.0], [35.0, 32.0, -10.0, 0.0], [32.0, 58.0, 0.0, 0.0]])
    last = billiards.paths(first[None], 4, (1.0, 3.0, 1.0))[0, -1]
    np.testing.assert_allclose(last[:2, 2], [-25.0, 5.0], rtol=1e-12)
    np.testing.assert_allclose(last[2], first[2])


def test_engine_goes_from_event_to_event(billiards, first):
    """Places and velocities after twelve frames; clips whose last hit lies in the last step too."""
    truth = billiards.paths(first, FRAMES, MASSES)[:, 1:]
    scene = billiards.with_masses(billiards.simulator(), jnp.asarray(MASSES))
    found = jax.vmap(lambda s: billiards.rollout(scene, s, FRAMES))(jnp.asarray(first))
    off = np.abs(np.asarray(found) - truth).max(axis=(1, 2, 3))
    assert np.count_nonzero(np.abs(np.diff(truth[..., 2:], axis=1)).max((2, 3)) > 1) > 50
    np.testing.assert_array_less(off, 1e-5)


@pytest.mark.slow
def test_slopes_are_those_of_events(billiards, first):
    """Of the last places, in the first state and in the masses, against differences of events."""
    rng = np.random.default_rng(6)
    weight = rng.normal(size=(billiards.DISCS, 2))

    def cost(state, masses):
        scene = billiards.with_masses(billiards.simulator(), masses)
        return jnp.sum(weight * billiards.rollout(scene, state, FRAMES)[-1, :, :2])

    def by_events(state, masses):
        return np.sum(weight * billiards.paths(state[None], FRAMES, masses)[0, -1, :, :2])

    clips = jnp.asarray(first[:8])
    slopes = jax.vmap(jax.grad(cost, argnums=(0, 1)), (0, None))(clips, jnp.asarray(MASSES))
    for state, by_state, by_mass in zip(first[:8], *map(np.asarray, slopes), strict=True):
        d, e = rng.normal(size=(billiards.DISCS, 4)), rng.normal(size=billiards.DISCS)
        h = 1e-6
        right = by_events(state + h * d, MASSES + h * e) - by_events(state - h * d, MASSES - h * e)
        ours = np.sum(by_state * d) + np.sum(by_mass * e)
        assert ours == pytest.approx(right / (2 * h), rel=1e-5, abs=1e-5)

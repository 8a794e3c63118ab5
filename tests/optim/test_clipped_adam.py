"""Adam with gradients cut to the usual size, draws in lanes, and the best by a judge."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import graftsim as gs
from graftsim.errors import ProblemError
from graftsim.optim.clipped_adam import time_left
from graftsim.optim.outcome import Outcome

TARGET = np.array([1.0, -2.0, 3.0])


def bowl(x, rng):
    """A sum of squares about TARGET of both leaves."""
    return jax.value_and_grad(lambda t: sum(jnp.sum((a - TARGET) ** 2) for a in t))(x)


def test_with_equal_sizes_it_is_optax_adam_in_units():
    """A gradient of constant size is not cut: the steps are Optax's own, times the unit."""
    slope = np.array([0.3, -0.4])
    found = gs.ClippedAdam(iterations=20).minimise(
        lambda x, rng: (x @ slope, slope), jnp.zeros(2), 0.1
    )
    adam = optax.adam(optax.warmup_cosine_decay_schedule(0.0, 1.0, 2, 20))
    y, state = jnp.zeros(2), adam.init(jnp.zeros(2))
    for _ in range(20):
        update, state = adam.update(0.1 * slope, state)
        y = y + update
    np.testing.assert_allclose(found.x, 0.1 * y, rtol=1e-12)


def test_trees_reach_the_minimum_and_stay_in_bounds():
    """Two leaves of a tree end at the closed form, cut off where the projection says."""
    solver = gs.ClippedAdam(iterations=600, cut=10.0)
    start, unit = (jnp.zeros(3), jnp.ones(3)), (0.05, np.full(3, 0.02))
    found = solver.minimise(bowl, start, unit, project=lambda t: (t[0], jnp.clip(t[1], -1, 2)))
    np.testing.assert_allclose(found.x[0], TARGET, atol=1e-3)
    np.testing.assert_allclose(found.x[1], [1, -1, 2], atol=1e-3)
    assert found.costs.shape == (600, 1) and found.outcome is Outcome.ITERATION_LIMIT


def test_a_wild_gradient_is_cut():
    """One gradient a million times the others moves x no further than a usual one would."""
    count = iter(range(1000))

    def cost(x, rng):
        return 0.0, jnp.where(next(count) == 30, -1e6, 1.0)

    wild = gs.ClippedAdam(iterations=40).minimise(cost, jnp.zeros(()), 1.0)
    count = iter([*range(30), *range(31, 1000)])
    tame = gs.ClippedAdam(iterations=40).minimise(cost, jnp.zeros(()), 1.0)
    assert abs(float(wild.x - tame.x)) < 4.0


def test_draws_in_lanes_are_the_draws_alone():
    """Each of three draws ends where it ends by itself, though one has wild gradients."""
    scale = np.array([1.0, 1e3, 5.0])

    def lanes(x, rng):
        turn = rng.normal()
        value = jax.vmap(jax.value_and_grad(lambda a, s: s * jnp.sum((a - turn) ** 4)))
        return value(x, jnp.asarray(scale))

    start, solver = np.arange(6.0).reshape(3, 2), gs.ClippedAdam(iterations=30, seed=3)
    together = solver.minimise(lanes, start, 0.1, draws=3)
    for k in range(3):

        def alone(x, rng, k=k):
            value, slope = lanes(jnp.tile(x, (3, 1)), rng)
            return value[k], slope[k]

        np.testing.assert_allclose(
            together.x[k], solver.minimise(alone, start[k], 0.1).x, rtol=1e-9
        )


def test_several_sets_add_up():
    """Costs of two sets: the minimum lies between those of each."""
    sets = [lambda x, rng, c=c: (jnp.sum((x - c) ** 2), 2 * (x - c)) for c in (0.0, 4.0)]
    found = gs.ClippedAdam(iterations=400, cut=10.0).minimise(sets, jnp.zeros(1), 0.05)
    np.testing.assert_allclose(found.x, 2.0, atol=1e-3)


def test_the_best_by_the_judge_is_kept():
    """What fits ever better but is judged ever worse from x = 1 on comes back from near 1."""
    solver = gs.ClippedAdam(iterations=200, every=5)
    found = solver.minimise(
        lambda x, rng: (-x[0], -jnp.ones(1)), jnp.zeros(1), 0.05, judge=lambda x: abs(x[0] - 1.0)
    )
    assert abs(float(found.x[0]) - 1.0) < 0.15 and 0 < found.best[0] < 60
    assert found.judged.shape == (41, 1)


def test_progress_and_bad_input(capsys):
    """Lines with the time left; errors that say what was wrong."""
    gs.ClippedAdam(iterations=4).minimise(
        bowl, (jnp.zeros(3),), 0.1, progress=time_left("learning", 2)
    )
    lines = capsys.readouterr().out.splitlines()
    assert (
        len(lines) == 2 and lines[-1].startswith("learning: ") and "4 of 4, 0 s left" in lines[-1]
    )
    for bad in ({"iterations": 0}, {"warmup": 2.0}, {"cut": 0.0}):
        with pytest.raises(ProblemError, match=next(iter(bad))):
            gs.ClippedAdam(**bad)
    with pytest.raises(ProblemError, match="same form"):
        gs.ClippedAdam().minimise(bowl, (jnp.zeros(3),), (0.1, 0.1))
    with pytest.raises(ProblemError, match="axis is that of the draws"):
        gs.ClippedAdam().minimise(bowl, (jnp.zeros(3),), 0.1, draws=2)
    with pytest.raises(ProblemError, match="A cost of shape"):
        gs.ClippedAdam().minimise(lambda x, rng: (0 * x, x), jnp.zeros(3), 0.1)
    lost = gs.ClippedAdam().minimise(lambda x, rng: (jnp.nan, x), jnp.zeros(3), 0.1)
    assert lost.outcome is Outcome.NON_FINITE

"""Receding horizon: what the plant does under it."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from controlled import SLED, sled

import graftsim as gs
from graftsim import control


def test_a_heavier_plant_is_still_brought_to_its_place():
    """The model knows 2 kg, the plant has 2.5: feedback makes up for it, within the limits."""
    simulator = sled()
    mass = simulator.model.link.mass
    heavy = replace(simulator, model=gs.model.with_leaf(simulator.model, "link.mass", 1.25 * mass))
    state = simulator.initial_state()
    done = control.mpc(simulator, state, SLED, 15, 40, plant=heavy, limits=(-3, 4))
    assert done.states.q.shape == (41, 1) and done.controls.shape == (40, 1)
    assert abs(float(done.states.q[-1, 0]) - 1.0) < 0.02
    assert np.abs(done.controls).max() <= 4.0
    # Its own record is what the plant does under those commands.
    again = heavy.rollout(state, done.controls)
    np.testing.assert_allclose(again.q, done.states.q, atol=1e-9)


def test_without_a_mismatch_the_first_plan_is_carried_out():
    """An unlimited linear problem of a horizon that shrinks to nothing new: one iteration each."""
    simulator = sled()
    done = control.mpc(simulator, simulator.initial_state(), SLED, 15, 3)
    plan = control.ilqr(simulator, simulator.initial_state(), SLED, 15)
    np.testing.assert_allclose(done.controls[0], plan.controls[0], rtol=1e-6)


def test_a_plant_may_be_any_function_and_the_time_is_kept():
    """With no time at all the first commands are used: none."""
    calls = []

    def plant(state, u):
        calls.append(float(u[0]))
        return replace(state, q=state.q + 0.1 * u)

    simulator = sled()
    none = control.ILQR(time_limit=0.0)
    start = simulator.initial_state()
    done = control.mpc(simulator, start, SLED, 15, 4, plant=plant, solver=none)
    assert calls == [0.0] * 4
    assert set(done.outcomes) == {control.Outcome.TIME_LIMIT}


def test_wrong_use_is_refused():
    """No steps, a reference that is too short."""
    simulator = sled()
    state = simulator.initial_state()
    with pytest.raises(gs.errors.ControlError, match="0 steps"):
        control.mpc(simulator, state, SLED, 15, 0)
    with pytest.raises(gs.errors.ControlError, match="= 19 rows"):
        control.mpc(simulator, state, SLED, 15, 4, reference=jnp.zeros((10, 1)))

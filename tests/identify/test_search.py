"""Global search before a fit: what a local solver misses, and what is refused."""

import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs


def far_away(stiffness, domain):
    """Two seconds of a fast swing, one window, stiffness started elsewhere than at 40 N m/rad."""
    builder = gs.Builder("swing")
    builder.link("link0", mass=1.0, com=(0, 0, -0.2), inertia=0.02, axis=(1, 0, 0), stiffness=40.0)
    simulator = gs.Simulator(builder.build(), 0.005)
    start = simulator.initial_state({"link0": 0.5})
    q = np.asarray(simulator.rollout(start, steps=400).q)[:, 0]
    channel = gs.Channel("joint.q[link0]", 0.005 * np.arange(401), q, "rad")
    soft = gs.model.with_leaf(simulator.model, "joint.stiffness", jnp.array([stiffness]))
    return gs.Problem(
        gs.Simulator(soft, 0.005), gs.Recording({channel.name: channel}, name="swing"),
        {"joint.stiffness[*]": domain}, noise={channel.name: 0.01}, holdout=0,
        horizon=2.0, growth=(1.0,), initial=lambda *_: (np.array([0.5]), np.zeros(1)),
        fit_initial=False,
    )  # fmt: skip


def test_a_search_finds_what_a_local_solver_misses():
    """A swinging pendulum's stiffness from a start several periods away; the same twice."""
    problem = far_away(4.0, gs.Bounds(1.0, 100.0))
    local = gs.fit(problem)
    found, again = (gs.fit(problem, search=gs.BasinHopping(16, 3, seed=1)) for _ in range(2))
    evolved = gs.fit(problem, search=gs.DifferentialEvolution(16, 6, seed=1))
    value = {r.name: r.value for r in found.parameters}["joint.stiffness[link0]"]
    assert value == pytest.approx(40.0, rel=1e-3)
    assert evolved.theta[0] == pytest.approx(40.0, rel=1e-3)
    assert abs(local.parameters[0].value - 40.0) > 4
    assert found.theta.tolist() == again.theta.tolist()


def test_a_search_needs_somewhere_to_search():
    """A start of zero without bounds gives no scale."""
    with pytest.raises(gs.ProblemError, match=r"needs bounds for joint.stiffness\[link0\]"):
        gs.fit(far_away(0.0, gs.Positive()), search=gs.RandomRestarts(4))


def test_a_resumed_fit_does_not_search_again(tmp_path):
    """It goes on from the checkpoint, and says so; without a search nothing is said of one."""
    options = {"checkpoint": tmp_path / "c.npz", "search": gs.RandomRestarts(8)}
    one = gs.fit(far_away(4.0, gs.Bounds(1.0, 100.0)), **options)
    two = gs.fit(far_away(4.0, gs.Bounds(1.0, 100.0)), **options)
    assert "local solves" in one.settings["search"]
    assert two.settings["search"] == "RandomRestarts: done before the checkpoint"
    assert two.theta.tolist() == one.theta.tolist()
    assert gs.fit(far_away(38.0, gs.Bounds(1.0, 100.0))).settings["search"] == "none"

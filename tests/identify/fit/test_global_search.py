"""Global search before a fit: what a local solver misses, and what is refused."""

import sys

import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.identify.fit.global_search import choose
from graftsim.report.landscape import write_landscape


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


def test_a_resumed_fit_does_not_search_again(tmp_path, monkeypatch):
    """It goes on from the checkpoint, which knows what the search did."""
    options = {"checkpoint": tmp_path / "c.npz", "search": gs.RandomRestarts(8)}
    one = gs.fit(far_away(4.0, gs.Bounds(1.0, 100.0)), **options)
    monkeypatch.setattr(sys.modules["graftsim.identify.fit.fit"], "searched", None)
    two = gs.fit(far_away(4.0, gs.Bounds(1.0, 100.0)), **options)
    assert "local solves" in one.settings["search"]
    assert two.settings["search"] == one.settings["search"]
    assert two.theta.tolist() == one.theta.tolist()
    assert gs.fit(far_away(38.0, gs.Bounds(1.0, 100.0))).settings["search"] == "none"


def test_covariance_adaptation_and_the_automatic_choice():
    """CMA-ES finds it too. "auto" searches after a local fit that leaves more than noise, says so
    and takes the better one; where the local fit explains everything it does not search.
    """
    problem = far_away(4.0, gs.Bounds(1.0, 100.0))
    adapted = gs.fit(problem, search=gs.CMAES(16, 8, seed=1))
    assert adapted.theta[0] == pytest.approx(40.0, rel=1e-3)
    found = gs.fit(problem, search="auto")
    assert found.theta[0] == pytest.approx(40.0, rel=1e-3)
    assert "1 parameters, few enough" in found.settings["search"]
    assert "BasinHopping" in found.settings["search"]
    near = gs.fit(far_away(38.0, gs.Bounds(1.0, 100.0)), search="auto")
    assert near.settings["search"].startswith("auto: not needed")
    with pytest.raises(gs.ProblemError, match="search 'anneal'"):
        gs.fit(problem, search="anneal")


def test_an_archipelago_finds_it_too():
    """pygmo's swarms on two islands, the same twice; without the package, how to get it."""
    problem = far_away(4.0, gs.Bounds(1.0, 100.0))
    try:
        import pygmo  # noqa: F401
    except ImportError:
        with pytest.raises(gs.ProblemError, match=r"graftsim\[pagmo\]"):
            gs.fit(problem, search=gs.Archipelago())
        return
    found, again = (gs.fit(problem, search=gs.Archipelago(2, 8, 6, seed=2)) for _ in range(2))
    assert found.theta[0] == pytest.approx(40.0, rel=1e-3)
    assert found.theta.tolist() == again.theta.tolist()


def test_search_by_size_of_the_problem():
    """Few parameters, many, and none that can be searched."""
    chosen, why = choose(far_away(4.0, gs.Bounds(1.0, 100.0)), seed=3)
    assert (type(chosen), chosen.seed) == (gs.BasinHopping, 3)
    assert "1 parameters" in why
    nothing, why = choose(far_away(0.0, gs.Positive()))
    assert nothing is None
    assert "needs bounds" in why


def test_landscape_of_two_parameters(tmp_path):
    """The lowest cell lies at the truth, costs are those of the fit, the picture is written."""
    builder = gs.Builder("swing")
    builder.link("link0", mass=1.0, com=(0, 0, -0.2), inertia=0.02, axis=(1, 0, 0), stiffness=40.0,
                 damping=0.4)  # fmt: skip
    simulator = gs.Simulator(builder.build(), 0.005)
    q = np.asarray(simulator.rollout(simulator.initial_state({"link0": 0.5}), steps=200).q)[:, 0]
    channel = gs.Channel("joint.q[link0]", 0.005 * np.arange(201), q, "rad")
    for fitted in (False, True):
        problem = gs.Problem(
            simulator, gs.Recording({channel.name: channel}, name="swing"),
            {"joint.stiffness[*]": gs.Bounds(20, 60), "joint.damping[*]": gs.Bounds(0, 0.8)},
            noise={channel.name: 0.01}, holdout=0, horizon=0.5, growth=(1.0,),
            initial="free" if fitted else "measured",
        )  # fmt: skip
        names = ("joint.stiffness[link0]", "joint.damping[link0]")
        found = gs.landscape(problem, *names, points=9)
        assert found.cost.shape == (9, 9)
        assert np.unravel_index(np.argmin(found.cost), (9, 9)) == (4, 4)
        assert found.wells >= 1
        # Initial states adjust: a wrong stiffness costs less than from measured ones.
        corner = found.cost[0, 0]
        measured = corner if not fitted else measured
    assert corner < measured
    write_landscape(found, tmp_path / "map.svg")
    assert "joint.stiffness" in (tmp_path / "map.svg").read_text()
    with pytest.raises(gs.ProblemError, match=r"landscape over 'joint\.damp"):
        gs.landscape(problem, "joint.damp[link0]", names[0])

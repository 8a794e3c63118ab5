"""Fits of networks with parameters: physics first, priors, scales, checkpoints, solvers, memory."""

import dataclasses
import functools
import re

import jax
import machines
import numpy as np
import pytest

import graftsim as gs
import zoo
from graftsim.engine import ImplicitDamping
from graftsim.identify.fit.plan import stages_of

DAMPING, FRICTION = 0.12, 0.3
SOLVER = gs.LevenbergMarquardt(iterations=25)


class Stop(Exception):
    """What a progress callback raises to stop a fit."""


@functools.cache
def recording(friction=0.0, size=1.2):
    """Three seconds of a swinging rod, viscous and with Coulomb friction if wanted."""
    model = zoo.pendulum(damping=DAMPING, friction=friction, friction_velocity=0.1)
    moved = machines.roll(model, [size], steps=300, integrator=ImplicitDamping())
    return machines.recording(model, moved, rates=True)


def grafted(network=None, inputs="joint.qd[*]", **options):
    """The rod without damping, with a network on its passive torque."""
    simulator = gs.Simulator(zoo.pendulum(damping=0.0), machines.DT, integrator=ImplicitDamping())
    graft = gs.Graft("joint.tau_passive[*]", inputs, network=network or gs.MLP(3), **options)
    return simulator.graft(gs.Blueprint(graft))


def problem(simulator=None, data=None, free=("joint.damping[*]",), **options):
    """Damping and network from the rod's motion."""
    quick = {"horizon": 0.2, "growth": (1.0,), "initial": "measured"}
    return gs.Problem(simulator or grafted(), data or recording(), free, **(quick | options))


def share(result):
    """RMS of the network over that of the passive torque."""
    graft = result.grafts[0]
    return float((graft.output_rms / graft.value_rms).max())


@pytest.fixture(scope="module")
def viscous():
    """A viscous truth, damping free, and a network whose weights cost a lot."""
    posed = problem(grafted(prior=0.03))
    return posed, gs.fit(posed, local=SOLVER)


@pytest.fixture(scope="module")
def rubbing(tmp_path_factory):
    """A truth with Coulomb friction, which the damping cannot express; with a checkpoint."""
    posed = problem(data=recording(FRICTION))
    path = tmp_path_factory.mktemp("rubbing") / "fit.npz"
    return posed, gs.fit(posed, local=SOLVER, checkpoint=path), path


def test_physics_explains_what_it_can(viscous):
    """The damping takes what is viscous; the network, which costs, has nothing left to say."""
    _, result = viscous
    assert result.value("joint.damping[bob]") == pytest.approx(DAMPING, rel=0.03)
    assert share(result) < 0.03
    for alone, full in zip(result.physics, result.errors, strict=True):
        assert full.heldout_after == pytest.approx(alone.heldout_after, rel=0.1)
        assert full.heldout_before == alone.heldout_before


def test_network_explains_the_rest(rubbing):
    """With friction in the data the network lowers the held-out error several times more."""
    _, result, _ = rubbing
    assert share(result) > 0.3
    for alone, full in zip(result.physics, result.errors, strict=True):
        assert alone.heldout_after < 0.5 * full.heldout_before
    assert result.errors[1].channel == "joint.qd[bob]"
    assert result.errors[1].heldout_after < 0.5 * result.physics[1].heldout_after
    # It pushes against the velocity; the damping cannot take the sign.
    curve = result.grafts[0].curves[0]
    assert curve.y[0] > 0.1 > -0.1 > curve.y[-1]
    assert (curve.low <= curve.y).all() and (curve.y <= curve.high).all()
    assert curve.x_unit == "rad/s" and curve.y_unit == "N m"


def test_weights_cost_by_their_prior(viscous, rubbing):
    """The prior stands in the parameters of the problem, for weights alone."""
    for (posed, *_), std in ((viscous, 0.03), (rubbing, 1.0)):
        p = posed.parameters
        assert (p.prior_std[~p.physical] == std).all() and np.isinf(p.prior_std[p.physical]).all()
        assert (p.prior_mean == 0).all()
    posed = viscous[0]
    theta = posed.parameters.start + 0.5
    bounds = posed.bounds_of(theta)
    weights = theta[~posed.parameters.physical]
    cost = bounds.prior_cost(theta, np.zeros((1, 0)))
    assert cost == pytest.approx(0.5 * np.sum((weights / 0.03) ** 2))


def test_physics_comes_first(rubbing):
    """Stages: the parameters alone with the weights where they are, then all together."""
    posed, result, _ = rubbing
    assert [stage.physics for stage in stages_of(posed)] == [True, False]
    assert {h.stage for h in result.history} == {0, 1}
    bounds = posed.bounds_of(posed.parameters.start, physics=True)
    weights = ~posed.parameters.physical
    assert (bounds.lower[weights] == bounds.upper[weights]).all()
    assert (bounds.lower[~weights] < bounds.upper[~weights]).all()


def test_stopped_fit_with_a_network_goes_on(rubbing, tmp_path):
    """Stopped among the weights' iterations and resumed: the same numbers, bit by bit."""
    posed, whole, _ = rubbing

    def stop(entry, *_):
        if (entry.stage, entry.iteration) == (1, 3):
            raise Stop

    path = tmp_path / "fit.npz"
    with pytest.raises(Stop):
        gs.fit(posed, local=SOLVER, checkpoint=path, progress=stop)
    again = gs.fit(posed, local=SOLVER, checkpoint=path)
    np.testing.assert_array_equal(again.theta, whole.theta)
    assert again.errors == whole.errors and again.physics == whole.physics
    for a, b in zip(again.grafts[0].curves, whole.grafts[0].curves, strict=True):
        np.testing.assert_array_equal(a.y, b.y)
    entries = [dataclasses.replace(h, seconds=0.0) for h in again.history]
    assert entries == [dataclasses.replace(h, seconds=0.0) for h in whole.history]


def test_checkpoint_of_other_weights_is_refused(rubbing):
    """Another starting network is another problem."""
    simulator = gs.Simulator(zoo.pendulum(damping=0.0), machines.DT, integrator=ImplicitDamping())
    blueprint = gs.Blueprint(gs.Graft("joint.tau_passive[*]", "joint.qd[*]", network=gs.MLP(3)))
    other = problem(simulator.graft(blueprint, key=jax.random.key(5)), recording(FRICTION))
    with pytest.raises(gs.ProblemError, match="another problem"):
        gs.fit(other, local=SOLVER, checkpoint=rubbing[2])


def test_scales_are_set_from_data_once_and_kept(viscous):
    """Open scales come from the first data; other data later do not move them."""
    posed, result = viscous
    before, graft = grafted().grafts.grafts[0], posed.setup.simulator.grafts.grafts[0]
    assert not all(before.wiring.scaled[0]) and float(before.input_scale[0]) == 1.0
    assert all(graft.wiring.scaled[0]) and graft.wiring.scaled[1]
    speeds = recording()["joint.qd[bob]"].values
    assert float(graft.input_scale[0]) == pytest.approx(float(np.sqrt(np.mean(speeds**2))), rel=0.3)
    assert float(graft.output_scale[0]) > 0
    wider = problem(posed.setup.simulator, recording(size=2.8))
    kept = wider.simulator.grafts.grafts[0]
    assert float(kept.input_scale[0]) == float(graft.input_scale[0])
    assert float(kept.output_scale[0]) == float(graft.output_scale[0])
    fitted = result.simulator.grafts.grafts[0]
    assert float(fitted.input_scale[0]) == float(graft.input_scale[0])


def test_given_scales_hold():
    """Scales of the blueprint are not touched by data."""
    simulator = grafted(input_scale={"joint.qd[*]": "90 deg/s"}, output_scale=0.7)
    graft = problem(simulator).simulator.grafts.grafts[0]
    assert float(graft.input_scale[0]) == pytest.approx(np.pi / 2)
    assert float(graft.output_scale[0]) == pytest.approx(0.7)


def test_first_order_solvers_train_networks(rubbing):
    """L-BFGS lowers the cost that the parameters alone leave several times."""
    posed = rubbing[0]
    quick = gs.fit(posed, local=gs.LBFGS(iterations=40))
    start = next(h.cost for h in quick.history if h.stage == 1)
    assert quick.history[-1].cost < 0.3 * start
    assert share(quick) > 0.3


def test_network_with_memory_trains():
    """A GRU lowers the error too; it has no curve to show."""
    posed = problem(grafted(gs.GRU(2)), recording(FRICTION), free=())
    result = gs.fit(posed, local=gs.LevenbergMarquardt(iterations=25))
    assert result.grafts == () and result.physics == ()
    assert result.errors[1].train_after < 0.3 * result.errors[1].train_before


def test_step_error_is_judged_with_the_network(rubbing):
    """Halving the step is tried on the simulator as it is, networks included."""
    said = [w for w in rubbing[1].warnings if "integrator's step" in w]
    sizes = [float(re.search(r"([\d.]+) times", w)[1]) for w in said]
    assert all(size < 10 for size in sizes)


def test_result_with_networks_is_json(rubbing):
    """Summaries and curves as plain numbers."""
    numbers = rubbing[1].as_json()
    (graft,) = numbers["grafts"]
    assert graft["columns"] == ["joint.qd[*]"] and len(graft["curves"][0]["y"]) == 101
    assert len(numbers["physics"]) == len(numbers["errors"])

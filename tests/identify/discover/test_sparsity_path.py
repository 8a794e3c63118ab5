"""The path over the penalty: inputs that matter stay, others become exact zeros."""

import functools

import jax
import machines
import numpy as np
import pytest

import graftsim as gs
import zoo
from graftsim.engine import RungeKutta4
from graftsim.errors import ProblemError


@functools.cache
def recordings():
    """Two swings of a viscous rod, with noise."""
    model = zoo.pendulum(damping=0.15)
    found = []
    for k, start in enumerate((1.0, -0.7)):
        moved = machines.roll(model, [start], steps=300, integrator=RungeKutta4())
        found.append(machines.recording(model, moved, noise=1e-3, rates=True, seed=k))
    return found


def problem(**options):
    """A network over position and velocity on the rod's passive torque."""
    simulator = gs.Simulator(zoo.pendulum(), machines.DT, integrator=RungeKutta4())
    graft = gs.Graft(
        "joint.tau_passive[*]", ("joint.q[*]", "joint.qd[*]"), network=gs.MLP(4), name="net"
    )
    hybrid = simulator.graft(gs.Blueprint(graft), key=jax.random.key(1))
    fitted, held = recordings()
    settings = {"horizon": 0.3, "growth": (1.0,), "holdout": held}
    return gs.Problem(hybrid, fitted, **(settings | options))


def test_path_keeps_the_velocity_alone():
    """Viscous friction: the sparsest within one standard error has the velocity, no position."""
    posed = problem()
    path = gs.sparsify(posed, iterations=15)
    assert [g.column for g in path.inputs] == ["joint.qd[*]"]
    counts = [len(step.inputs) for step in path.steps]
    assert counts == sorted(counts, reverse=True)
    groups = posed.parameters.group
    dropped = next(i for i, g in enumerate(posed.parameters.groups) if g.column == "joint.q[*]")
    assert np.all(path.result.theta[groups == dropped] == 0)
    slope = path.result.grafts[0].sensitivity[0, 0]
    assert slope[1] == pytest.approx(0.15, rel=0.05)
    assert slope[0] == 0


def test_nothing_held_out_is_refused():
    """The choice needs windows that were not fitted."""
    with pytest.raises(ProblemError, match="held out"):
        gs.sparsify(problem(holdout=0.0))

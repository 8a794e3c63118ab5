"""Fits of mechanisms with loops: their own numbers are found, initial states stay on the loops."""

import numpy as np
import pytest

import graftsim as gs
from graftsim.engine.closing import undetermined
from graftsim.identify.problem.windows import measured_state
from graftsim.model import with_leaf

NOISE = 5e-4


def recorded(model, start, u, joints, seed=0):
    """Joint positions of a simulated run with noise, and the commands."""
    s = gs.Simulator(model, 2e-3)
    state = s.assemble(s.initial_state(q=start), keep=tuple(start))
    run = s.rollout(state, u)
    rng = np.random.default_rng(seed)
    q = {name: np.asarray(run.q[:, model.tree.dofs.index(name)]) for name in joints}
    data = {"time": np.asarray(run.time)}
    data |= {f"joint.q[{k}]": x + NOISE * rng.normal(size=x.shape) for k, x in q.items()}
    for k, name in enumerate(model.actuator.names):
        data[f"control[{name}]"] = np.append(np.asarray(u[:, k]), 0.0)
    return gs.recording_from_arrays(data, name="run")


def driven_four_bar(mechanism):
    """The four-bar with a motor on its crank and some damping."""
    import equinox as eqx

    model = mechanism("four_bar")
    builder = gs.Builder("motor")
    for name in model.tree.joints:
        builder.link(name, mass=1.0, inertia=1.0)
    builder.actuator("crank", "crank")
    model = eqx.tree_at(lambda m: m.actuator, model, builder.build().actuator)
    return with_leaf(model, "joint.damping", model.joint.damping + 0.05)


def test_an_anchor_is_found_from_two_joints(mechanism):
    """Where the coupler's pin is, 8 mm off in the file, within its interval; a joint that is not
    measured starts where the loop puts it.
    """
    right = driven_four_bar(mechanism)
    t = np.arange(500) * 2e-3
    u = (1.2 * np.sin(7 * t) + 0.8 * np.sin(17 * t))[:, None]
    log = recorded(right, {"crank": 0.1}, u, ("crank", "rocker"))
    wrong = with_leaf(right, "loop.anchor", right.loop.anchor + np.array([[0.008, 0, 0]]))
    assert undetermined(wrong, ["coupler"]) == []
    q, _ = measured_state(wrong, log, 0.2)
    assert abs(q[1]) > 1e-3
    problem = gs.Problem(
        gs.Simulator(wrong, 2e-3),
        log,
        ["loop.anchor[pin].x", "joint.damping[crank]"],
        horizon=0.25,
        holdout=0,
        noise={f"joint.q[{k}]": NOISE for k in ("crank", "rocker")},
    )
    result = gs.fit(problem)
    found = {p.name: p for p in result.parameters}
    p = found["loop.anchor[pin].x"]
    assert p.std < 1e-3
    assert abs(p.value - 0.6) < 3 * p.std
    assert found["joint.damping[crank]"].value == pytest.approx(0.05, rel=0.3)


def test_a_mimic_ratio_is_found(mechanism):
    """The gripper's ratio and offset, which the file has 4 % and 0.02 rad off."""
    right = mechanism("gripper")
    t = np.arange(300) * 2e-3
    u = (2.3 + 3 * np.sin(12 * t))[:, None]
    log = recorded(right, {"left": 0.01}, u, ("left", "right"))
    wrong = with_leaf(right, "coupling.ratio", right.coupling.ratio * 1.04)
    wrong = with_leaf(wrong, "coupling.offset", wrong.coupling.offset + 0.02)
    problem = gs.Problem(
        gs.Simulator(wrong, 2e-3),
        log,
        ["coupling.ratio[right]", "coupling.offset[right]"],
        horizon=0.15,
        holdout=0,
        noise={f"joint.q[{k}]": NOISE for k in ("left", "right")},
    )
    result = gs.fit(problem)
    found = {p.name: p for p in result.parameters}
    for name, true in (("ratio", -12.5), ("offset", 0.1)):
        p = found[f"coupling.{name}[right]"]
        assert p.std < 0.05 * abs(true)
        assert abs(p.value - true) < 3 * p.std


def test_inverse_dynamics_of_loops_is_refused(mechanism):
    """By name, with the method that can do it."""
    log = recorded(mechanism("gripper"), {"left": 0.01}, np.zeros((20, 1)), ("left", "right"))
    with pytest.raises(gs.ProblemError, match=r"hold right.*--method rollout"):
        gs.inverse_fit(mechanism("gripper"), log)

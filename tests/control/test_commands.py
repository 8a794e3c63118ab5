"""Grafts on the commands wherever commands go: delays, lags, prescribed motion, files, a fit."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.control.train import with_weights
from graftsim.errors import VariableError

GAINS = jnp.array([-2.0, -0.3, 0.1])


def arm(**motor):
    """A hanging rod with a motor, and a slide that follows a path."""
    b = gs.Builder("arm")
    b.link("rod", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.3), inertia=0.02, damping=0.1)
    b.link("slide", joint="prismatic", axis=(1, 0, 0), mass=1.0)
    b.actuator("motor", "rod", **motor)
    b.actuator("way", "slide", "path")
    return gs.Simulator(b.build(), 0.01)


def steered(simulator, target="control.u[motor]"):
    """A linear policy u = -2 q - 0.3 qd + 0.1, added to the commands given."""
    graft = gs.Graft(target, ("joint.q[rod]", "joint.qd[rod]"), gs.MLP(), name="policy")
    grafted = simulator.graft(gs.Blueprint(graft))
    filled = grafted.grafts["policy"].with_trainable(GAINS)
    return replace(grafted, grafts=grafted.grafts.replace("policy", filled))


def commands(steps=12):
    t = 0.01 * np.arange(1, steps + 1)
    return np.stack([np.sin(9 * t), 0.2 * t**2], 1)


@pytest.mark.parametrize("backend", ["kernel", "xla"])
def test_beside_a_path_and_behind_a_delay(backend):
    """The motor sees, two steps late, what was given plus the policy; the path is as given."""
    simulator = steered(arm(delay=0.02))
    start = simulator.initial_state({"rod": 0.4})
    record = ("control.u", "actuator.force[motor]")
    run = simulator.rollout(start, commands(), record=record, backend=backend)
    q, qd = run.q[:-1, 0], run.qd[:-1, 0]
    wanted = commands()[:, 0] + np.stack([q, qd, np.ones_like(q)], 1) @ GAINS
    u, force = run.recorded["control.u"][:, 0], run.recorded["actuator.force[motor]"]
    np.testing.assert_allclose(u, wanted, rtol=1e-9)
    np.testing.assert_allclose(np.reshape(force, -1)[2:], u[:-2], rtol=1e-9)
    np.testing.assert_allclose(run.q[1:, 1], commands()[:, 1], rtol=1e-12)


def test_a_path_cannot_be_given_by_a_graft():
    for target in ("control.u", "control.u[*]", "control.u[way]"):
        with pytest.raises(VariableError, match=r"control\.u\[way\]' prescribes the motion"):
            steered(arm(), target)


def test_poses_and_velocities_are_seen():
    """What kinematics gives is there before the commands; forces are those of the last step."""
    simulator = arm()
    inputs = ("link.rotation[rod]", "link.velocity[rod]", "joint.tau[rod]@prev")
    graft = gs.Graft("control.u[motor]", inputs, gs.MLP(4), name="policy")
    assert simulator.graft(gs.Blueprint(graft)).grafts["policy"].wiring.columns[-1].endswith("prev")
    with pytest.raises(VariableError, match=r"is computed after its target 'control\.u'"):
        simulator.graft(gs.Blueprint(gs.Graft("control.u[motor]", "joint.tau", gs.MLP())))


def test_gradients_reach_the_weights():
    """Against central differences, in the kernel."""
    simulator = steered(arm(delay=0.02))
    start = simulator.initial_state({"rod": 0.4})

    def end(w):
        own = with_weights(simulator, ("policy",), (w,))
        return own.rollout(start, commands(), backend="kernel").q[-1, 0]

    slope = jax.grad(end)(GAINS)
    for k, e in enumerate(1e-5 * np.eye(3)):
        difference = (end(GAINS + e) - end(GAINS - e)) / 2e-5
        assert slope[k] == pytest.approx(float(difference), rel=1e-6)


def test_as_onnx(tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    (path,) = gs.export_onnx(steered(arm()), tmp_path, dtype="float64")
    x = np.array([[0.3, -1.0], [0.0, 2.0]])
    (u,) = ReferenceEvaluator(onnx.load(path)).run(None, {"x": x})
    np.testing.assert_allclose(u[:, 0], x @ GAINS[:2] + GAINS[2], rtol=1e-12)


def test_a_fit_finds_the_law_of_a_controller():
    """Gains of an unknown controller, from the motion that it makes."""
    simulator = steered(arm())
    start = simulator.initial_state({"rod": 0.4})
    run = simulator.rollout(start, commands(60))
    names = {f"joint.{k}[{j}]": getattr(run, k)[:, i]
             for k in ("q", "qd") for i, j in enumerate(("rod", "slide"))}  # fmt: skip
    given = np.concatenate([commands(60), commands(60)[-1:]])
    names |= {"control[motor]": given[:, 0], "control[way]": given[:, 1]}
    log = gs.recording_from_arrays({k: np.asarray(v) for k, v in names.items()}, time=0.01)
    graft = gs.Graft("control.u[motor]", ("joint.q[rod]", "joint.qd[rod]"), gs.MLP(), name="policy",
                     prior=10.0, output_scale=1.0,
                     input_scale={"joint.q[rod]": 1.0, "joint.qd[rod]": 1.0})  # fmt: skip
    free = arm().graft(gs.Blueprint(graft))
    noise = {k: 1e-4 for k in names if k.startswith("joint")}
    problem = gs.Problem(free, log, horizon=0.3, holdout=0, noise=noise)
    found = gs.fit(problem).simulator.grafts["policy"].trainable
    np.testing.assert_allclose(found, GAINS, atol=2e-3)

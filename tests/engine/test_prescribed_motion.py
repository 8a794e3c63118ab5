"""Prescribed motion: joints that are where their commands say, and what that takes."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from closed_mechanisms import FOUR_BAR, load
from differences import column_errors, jacobians
from graftsim import dynamics
from graftsim.engine.rollout import scan_steps

LAW = gs.contact.Complementarity()


def arm(first, inputs=(), *, damping=0.0):
    """Three links in space; the first joint has an actuator of the given kind."""
    b = gs.Builder("arm")
    b.link("base", axis=(0, 0, 1), mass=1.0, com=(0.1, 0, 0.02), inertia=(0.02, 0.03, 0.01))
    b.link("upper", "base", axis=(0, 1, 0), origin=(0.2, 0, 0.1), mass=0.7, com=(0, 0, -0.2),
           inertia=0.02, damping=damping)  # fmt: skip
    b.link("slide", "upper", joint="prismatic", axis=(1, 0, 1), origin=(0, 0, -0.4), mass=0.3,
           inertia=0.005, stiffness=30.0)  # fmt: skip
    b.actuator("motor", "base", first, inputs=inputs)
    return b.build()


def swing(t):
    """A smooth path that begins at rest, and its velocity."""
    return 0.8 * np.sin(3 * t) ** 2, 0.8 * 3 * np.sin(6 * t)


def follow(dt, steps, integrator, inputs=()):
    """Along the swing; without the input `velocity` it is the mean one of each step."""
    simulator = gs.Simulator(arm("path", inputs), dt, integrator=integrator)
    u = np.stack(swing(dt * np.arange(1, steps + 1)), -1)[:, : 1 + len(inputs)]
    start = simulator.initial_state({"upper": 0.5})
    return simulator, simulator.rollout(start, u, record=("joint.reaction",), backend="xla")


@pytest.mark.parametrize("integrator", [gs.SemiImplicitEuler(), gs.RungeKutta4()])
def test_work_of_the_reaction_is_the_energy(integrator):
    """What the reaction does along the path is what the mechanism gains, to the step's order."""
    errors = []
    for dt in (0.004, 0.002):
        simulator, run = follow(dt, round(0.8 / dt), integrator, ("velocity",))
        np.testing.assert_allclose(run.q[1:, 0], swing(np.asarray(run.time[1:]))[0], atol=1e-15)
        energy = [
            float(dynamics.kinetic_energy(simulator.model, q, qd))
            + float(dynamics.potential_energy(simulator.model, q))
            for q, qd in ((run.q[k], run.qd[k]) for k in (0, -1))
        ]
        power = run.recorded["joint.reaction"][:, 0] * run.qd[:-1, 0]
        errors.append(abs(float(jnp.sum(power) * dt) - (energy[1] - energy[0])))
        assert abs(energy[1] - energy[0]) > 0.1
    assert errors[1] < 0.02 * abs(energy[1] - energy[0])
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.parametrize("integrator", [gs.SemiImplicitEuler(), gs.ImplicitDamping()])
def test_the_reaction_as_a_torque_gives_the_same_motion(integrator):
    """The same robot under a motor with that torque takes the same steps."""
    _, run = follow(0.002, 300, integrator)
    driven = gs.Simulator(arm("torque"), 0.002, integrator=integrator)
    again = driven.rollout(
        driven.initial_state({"upper": 0.5}), run.recorded["joint.reaction"][:, :1], backend="xla"
    )
    np.testing.assert_allclose(again.q, run.q, atol=1e-9)
    np.testing.assert_allclose(run.recorded["joint.reaction"][:, 1:], 0.0)


def test_a_path_through_a_loop(tmp_path):
    """A crank on a path turns a four-bar, which stays closed; its reaction is a motor's torque."""
    text = FOUR_BAR.replace("</worldbody>", "</worldbody><actuator>{}</actuator>")
    model = load(text.format('<motor name="m" joint="crank"/>'), tmp_path)
    path = gs.model.drives.DRIVES["path"]
    guided = replace(model, actuator=replace(model.actuator, drives=(path,)))
    simulator = gs.Simulator(guided, 0.002)
    start = simulator.assemble(simulator.initial_state({"crank": 0.0}), keep=("crank",))
    u = swing(0.002 * np.arange(1, 251))[0][:, None] / 2
    run = simulator.rollout(start, u, record=("joint.reaction", "loop.error"), backend="xla")
    assert np.abs(run.recorded["loop.error"]).max() < 1e-9
    np.testing.assert_allclose(run.q[1:, 0], u[:, 0], atol=1e-14)
    driven = gs.Simulator(model, 0.002)
    again = driven.rollout(start, run.recorded["joint.reaction"][:, :1], backend="xla")
    # A free crank has its part in how loops are closed at the end of each step.
    np.testing.assert_allclose(again.q, run.q, atol=1e-4)


def paddle(height=0.3):
    """A ball over a paddle that moves up and down on a path."""
    b = gs.Builder("paddle")
    b.link("paddle", joint="prismatic", axis=(0, 0, 1), mass=2.0, lower=-0.5, upper=0.5)
    b.link("ball", joint="prismatic", axis=(0, 0, 1), origin=(0, 0, height), mass=0.5)
    b.geom("sphere", 0.05, "ball", restitution=0.6).geom("box", (0.2, 0.2, 0.05), "paddle")
    return b.actuator("lift", "paddle", "path").build()


@pytest.mark.parametrize("law", [LAW, gs.contact.SpringDamper()])
def test_impulses_are_part_of_the_reaction(law):
    """Reactions over time are the change of momentum and the weight, impacts included."""
    simulator = gs.Simulator(paddle(), 0.002, contact=law)
    steps = 400
    u = (0.4 * 0.002 * np.arange(1, steps + 1))[:, None]
    start = replace(simulator.initial_state(), qd=jnp.array([0.4, 0.0]))
    run = simulator.rollout(start, u, record=("joint.reaction", "contact.force_n"))
    assert float(jnp.max(run.qd[:, 1])) > 0.3
    given = float(jnp.sum(run.recorded["joint.reaction"][:, 0])) * 0.002
    mass = np.array([2.0, 0.5])
    gained = float(mass @ (run.qd[-1] - run.qd[0])) + 2.5 * 9.81 * steps * 0.002
    assert given == pytest.approx(gained, rel=1e-9)


def test_gradients_and_backends():
    """By parameters, start and path, both modes and both backends agree with differences."""
    model = arm("path", ("velocity",), damping=0.05)
    simulator = gs.Simulator(model, 0.005, substeps=2)
    path = np.stack(swing(0.005 * np.arange(1, 31)), -1)
    state = simulator.initial_state({"upper": 0.5})

    def end(x):
        s = eqx.tree_at(lambda s: (s.model.link.mass, s.model.link.com), simulator, x[:2])
        run = scan_steps(s, state, path * x[2], ("joint.reaction",))
        return jnp.concatenate([run.q[-1], run.qd[-1], run.recorded["joint.reaction"][-1, :1]])

    x = (model.link.mass, model.link.com, jnp.ones((30, 1)))
    forward, reverse, differences = jacobians(end)(x)
    assert column_errors(forward, differences).max() < 1e-6
    np.testing.assert_allclose(forward, reverse, atol=1e-9)

    def ends(backend):
        def f(scale):
            return simulator.rollout(state, path * scale, backend=backend).q[-1]

        return f(jnp.ones(())), jax.jacrev(f)(jnp.ones(()))

    for kernel, xla in zip(ends("kernel"), ends("xla"), strict=True):
        np.testing.assert_allclose(kernel, xla, rtol=1e-10, atol=1e-12)


def test_a_path_that_jumps_or_leaves_the_limits():
    """The error names the path, the joint and the time."""
    simulator = gs.Simulator(paddle(), 0.002)
    state = simulator.initial_state()
    u = np.zeros((50, 1))
    u[20:] = 0.05
    with pytest.raises(gs.ModelError, match=r"'lift' of paddle jumps from 0 to 0.05 m at 0.042 s"):
        simulator.rollout(state, u)
    with pytest.raises(gs.ModelError, match=r"jumps from 0 to 0.3 m at 0.002 s"):
        simulator.rollout(state, np.full((50, 1), 0.3))
    with pytest.raises(gs.ModelError, match=r"leaves the joint's limits -0.5 to 0.5 m: 0.501"):
        simulator.rollout(state, np.arange(1, 601)[:, None] * 0.001)
    u[7] = np.nan
    with pytest.raises(gs.ModelError, match=r"has no number at 0.016 s"):
        simulator.rollout(state, u)


@pytest.mark.parametrize(
    ("joint", "numbers", "message"),
    [
        ("free", {}, "joint 'body' is free"),
        ("planar", {}, "prescribes a part of joint 'body'; body.y, body.yaw need paths"),
        ("prismatic", {"delay": 0.01}, "takes no delay"),
        ("prismatic", {"time_constant": 0.01}, "takes no lag"),
        ("prismatic", {"force_range": (-1.0, 1.0)}, "takes no force_lower"),
    ],
)
def test_what_cannot_have_a_path(joint, numbers, message):
    """Joints that turn in space, parts of joints, and chains that are not exact are refused."""
    b = gs.Builder("body").link("body", joint=joint, mass=1.0, inertia=0.1)
    dof = {"free": "body.x", "planar": "body.x"}.get(joint, "body")
    b.actuator("go", dof, "path", **numbers)
    with pytest.raises(gs.ModelError, match=message):
        b.build()


def test_a_model_of_paths_alone():
    """Nothing is left to solve for: a planar joint goes along three paths."""
    b = gs.Builder("tip").link("tip", joint="planar", mass=1.0, inertia=0.1)
    for name in ("x", "y", "yaw"):
        b.actuator(name, f"tip.{name}", "path")
    simulator = gs.Simulator(b.build(), 0.01)
    u = 0.01 * np.arange(1, 21)[:, None] * np.array([0.1, 0.2, 0.3])
    run = simulator.rollout(simulator.initial_state(), u)
    np.testing.assert_allclose(run.q[1:], u, atol=1e-15)

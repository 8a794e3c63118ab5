"""Motion on closed loops: they stay closed, energy is kept, and closed forms come out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import closed_mechanisms as closed
import graftsim as gs
import zoo
from graftsim import dynamics
from graftsim.dynamics.mechanism import prepare
from graftsim.engine.closing import residual
from graftsim.model import fuse

INTEGRATORS = (gs.SemiImplicitEuler(), gs.ImplicitDamping(), gs.RungeKutta4())


def energy(model, states):
    """Kinetic and potential energy along states [t]."""

    @zoo.jit
    def of(q, qd):
        return dynamics.kinetic_energy(model, q, qd) + dynamics.potential_energy(model, q)

    return np.asarray(jax.vmap(of)(states.q, states.qd))


def swing(model, integrator, h, steps):
    """A four-bar let go at rest."""
    simulator = gs.Simulator(model, h, integrator=integrator)
    start = simulator.assemble(simulator.initial_state(q={"crank": 0.4}), keep=("crank",))
    return simulator.rollout(start, steps=steps, record=("loop.error", "loop.force"))


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda x: x.name)
def test_loops_do_not_drift(mechanism, integrator):
    """A four-bar that swings for 10 s in steps of 2 ms is never open by more than 1e-9 m."""
    run = swing(mechanism("four_bar"), integrator, 2e-3, 5000)
    assert np.ptp(np.asarray(run.q[:, 0])) > 0.5
    assert np.abs(run.recorded["loop.error"]).max() < 1e-9


@pytest.mark.parametrize(
    ("integrator", "order"), [(gs.SemiImplicitEuler(), 1), (gs.RungeKutta4(), 4)],
    ids=("euler", "rk4"),
)  # fmt: skip
def test_a_frictionless_four_bar_keeps_its_energy_to_the_order(mechanism, integrator, order):
    """Half the step, half (a sixteenth) of the largest error of the energy."""
    model = mechanism("four_bar")
    errors = []
    for h in (8e-3, 4e-3):
        E = energy(model, swing(model, integrator, h, round(1.6 / h)).states)
        errors.append(np.abs(E - E[0]).max())
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.25)


@pytest.mark.parametrize("name", ["stewart_leg", "ankle", "welded", "differential", "cam"])
def test_loops_hold_in_every_mechanism(mechanism, name):
    """From a moving state, pushed and pulled by its weight, nothing opens beyond 1e-8."""
    simulator = gs.Simulator(mechanism(name), 1e-3)
    start = closed.random_assembled(simulator, 4)
    run = simulator.rollout(start, steps=300, record=("loop.error",))
    assert np.abs(run.recorded["loop.error"]).max() < 1e-8
    m = prepare(fuse(simulator.model))
    rate = zoo.jit(lambda q, qd: residual(m, q, qd).rate)(run.q[-1], run.qd[-1])
    assert np.abs(rate).max() < 1e-8


def test_a_mimic_joint_moves_as_one_with_its_master(mechanism):
    """The gripper's finger: f = (m + r^2 I) q'' + (weight), by hand."""
    model = mechanism("gripper")
    simulator = gs.Simulator(model, 1e-4)
    assert model.actuator.names == ("left",)
    start = simulator.assemble(simulator.initial_state(q={"left": 0.01}), keep=("left",))
    assert start.q == pytest.approx([0.01, -12.5 * 0.01 + 0.1], abs=1e-12)
    run = simulator.rollout(start, jnp.full((1, 1), 0.7), record=("joint.qdd", "loop.force"))
    ratio, m_l, m_r, c = -12.5, 0.1, 0.2, np.array([-0.01, 0.03])
    I_r = 2e-4 + m_r * c @ c
    angle = float(start.q[1])
    lever = np.cos(angle) * c[0] - np.sin(angle) * c[1]
    torque = -m_r * 9.81 * lever
    qdd = (0.7 + ratio * torque) / (m_l + ratio**2 * I_r)
    assert run.recorded["joint.qdd"][0] == pytest.approx([qdd, ratio * qdd], rel=1e-9)
    # The coupling gives the finger what its own torque does not.
    assert run.recorded["loop.force"][0, 0] == pytest.approx(I_r * ratio * qdd - torque, rel=1e-9)


def test_the_differential_is_two_motors_on_a_wrist(mechanism):
    """Equal torques pitch it and do not roll it; opposite ones roll it."""
    simulator = gs.Simulator(mechanism("differential"), 1e-3)
    q = {"left": 0.3, "right": -0.1}
    start = simulator.assemble(simulator.initial_state(q=q), keep=("left", "right"))
    names = simulator.model.tree.dofs
    found = dict(zip(names, np.asarray(start.q), strict=True))
    assert found["pitch"] == pytest.approx(0.1, abs=1e-9)
    assert found["roll"] == pytest.approx(0.2, abs=1e-9)


def test_a_pendulum_held_at_two_points_is_a_pendulum():
    """A free rod connected to the world at one end swings as a hinged one: by every component."""
    inertia = (0.02, 0.02, 1e-3)
    hinged = gs.Builder("hinged")
    hinged.link("rod", axis=(0, 1, 0), mass=1.3, com=(0, 0, -0.4), inertia=inertia)
    loose = gs.Builder("loose")
    loose.link("rod", joint="free", mass=1.3, com=(0, 0, -0.4), inertia=inertia)
    loose.loop("hinge", "world", "rod", anchor=(0, 0.1, 0), opposite=(0, 0.1, 0))
    loose.loop("hinge2", "world", "rod", anchor=(0, -0.1, 0), opposite=(0, -0.1, 0))
    a, b = gs.Simulator(hinged.build(), 1e-3), gs.Simulator(loose.build(), 1e-3)
    angle = 0.7
    turned = [0, 0, 0, np.cos(angle / 2), 0, np.sin(angle / 2), 0]
    run_a = a.rollout(a.initial_state(q=[angle]), steps=400, record=("joint.qdd",))
    run_b = b.rollout(b.initial_state(q=turned), steps=400)
    other = 2 * np.arctan2(run_b.q[:, 5], run_b.q[:, 3])
    assert np.ptp(np.asarray(run_a.q)) > 0.5
    assert np.abs(other - run_a.q[:, 0]).max() < 3e-3  # steps of first order


def test_redundant_rows_change_nothing(mechanism):
    """The same loop twice, and a third that is parallel: the same motion, finite forces."""
    model = mechanism("four_bar")
    one = gs.Simulator(model, 1e-3)
    builder = four_bar_in_code(loops=3)
    many = gs.Simulator(builder.build(), 1e-3)
    single = gs.Simulator(four_bar_in_code(loops=1).build(), 1e-3)
    start = one.assemble(one.initial_state(q={"crank": 0.4}), keep=("crank",))
    runs = [
        s.rollout(s.initial_state(q=start.q), steps=300, record=("loop.force",))
        for s in (single, many)
    ]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-9
    force = np.asarray(runs[1].recorded["loop.force"]).reshape(300, 3, 3)
    assert np.isfinite(force).all()
    assert np.abs(force.sum(1) - runs[0].recorded["loop.force"]).max() < 1e-5


def four_bar_in_code(loops):
    """A four-bar as the file has it, closed so many times."""
    builder = gs.Builder("four_bar")
    rod = {"axis": (0, 1, 0), "inertia": (2e-3, 2e-3, 1e-4)}
    builder.link("crank", mass=0.3, com=(0, 0, 0.15), **rod)
    builder.link("coupler", "crank", origin=(0, 0, 0.3), mass=0.7, com=(0.3, 0, 0.1), **rod)
    builder.link("rocker", origin=(0.6, 0, 0), mass=0.5, com=(0, 0, 0.25), **rod)
    for k in range(loops):
        side = (0, 0.05 * k, 0)
        builder.loop(
            f"pin{k}",
            "coupler",
            "rocker",
            anchor=np.add((0.6, 0, 0.2), side),
            opposite=np.add((0, 0, 0.5), side),
        )
    return builder


def test_without_loops_no_loop_is_computed(monkeypatch):
    """A step of a tree never asks for the rows of loops, so its program has none."""
    monkeypatch.setattr("graftsim.engine.forces.hold", None)
    monkeypatch.setattr("graftsim.engine.closing.rows_of", None)
    simulator = gs.Simulator(zoo.double_pendulum(), 1e-3)
    text = str(jax.make_jaxpr(simulator.step)(simulator.initial_state()))
    assert "f64[2]" in text


def test_loops_of_fixed_links_are_loops_of_what_carries_them():
    """A weld between turned flanges, and between frames there: the same accelerations."""
    turn, other = zoo.random_quaternion(np.random.default_rng(1)), np.array([0.8, 0, 0.6, 0])
    found = []
    for end in ("link", "frame"):
        b = gs.Builder("flanges")
        body = {"mass": 0.7, "com": (0.1, 0, 0.05), "inertia": (0.01, 0.02, 0.015)}
        b.link("arm", axis=(0, 1, 0), **body).link("plate", joint="free", **body)
        for k, (name, carrier) in enumerate((("a", "arm"), ("b", "plate"))):
            place = (0.2, 0.1 * k, 0.1), (turn, other)[k]
            if end == "frame":
                b.frame(name, carrier, *place)
            else:
                b.link(name, carrier, "fixed", origin=place[0], rotation=place[1])
        points = {"anchor": (0.03, 0, 0), "opposite": (0, 0.02, 0), "rotation": other}
        s = gs.Simulator(b.loop("seam", "a", "b", "weld", **points).build(), 1e-3)
        start = s.assemble(s.initial_state(qd=np.linspace(-1, 1, 7)), keep=("arm",))
        found.append(zoo.rollout(s, start, jnp.zeros((1, 0)), ("joint.qdd",)).recorded["joint.qdd"])
    assert np.abs(found[0]).max() > 1
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)


def test_friction_of_a_gear_that_carries_a_loop():
    """A motor on one hinge moves another by a coupling: its gear carries what that asks for."""
    b = gs.Builder("belt")
    b.link("motor", axis=(0, 1, 0), mass=0.1, inertia=0.02, load_friction=0.2, armature=0.03)
    b.link("arm", axis=(0, 1, 0), mass=1.5, com=(0, 0, 0.4), inertia=0.05)
    b.couple("belt", "motor", "arm", ratio=3.0).actuator("motor", "motor")
    s = gs.Simulator(b.build(), 1e-4)
    start = s.initial_state({"arm": 0.6, "motor": 1.8}, {"arm": 0.5, "motor": 1.5})
    names = ("joint.tau_friction", "loop.force", "joint.qdd")
    run = s.rollout(start, [[1.7]], record=names).recorded
    J_m, J_a = 0.05, 0.05 + 1.5 * 0.16
    gravity = 1.5 * 9.81 * 0.4 * np.sin(0.6)
    # Without friction: J_m 3 a = tau + f, J_a a = gravity - 3 f.
    a = (3 * 1.7 + gravity) / (9 * J_m + J_a)
    f = 3 * J_m * a - 1.7
    friction = -0.2 * abs(f - 1.7) * np.tanh(1.5 / 0.01)
    np.testing.assert_allclose(run["joint.tau_friction"][0], [friction, 0.0], rtol=1e-6)
    a = (3 * (1.7 + friction) + gravity) / (9 * J_m + J_a)
    np.testing.assert_allclose(run["joint.qdd"][0], [3 * a, a], rtol=1e-6)

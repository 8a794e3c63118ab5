"""Loops and contact in one problem: impulses of contact leave loops closed, and energy falls."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
import zoo
from graftsim import dynamics

LAWS = (gs.contact.Complementarity(), gs.contact.LinearComplementarity(directions=8))


def leg(damping=0.0):
    """A body on two slides with a four-bar leg: thigh and link turn on it, the shank hangs on both.

    The foot is a ball at the shank's end.
    """
    b = gs.Builder("leg")
    b.link("cart", joint="prismatic", axis=(1, 0, 0), mass=0.1)
    b.link("body", "cart", joint="prismatic", axis=(0, 0, 1), mass=2.0)
    rod = {"axis": (0, 1, 0), "inertia": (1e-3, 1e-3, 1e-4), "damping": damping}
    b.link("thigh", "body", mass=0.4, com=(0, 0, -0.1), **rod)
    b.link("shank", "thigh", origin=(0, 0, -0.2), mass=0.3, com=(0, 0, -0.1), **rod)
    b.link("link", "body", origin=(0.05, 0, 0.0), mass=0.2, com=(0, 0, -0.1), **rod)
    b.loop("knee", "link", "shank", anchor=(0, 0, -0.2), opposite=(0.06, 0, 0.0))
    b.geom("sphere", 0.02, "shank", (0, 0, -0.25), name="foot")
    b.geom("plane", (), name="ground")
    b.pair("ground", "foot", friction=0.6, restitution=0.3)
    return b.build()


@pytest.mark.parametrize("law", LAWS, ids=lambda x: x.name)
def test_a_leg_falls_on_its_foot_and_energy_never_rises(law):
    """Through impacts, sliding and rest: loops closed to 1e-8, the foot not in the ground."""
    model = leg(damping=0.02)
    simulator = gs.Simulator(model, 5e-4, contact=law)
    start = simulator.initial_state(q={"body": 0.55, "thigh": 0.5, "shank": -0.7, "link": 0.4})
    start = simulator.assemble(start, keep=("body", "cart", "thigh"))
    names = ("loop.error", "contact.depth", "contact.force_n")
    run = simulator.rollout(start, steps=1600, record=names)
    energy = zoo.jit(
        jax.vmap(
            lambda q, qd: (
                dynamics.kinetic_energy(model, q, qd) + dynamics.potential_energy(model, q)
            )
        )
    )
    E = np.asarray(energy(run.q, run.qd))
    # Flight keeps energy to the integrator's order.
    assert np.diff(E).max() < 2e-4
    assert E[-1] < E[0] - 1.0
    assert np.abs(run.recorded["loop.error"]).max() < 1e-7
    assert run.recorded["contact.depth"].max() < 1e-4
    assert run.recorded["contact.force_n"].max() > 100


def stool(welded):
    """A slab on three balls, half of it a body of its own: fixed, or held by a weld."""
    b = gs.Builder("stool")
    b.link("left", joint="free", mass=1.0, inertia=(0.01, 0.02, 0.025))
    inertia = (0.02, 0.01, 0.015)
    if welded:
        b.link("right", joint="free", mass=0.6, inertia=inertia)
        b.loop("seam", "left", "right", "weld", anchor=(0.3, 0, 0.1))
    else:
        b.link("right", "left", "fixed", origin=(0.3, 0, 0.1), mass=0.6, inertia=inertia)
    for k, (link, x, y, z) in enumerate(
        (("left", 0, -0.1, -0.1), ("left", 0.02, 0.13, -0.1), ("right", 0.04, 0, -0.2))
    ):
        b.geom("sphere", 0.03, link, (x, y, z), name=f"foot{k}")
    b.geom("plane", (), name="ground")
    b.exclude("left", "right")
    for k in range(3):
        b.pair("ground", f"foot{k}", friction=0.4, restitution=0.2)
    return b.build()


def test_what_a_weld_holds_bounces_as_one_body():
    """A thrown slab of two welded halves moves as the slab of one piece, through impacts with
    friction, to the steps' own error.
    """
    runs = []
    for welded in (False, True):
        s = gs.Simulator(stool(welded), 1e-3, contact=gs.contact.Complementarity())
        start = s.initial_state(
            q={"left.z": 0.25}, qd={"left.rx": 0.4, "left.x": 0.8, "left.ry": -0.3}
        )
        start = s.assemble(start, keep=("left.*",))
        runs.append(s.rollout(start, steps=200, record=("contact.force_n",)))
    assert runs[0].recorded["contact.force_n"].max() > 100
    assert np.abs(runs[0].q - runs[1].q[:, :7]).max() < 1e-4


@pytest.mark.parametrize(
    "law",
    [
        gs.contact.Complementarity(max_impacts=0),
        gs.contact.LinearComplementarity(directions=8, max_impacts=0),
    ],
    ids=lambda x: x.name,
)
def test_impulses_of_one_step_are_those_of_one_body(law):
    """From the same state a step with an impact gives both the same velocities."""
    after = []
    for welded in (False, True):
        s = gs.Simulator(stool(welded), 1e-3, contact=law)
        start = s.initial_state(q={"left.z": 0.13}, qd={"left.x": 0.8, "left.z": -1.0})
        start = s.assemble(start, keep=("left.*",))
        after.append(zoo.jit(s.step)(start))
    assert after[0].qd[2] > -0.9
    assert np.abs(after[0].qd - after[1].qd[:6]).max() < 1e-6
    assert jnp.all(after[0].impulse[:, 0] >= 0)


@pytest.mark.parametrize(("backend", "cuts"), [("kernel", 0), ("kernel", 2), ("xla", 2)])
def test_the_force_of_a_weld_carries_what_it_carries(backend, cuts):
    """Newton's law of a load on a ball, step by step: in flight, in impacts, and at rest."""
    b = gs.Builder("load")
    for name, mass, z in (("ball", 1.0, 0.0), ("load", 0.7, 0.3)):
        b.link(name, joint="free", mass=mass, inertia=0.01)
        b.frame(f"{name}/seat", name, (0, 0, 0.3 - z))
    b.loop("seat", "ball/seat", "load/seat", "weld")
    b.geom("sphere", 0.1, "ball", name="ball").geom("plane", (), name="ground")
    b.pair("ground", "ball", restitution=0.4)
    s = gs.Simulator(b.build(), 1e-3, contact=gs.contact.Complementarity(max_impacts=cuts))
    start = s.assemble(s.initial_state({"ball.z": 0.12, "load.z": 0.42}))
    run = s.rollout(start, steps=700, record=("loop.force", "contact.force_n"), backend=backend)
    speed = np.asarray(run.qd)[:, s.model.tree.dofs.index("load.z")]
    force = run.recorded["loop.force"][:, 2]
    np.testing.assert_allclose(force, 0.7 * (np.diff(speed) / 1e-3 + 9.81), atol=1e-6)
    assert force.max() > 100
    np.testing.assert_allclose(force[-5:], 0.7 * 9.81, rtol=1e-6)
    assert np.abs(force[:50]).max() < 1e-6

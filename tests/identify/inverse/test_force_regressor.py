"""The regressor: joint forces are linear in the numbers of links, joints and coupled motors."""

import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
import zoo
from graftsim.dynamics.passive import passive_forces
from graftsim.dynamics.rnea import inverse_dynamics
from graftsim.identify.inverse.base import base_parameters, random_motion
from graftsim.identify.inverse.forces.regressor import (
    body_of,
    inertial_regressor,
    moments_of,
    ten_numbers,
    with_moments,
)
from graftsim.identify.inverse.forces.term import Motion
from graftsim.identify.inverse.forces.terms import regressor
from graftsim.model.catalogue import with_leaf

ROWS = 5


def arm(n: int = 6, **numbers) -> gs.Model:
    """A chain of hinges with axes in turn, whose first is upright; masses of every shape."""
    rng = np.random.default_rng(n)
    b = gs.Builder("arm")
    for i in range(n):
        mass = rng.uniform(0.5, 3.0)
        b.link(
            f"link{i + 1}",
            f"link{i}" if i else "world",
            joint_name=f"joint{i + 1}",
            axis=((0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0))[i % 6],
            origin=(0, 0, 0.3) if i < 4 else (0.1, 0, 0),
            mass=mass,
            com=rng.uniform(-0.1, 0.1, 3),
            inertia=mass * zoo.random_inertia(rng, 0.1),
            friction_velocity=0.05,
            **numbers,
        )
    return b.build()


def states(model, n=ROWS, seed=1):
    rng = np.random.default_rng(seed)
    q = np.array([zoo.random_state(model, seed + k)[0] for k in range(n)])
    return q, *rng.normal(size=(2, n, model.nv))


@pytest.mark.parametrize("seed", range(3))
def test_regressor_times_numbers_is_newton_euler(seed):
    """On trees of every joint type, to rounding, at 1e-12 of the largest force."""
    model = zoo.random_model(zoo.every_type(seed), seed)
    model = with_leaf(model, "joint.armature", jnp.zeros(model.nv))
    q, qd, qdd = states(model)
    Y = inertial_regressor(model, q, qd, qdd)
    tau = np.einsum("nvlk,lk->nv", Y, moments_of(model))
    newton = zoo.jit(inverse_dynamics)
    expected = np.array([newton(model, *x) for x in zip(q, qd, qdd, strict=True)])
    assert np.abs(tau - expected).max() < 1e-12 * np.abs(expected).max()


def test_all_terms_together_are_the_models_forces():
    """Inertias, rotors, damping, friction and springs times their numbers: what joints feel."""
    numbers = {"damping": 0.3, "friction": 0.4, "armature": 0.05, "stiffness": 2.0}
    model = arm(4, **numbers)
    q, qd, qdd = states(model)
    found = regressor(Motion(model, q, qd, qdd), (*gs.FORCE_TERMS, gs.SpringTerm()))
    for k in range(ROWS):
        tau = inverse_dynamics(model, q[k], qd[k], qdd[k]) - passive_forces(model, q[k], qd[k])
        assert found.X[k] @ found.start == pytest.approx(np.asarray(tau), abs=1e-11)


def test_ten_numbers_and_back():
    """Mass, centre of mass and inertia survive the way to the origin and back into a model."""
    rng = np.random.default_rng(0)
    mass, com, six = rng.uniform(1, 2, 3), rng.normal(size=(3, 3)), rng.normal(size=(3, 6))
    for a, b in zip(body_of(ten_numbers(mass, com, six)), (mass, com, six), strict=True):
        assert a == pytest.approx(b, abs=1e-13)
    model = arm(3)
    again = with_moments(model, np.arange(3), moments_of(model))
    for name in ("mass", "com", "inertia"):
        a, b = getattr(again.link, name), getattr(model.link, name)
        assert np.asarray(a) == pytest.approx(np.asarray(b), abs=1e-14)


def test_coupled_motor_acts_along_its_speed():
    """Friction of a motor that turns with two joints: joint forces have the motor's power."""
    model = arm(3)
    R = np.array([[10.0, 0, 0], [0, 20.0, 0], [0, 30.0, 30.0]])
    gears = gs.LinearTransmission(R, ("a", "b", "c"))
    assert gears.coupled == (2,)
    q, qd, qdd = states(model)
    found = regressor(Motion(model, q, qd, qdd, gears))
    k = found.names.index("motor.damping[c]")
    # One N m s/rad at the joint: 1/900 at the motor, whose speed is R qd.
    speed = qd @ R.T[:, 2]
    power = np.einsum("nv,nv->n", found.X[..., k], qd)
    assert power == pytest.approx(speed**2 / 900, rel=1e-12)


def test_number_of_base_parameters_of_known_arms():
    """An upright hinge 1, a pendulum 3, a double pendulum in a plane 6, a 6-R arm of the PUMA's
    kind 36 (Mayeda, Yoshida & Osuka 1990; Khalil & Bennis 1995).
    """
    links = [t for t in gs.FORCE_TERMS if t.name == "link"]
    assert len(base_parameters(arm(1), links).independent) == 1
    assert len(base_parameters(zoo.chain(1), links).independent) == 3
    assert len(base_parameters(zoo.chain(2), links).independent) == 6
    puma = gs.Builder("puma")
    axes, origins = _puma()
    for i, (turn, origin) in enumerate(zip(axes, origins, strict=True)):
        puma.link(
            f"l{i}",
            f"l{i - 1}" if i else "world",
            origin=origin,
            rotation=turn,
            mass=1.0,
            com=(0.1, 0.2, 0.1),
            inertia=0.1,
        )
    assert len(base_parameters(puma.build(), links).independent) == 36


def _puma():
    """Modified Denavit-Hartenberg numbers: alpha (quarter turns), a, d."""
    table = ((0, 0, 0), (-1, 0, 0.2), (0, 0.43, 0.1), (-1, 0.02, 0.43), (1, 0, 0), (-1, 0, 0))
    turns, origins = [], []
    for quarters, a, d in table:
        alpha = quarters * np.pi / 2
        turns.append((np.cos(alpha / 2), np.sin(alpha / 2), 0, 0))
        origins.append((a, -d * np.sin(alpha), d * np.cos(alpha)))
    return turns, origins


def test_base_parameters_explain_every_motion():
    """Forces of states that were not used to find them, by base parameters alone."""
    model = arm()
    base = base_parameters(model, gs.FORCE_TERMS)
    X = regressor(random_motion(model, seed=9)).X
    assert np.abs(base.columns(X) @ base.B - X).max() < 1e-7 * np.abs(X).max()


def test_names_of_base_parameters_evaluate_to_their_numbers():
    """Each name, read as a sum of numbers, is its row of B times them."""
    model = arm()
    base = base_parameters(model, gs.FORCE_TERMS)
    phi = regressor(random_motion(model)).start + 0.1
    values = dict(zip(base.names, phi, strict=True))
    for name, expected in zip(base.expressions(digits=12), base.B @ phi, strict=True):
        total = 0.0
        for term in name.replace(" - ", " + -").split(" + "):
            sign = -1 if term.startswith("-") else 1
            factor, _, number = term.removeprefix("-").rpartition(" ")
            total += sign * (float(factor) if factor else 1.0) * values[number]
        assert total == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_frame_is_no_body():
    """A link without mass on a fixed joint gets no columns; one with mass does, and a fixed base
    none.
    """
    b = gs.Builder("tool")
    b.link("base", joint="fixed", mass=5.0, inertia=0.1)
    b.link("arm", "base", mass=1.0, com=(0.1, 0, 0), inertia=0.01)
    b.link("flange", "arm", "fixed", mass=0.2, inertia=0.01)
    b.link("tip", "flange", "fixed")
    names = regressor(random_motion(b.build())).names
    assert [n for n in names if n.startswith("link.mass")] == [
        "link.mass[arm]",
        "link.mass[flange]",
    ]


def test_base_parameters_of_a_given_motion():
    """Where only the last of three joints moves, it tells fewer combinations than all three do."""
    model = arm(3)
    q, qd, qdd = states(model, 40)
    q[:, :2], qd[:, :2], qdd[:, :2] = 0.3, 0.0, 0.0
    seen = regressor(Motion(model, q, qd, qdd))
    links = [t for t in gs.FORCE_TERMS if t.name == "link"]
    few = base_parameters(model, gs.FORCE_TERMS, motion=seen)
    every = base_parameters(model, gs.FORCE_TERMS)
    assert len(few.independent) < len(every.independent)
    assert "joint.damping[joint1]" not in [few.names[k] for k in few.independent]
    assert np.abs(few.columns(seen.X) @ few.B - seen.X).max() < 1e-7 * np.abs(seen.X).max()
    assert len(base_parameters(model, links).independent) < len(every.independent)

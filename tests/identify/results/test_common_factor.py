"""Forces and masses are known only up to a common factor unless a channel measures one."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.identify.results.common_factor import power
from graftsim.report.words import headline

DT, STEPS = 0.01, 300
NOISE = {"joint.q[j]": 1e-3, "joint.tau[j]": 0.02}
# A body that turns about one axis does not show all ten numbers.
pytestmark = pytest.mark.filterwarnings("ignore:link.inertial.*without effect")
FORCES = ("joint.damping", "joint.friction", "actuator.kp", "actuator.kd")
SCALED = ["link.inertial[rod]", *(f"{x}[*]" for x in FORCES)]


def simulator():
    b = gs.Builder("servo")
    b.link(
        "rod", "world", joint_name="j", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.4),
        inertia=(0.02, 0.02, 0.002), damping=0.3, friction=0.2,
    )  # fmt: skip
    b.actuator("a", "j", "position", kp=25.0, kd=0.5)
    return gs.Simulator(b.build(), DT, integrator=gs.ImplicitDamping(), substeps=4)


@cache
def log():
    """Positions with noise, commands and servo torques of a driven rod."""
    s, t = simulator(), DT * np.arange(STEPS)
    u = 0.8 * np.sin(4 * t) + 0.5 * np.sin(9 * t + 1)
    run = s.rollout(s.initial_state(), u[:, None], record=("joint.tau_actuator",))
    noise = np.random.default_rng(0).standard_normal((2, STEPS))
    q = np.asarray(run.q)[:STEPS, 0] + 1e-3 * noise[0]
    tau = np.asarray(run.recorded["joint.tau_actuator"])[:STEPS, 0] + 0.02 * noise[1]
    channels = [
        gs.Channel("joint.q[j]", t, q, "rad"),
        gs.Channel("control[a]", t, u, "rad"),
        gs.Channel("joint.tau[j]", t, tau, "N m"),
    ]
    return gs.Recording({c.name: c for c in channels}, "run")


def fitted(free, *channels):
    """A fit that begins at the truth: what it knows is what counts here."""
    recording = log().select("control[a]", *channels)
    problem = gs.Problem(
        simulator(), recording, free, horizon=0.5, growth=(1.0,), holdout=0.0,
        noise={k: v for k, v in NOISE.items() if k in channels},
    )  # fmt: skip
    return gs.fit(problem, local=gs.LevenbergMarquardt(iterations=3))


def test_positions_alone_tell_ratios():
    """With every mass and force free the factor is unknown, and the headline says so."""
    result = fitted(SCALED, "joint.q[j]")
    assert result.forces.unknown and result.forces.leads
    assert result.forces.relative_std > 1
    said = "Forces are known only up to a common factor: no channel measures one."
    assert headline(result).sentences[0].startswith(said)
    assert result.as_json()["forces"]["unknown"] is True


def test_a_torque_channel_fixes_it():
    """A sensor of torque measures the factor, to about its noise over its size."""
    result = fitted(SCALED, "joint.q[j]", "joint.tau[j]")
    assert result.forces.measured and result.forces.text == ""
    tau = log()["joint.tau[j]"].values
    expected = result.settings["residual over noise"] * 0.02 / np.linalg.norm(tau)
    # Initial states take a part of what the sensor says of the factor.
    assert expected < result.forces.relative_std < 2 * expected
    assert "common factor" not in " ".join(headline(result).sentences)


def test_a_torque_channel_of_unknown_scale_does_not():
    """With the sensor's scale free, the factor is as unknown as without it."""
    result = fitted([*SCALED, "sensor.scale[joint.tau:j]"], "joint.q[j]", "joint.tau[j]")
    assert result.forces.unknown


def test_a_gain_that_is_shared_is_free():
    """Names of shared numbers stand for all rows that they select."""
    shared = {name: gs.Positive(shared=True) for name in SCALED[1:]}
    shared |= {"link.mass[*]": gs.Positive(shared=True), "link.inertia[rod].yy": gs.Positive()}
    result = fitted(shared, "joint.q[j]")
    assert result.forces.unknown and result.forces.held == ()


def test_numbers_that_are_held_are_named():
    """A held gain fixes the factor; the sentence names it, and what is held with it."""
    result = fitted(["link.mass[rod]", "joint.damping[*]"], "joint.q[j]")
    assert not result.forces.unknown and result.forces.leads
    assert result.forces.held == ("link.inertia", "joint.friction", "actuator.kp", "actuator.kd")
    assert "actuator.kp" in result.forces.text


def test_friction_alone_does_not_lead():
    """Where masses are taken from the file, the remark is no headline."""
    result = fitted(["joint.damping[*]"], "joint.q[j]")
    assert not result.forces.leads and "link.mass" in result.forces.text


def test_without_a_mass_or_force_there_is_nothing_to_say():
    """A delay has no factor."""
    assert fitted(["sensor.offset[*]"], "joint.q[j]").forces is None


@pytest.mark.parametrize(
    ("name", "unit", "expected"),
    [
        ("link.mass[a]", "kg", 1.0),
        ("link.inertia[a].xx", "kg m^2", 1.0),
        ("joint.damping[a]", "N m s/rad", 1.0),
        ("joint.friction_velocity[a]", "rad/s", 0.0),
        ("link.inertial[a].s12", "log-Cholesky", 0.5),
        ("pair.cfm[a]", "1/kg", -1.0),
        ("pair.friction[a]", "1", 0.0),
        ("world.gravity[z]", "m/s^2", 0.0),
        ("sensor.scale[joint.tau:a]", "1", -1.0),
        ("sensor.scale[joint.q:a]", "1", 0.0),
        ("sensor.offset[joint.tau:a]", "N m", 0.0),
    ],
)
def test_powers_of_mass(name, unit, expected):
    """Each parameter goes with the factor as its unit says."""
    assert power(name, unit) == expected


def test_a_number_that_ended_on_a_bound_is_not_called_held():
    """It fixes the factor where it is not zero, and the sentence says so."""
    s = simulator()
    stiff = gs.model.with_leaf(s.model, "actuator.kp", jnp.array([30.0]))
    free = dict.fromkeys(SCALED, gs.Positive()) | {"actuator.kp[*]": gs.Bounds(30.0, 60.0)}
    free["link.inertial[rod]"] = gs.Unbounded()
    start = gs.Simulator(stiff, DT, integrator=gs.ImplicitDamping(), substeps=4)
    problem = gs.Problem(
        start, log().select("control[a]", "joint.q[j]"), free, horizon=0.5, growth=(1.0,),
        holdout=0.0, noise={"joint.q[j]": 1e-3},
    )  # fmt: skip
    forces = gs.fit(problem, local=gs.LevenbergMarquardt(iterations=15)).forces
    assert forces.on_bound == ("actuator.kp[a]",) and "actuator.kp" not in forces.held
    assert "and of actuator.kp[a] on its bound" in forces.text

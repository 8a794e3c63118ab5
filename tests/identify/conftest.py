"""Fits that several tests look at, made once; compiled quickly, see `quick_compilation`."""

import machines
import numpy as np
import pytest

import graftsim as gs
import quick_compilation  # noqa: F401
import zoo
from graftsim.engine import ImplicitDamping


@pytest.fixture(scope="session")
def pendulum_problem():
    """The damping of a double pendulum, from its angles: 0.2 at the start, 0.05 in truth."""
    return gs.Problem(
        machines.pendulum_start(),
        machines.pendulum_recording(),
        {"joint.damping[*]": gs.Positive()},
        horizon=0.3,
        growth=(1.0,),
    )


@pytest.fixture(scope="session")
def pendulum_fit(pendulum_problem):
    """Its fit by Levenberg-Marquardt."""
    return gs.fit(pendulum_problem)


@pytest.fixture(scope="session")
def arm_recording():
    """Six seconds of an arm driven by smooth torques."""
    model, u = machines.arm(), machines.drive(600)
    moved = machines.roll(model, [0.4], controls=u, steps=600, integrator=ImplicitDamping())
    return machines.recording(model, moved, controls=u, noise=2e-3, seed=3)


@pytest.fixture(scope="session")
def outliers():
    """The pendulum's recording with one sample in thirty far off."""
    clean, rng = machines.pendulum_recording(), np.random.default_rng(3)
    for channel in list(clean.channels.values()):
        off = rng.random(channel.values.shape) < 1 / 30
        values = channel.values + off * rng.uniform(0.2, 0.5, channel.values.shape)
        clean = clean.with_channel(channel.replace(values=values))
    return clean


@pytest.fixture(scope="session")
def undriven():
    """Two seconds of a single swinging rod without torque: only ratios show."""
    model = zoo.pendulum(damping=0.1)
    moved = machines.roll(model, [1.2], steps=200, integrator=ImplicitDamping())
    return machines.recording(model, moved)

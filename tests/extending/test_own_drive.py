"""A drive from outside the package: one class."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.model.drive_type import DriveType, Number


@dataclass(frozen=True)
class Ripple(DriveType):
    """A torque motor whose magnets pull: f = gain u + ripple sin(poles length)."""

    poles: int

    name = "ripple"
    inputs = ("gain",)
    numbers: ClassVar = {"ripple": Number("N m", "amplitude of the torque ripple", 0.0)}

    def force(self, at):
        return at.gain * at.command + at.ripple * jnp.sin(self.poles * at.length)

    def command(self, force, at):
        return (force - at.ripple * jnp.sin(self.poles * at.length)) / at.gain


def wheel(ripple):
    builder = gs.Builder("wheel", gravity=(0, 0, 0))
    builder.link("wheel", axis=(0, 0, 1), mass=1.0, inertia=0.2)
    builder.actuator("motor", "wheel", Ripple(7), gain=2.0, ripple=ripple)
    return gs.Simulator(builder.build(), 0.002)


def test_a_drive_with_a_number_of_its_own():
    """It acts, on both backends; its number is found by name, differentiated and fitted."""
    truth = wheel(0.05)
    u = 0.1 * np.sin(np.linspace(0, 20, 1500))[:, None]
    run = truth.rollout(truth.initial_state(), u)
    xla = truth.rollout(truth.initial_state(), u, backend="xla")
    np.testing.assert_allclose(run.q, xla.q, rtol=1e-11, atol=1e-13)
    q = np.asarray(run.q[:, 0]) + 1e-4 * np.random.default_rng(0).normal(size=1501)
    log = gs.recording_from_arrays(
        {"time": np.asarray(run.time), "q": q, "u": np.append(u[:, 0], u[-1, 0])},
        {"joint.q[wheel]": "q", "control[motor]": "u"},
        name="ripple", time="time",
    )  # fmt: skip
    result = gs.fit(gs.Problem(wheel(0.0), log, {"actuator.ripple[*]": gs.Unbounded()}))
    row = result.parameters[0]
    assert (row.name, row.unit) == ("actuator.ripple[motor]", "N m")
    assert abs(row.value - 0.05) < 4 * row.std < 0.01
    assert jax.tree.leaves(result.simulator.model.actuator.own)


def test_two_drives_cannot_mean_different_things_by_one_name():
    """A number's name has one meaning."""
    with pytest.raises(gs.ModelError, match="another drive has a number 'ripple'"):

        @dataclass(frozen=True)
        class Other(Ripple):
            numbers: ClassVar = {"ripple": Number("V", "ripple of the supply", 0.0)}

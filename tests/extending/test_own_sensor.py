"""A sensor from outside the package: one class in a file of its own."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
import zoo
from graftsim.dynamics.kinematics import attachment
from graftsim.sensors.sensor import KINDS


@dataclass(frozen=True)
class Height(gs.Sensor):
    """How high the origin of a link or frame is above `ground` (m): a range finder."""

    kind = "link.height"
    dimensions = ("length",)
    options = ("ground",)

    ground: float = 0.0

    def check(self, model):
        attachment(model, self.label)

    def unit(self, model):
        return "m"

    def read(self, at):
        link, r, _ = attachment(at.m.model, self.label)
        return jnp.atleast_1d((at.p[link] + at.R[link] @ r)[2] - self.ground)


@pytest.fixture
def pendulum():
    """A rod of 0.5 m with a frame at its tip."""
    builder = gs.Builder("pendulum")
    builder.link("rod", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.25), inertia=0.02,
                 joint_name="hinge", damping=0.05)  # fmt: skip
    builder.frame("tip", "rod", (0, 0, -0.5))
    return builder.build()


def test_a_sensor(pendulum):
    """Its channel is recorded, read and fitted like any other: damping from a height alone."""
    simulator = gs.Simulator(pendulum, 0.01)
    start = simulator.initial_state({"hinge": 1.0})
    path = zoo.rollout(simulator, start, jnp.zeros((400, 0)))
    q, qd = np.asarray(path.q), np.asarray(path.qd)
    arrays = {"time": 0.01 * np.arange(401), "z": -0.5 * np.cos(q[:, 0]) - 0.1}
    recording = gs.recording_from_arrays(arrays, {"link.height[tip]": "z"}, time="time")
    assert recording["link.height[tip]"].unit == "m"
    wrong = gs.model.with_leaf(pendulum, "joint.damping", jnp.array([0.1]))
    problem = gs.Problem(
        gs.Simulator(wrong, 0.01),
        recording,
        {"joint.damping[hinge]": gs.Positive()},
        sensors={"link.height[tip]": {"ground": 0.1}},
        initial=lambda _, at: (q[round(at / 0.01)], qd[round(at / 0.01)]),
        fit_initial=False,
        horizon=0.9,
        noise={"link.height[tip]": 1e-3},
    )
    assert gs.fit(problem).value("joint.damping[hinge]") == pytest.approx(0.05, rel=1e-3)


def test_a_sensor_is_asked_to_check_its_label(pendulum):
    """A channel of it with a label that the model lacks is refused before anything is simulated."""
    arrays = {"time": 0.01 * np.arange(50), "z": np.zeros(50)}
    recording = gs.recording_from_arrays(arrays, {"link.height[tail]": "z"}, time="time")
    with pytest.raises(gs.GraftsimError, match="tail"):
        gs.Problem(gs.Simulator(pendulum, 0.01), recording, {"joint.damping[*]": gs.Positive()})


def test_kinds_are_found_by_their_channels():
    """Those of the package, and the one defined here."""
    assert KINDS["link.height"] is Height
    assert {"joint.q", "link.pose", "link.linear_acceleration"} <= set(KINDS)

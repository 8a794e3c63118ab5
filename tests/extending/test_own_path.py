"""A stretch of a tendon in a user's own file: a cord that lies on a roller."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from differences import column_errors, jacobians
from graftsim.spatial import safe
from graftsim.spatial.arithmetic import dot
from graftsim.spatial.rotation import cross


@dataclass(frozen=True)
class Roller(gs.model.PathType):
    """From the first frame over a roller about the second to the third, all in one plane."""

    radius: float

    name = "roller"
    frames = 3

    def length(self, p):
        a, b = p[:, 0] - p[:, 1], p[:, 2] - p[:, 1]
        angle = jnp.arctan2(safe.norm(cross(a, b)), dot(a, b))
        free = [safe.sqrt(dot(x, x) - self.radius**2) for x in (a, b)]
        off = [jnp.arctan2(x, self.radius) for x in free]
        return free[0] + free[1] + self.radius * (angle - off[0] - off[1])


def bent():
    """Two bars on a hinge that carries a roller, a spring cord from one over it to the other."""
    b = gs.Builder("bent", gravity=(0, 0, 0))
    b.link("upper", axis=(0, 1, 0), mass=1.0, com=(0, 0, 0.2), inertia=0.05)
    b.link("lower", "upper", axis=(0, 1, 0), origin=(0, 0, 0.4), mass=0.5, inertia=0.02)
    b.frame("from", "upper", (0.04, 0, 0)).frame("axle", "lower").frame("to", "lower", (-0.1, 0, 0))
    b.tendon("cord", path=[(Roller(0.03), "from", "axle", "to")], stiffness=200.0)
    return gs.Simulator(b.build(), 1e-3)


def test_the_moment_arm_is_the_radius():
    """Whatever the angle: the spring's torque on the joint is its force times the radius."""
    s = bent()
    names = ("tendon.force", "joint.tau_tendon", "tendon.rate")
    for q in (0.2, 0.5, 0.9):
        state = s.initial_state({"lower": q}, {"lower": 1.5, "upper": -3.0})
        run = s.rollout(state, steps=1, record=names).recorded
        np.testing.assert_allclose(run["tendon.rate"], 0.03 * 1.5, rtol=1e-12)
        arm = run["joint.tau_tendon"][0] / run["tendon.force"][0]
        np.testing.assert_allclose(arm, [0.0, 0.03], atol=1e-14)


@pytest.mark.parametrize("backend", ["xla", "kernel"])
def test_derivatives(backend):
    """Both modes, by the initial state, to 1e-6."""
    s = bent()

    def end(x):
        return s.rollout(s.initial_state(*x), steps=5, backend=backend).q[-1]

    forward, reverse, differences = jacobians(end)((jnp.array([0.1, 0.4]), jnp.array([1.0, -2.0])))
    assert column_errors(forward, differences).max() < 1e-6
    assert column_errors(reverse, differences).max() < 1e-6

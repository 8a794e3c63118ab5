"""A contact law from outside the package: one class."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.contact.detect import detect, places
from graftsim.contact.kinetics import relative_velocities, wrenches


class Carpet(gs.contact.ForceLaw):
    """A linear spring of `stiffness` (N/m) and damper of `damping` (N s/m), without friction."""

    name: ClassVar[str] = "carpet"
    inside: ClassVar[str] = "pushed out by its spring"

    stiffness: jnp.ndarray = eqx.field(converter=lambda x: jnp.asarray(x, float))
    damping: float = 20.0

    def forces(self, m, X_0, v, scope):
        """Along the normals only."""
        at, found = places(m.model), detect(m, X_0)
        speed = relative_velocities(found, at, X_0, v)[:, 0]
        push = jnp.maximum(self.stiffness * found.depth - self.damping * speed, 0.0)
        F_n = scope.tap("contact.force_n", jnp.where(found.depth > 0, push, 0.0))
        return wrenches(found, at, X_0, F_n[:, None] * jnp.array([1.0, 0.0, 0.0]))

    def check(self, m, h):
        """The period of the spring under the lightest link."""
        mass = float(np.asarray(m.link.mass)[np.asarray(m.link.mass) > 0].min())
        slow = h * np.sqrt(float(self.stiffness) / mass) < 0.3
        return "" if slow else f"A step of {h:g} s is too long for a carpet this stiff."


def ball():
    """A ball of 0.5 kg over a floor."""
    builder = gs.Builder("ball")
    builder.link("ball", joint="free", mass=0.5, inertia=0.002)
    builder.geom("sphere", 0.1, "ball")
    builder.geom("plane", (), name="floor")
    return builder.build()


@pytest.mark.parametrize("backend", ["kernel", "xla"])
def test_a_contact_law(backend):
    """A ball sinks into it by m g / k and stays; what it pushes with is a variable like others."""
    simulator = gs.Simulator(ball(), 0.002, contact=Carpet(1000.0))
    start = simulator.initial_state({"ball.z": 0.12})
    path = simulator.rollout(start, steps=2000, record=["contact.force_n"], backend=backend)
    np.testing.assert_allclose(path.q[-1, 2], 0.1 - 0.5 * 9.81 / 1000.0, atol=1e-9)
    np.testing.assert_allclose(path.recorded["contact.force_n"][-1], 0.5 * 9.81, rtol=1e-6)


def test_its_own_check_is_heard():
    """Where a step is too long for it, it says so when the simulator is made."""
    with pytest.warns(gs.GraftsimWarning, match="too long for a carpet"):
        gs.Simulator(ball(), 0.02, contact=Carpet(1000.0))

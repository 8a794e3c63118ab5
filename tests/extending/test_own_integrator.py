"""An integrator from outside the package: one class."""

from dataclasses import replace
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
import zoo
from graftsim.dynamics.actuation import next_act
from graftsim.engine.forces import acceleration
from graftsim.engine.integrators import move


class Midpoint(gs.Integrator):
    """The explicit midpoint rule: second order for joints whose positions are a vector."""

    name: ClassVar[str] = "midpoint"
    order: ClassVar[int] = 2
    impulses: ClassVar[bool] = False

    def advance(self, m, state, u, h, scope, contact=None):
        """One step."""
        first = acceleration(m, state, u, contact=contact, scope=scope)
        middle = replace(
            state,
            q=move(m.tree, state.q, state.qd, h / 2),
            qd=state.qd + h / 2 * first.qdd,
        )
        half = acceleration(m, middle, u, contact=contact, scope=scope.again())
        return replace(
            state,
            q=move(m.tree, state.q, middle.qd, h),
            qd=state.qd + h * half.qdd,
            act=next_act(m.model.actuator, first.seen, state.act, h),
        )


def test_an_integrator():
    """Its error falls fourfold when the step is halved, on kernels and on XLA alike."""
    model = zoo.double_pendulum()
    start = np.array([1.0, -0.5])

    def end(dt, integrator, backend="kernel"):
        simulator = gs.Simulator(model, dt, integrator=integrator)
        state = simulator.initial_state(jnp.asarray(start))
        return np.asarray(simulator.rollout(state, steps=round(0.4 / dt), backend=backend).q[-1])

    exact = end(0.0005, gs.RungeKutta4())
    errors = [np.abs(end(dt, Midpoint()) - exact).max() for dt in (0.004, 0.002, 0.001)]
    assert 3.5 < errors[0] / errors[1] < 4.6 and 3.5 < errors[1] / errors[2] < 4.6
    np.testing.assert_allclose(end(0.01, Midpoint(), "xla"), end(0.01, Midpoint()), atol=1e-12)


def bouncing():
    """A ball over a floor."""
    builder = gs.Builder("ball")
    builder.link("ball", joint="free", mass=0.5, inertia=0.002)
    return builder.geom("sphere", 0.1, "ball").geom("plane", ()).build()


def test_what_it_cannot_do_is_refused():
    """An integrator without impulses is refused beside a law of impulses, by name."""
    with pytest.raises(gs.ModelError, match="Midpoint cannot integrate"):
        gs.Simulator(bouncing(), 0.01, integrator=Midpoint(), contact=gs.contact.Complementarity())

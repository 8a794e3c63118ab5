"""A step compiled by `jax.jit(simulator.step)`: JAX looks the program up by the method's hash."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from graftsim.engine import Simulator
from graftsim.model import Builder


def pendulum(mass=1.0):
    """A pendulum with damping, so that the mass shows in its motion."""
    b = Builder().link("arm", axis=(1, 0, 0), mass=mass, com=(0, 0, -0.5), damping=0.3)
    return Simulator(b.build(), 0.01)


def test_a_bound_step_compiles():
    """Each simulator gets its own program, an equal one the same result."""
    simulators = [pendulum(1.0), pendulum(2.0), pendulum(1.0)]
    state = simulators[0].initial_state(q=[0.4], qd=[1.0])
    compiled = [jax.jit(s.step)(state).qd for s in simulators]
    plain = [s.step(state).qd for s in simulators]
    np.testing.assert_allclose(compiled, plain, rtol=1e-12)
    assert abs(compiled[0] - compiled[1]) > 1e-4
    assert hash(simulators[0]) == hash(simulators[2])


def test_a_bound_step_compiles_inside_a_gradient():
    """A simulator whose leaves are being differentiated is looked up by structure alone."""
    simulator = pendulum()
    state = simulator.initial_state(q=[0.4], qd=[1.0])

    def speed(mass, compile_step):
        s = eqx.tree_at(lambda s: s.model.link.mass, simulator, mass)
        later = state
        for _ in range(2):
            later = compile_step(s.step)(later)
        return jnp.sum(later.qd)

    mass = simulator.model.link.mass
    found = jax.grad(speed)(mass, jax.jit)
    np.testing.assert_allclose(found, jax.grad(speed)(mass, lambda f: f), rtol=1e-12)
    assert abs(found[0]) > 1e-4

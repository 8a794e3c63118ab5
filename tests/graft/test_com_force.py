"""Forces at the centre of mass: against Newton's law, and the engine's own medium."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs

BOX, DENSITY, VISCOSITY = (0.002, 0.1, 0.02), 997.0, 0.00089


class Constant(eqx.Module):
    """The same wrench whatever comes in."""

    wrench: jax.Array

    def __call__(self, x):
        return self.wrench


class Drag(eqx.Module):
    """Drag and viscous resistance of a box about its centre (MuJoCo's simple model)."""

    scale: jax.Array

    def __call__(self, v):
        b = np.array(BOX)
        j, k, mean = b[[1, 2, 0]], b[[2, 0, 1]], b.mean()
        w, u = v[:3], v[3:]
        force = -3 * np.pi * mean * VISCOSITY * u - DENSITY * j * k * jnp.abs(u) * u / 2
        torque = -np.pi * mean**3 * VISCOSITY * w
        torque = torque - DENSITY * b * (j**4 + k**4) * jnp.abs(w) * w / 64
        return self.scale * jnp.concatenate([torque, force])


def body(**options):
    """A free body whose centre of mass is not its origin, without gravity."""
    b = gs.Builder("body", gravity=(0, 0, 0), **options)
    b.link("hull", joint="free", mass=2.0, com=(0.3, -0.1, 0.2), inertia=(0.1, 0.2, 0.25))
    return b


def test_a_force_at_the_centre_does_not_turn():
    """F = m a, and no angular acceleration."""
    simulator = gs.Simulator(body().build(), 1e-3)
    push = gs.Graft(
        "link.com_force[*]", "link.com_velocity[*]", Constant(jnp.array([0, 0, 0, 3.0, -4.0, 5.0]))
    )
    after = simulator.graft(gs.Blueprint(push)).rollout(simulator.initial_state(), steps=1).qd[-1]
    assert np.allclose(after[3:], 0, atol=1e-15)
    assert np.allclose(after[:3], np.array([3.0, -4.0, 5.0]) / 2 * 1e-3, rtol=1e-12)


def test_drag_as_the_medium_has_it():
    """A graft of the same law moves two links as the engine's medium does, in both backends."""

    def chain(**options):
        b, parent = gs.Builder("chain", gravity=(0, 0, 0), **options), "world"
        for k in range(2):
            b.link(f"link{k}", parent, axis=(0, 0, 1), origin=(0, 0.1 * k, 0), mass=0.01,
                   com=(0, 0.05, 0), inertia=(8.6667e-6, 3.3667e-7, 8.3367e-6))  # fmt: skip
            if options:
                b.surround(f"link{k}", (0, 0.05, 0), box=BOX)
            parent = f"link{k}"
        return gs.Simulator(b.build(), 2e-3)

    truth = chain(density=DENSITY, viscosity=VISCOSITY)
    drag = gs.Graft("link.com_force[*]", "link.com_velocity[*]", Drag(jnp.array(1.0)), name="drag")
    grafted = chain().graft(gs.Blueprint(drag))
    state = {"qd": jnp.array([20.0, -30.0])}
    expected = truth.rollout(truth.initial_state(**state), steps=100).q
    found = grafted.rollout(grafted.initial_state(**state), steps=100, record=("link.com_force",))
    assert np.abs(np.asarray(expected[-1] - expected[0])).max() > 0.3
    assert np.allclose(found.q, expected, rtol=0, atol=1e-12)
    assert np.abs(found.recorded["link.com_force"]).max() > 1e-4

"""A thousand pendulums side by side: jax.vmap fills the vector lanes of one compiled kernel."""

import jax
import jax.numpy as jnp

import graftsim as gs

jax.config.update("jax_enable_x64", True)

arm = gs.Builder("arm")
arm.link("upper", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.25), inertia=(0.02, 0.02, 1e-4))
arm.link("lower", "upper", axis=(0, 1, 0), origin=(0, 0, -0.5), mass=1.0, com=(0, 0, -0.25),
         inertia=(0.02, 0.02, 1e-4))  # fmt: skip
simulator = gs.Simulator(arm.build(), dt=1e-3)


@jax.jit
@jax.vmap
def reach(angle):
    """Angle of the upper arm a second after its release, and its slope in the angle of release."""

    def final(angle):
        state = simulator.initial_state({"upper": angle})
        return simulator.rollout(state, steps=1000).q[-1, 0]

    return jax.value_and_grad(final)(angle)


angles = jnp.linspace(0.1, 1.5, 1000)
final, slope = reach(angles)
print(f"released at {angles[0]:.2f} rad: {final[0]:+.4f} rad after 1 s, slope {slope[0]:+.3f}")
print(f"released at {angles[-1]:.2f} rad: {final[-1]:+.4f} rad after 1 s, slope {slope[-1]:+.3f}")

"""Build a double pendulum, let it swing for five seconds, and see that energy is kept."""

import jax
import numpy as np

import graftsim as gs

jax.config.update("jax_enable_x64", True)

# A link hangs from its parent by a joint; `origin` places the joint in the parent.
builder = gs.Builder("double pendulum")
builder.link("upper", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.25), inertia=0.02)
builder.link(
    "lower", "upper", axis=(0, 1, 0), origin=(0, 0, -0.5), mass=0.5, com=(0, 0, -0.2), inertia=0.01
)
model = builder.build()
print(model)

simulator = gs.Simulator(model, dt=0.005, integrator=gs.RungeKutta4())
state = simulator.initial_state({"upper": 1.0, "lower": 0.5})
motion = simulator.rollout(state, steps=1000)


@jax.jit
@jax.vmap
def energy(q, qd):
    return gs.dynamics.kinetic_energy(model, q, qd) + gs.dynamics.potential_energy(model, q)


E = np.asarray(energy(motion.q, motion.qd))
for i in range(0, 1001, 200):
    upper, lower = motion.q[i]
    print(
        f"t {motion.time[i]:4.1f} s   upper {upper:+.3f}   lower {lower:+.3f} rad   E {E[i]:.6f} J"
    )
print(f"energy drift: {np.abs(E - E[0]).max():.1e} J")

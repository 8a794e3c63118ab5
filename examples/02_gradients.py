"""Differentiate where a double pendulum ends up, in its masses and in a length."""

import equinox as eqx
import jax
import jax.numpy as jnp

import graftsim as gs

jax.config.update("jax_enable_x64", True)

builder = gs.Builder("double pendulum")
builder.link("upper", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.25), inertia=0.02)
builder.link(
    "lower", "upper", axis=(0, 1, 0), origin=(0, 0, -0.5), mass=0.5, com=(0, 0, -0.2), inertia=0.01
)
builder.frame("tip", "lower", position=(0, 0, -0.4))
model = builder.build()


@jax.jit
def end_height(x):
    """Height (m) of the tip after half a second; x: two masses (kg), length of the upper link."""
    changed = eqx.tree_at(
        lambda m: (m.link.mass, m.joint.origin),
        model,
        (x[:2], model.joint.origin.at[1, 2].set(-x[2])),
    )
    simulator = gs.Simulator(changed, dt=0.005)
    motion = simulator.rollout(simulator.initial_state({"upper": 1.0}), steps=100)
    return gs.dynamics.frame_pose(changed, motion.q[-1], "tip")[1][2]


x = jnp.array([1.0, 0.5, 0.5])
exact = jax.jit(jax.grad(end_height))(x)
h = 1e-5
numeric = jnp.array([(end_height(x + h * e) - end_height(x - h * e)) / (2 * h) for e in jnp.eye(3)])

print(f"the tip ends at a height of {end_height(x):.6f} m")
for name, a, b in zip(("mass upper", "mass lower", "length"), exact, numeric, strict=True):
    print(f"d height / d {name:10s}  gradient {a:+.8f}   difference {b:+.8f}")
print(f"largest relative error: {jnp.max(jnp.abs(exact - numeric) / jnp.abs(numeric)):.1e}")

"""Throw a ball on the floor: where it ends, how hard it hit, and gradients through the impact."""

from dataclasses import replace

import jax
import jax.numpy as jnp

import graftsim as gs

jax.config.update("jax_enable_x64", True)

builder = gs.Builder("ball")
builder.link("ball", joint="free", mass=0.5, inertia=0.002)
builder.geom("plane", (), name="floor", friction=0.4)
builder.geom("sphere", 0.1, "ball", name="ball", restitution=0.8)
model = builder.build()
simulator = gs.Simulator(model, dt=0.0005, contact=gs.contact.Complementarity())
start = simulator.initial_state({"ball.z": 0.6}, {"ball.x": 2.0})

motion = simulator.rollout(start, steps=1200, record=("contact.force_n",))
force = motion.recorded["contact.force_n"][:, 0]
print(f"hits the floor at {motion.time[jnp.argmax(force)]:.3f} s, leaves it turning at "
      f"{motion.qd[-1, 4]:.2f} rad/s")  # fmt: skip


def height(z, restitution):
    """Height (m) after 0.6 s, of the height it is dropped from and the pair's restitution."""
    changed = gs.model.with_leaf(model, "pair.restitution", restitution[None])
    dropped = replace(start, q=start.q.at[2].set(z))
    return replace(simulator, model=changed).rollout(dropped, steps=1200).q[-1, 2]


z, e, g, T = 0.6, 0.8, 9.81, 0.6
slopes = jax.grad(height, (0, 1))(jnp.array(z), jnp.array(e))
# It falls for t = sqrt(2 (z - r) / g), then rises with e g t for what is left of T.
t = (2 * (z - 0.1) / g) ** 0.5
exact = ((e * g * (T - 2 * t) + g * (T - t)) / (g * t), g * t * (T - t))
for name, found, right in zip(("drop height", "restitution"), slopes, exact, strict=True):
    print(f"d height / d {name:12s} {found:+.4f}, exact {right:+.4f}")

"""List the named variables of a simulation, and record some of them during a roll-out."""

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs

jax.config.update("jax_enable_x64", True)

builder = gs.Builder("hinge")
builder.link(
    "arm", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.3), inertia=0.03, damping=0.05, friction=0.1
)
builder.actuator("motor", "arm", gear=5.0, force_range=(-0.5, 0.5))
simulator = gs.Simulator(builder.build(), dt=0.002, integrator=gs.ImplicitDamping())

print("named variables, in the order in which a step computes them:")
for name, (shape, info, rows) in simulator.variables().items():
    print(f"  {name:20s} {shape!s:10s} {info.unit:16s} {info.meaning} ({', '.join(rows)})")

t = simulator.dt * jnp.arange(1000)
controls = jnp.sin(2 * jnp.pi * t)[:, None]
record = ("joint.tau_friction[arm]", "joint.tau_passive", "actuator.force", "joint.tau")
motion = simulator.rollout(simulator.initial_state(), controls, record=record)
kept = {name: np.asarray(motion.recorded[name])[:, 0] for name in record}

for name, values in kept.items():
    print(f"{name:24s} {values.min():+.4f} to {values.max():+.4f} N m")
total = 5.0 * kept["actuator.force"] + kept["joint.tau_passive"]
print(f"gear x force + passive = total, to {np.abs(total - kept['joint.tau']).max():.0e} N m")

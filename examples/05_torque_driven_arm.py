"""Find dry friction and rotor inertia of a two-joint arm that is driven by sine torques."""

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs

jax.config.update("jax_enable_x64", True)


def arm(friction: float, armature: float) -> gs.Simulator:
    builder = gs.Builder("arm")
    drive = {"friction": friction, "armature": armature, "damping": 0.05, "friction_velocity": 0.05}
    builder.link("shoulder", axis=(0, 1, 0), mass=2.0, com=(0, 0, -0.2), inertia=0.05, **drive)
    builder.link(
        "elbow", "shoulder", axis=(0, 1, 0), origin=(0, 0, -0.4), mass=1.0, com=(0, 0, -0.15),
        inertia=0.02, **drive,
    )  # fmt: skip
    builder.actuator("m1", "shoulder").actuator("m2", "elbow")
    return gs.Simulator(builder.build(), dt=0.01, integrator=gs.ImplicitDamping())


truth = arm(friction=0.3, armature=0.1)
t = 0.01 * jnp.arange(400)
u = jnp.stack([6 * jnp.sin(3.1 * t) + 3 * jnp.sin(7.3 * t), 2 * jnp.sin(4.7 * t)], axis=1)
motion = truth.rollout(truth.initial_state(), u)

# Encoders see angles with noise; the commands are known. A torque makes masses and rotor
# inertias visible: without one, only their ratios are.
rng, time = np.random.default_rng(1), np.asarray(motion.time)
channels = [
    gs.Channel(f"joint.q[{name}]", time, motion.q[:, i] + 1e-3 * rng.standard_normal(401), "rad")
    for i, name in enumerate(("shoulder", "elbow"))
]
channels += [gs.Channel(f"control[m{i + 1}]", time[:-1], u[:, i], "N m") for i in range(2)]
recording = gs.Recording({c.name: c for c in channels})

# The start is good enough to use windows of the full horizon (0.5 s) at once.
start, free = arm(friction=0.1, armature=0.02), ["joint.friction[*]", "joint.armature[*]"]
problem = gs.Problem(start, recording, free, growth=(1.0,))
result = gs.fit(problem)
true = {"joint.friction": 0.3, "joint.armature": 0.1}
for row in result.parameters:
    wanted = true[row.name.split("[")[0]]
    print(f"{row.name:25s} {row.start:g} -> {row.value:.4f} +- {row.std:.4f}, true {wanted:g}")
print(f"{result.outcome}; largest correlation "
      f"{np.abs(result.correlation - np.eye(4)).max():.2f}")  # fmt: skip

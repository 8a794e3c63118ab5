"""A parallel ankle: two motors, cranks and rods move a foot; the length of a rod from a log."""

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs

jax.config.update("jax_enable_x64", True)
NOISE = 5e-4


def ankle(rod: float) -> gs.Simulator:
    """`rod`: length of the left rod (m)."""
    b = gs.Builder("ankle")
    b.link("cross", origin=(0, 0, -0.25), axis=(0, 1, 0), joint_name="pitch", damping=0.05)
    b.link("foot", "cross", axis=(1, 0, 0), joint_name="roll", mass=0.9, com=(0.02, 0, -0.05),
           inertia=(2e-3, 5e-3, 5e-3), damping=0.05)  # fmt: skip
    for side, y, z, length in (("left", 0.05, -0.02, rod), ("right", -0.05, 0.06, 0.32)):
        b.link(f"crank_{side}", origin=(-0.02, y, z), axis=(0, 1, 0), joint_name=side,
               mass=0.05, com=(-0.03, 0, 0), inertia=2e-5, armature=0.02, damping=0.1)  # fmt: skip
        b.link(f"cardan_{side}", f"crank_{side}", origin=(-0.06, 0, 0), axis=(0, 1, 0))
        b.link(f"rod_{side}", f"cardan_{side}", axis=(1, 0, 0), mass=0.04, com=(0, 0, -0.12),
               inertia=(2e-4, 2e-4, 1e-6))  # fmt: skip
        place = {"anchor": (0, 0, -length), "opposite": (-0.08, y, -0.01)}
        b.loop(f"pin_{side}", f"rod_{side}", "foot", **place)
        b.actuator(side, side, "position", kp=30.0, kd=0.5)
    return gs.Simulator(b.build(), dt=0.002, integrator=gs.ImplicitDamping())


# The machine: 1 s of both motors and of the ankle's two angles, with 0.5 mrad of noise.
truth = ankle(rod=0.245)
t = 0.002 * np.arange(500)
u = 0.3 * np.stack([np.sin(7 * t), np.sin(11 * t + 1)], 1)
start = truth.assemble(truth.initial_state(), keep=("left", "right"))
motion = truth.rollout(start, jnp.asarray(u), record=("loop.error", "loop.force"))
print(f"largest opening of the loops: {np.abs(motion.recorded['loop.error']).max():.1e} m")
print(f"largest force in a pin: {np.abs(motion.recorded['loop.force']).max():.1f} N")

rng = np.random.default_rng(0)
arrays = {"time": np.asarray(motion.time)}
for joint in ("left", "right", "pitch", "roll"):
    q = np.asarray(motion.q[:, truth.model.tree.dofs.index(joint)])
    arrays[f"joint.q[{joint}]"] = q + NOISE * rng.standard_normal(q.shape)
for k, side in enumerate(("left", "right")):
    arrays[f"control[{side}]"] = np.append(u[:, k], u[-1, k])
log = gs.recording_from_arrays(arrays)

# The file says 240 mm; the rods' own angles are in no log.
problem = gs.Problem(
    ankle(rod=0.24), log, ["loop.anchor[pin_left].z"], horizon=0.25, holdout=0,
    noise={f"joint.q[{j}]": NOISE for j in ("left", "right", "pitch", "roll")},
)  # fmt: skip
row = gs.fit(problem).parameters[0]
print(f"length of the rod: {-1e3 * row.value:.3f} +- {1e3 * row.std:.3f} mm, true 245")

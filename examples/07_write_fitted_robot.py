"""Fit, then write the fitted robot as MJCF and URDF, and see what each format could not say."""

import tempfile
from pathlib import Path

import jax
import numpy as np

import graftsim as gs

jax.config.update("jax_enable_x64", True)


def pendulum(damping: float) -> gs.Simulator:
    builder = gs.Builder("pendulum")
    builder.link(
        "arm", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.3), inertia=0.03, damping=damping,
        armature=0.01,
    )  # fmt: skip
    return gs.Simulator(builder.build(), dt=0.01, integrator=gs.ImplicitDamping())


truth = pendulum(damping=0.08)
motion = truth.rollout(truth.initial_state({"arm": 1.5}), steps=300)
angle = gs.Channel("joint.q[arm]", np.asarray(motion.time), np.asarray(motion.q), "rad")
recording = gs.Recording({"joint.q[arm]": angle})
problem = gs.Problem(
    pendulum(damping=0.01), recording, ["joint.damping[arm]"], growth=(1.0,), holdout=0.0
)
result = gs.fit(problem)

with tempfile.TemporaryDirectory() as folder:
    mjcf, urdf = Path(folder) / "robot.xml", Path(folder) / "robot.urdf"
    print("MJCF lost:", gs.write_mjcf(result.model, mjcf) or "nothing")
    try:
        gs.write_urdf(result.model, urdf)
    except gs.FileError as error:
        print("URDF refuses:", str(error).splitlines()[1].strip())
    print("URDF, lossy, lost:", gs.write_urdf(result.model, urdf, lossy=True))
    again = gs.load(mjcf)

print(f"damping fitted {result.value('joint.damping[arm]'):.6f}, true 0.08")
print(f"damping in the file {float(again.joint.damping[0]):.6f}")
q = np.array([0.7])
before, after = (np.asarray(gs.dynamics.mass_matrix(m, q)) for m in (result.model, again))
print(f"mass matrix, written and read back, differs by {np.abs(before - after).max():.0e}")

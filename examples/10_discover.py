"""Ask what a simulator lacks: a log of a pendulum with dry friction, and a model without."""

import jax
import numpy as np

import graftsim as gs

jax.config.update("jax_enable_x64", True)


def pendulum(friction: float) -> gs.Simulator:
    """A rod of half a metre with a motor."""
    b = gs.Builder("pendulum")
    b.link("rod", joint_name="pivot", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.25),
           inertia=(0.02, 0.02, 1e-4), friction=friction, friction_velocity=0.02)  # fmt: skip
    b.actuator("motor", "pivot")
    return gs.Simulator(b.build(), dt=0.005, integrator=gs.ImplicitDamping(), substeps=5)


# The machine: driven for six seconds, its angle read with an error of a milliradian.
rng = np.random.default_rng(0)
machine = pendulum(friction=0.3)
time = np.arange(1200) * 0.005
torque = 1.2 * np.sin(2 * np.pi * 0.7 * time) + 0.8 * np.sin(2 * np.pi * 0.31 * time)
motion = machine.rollout(machine.initial_state(), torque[:, None])
angle = np.asarray(motion.q[:-1, 0]) + 1e-3 * rng.standard_normal(1200)
log = gs.recording_from_arrays(
    {"time": time, "joint.q[pivot]": angle, "control[motor]": torque}, name="log"
)

# The model knows nothing of friction. The last quarter of the log judges.
found = gs.discover(pendulum(friction=0.0), log, horizon=0.3)
print(found)
for finding in found.findings:
    for term in finding.formula:
        print(f"coefficient of {term.kind}: {term.value:.3f} {term.unit}")

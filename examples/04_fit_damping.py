"""Find a pendulum's damping from a noisy log of its angle."""

import jax
import numpy as np

import graftsim as gs

jax.config.update("jax_enable_x64", True)


def pendulum(damping: float) -> gs.Simulator:
    builder = gs.Builder("pendulum")
    builder.link("arm", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.3), inertia=0.03, damping=damping)
    return gs.Simulator(builder.build(), dt=0.01, integrator=gs.ImplicitDamping())


# The "real" machine: a log of 6 s at 100 Hz with 2 mrad of noise. Yours comes from
# gs.read_recording("log.csv", columns={"joint.q[arm]": "angle"}).
truth = pendulum(damping=0.08)
motion = truth.rollout(truth.initial_state({"arm": 1.5}), steps=600)
noisy = np.asarray(motion.q) + 0.002 * np.random.default_rng(0).standard_normal((601, 1))
angle = gs.Channel("joint.q[arm]", np.asarray(motion.time), noisy, "rad")
recording = gs.Recording({"joint.q[arm]": angle})

problem = gs.Problem(pendulum(damping=0.01), recording, {"joint.damping[arm]": gs.Positive()})
result = gs.fit(problem)

for row in result.parameters:
    print(f"{row.name}: {row.start:g} -> {row.value:.4f} {row.unit}, true 0.08")
    print(f"  95 % interval {row.low:.4f} to {row.high:.4f}, status {row.status}")
for e in result.errors:
    print(f"{e.channel}: held-out error {e.heldout_before:.4f} -> {e.heldout_after:.4f} {e.unit}")
print(f"{result.outcome} after {len(result.history)} iterations; warnings: {result.warnings}")

"""Graft a network on a joint, see what it adds, and keep it in a file."""

import tempfile
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np

import graftsim as gs

jax.config.update("jax_enable_x64", True)

arm = gs.Builder("arm")
arm.link("upper", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.25), inertia=(0.02, 0.02, 1e-4))
arm.link("lower", "upper", axis=(0, 1, 0), origin=(0, 0, -0.5), mass=1.0, com=(0, 0, -0.25),
         inertia=(0.02, 0.02, 1e-4))  # fmt: skip
plain = gs.Simulator(arm.build(), dt=0.002, integrator=gs.RungeKutta4())

# A force on one joint that depends on its angle and speed, and never adds energy.
grease = gs.Graft(
    "joint.tau_passive[lower]",
    ("joint.q[*]", "joint.qd[*]"),
    gs.MLP(8, 8),
    structure=gs.Dissipative(),
    input_scale={"joint.q[*]": "90 deg", "joint.qd[*]": "360 deg/s"},
    output_scale="0.5 N m",
    name="grease",
)
simulator = plain.graft(gs.Blueprint(grease), key=jax.random.key(0))

# A fit finds weights from recordings; here they are drawn.
graft = simulator.grafts["grease"]
weights = 0.5 * np.random.default_rng(0).standard_normal(graft.trainable.shape)
simulator = replace(
    simulator, grafts=simulator.grafts.replace("grease", graft.with_trainable(weights))
)

state = simulator.initial_state({"upper": 1.0, "lower": 0.5})
motion = simulator.rollout(state, steps=1500, record=("graft.grease", "joint.qd[lower]"))
added = np.asarray(motion.recorded["graft.grease"])[:, 0, 0]
power = added * np.asarray(motion.recorded["joint.qd[lower]"])[:, 0]
without = plain.rollout(plain.initial_state({"upper": 1.0, "lower": 0.5}), steps=1500)
print(f"it adds {added.min():+.3f} to {added.max():+.3f} N m at the joint")
print(f"its power is at most {power.max() + 0.0:.1e} W, its work {power.sum() * 0.002:+.3f} J")


def energy(q, qd):
    """Kinetic and potential (J)."""
    model = simulator.model
    return gs.dynamics.kinetic_energy(model, q, qd) + gs.dynamics.potential_energy(model, q)


for name, run in (("without", without), ("with", motion)):
    change = energy(run.q[-1], run.qd[-1]) - energy(run.q[0], run.qd[0])
    print(f"{name:7s} the graft the energy changes by {change:+.3f} J")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "grease.safetensors"
    gs.save_grafts(simulator, path)
    entry = gs.describe_grafts(path)["grafts"][0]
    again = gs.load_grafts(plain, path)
inputs = [f"{c['column']} ({c['unit']})" for i in entry["inputs"] for c in i["columns"]]
print(f"the file has {entry['name']}: {', '.join(inputs)} -> {', '.join(entry['target'])}")
difference = np.abs(np.asarray(again.rollout(state, steps=1500).q - motion.q)).max()
print(f"loaded, it moves differently by {difference:.0e} rad")

"""MuJoCo as a host: a fitted drag acts inside its own step, and the hook is restored after."""

import tempfile
from dataclasses import replace
from pathlib import Path

import jax
import mujoco
import numpy as np

import graftsim as gs
from graftsim.interop.mujoco import passive_force

jax.config.update("jax_enable_x64", True)

# A body that floats, with a tail; a network on its velocity through the air takes energy.
b = gs.Builder("glider")
b.link("hull", joint="free", mass=1.0, com=(0.02, 0, 0), inertia=(0.01, 0.03, 0.04))
b.link("tail", "hull", axis=(0, 1, 0), origin=(-0.3, 0, 0), mass=0.2, com=(-0.1, 0, 0),
       inertia=(1e-3, 2e-3, 2e-3))  # fmt: skip
plain = gs.Simulator(b.build(), dt=0.002)
drag = gs.Graft("link.com_force[*]", ("link.com_velocity[*]",), gs.MLP(8),
                structure=gs.Dissipative("link.com_velocity[*]"),
                output_scale=0.5, name="drag")  # fmt: skip
simulator = plain.graft(gs.Blueprint(drag), key=jax.random.key(0))
# A fit finds weights from recordings; here they are drawn.
graft = simulator.grafts["drag"]
weights = 0.5 * np.random.default_rng(0).standard_normal(graft.trainable.shape)
changed = simulator.grafts.replace("drag", graft.with_trainable(weights))
simulator = replace(simulator, grafts=changed)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "glider.xml"
    gs.write_mjcf(simulator.model, path)
    host = mujoco.MjModel.from_xml_path(str(path))
host.opt.timestep = 0.002


def in_mujoco(start, steps=500):
    """Position after a second in MuJoCo."""
    data = mujoco.MjData(host)
    data.qpos[:], data.qvel[:] = start.q, start.qd
    mujoco.mj_step(host, data, steps)
    return data.qpos.copy()


speeds = {"hull.x": 3.0, "hull.ry": 2.0, "tail": -1.0}
start = simulator.initial_state({"hull.z": 2.0}, speeds)
ours = simulator.rollout(start, steps=500).q[-1]
without = in_mujoco(start)
with passive_force(simulator, host):
    grafted = in_mujoco(start)
print(f"the drag moves it by {np.abs(grafted - without).max():.3f} m")
print(f"in MuJoCo it ends beside ours by {np.abs(grafted - np.asarray(ours)).max():.1e} m")
print(f"after the block as before it: {np.array_equal(in_mujoco(start), without)}")

"""Load a robot file, see what the reader made of it, and ask for a pose and a Jacobian."""

import tempfile
from pathlib import Path

import jax
import numpy as np

import graftsim as gs

jax.config.update("jax_enable_x64", True)

URDF = """<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0 0 0.2"/><mass value="2"/>
      <inertia ixx="0.03" iyy="0.03" izz="0.005"/></inertial>
  </link>
  <link name="lower">
    <inertial><origin xyz="0 0 0.15"/><mass value="1"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.002"/></inertial>
  </link>
  <link name="tool"/>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><dynamics damping="0.1" friction="0.2"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 0.4"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="20"/></joint>
  <joint name="mount" type="fixed"><parent link="lower"/><child link="tool"/>
    <origin xyz="0 0 0.3"/></joint>
</robot>"""

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "arm.urdf"
    path.write_text(URDF)
    model = gs.load(path)

print(model)
for note in model.notes:
    print("note:", note)
print("degrees of freedom:", ", ".join(model.tree.dofs))
print("actuators:", ", ".join(model.actuator.names))

q = np.array([0.3, -0.8])
rotation, position = gs.dynamics.frame_pose(model, q, "tool")
print("tool at", np.round(position, 4), "m")
J = np.asarray(gs.dynamics.jacobian(model, q, "tool"))
print("Jacobian, (angular; linear) in world axes:\n", np.round(J, 4))
print("joint torques that hold a 10 N load at the tool:", np.round(J[3:].T @ [0, 0, 10], 4), "N m")

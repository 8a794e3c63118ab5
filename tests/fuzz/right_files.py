"""Files that are right, to be made wrong."""

URDF = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base"><collision><geometry><box size="1 1 0.1"/></geometry></collision></link>
  <link name="upper">
    <inertial><origin xyz="0 0 -0.2" rpy="0 0 0.1"/><mass value="1.0"/>
      <inertia ixx="0.02" iyy="0.02" izz="0.002" ixy="0" ixz="0" iyz="0.001"/></inertial>
    <visual><geometry><mesh filename="package://arm/mesh.stl" scale="1 1 1"/></geometry></visual>
    <collision><origin xyz="0 0 -0.2"/><geometry><cylinder radius="0.03" length="0.3"/></geometry>
    </collision>
  </link>
  <link name="lower">
    <inertial><origin xyz="0 0 -0.1"/><mass value="0.5"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 -0.2"/><geometry><sphere radius="0.04"/></geometry></collision>
  </link>
  <link name="tool"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 1" rpy="0 0 0"/><axis xyz="1 0 0"/>
    <limit lower="-2" upper="2" effort="10" velocity="5"/>
    <dynamics damping="0.1" friction="0.05"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 -0.4"/><axis xyz="0 1 0"/><dynamics damping="0.05"/></joint>
  <joint name="hand" type="fixed"><parent link="lower"/><child link="tool"/>
    <origin xyz="0 0 -0.2"/></joint>
  <transmission name="t"><type>SimpleTransmission</type><joint name="shoulder"/>
    <actuator name="m"><mechanicalReduction>5</mechanicalReduction></actuator></transmission>
</robot>
"""
MJCF = """<mujoco model="arm">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.002" gravity="0 0 -9.81" integrator="implicitfast"/>
  <default><joint damping="0.1" armature="0.01"/><default class="foot"><geom friction="0.8"/>
    </default></default>
  <asset><mesh name="tetra" vertex="0 0 0 0.1 0 0 0 0.1 0 0 0 0.1"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 0.1"/>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" type="hinge" axis="1 0 0" range="-2 2" frictionloss="0.05"/>
      <inertial pos="0 0 -0.2" mass="1" diaginertia="0.02 0.02 0.002"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03"/>
      <body name="lower" pos="0 0 -0.4" quat="1 0 0 0">
        <joint name="elbow" type="slide" axis="0 0 1" stiffness="20" springref="0.1"/>
        <geom class="foot" type="sphere" size="0.05" mass="0.5"/>
        <geom type="mesh" mesh="tetra" mass="0.1"/>
        <site name="tip" pos="0 0 -0.1"/>
      </body>
    </body>
    <body name="ball" pos="1 0 1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
  </worldbody>
  <contact><exclude body1="upper" body2="lower"/></contact>
  <actuator><motor name="m1" joint="shoulder" gear="2" ctrlrange="-1 1"/>
    <position name="m2" joint="elbow" kp="10" kv="1" forcerange="-5 5"/></actuator>
  <sensor><jointpos joint="shoulder"/></sensor>
  <keyframe><key qpos="0 0 1 0 1 1 0 0 0"/></keyframe>
</mujoco>
"""
RUN_FILE = """robot = "arm.urdf"
logs = ["log.csv"]
horizon = 0.25
growth = [1.0]
iterations = 1
holdout = 0.3
seed = 3
quiet = true
[free]
"joint.damping[*]" = [0.0, 1.0]
"joint.friction[elbow]" = {lower = 0.0, prior = [0.1, 0.1], shared = false}
"link.mass[upper]" = "positive"
[noise]
"joint.q[shoulder]" = 0.001
[sensors."joint.q[shoulder]"]
offset = 0.0
[start]
"joint.damping[*]" = 0.05
"""

FIT = """{"command": "graftsim fit arm.xml log.csv", "grafts": [{"label": "friction"}],
 "parameters": [
 {"name": "joint.damping[*]", "value": 0.1, "std": 0.01, "status": "identified",
  "lower": 0.0, "upper": null, "std_if_freed": null, "trades_with": ""},
 {"name": "actuator.kp[m2]", "value": 10.0, "std": 0.5, "status": "conditional",
  "lower": 1.0, "upper": 50.0, "std_if_freed": 1.5, "trades_with": "actuator.gear[m2]"}]}
"""

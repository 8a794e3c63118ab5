"""Mechanisms with closed loops and couplings, as robot files: the usual ones of hardware."""

import jax.numpy as jnp
import numpy as np

import graftsim as gs

FOUR_BAR = """
<mujoco model="four_bar">
  <worldbody>
    <body name="crank">
      <joint name="crank" axis="0 1 0"/>
      <geom type="capsule" size="0.01" fromto="0 0 0 0 0 0.3" mass="0.3"/>
      <body name="coupler" pos="0 0 0.3">
        <joint name="coupler" axis="0 1 0"/>
        <geom type="capsule" size="0.01" fromto="0 0 0 0.6 0 0.2" mass="0.7"/>
      </body>
    </body>
    <body name="rocker" pos="0.6 0 0">
      <joint name="rocker" axis="0 1 0"/>
      <geom type="capsule" size="0.01" fromto="0 0 0 0 0 0.5" mass="0.5"/>
    </body>
  </worldbody>
  <equality><connect name="pin" body1="coupler" body2="rocker" anchor="0.6 0 0.2"/></equality>
</mujoco>
"""

# A leg of a Stewart platform: a cylinder and its rod, a body that nothing carries, held to the
# ground at one end and to the platform at the other.
STEWART_LEG = """
<mujoco model="stewart_leg">
  <worldbody>
    <site name="ground" pos="0.4 0.1 0"/>
    <body name="platform" pos="0 0 1">
      <joint name="heave" type="slide" axis="0 0 1" damping="0.3"/>
      <joint name="tilt" type="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="box" size="0.3 0.3 0.02" mass="4"/>
      <site name="corner" pos="0.3 0.1 -0.02"/>
    </body>
    <body name="cylinder" pos="0.4 0.1 0" euler="0 -5.8 0">
      <freejoint name="cylinder"/>
      <geom type="cylinder" size="0.02 0.25" pos="0 0 0.25" mass="0.8"/>
      <site name="foot"/>
      <body name="rod" pos="0 0 0.5">
        <joint name="piston" type="slide" axis="0 0 1" damping="5"/>
        <geom type="cylinder" size="0.01 0.25" pos="0 0 0.235" mass="0.3"/>
        <site name="eye" pos="0 0 0.485"/>
      </body>
    </body>
  </worldbody>
  <equality>
    <connect name="lower" site1="ground" site2="foot"/>
    <connect name="upper" site1="corner" site2="eye"/>
  </equality>
  <actuator><motor name="piston" joint="piston"/></actuator>
</mujoco>
"""

# A floating shank whose foot is turned in pitch and roll by two cranks through rods.
ANKLE = """
<mujoco model="ankle">
  <worldbody>
    <body name="shank" pos="0 0 1">
      <freejoint name="root"/>
      <geom type="box" size="0.04 0.05 0.2" mass="3"/>
      <body name="cross" pos="0 0 -0.25">
        <joint name="pitch" axis="0 1 0"/>
        <inertial pos="0 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/>
        <body name="foot">
          <joint name="roll" axis="1 0 0"/>
          <geom type="box" size="0.12 0.05 0.01" pos="0.02 0 -0.05" mass="0.9"/>
        </body>
      </body>
      <body name="crank_l" pos="-0.02 0.05 -0.02">
        <joint name="motor_l" axis="0 1 0" armature="0.02"/>
        <geom type="capsule" size="0.008" fromto="0 0 0 -0.06 0 0" mass="0.05"/>
        <body name="rod_l" pos="-0.06 0 0">
          <joint name="ball_l" type="ball"/>
          <geom type="capsule" size="0.005" fromto="0 0 0 0.01 0 -0.25" mass="0.04"/>
        </body>
      </body>
      <body name="crank_r" pos="-0.02 -0.05 0.06">
        <joint name="motor_r" axis="0 1 0" armature="0.02"/>
        <geom type="capsule" size="0.008" fromto="0 0 0 -0.06 0 0" mass="0.05"/>
        <body name="rod_r" pos="-0.06 0 0">
          <joint name="ball_r" type="ball"/>
          <geom type="capsule" size="0.005" fromto="0 0 0 0.01 0 -0.33" mass="0.04"/>
        </body>
      </body>
    </body>
  </worldbody>
  <equality>
    <connect name="left" body1="rod_l" body2="foot" anchor="0.01 0 -0.25"/>
    <connect name="right" body1="rod_r" body2="foot" anchor="0.01 0 -0.33"/>
  </equality>
  <actuator><motor name="left" joint="motor_l"/><motor name="right" joint="motor_r"/></actuator>
</mujoco>
"""

# Two motors turn a wrist: the sum of both pitches it, their difference rolls it.
DIFFERENTIAL = """
<mujoco model="differential">
  <worldbody>
    <body name="left"><joint name="left" axis="0 1 0" armature="0.01"/>
      <geom type="cylinder" size="0.03 0.01" mass="0.1"/></body>
    <body name="right"><joint name="right" axis="0 1 0" armature="0.01"/>
      <geom type="cylinder" size="0.03 0.01" mass="0.1"/></body>
    <body name="yoke">
      <joint name="pitch" axis="0 1 0"/>
      <geom type="box" size="0.02 0.02 0.02" mass="0.2"/>
      <body name="hand">
        <joint name="roll" axis="1 0 0"/>
        <geom type="box" size="0.02 0.05 0.06" pos="0.05 0.02 0" mass="0.4"/>
      </body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="sum"><joint joint="pitch" coef="2"/><joint joint="left" coef="-1"/>
      <joint joint="right" coef="-1"/></fixed>
    <fixed name="turn"><joint joint="roll" coef="2"/></fixed>
    <fixed name="apart"><joint joint="left" coef="1"/><joint joint="right" coef="-1"/></fixed>
  </tendon>
  <equality>
    <tendon name="pitches" tendon1="sum"/>
    <tendon name="rolls" tendon1="turn" tendon2="apart" polycoef="0 1 0 0 0"/>
  </equality>
</mujoco>
"""

# A cam: the follower rises by a polynomial of the cam's angle, both away from their zeros.
CAM = """
<mujoco model="cam">
  <compiler angle="radian"/>
  <worldbody>
    <body name="cam"><joint name="cam" axis="0 1 0" ref="0.2"/>
      <geom type="cylinder" size="0.05 0.01" pos="0.01 0 0" mass="0.5"/></body>
    <body name="follower" pos="0 0 0.1"><joint name="lift" type="slide" axis="0 0 1" ref="0.05"/>
      <geom type="box" size="0.01 0.01 0.05" mass="0.3"/></body>
  </worldbody>
  <equality>
    <joint name="profile" joint1="lift" joint2="cam" polycoef="0.01 0.03 0.02 -0.01 0.005"/>
  </equality>
</mujoco>
"""

# A plate welded to a slider's carriage, not at the pose in which it is drawn.
WELDED = """
<mujoco model="welded">
  <worldbody>
    <body name="arm" pos="0 0 1">
      <joint name="shoulder" axis="0 1 0"/><geom type="capsule" size="0.02" fromto="0 0 0 0.4 0 0"
        mass="1"/>
      <body name="forearm" pos="0.4 0 0"><joint name="elbow" axis="0 0 1"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0" mass="0.6"/></body>
    </body>
    <body name="plate" pos="0.8 0.1 1"><freejoint name="plate"/>
      <geom type="box" size="0.05 0.1 0.02" mass="0.7"/></body>
  </worldbody>
  <equality>
    <weld name="grip" body1="forearm" body2="plate" anchor="0.02 0.03 0"
      relpose="0.35 0 0.05 0.8 0.36 0 0.48"/>
  </equality>
</mujoco>
"""

GRIPPER = """
<robot name="gripper">
  <link name="palm"><inertial><mass value="0"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0"
    iyz="0"/></inertial></link>
  <link name="left"><inertial><origin xyz="0.02 0.01 0.03"/><mass value="0.1"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><origin xyz="0 -0.01 0.03"/><mass value="0.2"/>
    <inertia ixx="2e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="left" type="prismatic"><parent link="palm"/><child link="left"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.04" effort="20" velocity="1"/></joint>
  <joint name="right" type="revolute"><parent link="palm"/><child link="right"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="20" velocity="1"/>
    <mimic joint="left" multiplier="-12.5" offset="0.1"/></joint>
</robot>
"""

MJCF = {
    "four_bar": FOUR_BAR,
    "stewart_leg": STEWART_LEG,
    "ankle": ANKLE,
    "differential": DIFFERENTIAL,
    "cam": CAM,
    "welded": WELDED,
}


def load(text, folder, name="robot"):
    """A model from the text of a file."""
    path = folder / (f"{name}.urdf" if "<robot" in text else f"{name}.xml")
    path.write_text(text)
    return gs.load(path)


def random_assembled(simulator, seed, spread=0.2, speed=1.0):
    """A state on the loops, near the drawn pose, with random velocities."""
    rng = np.random.default_rng(seed)
    start = simulator.initial_state()
    model = simulator.model
    q = gs.engine.integrators.move(
        model.tree, start.q, jnp.asarray(rng.uniform(-spread, spread, model.nv)), jnp.ones(())
    )
    qd = rng.uniform(-speed, speed, model.nv)
    return simulator.assemble(simulator.initial_state(q=q, qd=qd))

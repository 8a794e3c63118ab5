"""Mechanisms pulled by cords through space and pushed at sites, as robot files."""

CORDS = """
<mujoco model="cords">
  <option gravity="0.3 -0.2 -9.81"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <site name="hook" pos="0.1 -0.2 0.9"/>
    <body name="base" pos="0.2 0.1 0.3" euler="10 20 30">
      <freejoint name="root"/>
      <geom type="box" size="0.1 0.15 0.05" mass="2"/>
      <site name="left" pos="0.1 0.02 0.06"/>
      <site name="right" pos="-0.1 0.05 0.06" euler="20 -40 10"/>
      <body name="upper" pos="0 0 0.1">
        <joint name="shoulder" type="ball" pos="0 0.01 0" damping="0.1"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0.05 0 0.3" mass="0.6"/>
        <site name="mid" pos="0.04 0.03 0.15"/>
        <body name="fore" pos="0.05 0 0.3">
          <joint name="elbow" axis="0 1 0" pos="0 0 0.02" ref="0.3"/>
          <joint name="reach" type="slide" axis="0.1 0 1"/>
          <geom type="capsule" size="0.02" fromto="0 0 0 0 0.02 0.25" mass="0.4"/>
          <site name="tip" pos="0 0.02 0.25" euler="50 10 -70"/>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon>
    <spatial name="line" stiffness="40" damping="0.7" springlength="0.1 0.3">
      <site site="left"/><site site="mid"/><site site="tip"/><site site="hook"/>
    </spatial>
    <spatial name="tackle" stiffness="15" damping="0.2">
      <site site="hook"/><site site="right"/>
      <pulley divisor="2"/><site site="right"/><site site="mid"/>
      <pulley divisor="4"/><site site="mid"/><site site="tip"/><site site="left"/>
    </spatial>
    <fixed name="both" stiffness="3">
      <joint joint="elbow" coef="0.5"/><joint joint="reach" coef="2"/>
    </fixed>
  </tendon>
  <actuator>
    <motor name="winch" tendon="line" gear="3"/>
    <position name="reel" tendon="tackle" kp="25" kv="2" gear="1.5"/>
    <motor name="thrust" site="tip" gear="1 -2 3 0.4 0.5 -0.6"/>
    <velocity name="drag" site="mid" kv="0.8" gear="0 1 0 0.2 0 0"/>
    <position name="place" site="tip" refsite="left" kp="30" kv="3" gear="0.6 0.8 0 0 0 0"/>
    <position name="turn" site="tip" refsite="right" kp="5" kv="0.4" gear="0 0 0 0.3 -0.5 0.8"/>
    <position name="hold" site="mid" refsite="hook" kp="12" gear="0 0 1 0.1 0 0"/>
    <motor name="elbow" jointinparent="elbow" gear="2"/>
  </actuator>
</mujoco>
"""

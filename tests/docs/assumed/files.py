import graftsim as gs

gs.write_mjcf(gs.load("robot.urdf"), "scene.xml")

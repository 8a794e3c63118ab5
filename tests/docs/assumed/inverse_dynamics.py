import graftsim as gs

model = gs.load("robot.urdf")
recordings = [gs.read_recording("torques.csv")]

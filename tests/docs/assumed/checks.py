import graftsim as gs

model = gs.load("robot.urdf")
simulator = gs.Simulator(model, 0.01, substeps=5, integrator=gs.ImplicitDamping())
recordings = [gs.read_recording("logs/run1.csv")]

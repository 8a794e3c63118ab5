import os

import graftsim as gs

model = gs.load("robot.urdf")
simulator = gs.Simulator(model, 0.01, substeps=5, integrator=gs.ImplicitDamping())
recordings = [gs.read_recording("logs/run1.csv")]
os.makedirs("out", exist_ok=True)


def holds():
    """The log was made with a damping of 0.1 N m s/rad; the file says half of it."""
    damping = [x.value for x in result.parameters if x.name.startswith("joint.damping")]
    assert all(abs(x - 0.1) < 0.01 for x in damping)

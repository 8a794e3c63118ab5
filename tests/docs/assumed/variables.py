import numpy as np

import graftsim as gs

model = gs.load("robot.urdf")
simulator = gs.Simulator(model, 0.01, substeps=5, integrator=gs.ImplicitDamping())
state, controls = simulator.initial_state({"elbow": 0.5}), np.zeros((20, 2))


def holds():
    """Shapes are those that the comments say."""
    assert motion.recorded["joint.tau_friction[elbow]"].shape == (20, 1)
    assert motion.recorded["link.position"].shape[0::2] == (20, 3)

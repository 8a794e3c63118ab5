import numpy as np

import graftsim as gs
from graftsim.taps import Scope

model = gs.load("robot.urdf")
simulator = gs.Simulator(model, 0.01, substeps=5, integrator=gs.ImplicitDamping())
state, controls = simulator.initial_state({"elbow": 0.5}), np.zeros((20, 2))
# Of the engine: an open scope in which one correction is attached.
scope = Scope({"joint.tau": lambda value, named: value - named["joint.tau_passive"]})
passive, driven = np.array([-0.1, 0.2]), np.array([1.0, 2.0])
scope.tap("joint.tau_passive", passive)


def holds():
    """Shapes are those that the comments say; a tap returns what is used, and keeps it."""
    assert motion.recorded["joint.tau_friction[elbow]"].shape == (20, 1)
    assert motion.recorded["link.position"].shape[0::2] == (20, 3)
    assert np.allclose(tau, driven) and scope["joint.tau"] is tau

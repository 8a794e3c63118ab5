import numpy as np


def holds():
    """The loop stays closed, the fingers mimic each other."""
    assert np.abs(run.recorded["loop.error"]).max() < 1e-6
    left, right = (run.q[:, simulator.model.tree.dofs.index(x)] for x in ("left", "right"))
    assert np.abs(right - 0.04 + left).max() < 1e-6

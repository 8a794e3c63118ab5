from pathlib import Path

import numpy as np

import graftsim as gs
from graftsim.viewer.demos.quadruped import quadruped

# The package's own quadruped, its feet named as those of A1.
gs.write_urdf(quadruped(), "a1.urdf", lossy=True)
_file = Path("a1.urdf")
_file.write_text(_file.read_text().replace("_foot", "_toe"))
command = np.array([0.3, 0.0, 0.0])


def holds():
    """It walks on at most of the speed that it was told, upright; a plan by hand is the walk's."""
    q = np.asarray(found.states.q)
    forward, left, up = q[-1, :3] - q[0, :3]
    assert 0.7 < forward / (0.3 * found.time[-1]) < 1.1
    assert abs(left) < 0.1 and abs(up) < 0.05 and q[-1, 3] > 0.99
    assert np.allclose(controller.torques(aim, state), found.u[0], atol=1e-6) and u.shape == (12,)

"""Paths of prescribed joints in recordings are looked at when a problem is posed."""

import numpy as np
import pytest

import graftsim as gs

DT = 0.002


def posed(path, **options):
    """A pendulum on a slide whose path is in the log; windows of 0.1 s."""
    b = gs.Builder("cart")
    b.link("cart", joint="prismatic", axis=(1, 0, 0), mass=1.0, lower=-0.5, upper=0.5)
    b.link("rod", "cart", axis=(0, 1, 0), mass=0.2, com=(0, 0, -0.3), inertia=0.01)
    b.actuator("drive", "cart", "path")
    columns = {"control[drive]": np.append(path[1:], path[-1]), "joint.q[cart]": path}
    columns["joint.q[rod]"] = 0.1 * np.cos(5 * DT * np.arange(len(path)))
    log = gs.recording_from_arrays(columns, name="run 7", time=DT)
    simulator = gs.Simulator(b.build(), DT)
    return gs.Problem(simulator, log, ["link.mass[rod]"], horizon=0.1, **options)


def test_a_smooth_path_is_taken():
    """A path that the joint can follow is no error, whatever is held out."""
    assert len(posed(0.2 * np.sin(3 * DT * np.arange(400))).train_windows()) > 3


@pytest.mark.parametrize("holdout", [0, 0.5])
def test_a_path_that_jumps_is_named_before_anything_is_simulated(holdout):
    """The error has recording, window, path and time, in what is fitted and in what is held out."""
    path = np.zeros(400)
    path[270:] = 0.05
    with pytest.raises(
        gs.ProblemError, match=r"'run 7', the window from 0.5 s on: Path 'drive'.*jumps"
    ):
        posed(path, holdout=holdout)


def test_a_path_outside_its_joint_limits_is_named():
    """What the joint cannot reach is named with its limits."""
    with pytest.raises(gs.ProblemError, match=r"leaves the joint's limits -0.5 to 0.5 m"):
        posed(0.6 * np.sin(3 * DT * np.arange(400)))

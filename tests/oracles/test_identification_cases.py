"""The models of the identification benchmark move here as in MuJoCo, whatever is free in them."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
sys.path.append(str(Path(__file__).parents[2] / "benchmarks" / "rivals"))
import graftsim_fit
import identification_cases as cases

STEPS = 300
NONE = Path()  # only the quadruped's file is an asset


@pytest.mark.parametrize("letter", "abcde")
def test_same_motion(request, letter):
    """A commanded roll-out within 1e-9, with the free numbers written by their selectors."""
    assets = request.getfixturevalue("assets_dir") if letter == "d" else NONE
    case = cases.make(letter, assets)
    simulator = graftsim_fit.simulator(case, case.values("start"))
    pose, commands = case.poses[0], case.commands[0][:STEPS]
    ours = simulator.rollout(simulator.initial_state(pose), commands)
    theirs = cases.rollout(case.model(case.values("start")), pose, commands)
    assert np.abs(theirs - pose).max() > 0.05  # it does move
    np.testing.assert_allclose(np.asarray(ours.q), theirs, atol=1e-9 * np.abs(theirs).max())


def test_logs_are_the_truth_and_noise():
    """The same numbers each time, and as much noise as is said."""
    case = cases.make("a", NONE)
    truth, read = cases.logs(case)
    np.testing.assert_array_equal(read, cases.logs(case)[1])
    assert np.std(read - truth) == pytest.approx(case.noise, rel=0.02)


def test_friction_is_in_the_truth_alone():
    """The truth of case e and the frictionless model part by many times the noise."""
    case = cases.make("e", NONE)
    assert case.friction is not None
    pose, commands = case.poses[0], case.commands[0][:STEPS]
    rubbing = cases.with_friction(case.model(case.values()), case.friction, pose, commands)
    without = cases.with_friction(case.model(case.values()), 0 * case.friction + [0, 0, 1, 1, 0],
                                  pose, commands)  # fmt: skip
    smooth = cases.rollout(case.model(case.values()), pose, commands)
    assert np.abs(rubbing - smooth).max() > 10 * case.noise
    # Without friction the finer steps of the truth are no matter.
    assert np.abs(without - smooth).max() < 0.1 * case.noise

"""Whether stated intervals are honest: many data sets of one truth, how often each holds it."""

import machines
import numpy as np
import pytest

import graftsim as gs
from graftsim.engine import ImplicitDamping
from kept_compilations import kept_compilations

SETS = 40


@pytest.fixture
def cache(tmp_path):
    with kept_compilations(tmp_path):
        gs.cache_compilations()
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("cache")
def test_intervals_cover_the_truth():
    """Over 40 noisy recordings, the 95 % intervals of four parameters hold the truth in >= 85 %."""
    model, u = machines.arm(), machines.drive(400)
    moved = machines.roll(model, [0.4], controls=u, steps=400, integrator=ImplicitDamping())
    start = machines.arm(mass=0.8, damping=0.2, friction=0.05, armature=0.05)
    truth = np.array([1.2, 0.05, 0.2, 0.02])
    inside, errors = [], []
    for seed in range(SETS):
        problem = gs.Problem(
            gs.Simulator(start, machines.DT, integrator=ImplicitDamping()),
            machines.recording(model, moved, controls=u, noise=2e-3, seed=100 + seed),
            ["link.mass[arm]", "joint.damping[*]", "joint.friction[*]", "joint.armature[*]"],
            growth=(1.0,),
            holdout=0,
        )
        result = gs.fit(problem)
        assert result.outcome == "converged"
        inside += [r.low <= t <= r.high for r, t in zip(result.parameters, truth, strict=True)]
        errors.append(
            [(r.value - t) / r.std for r, t in zip(result.parameters, truth, strict=True)]
        )
    assert np.mean(inside) >= 0.85
    # Nor so wide that they say nothing, nor off to one side.
    assert np.all(np.std(errors, axis=0) > 0.5)
    assert np.all(np.abs(np.mean(errors, axis=0)) < 0.6)

"""Bootstrap, profiles and verdicts of real fits, against what theory says of them."""

import machines
import numpy as np
import pytest

import graftsim as gs
from graftsim.engine import ImplicitDamping
from graftsim.errors import ProblemError
from graftsim.identify.evidence.bootstrap import Bootstrap, Resampled, draw_weights


def two_masses():
    """A free double pendulum whose two masses show by their ratio alone."""
    b = gs.Builder("two")
    b.link("near", axis=(1, 0, 0), mass=1.0, com=(0, 0, -0.5))
    b.link("far", "near", origin=(0, 0, -0.5), axis=(1, 0, 0), mass=1.0, com=(0, 0, -0.4))
    return b.build()


@pytest.fixture(scope="module")
def fitted():
    """The arm's four numbers with a bootstrap and a profile."""
    model, u = machines.arm(), machines.drive(600)
    moved = machines.roll(model, [0.4], controls=u, steps=600, integrator=ImplicitDamping())
    problem = gs.Problem(
        gs.Simulator(machines.arm(mass=1.0), machines.DT, integrator=ImplicitDamping()),
        machines.recording(model, moved, controls=u, noise=2e-3, seed=5),
        {"link.mass[arm]": gs.Positive(), "joint.damping[*]": gs.Bounds(0, 0.3)},
        horizon=0.3,
        growth=(1.0,),
        holdout=0,
    )
    plain = gs.fit(problem)
    return plain, gs.fit(problem, bootstrap=Bootstrap(100), profiles=["link.mass[arm]"])


def test_bootstrap_agrees_with_the_covariance(fitted):
    """With a right model and 20 windows both ways know a parameter about equally well."""
    plain, drawn = fitted
    assert drawn.replicas.shape == (100, 2)
    assert drawn.settings["covariance"] == "bootstrap, 100 replicas of 20 blocks"
    for a, b in zip(plain.parameters, drawn.parameters, strict=True):
        assert a.value == pytest.approx(b.value, rel=1e-6)
        assert 0.5 < b.std / a.std < 2.0
        assert b.low < b.value < b.high
    np.testing.assert_allclose(
        np.corrcoef(drawn.replicas.T)[0, 1], plain.correlation[0, 1], atol=0.45
    )


def test_profile_of_a_well_known_parameter_is_a_parabola(fitted):
    """Its interval is +-1.96 standard deviations, its lowest point the fit."""
    plain, drawn = fitted
    (found,) = drawn.profiles
    row = plain.parameters[0]
    assert found.name == row.name == "link.mass[arm]"
    assert found.rise.min() == 0
    assert found.values[np.argmin(found.rise)] == pytest.approx(row.value, rel=1e-3)
    assert found.low == pytest.approx(row.low, abs=0.15 * row.std)
    assert found.high == pytest.approx(row.high, abs=0.15 * row.std)


def test_profile_and_words_of_a_weak_direction():
    """Of masses that show by their ratio alone, each may be anything within its bounds, and only
    the ratio is said to be known.
    """
    model = two_masses()
    moved = machines.roll(model, [1.0, 0.2], steps=150, integrator=ImplicitDamping())
    problem = gs.Problem(
        gs.Simulator(model, machines.DT, integrator=ImplicitDamping()),
        machines.recording(model, moved),
        {"link.mass[*]": gs.Bounds(0.5, 2)},
        horizon=0.3,
        growth=(1.0,),
    )
    result = gs.fit(problem, profiles=["weak"])
    assert [r.status for r in result.parameters] == ["not identifiable"] * 2
    assert [q.name for q in result.profiles] == [r.name for r in result.parameters]
    for q in result.profiles:
        assert (q.low, q.high) == (0.5, 2)
        assert np.median(q.rise) < 0.1 * q.limit
    assert "Only their ratio link.mass[far] / link.mass[near] = 1" in result.weak[0].text


def test_weights_of_replicas():
    """Blocks are drawn as often as there are, whole recordings keep together, seeds repeat."""
    names = ["a"] * 3 + ["b"] * 2
    weights, blocks = draw_weights(names, Bootstrap(50))
    assert blocks == 5
    np.testing.assert_array_equal(weights.sum(1), 5)
    together, blocks = draw_weights(names, Bootstrap(50, by="recording"))
    assert blocks == 2
    np.testing.assert_array_equal(together[:, 0], together[:, 2])
    np.testing.assert_array_equal(together[:, 0] + together[:, 3], 2)
    np.testing.assert_array_equal(weights, draw_weights(names, Bootstrap(50))[0])
    assert (weights != draw_weights(names, Bootstrap(50, seed=1))[0]).any()
    with pytest.raises(ProblemError, match="at least two recordings"):
        draw_weights(["a"] * 3, Bootstrap(by="recording"))
    with pytest.raises(ProblemError, match="by 'window' or 'recording'"):
        draw_weights(names, Bootstrap(by="day"))


def test_interval_of_replicas():
    """Percentiles, stretched for few blocks."""
    theta = np.linspace(-1, 1, 2001)[:, None]
    low, high = Resampled(theta, 0, 5).interval(0)
    assert (low, high) == pytest.approx((-0.95 * np.sqrt(1.25), 0.95 * np.sqrt(1.25)), abs=1e-3)


def test_wrong_use_costs_no_time(arm_recording):
    """A misspelt name or a bootstrap with nothing to draw from is answered before anything runs."""
    problem = gs.Problem(
        gs.Simulator(machines.arm(), machines.DT, integrator=ImplicitDamping()),
        arm_recording,
        ["link.mass[arm]"],
    )
    with pytest.raises(ProblemError, match="at least two recordings"):
        gs.fit(problem, bootstrap=Bootstrap(by="recording"), progress=lambda *_: pytest.fail())
    with pytest.raises(ProblemError, match=r"profile of 'link.mass\[am\]'.*link.mass\[arm\]"):
        gs.fit(problem, profiles=["link.mass[am]"])

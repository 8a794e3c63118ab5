"""How well parameters are known: covariance, weak directions in words, bounds, lack of fit."""

import machines
import numpy as np
import pytest

import graftsim as gs
from graftsim.engine import ImplicitDamping
from graftsim.identify.problem.layout import Layout
from graftsim.identify.results.information import (
    _correlated,
    _widest,
    information,
    interval,
    weak_directions,
)
from graftsim.identify.results.linearisation import Linearisation
from graftsim.identify.results.whiteness import Memory
from graftsim.optim.bounded import Bounded


def free(p, s):
    """No bounds, no beliefs."""
    wide = np.full(p, np.inf)
    return Bounded(-wide, wide, np.zeros(p), wide, np.full(s, np.inf))


def linear(seed, w=6, m=12, p=3, s=2):
    """Random Jacobians [w, m, p], [w, m, s] and residuals [w, m] with nothing left to fit."""
    rng = np.random.default_rng(seed)
    J, L = rng.normal(size=(w, m, p)), rng.normal(size=(w, m, s))
    r = rng.normal(size=(w, m))
    whole = np.zeros((w * m, p + w * s))
    whole[:, :p] = J.reshape(-1, p)
    for i in range(w):
        whole[i * m : (i + 1) * m, p + i * s : p + (i + 1) * s] = L[i]
    flat = r.ravel() - whole @ np.linalg.lstsq(whole, r.ravel(), rcond=None)[0]
    return flat.reshape(w, m), J, L, whole


def know(r, J, L, held=None):
    """Information at zero."""
    p, (w, _, s) = J.shape[-1], L.shape
    held = np.zeros(p, bool) if held is None else held
    return information(Linearisation(r, J, L, np.zeros(p), np.zeros((w, s)), free(p, s)), held)


def test_few_windows_give_the_inverse_of_the_normal_matrix():
    """With few windows the covariance is that of all unknowns at once, its block of theta."""
    r, J, L, whole = linear(0, w=4)
    found = know(0.1 * r, J, L)
    expected = np.linalg.inv(whole.T @ whole)[:3, :3]
    assert found.method == "Gauss-Newton"
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-9)


def test_derivatives_that_overflow_leave_no_interval():
    """A simulation that blows up still ends in a report, without numbers that nobody knows."""
    r, J, L, _ = linear(0, w=4)
    J[0, 0, 0] = 1e300
    with np.errstate(all="ignore"):
        found = know(r, J, L)
    assert found.method.startswith("none: derivatives overflow")
    assert np.isnan(found.covariance).all()
    assert weak_directions(("a", "b", "c"), np.ones(3), np.ones(3), found, np.zeros(3, bool)) == ()


def test_residuals_above_the_noise_widen():
    """Residuals of ten times the stated noise widen the covariance by what was found."""
    r, J, L, whole = linear(1, w=4)
    found = know(10 * r, J, L)
    freedom = r.size - whole.shape[1]
    assert found.variance_ratio == pytest.approx(np.sum((10 * r) ** 2) / freedom)
    expected = np.linalg.inv(whole.T @ whole)[:3, :3] * found.variance_ratio
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-9)


def test_many_windows_cluster():
    """Residuals alike within a window make the sandwich wider than independent ones would."""
    rng = np.random.default_rng(2)
    J = np.ones((40, 10, 1))
    r = np.repeat(rng.normal(size=(40, 1)), 10, axis=1)
    r -= r.mean()
    found = know(r, J, np.zeros((40, 10, 0)))
    assert "sandwich" in found.method
    # The mean of 40 independent numbers, not of 400.
    assert found.covariance[0, 0] == pytest.approx(1 / 40, rel=0.4)


def test_held_parameters_have_no_spread():
    """A parameter on its bound has no interval; the others are as if it were known."""
    r, J, L, _ = linear(3, w=4)
    held = np.array([False, True, False])
    found = know(r, J, L, held)
    assert np.isnan(found.covariance[1]).all()
    alone = know(r, J[..., [0, 2]], L)
    np.testing.assert_allclose(found.covariance[np.ix_([0, 2], [0, 2])], alone.covariance)
    nothing = know(r, J, L, np.ones(3, bool))
    assert np.isnan(nothing.covariance).all()
    assert nothing.method.startswith("none")


def test_weak_direction_in_words():
    """Two columns that are one: the sentence names both, how to change them, and how well known."""
    rng = np.random.default_rng(4)
    column = rng.normal(size=(5, 20, 1))
    J = np.concatenate([column, -column + 1e-4 * rng.normal(size=column.shape)], -1)
    info = know(rng.normal(size=(5, 20)), J, np.zeros((5, 20, 0)))
    names = ("link.mass[a]", "link.mass[b]")
    (weak,) = weak_directions(names, np.ones(2), np.ones(2), info, np.zeros(2, bool))
    assert set(weak.weights) == set(names)
    assert "cannot be told apart" in weak.text
    assert "+1" in weak.text
    only = weak_directions(names, np.ones(2), np.array([1e6, 1e6]), info, np.zeros(2, bool))
    assert only == ()


def test_interval_is_gaussian():
    """95 % of a Gaussian lie within 1.96 standard deviations."""
    assert interval(1.0, 0.5) == pytest.approx((0.02, 1.98), abs=1e-3)


def test_masses_of_an_undriven_pendulum():
    """Without torques only the ratio of two point masses shows: both are named as one direction."""
    builder = gs.Builder("two")
    builder.link("near", axis=(1, 0, 0), mass=1.0, com=(0, 0, -0.5))
    builder.link("far", "near", origin=(0, 0, -0.5), axis=(1, 0, 0), mass=1.0, com=(0, 0, -0.4))
    model = builder.build()
    moved = machines.roll(model, [1.0, 0.2], steps=150, integrator=ImplicitDamping())
    problem = gs.Problem(
        gs.Simulator(model, machines.DT, integrator=ImplicitDamping()),
        machines.recording(model, moved),
        {"link.mass[*]": gs.Bounds(0.1, 10)},
        horizon=0.3,
        growth=(1.0,),
    )
    result = gs.fit(problem)
    assert [r.status for r in result.parameters] == ["not identifiable"] * 2
    weak = result.weak[0]
    assert set(weak.weights) == {"link.mass[near]", "link.mass[far]"}
    assert weak.weights["link.mass[near]"] == pytest.approx(weak.weights["link.mass[far]"], rel=0.1)
    assert "cannot be told apart" in weak.text
    ratio = result.value("link.mass[far]") / result.value("link.mass[near]")
    assert ratio == pytest.approx(1.0, abs=0.02)


def test_missing_effect_and_bound_are_reported(arm_recording):
    """I3: a fit without the arm's friction says so; a parameter on its bound has no interval."""
    start = machines.arm(friction=0.0, damping=0.02)
    problem = gs.Problem(
        gs.Simulator(start, machines.DT, integrator=ImplicitDamping()),
        arm_recording,
        {"joint.damping[*]": gs.Bounds(0.0, 0.06), "link.mass[arm]": gs.Bounds(0.1, 5)},
        growth=(1.0,),
    )
    result = gs.fit(problem)
    damping, mass = result.parameters
    assert (damping.value, damping.status) == (0.06, "on its bound")
    assert np.isnan(damping.std)
    assert np.isfinite(mass.std)
    said = " ".join(result.warnings)
    assert "times the sensor noise and has a memory" in said
    assert "it lacks an effect" in said
    assert result.lack.verdict == "clear"
    assert "joint.damping[hinge] ended on its bound, 0.06 N m s/rad" in said
    assert result.settings["residual over noise"] > 3


def test_variances_under_noise_with_memory():
    """Of two channels, the second of two columns: as with the whole matrix rho^|t - u|."""
    rng = np.random.default_rng(0)
    Q = rng.normal(size=(3, 30, 4))
    memories = Memory(Layout("a", 0, 10, 1), 0.5, 0.0), Memory(Layout("b", 10, 10, 2), 1.7, 0.8)
    expected = np.zeros(4)
    apart = np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
    for memory, part in zip(
        memories, (Q[:, :10, None], Q[:, 10:].reshape(3, 10, 2, 4)), strict=True
    ):
        R = memory.variance * memory.rho**apart
        expected += np.einsum("wtcp,tu,wucp->p", part, R, part)
    assert np.allclose(_correlated(Q, memories), expected, rtol=1e-12)


def test_what_one_way_gives_no_variance_keeps_that_of_the_other():
    """Residuals that pull on one parameter alone leave the other's variance as it was, finite."""
    rng = np.random.default_rng(0)
    P = rng.normal(size=(12, 5, 2))
    P[..., 1] = 0.0
    inside = np.diag([1 / float(np.sum(P[..., 0] ** 2)), 4.0])
    cov, wide, method = _widest(inside, inside, P, rng.normal(size=(12, 5)), ())
    assert method.startswith("sandwich")
    assert np.isfinite(cov).all()
    np.testing.assert_allclose(np.diag(cov), wide)
    np.testing.assert_allclose(cov[1], [0.0, 4.0], atol=1e-12)

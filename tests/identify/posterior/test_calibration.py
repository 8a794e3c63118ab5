"""Simulation-based calibration: right posteriors pass, wrong ones are found out."""

import numpy as np
import pytest
from test_nuts import swing

import graftsim as gs
from graftsim.identify.posterior.calibration import Calibration, coverage, ranks, thin, uniformity
from graftsim.identify.posterior.nuts import Chains
from graftsim.identify.posterior.variational_mixture import Training
from graftsim.identify.runs.predictive import Predictive, draw_prior

PRIOR = {"joint.damping[hinge]": gs.Bounds(0.0, 0.5)}


@pytest.fixture
def gaussian():
    """The mean of one normal reading under a normal prior: truth [n, 1], draws [n, 99, 1]."""
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(400, 1))
    seen = theta + 0.5 * rng.normal(size=theta.shape)
    mean, std = seen / 1.25, np.sqrt(0.2)
    return theta, mean[:, None] + std * rng.normal(size=(400, 99, 1)), mean[:, None]


def test_a_right_posterior_has_uniform_ranks(gaussian):
    """And its intervals hold the truth as often as they say."""
    theta, draws, _ = gaussian
    found = uniformity(ranks(theta, draws), 99)
    assert found.counts.sum() == 400
    assert found.p_value[0] > 0.01
    np.testing.assert_allclose(coverage(theta, draws, (0.5, 0.9))[:, 0], (0.5, 0.9), atol=0.06)


@pytest.mark.parametrize(("narrow", "shift"), [(0.7, 0.0), (1.4, 0.0), (1.0, 0.15)])
def test_a_wrong_posterior_is_found_out(gaussian, narrow, shift):
    """Too narrow, too wide, or to one side."""
    theta, draws, mean = gaussian
    wrong = mean + narrow * (draws - mean) + shift
    assert uniformity(ranks(theta, wrong), 99).p_value[0] < 1e-3


def test_uneven_bins_have_uneven_expectations():
    """Ranks 0 to 4 in two bins: two of them in one, three in the other."""
    found = uniformity(np.repeat(np.arange(5), 20)[:, None], 4, bins=2)
    assert sorted(found.counts[0]) == [40, 60]
    assert found.chi_square[0] == pytest.approx(0.0)
    assert thin(np.arange(10.0).reshape(1, 10, 1), 4).ravel().tolist() == [0, 3, 6, 9]


def test_mixtures_of_many_data_sets_are_calibrated():
    """Sixty swings of dampings from the prior; drawn half as wide, their posteriors fail."""
    calibration = Calibration(swing(free=PRIOR))
    sets = calibration.prior_sets(60)
    at = calibration.around(sets)
    draws, share = calibration.mixture(sets, at, Training(samples=8, epochs=100), 99)
    assert np.median(share) > 0.9
    assert uniformity(ranks(sets.theta, draws), 99, 5).p_value[0] > 0.01
    middle = draws.mean(1, keepdims=True)
    assert uniformity(ranks(sets.theta, middle + 0.5 * (draws - middle)), 99, 5).p_value[0] < 1e-3


@pytest.mark.slow
def test_nuts_of_many_data_sets_is_calibrated():
    """Two hundred data sets side by side."""
    calibration = Calibration(swing(free=PRIOR))
    sets = calibration.prior_sets(200)
    draws, _ = calibration.nuts(sets, calibration.around(sets), Chains(2, 300, 200))
    kept = thin(draws, 99)
    assert uniformity(ranks(sets.theta, kept), 99).p_value[0] > 0.01
    middle = kept.mean(1, keepdims=True)
    assert uniformity(ranks(sets.theta, middle + 0.6 * (kept - middle)), 99).p_value[0] < 1e-3


def test_draws_of_a_prior():
    """Uniform between bounds, a Gaussian cut off at them, and none where there is no prior."""
    free = {
        "joint.damping[hinge]": gs.Bounds(0.0, 0.5),
        "link.mass[rod]": gs.Positive(prior=gs.Prior(0.5, 0.5)),
        "link.com[rod].z": gs.Unbounded(prior=gs.Prior(-0.5, 0.1)),
    }
    x = draw_prior(swing(free=free), np.random.default_rng(0), 20_000)
    damping, mass, com = x.T
    assert damping.min() >= 0 and damping.max() <= 0.5
    assert np.mean(damping < 0.1) == pytest.approx(0.2, abs=0.01)
    # Of a Gaussian cut off one deviation below its mean, half over 0.841 lies above it.
    assert mass.min() >= 0
    assert np.mean(mass > 0.5) == pytest.approx(0.5 / 0.8413, abs=0.015)
    assert com.std() == pytest.approx(0.1, rel=0.02)
    with pytest.raises(gs.ProblemError, match=r"joint.damping\[hinge\]: no prior to draw from"):
        draw_prior(swing(), np.random.default_rng(0), 1)


def test_simulated_readings_are_those_of_the_simulator():
    """Without noise at the truth: what the recording was made of, and noise of the size given."""
    problem = swing(free=PRIOR)
    predictive = Predictive(problem)
    simulator = problem.setup.simulator
    q = simulator.rollout(simulator.initial_state([1.0]), steps=20).q[:, 0]
    np.testing.assert_allclose(predictive.flat(np.array([[0.1]]))[0], q, atol=1e-12)
    noisy = predictive.flat(np.full((500, 1), 0.1), np.random.default_rng(0))
    assert (noisy - np.asarray(q)).std() == pytest.approx(0.02, rel=0.05)
    assert predictive.observed.shape == noisy[0].shape
    with pytest.raises(gs.ProblemError, match="known initial states"):
        Predictive(swing(free=PRIOR, initial="free", fit_initial=True))
    with pytest.raises(gs.ProblemError, match="squared"):
        Calibration(swing(free=PRIOR, loss="huber"))

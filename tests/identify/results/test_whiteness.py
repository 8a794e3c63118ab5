"""Tests of residuals: rare false alarms, memory and size found, recordings compared."""

import numpy as np
import pytest

from graftsim.identify.problem.layout import layout_of
from graftsim.identify.results.between_recordings import between_recordings, disagree
from graftsim.identify.results.information import information
from graftsim.identify.results.linearisation import Linearisation
from graftsim.identify.results.whiteness import LEVEL, _left, memory_of
from graftsim.optim.bounded import Bounded


def free(p, s):
    """No bounds, no beliefs."""
    wide = np.full(p, np.inf)
    return Bounded(-wide, wide, np.zeros(p), wide, np.full(s, np.inf))


def drifting(rng, w=12, n=50, p=4):
    """Smooth Jacobians [w, n, p], cubic initial states [w, n, 4], and all of them in one."""
    t = np.linspace(-1, 1, n)
    L = np.stack([t**k for k in range(4)], -1)[None].repeat(w, 0)
    J = np.cumsum(np.cumsum(rng.normal(size=(w, n, p)), 1), 1)
    whole = np.zeros((w * n, p + 4 * w))
    whole[:, :p] = J.reshape(-1, p)
    for i in range(w):
        whole[i * n : (i + 1) * n, p + 4 * i : p + 4 * (i + 1)] = L[i]
    return J, L, whole


def fitted(errors, J, L, whole, layouts=()):
    """What is known after a least-squares fit of errors [w, n]: estimate and information."""
    flat = errors.ravel()
    x = np.linalg.lstsq(whole, flat, rcond=None)[0]
    r = (flat - whole @ x).reshape(errors.shape)
    p, (w, _, s) = J.shape[-1], L.shape
    nothing = np.zeros((w, s))
    held = np.zeros(p, bool)
    at = Linearisation(r, J, L, np.zeros(p), nothing, free(p, s))
    return x[:p], information(at, held, layouts)


def coloured(rng, shape, rho):
    """Noise of unit size with memory along the last axis: correlation rho of neighbours."""
    e = rng.normal(size=shape)
    for k in range(1, shape[-1]):
        e[..., k] = rho * e[..., k - 1] + np.sqrt(1 - rho**2) * e[..., k]
    return e


@pytest.mark.slow
def test_p_values_of_a_right_model_are_uniform():
    """White noise of the stated size: p of both tests is uniform, although each window's cubic and
    four parameters were fitted to it, and alarms are as rare as stated.
    """
    rng = np.random.default_rng(0)
    found = []
    for _ in range(150):
        parts = drifting(rng)
        _, info = fitted(rng.normal(size=(12, 50)), *parts)
        found.append((info.lack.channels[0].p_white, info.lack.p_size, info.lack.verdict))
    for column in range(2):
        p = np.array([f[column] for f in found])
        assert abs(p.mean() - 0.5) < 0.1
        assert 0.02 < np.mean(p < 0.1) < 0.2
    assert sum(f[2] != "none" for f in found) <= 2


def test_memory_and_size_are_found():
    """Correlated noise is called so, noise of 1.5 times the stated size too; each in words."""
    rng = np.random.default_rng(1)
    parts = drifting(rng)
    _, info = fitted(coloured(rng, (12, 50), 0.6), *parts)
    assert info.lack.verdict == "clear"
    assert info.lack.channels[0].p_white < LEVEL
    assert "has a memory" in info.lack.text
    assert info.lack.widened > 1.2
    _, info = fitted(1.5 * rng.normal(size=(12, 50)), *parts)
    assert info.lack.verdict == "clear"
    assert info.lack.over_noise == pytest.approx(1.5, rel=0.1)
    assert "memory" not in info.lack.text


def test_channel_is_named():
    """Only the channel whose residuals hang together is named."""
    rng = np.random.default_rng(2)
    parts = drifting(rng)
    errors = rng.normal(size=(12, 50))
    errors[:, 25:] = coloured(rng, (12, 25), 0.9)
    _, info = fitted(errors, *parts, layout_of([("a", 25, 1, True), ("b", 25, 1, True)]))
    a, b = info.lack.channels
    assert (a.channel, b.channel) == ("a", "b")
    assert b.p_white < LEVEL < a.p_white
    assert "of b to the next" in info.lack.text


@pytest.mark.parametrize("windows", [6, pytest.param(24, marks=pytest.mark.slow)])
def test_intervals_cover_with_memory(windows):
    """With correlated noise, few windows or many, intervals hold the truth as often as they say."""
    rng = np.random.default_rng(3)
    inside, naive = [], []
    for _ in range(150):
        J, L, whole = drifting(rng, w=windows)
        x, info = fitted(coloured(rng, (windows, 50), 0.8), J, L, whole)
        std = np.sqrt(np.diag(info.covariance))
        inside += list(np.abs(x) < 1.96 * std)
        alone = np.sqrt(np.diag(np.linalg.inv(whole.T @ whole))[: len(x)])
        naive += list(np.abs(x) < 1.96 * alone)
    assert np.mean(naive) < 0.85
    assert np.mean(inside) >= 0.85
    assert np.mean(inside) <= 0.99


def test_recordings_that_disagree():
    """A parameter that differs between recordings is found with its spread, the other is not."""
    rng = np.random.default_rng(4)
    names = [f"run{i // 4}" for i in range(32)]
    tau = 0.05
    truth = np.array([1.0, 2.0]) + np.outer(tau * rng.normal(size=8), [1.0, 0.0])
    J = rng.normal(size=(32, 60, 2))
    y = np.einsum("wmp,wp->wm", J, truth.repeat(4, 0)) + 0.1 * rng.normal(size=(32, 60))
    J, y = J / 0.1, y / 0.1
    theta = np.linalg.lstsq(J.reshape(-1, 2), y.ravel(), rcond=None)[0]
    r = np.einsum("wmp,p->wm", J, theta) - y
    nothing = np.zeros((32, 60, 0)), np.zeros((32, 0))
    std = np.sqrt(np.diag(np.linalg.inv(J.reshape(-1, 2).T @ J.reshape(-1, 2))))
    spread = between_recordings(
        "ab", names, Linearisation(r, J, nothing[0], theta, nothing[1], free(2, 0)), std, 1.0
    )
    assert spread.recordings == tuple(f"run{i}" for i in range(8))
    np.testing.assert_array_equal(disagree(spread), [True, False])
    assert spread.tau[0] == pytest.approx(tau, rel=0.6)
    assert spread.tau[1] < 0.02
    assert spread.mean_std[0] == pytest.approx(spread.tau[0] / np.sqrt(8), rel=0.1)
    own = [np.linalg.lstsq(J[4 * i : 4 * i + 4].reshape(-1, 2), y[4 * i : 4 * i + 4].ravel(),
                           rcond=None)[0] for i in range(8)]  # fmt: skip
    np.testing.assert_allclose(spread.alone, own, rtol=1e-9)


def test_a_recording_whose_derivatives_overflow_is_no_evidence():
    """Chaotic windows: what they say is unknown, and the others are compared without them."""
    rng = np.random.default_rng(1)
    names = [f"run{i // 4}" for i in range(12)]
    J = rng.normal(size=(12, 30, 1))
    J[:4] *= 1e200
    r = 0.1 * rng.normal(size=(12, 30))
    none = np.zeros((12, 30, 0)), np.ones(1), np.zeros((12, 0))
    at = Linearisation(r, J, *none, free(1, 0))
    with np.errstate(over="ignore", invalid="ignore"):
        spread = between_recordings("a", names, at, np.ones(1), 1.0)
    assert np.isnan(spread.alone_std[0]).all() and not disagree(spread).any()


def test_one_recording_has_no_spread():
    """Nothing to compare with."""
    J = np.ones((3, 5, 1))
    r, none = np.ones((3, 5)), (np.zeros((3, 5, 0)), np.ones(1), np.zeros((3, 0)))
    at = Linearisation(r, J, *none, free(1, 0))
    assert between_recordings("x", ["a"] * 3, at, np.ones(1), 1.0) is None


def test_expected_products_of_long_memory():
    """The filters that give R L are the matrix rho^|t - u|, and a long window needs no matrix."""
    rng = np.random.default_rng(6)
    L = 0.1 * rng.normal(size=(2, 30, 1, 3))
    R = 0.7 ** np.abs(np.subtract.outer(np.arange(30), np.arange(30)))
    left = [(np.eye(30) - H) @ R @ (np.eye(30) - H) for H in (w[:, 0] @ w[:, 0].T for w in L)]
    squares, products = _left(0.7, L, np.ones((2, 30, 1)))
    assert squares == pytest.approx(sum(np.trace(x) for x in left), rel=1e-12)
    assert products == pytest.approx(sum(np.trace(x, 1) for x in left), rel=1e-12)
    long = coloured(rng, (1, 60_000), 0.6)
    memory = memory_of(
        layout_of([("a", 60_000, 1, True)])[0], long[..., None], np.zeros((1, 60_000, 1, 0)),
        np.ones((1, 60_000, 1)),
    )  # fmt: skip
    assert memory.rho == pytest.approx(0.6, abs=0.02)
    assert memory.variance == pytest.approx(1.0, abs=0.05)

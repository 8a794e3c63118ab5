"""Simulations that are not finite: counted, few windows left out by name, many an error."""

import numpy as np
import pytest

import graftsim as gs
import zoo
from graftsim.engine import ImplicitDamping
from graftsim.identify.runs.failures import FailureTolerant, SimulationCount
from graftsim.optim.bounded import Bounded
from graftsim.optim.least_squares import LevenbergMarquardt, levenberg_marquardt
from graftsim.optim.local_solver import Point


def posed(recording, failing):
    """Twenty windows of 0.1 s; those that start at `failing` have no finite initial state."""

    def initial(_, at):
        channel = recording["joint.q[bob]"]
        q = channel.values[np.searchsorted(channel.time, at - 1e-6)]
        return (q * np.nan if round(at, 3) in failing else q), np.zeros(1)

    start = gs.Simulator(zoo.pendulum(damping=0.5), 0.01, integrator=ImplicitDamping())
    return gs.Problem(
        start, recording, {"joint.damping[*]": gs.Positive()}, horizon=0.1, growth=(1.0,),
        initial=initial, holdout=0,
    )  # fmt: skip


def test_a_window_that_cannot_be_simulated_is_left_out(undriven, tmp_path):
    """One of twenty: said, counted, and the fit is that of the others; resumed, it is the same."""
    problem, checkpoint = posed(undriven, {0.3}), tmp_path / "fit.npz"

    def stop(entry, *_):
        if entry.iteration == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gs.fit(problem, checkpoint=checkpoint, progress=stop)
    found = gs.fit(problem, checkpoint=checkpoint)
    assert found.outcome == "converged"
    assert found.settings["windows"] == 19
    assert found.settings["windows left out"] == 1
    said = "1 of 20 windows cannot be simulated and are left out, first the one at 0.3 s of 'run'."
    assert said in found.warnings
    row = found.parameters[0]
    assert abs(row.value - 0.1) < 4 * row.std
    counted = int(found.settings["simulations"].split()[0])
    assert counted > 0
    assert counted % 19 == 0


def test_many_windows_that_cannot_be_simulated_are_an_error(undriven):
    """Two of twenty are more than one in twenty."""
    with pytest.raises(gs.ProblemError, match=r"cannot be simulated: 2 of 20 windows .* at 0.3 s"):
        gs.fit(posed(undriven, {0.3, 0.7}))


@pytest.mark.slow
def test_a_search_leaves_them_out_too(undriven):
    """Else every start of it would be lost."""
    found = gs.fit(posed(undriven, {0.3}), search=gs.RandomRestarts(4, iterations=5))
    assert ", 0 lost; " in found.settings["search"]
    assert found.settings["windows left out"] == 1


def test_windows_are_counted():
    """Each that has a residual that is not finite, once."""
    tally, r = SimulationCount(), np.zeros((5, 3))
    r[1, 2], r[4, 0], r[4, 1] = np.nan, np.inf, np.nan
    assert tally.of(r) is r
    assert str(tally) == "5 windows simulated, 2 of them turned non-finite"


def test_a_few_lost_at_a_time_do_no_harm():
    """Curves with an offset for each of 200 windows, of which each evaluation loses some six.

    Which ones changes with every step, so it need not settle; it is where all windows would be.
    """
    rng = np.random.default_rng(3)
    x, lost = np.linspace(0, 1, 20), SimulationCount()
    data = 2.0 * x + rng.normal(0, 1, (200, 1)) + 0.01 * rng.normal(size=(200, 20))

    def residual(theta, local, hurt=True):
        r = (theta[0] * x + theta[1] * x**2 + local - data) / 0.01
        if hurt and np.any(local):
            # The same windows for the same numbers, as of a simulation.
            draw = np.random.default_rng(int(1e9 * abs(theta[0]))).random(200)
            r[draw < 0.03] = np.nan
        return r

    def jacobian(theta, local, hurt=True):
        J = np.broadcast_to(np.stack([x, x**2], -1) / 0.01, (200, 20, 2))
        return residual(theta, local, hurt), J, np.full((200, 20, 1), 100.0)

    wide = np.full(2, np.inf)
    bounds = Bounded(-wide, wide, np.zeros(2), wide, np.full(1, 1e3))
    start = Point(np.array([0.5, 0.5]), np.zeros((200, 1)), np.inf, 1e-3)
    whole = levenberg_marquardt(
        lambda t, l: residual(t, l, False), lambda t, l: jacobian(t, l, False),
        start, bounds, LevenbergMarquardt(),
    )  # fmt: skip
    tolerant = FailureTolerant(residual, jacobian, 20, lost)
    found = levenberg_marquardt(
        tolerant.residual, tolerant.jacobian, start, bounds, LevenbergMarquardt()
    )
    assert found.outcome in ("converged", "iteration limit")
    assert 0.02 < lost.lost / lost.simulated < 0.04
    # What is known of them, with the windows left out at the end or without.
    np.testing.assert_allclose(found.theta, whole.theta, atol=0.003)
    np.testing.assert_allclose(found.local, whole.local, atol=0.02)

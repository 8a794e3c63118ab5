"""Simulations that are not finite: counted, few windows left out by name, many an error."""

import machines
import numpy as np
import pytest

import graftsim as gs
from graftsim.identify.lost import Tally


def posed(failing, count=21):
    """Windows of 0.1 s, of which those that start at `failing` have no finite initial state."""

    def initial(recording, at):
        q = [recording[n].values[np.searchsorted(recording[n].time, at - 1e-6), 0]
             for n in recording.names]  # fmt: skip
        return (np.full(2, np.nan) if round(at, 3) in failing else np.array(q)), np.zeros(2)

    return gs.Problem(
        machines.pendulum_start(), machines.pendulum_recording(), {"joint.damping[*]": gs.Positive()},
        horizon=0.1, growth=(1.0,), initial=initial, max_windows=count,
    )  # fmt: skip


def test_a_window_that_cannot_be_simulated_is_left_out(tmp_path):
    """One of 21: said, counted, and the fit is that of the others; a resumed fit says the same."""
    problem, checkpoint = posed({0.3}), tmp_path / "fit.npz"

    def stop(entry, *_):
        if entry.iteration == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gs.fit(problem, checkpoint=checkpoint, progress=stop)
    found = gs.fit(problem, checkpoint=checkpoint)
    whole = gs.fit(posed(set()))
    assert found.outcome == "converged"
    assert found.settings["windows left out"] == 1
    assert found.settings["windows"] == 20
    assert whole.settings["windows left out"] == 0
    said = "1 of 21 windows cannot be simulated and are left out, first the one at 0.3 s of 'run'."
    assert said in found.warnings
    assert found.theta == pytest.approx(whole.theta, abs=2 * max(r.std for r in whole.parameters))
    counted = int(found.settings["simulations"].split()[0])
    assert counted > 0
    assert counted % 20 == 0


def test_many_windows_that_cannot_be_simulated_are_an_error():
    """Two of 21 are more than one in twenty."""
    with pytest.raises(gs.ProblemError, match="cannot be simulated: 2 of 21 windows .* at 0.3 s"):
        gs.fit(posed({0.3, 0.7}))


def test_a_search_leaves_them_out_too():
    """Else every start of it would be lost."""
    search = gs.RandomRestarts(4, iterations=5)
    found = gs.fit(posed({0.3}), search=search)
    assert found.settings["search"].endswith(" 0 lost")
    assert found.settings["windows left out"] == 1


def test_windows_are_counted():
    """Each that has a residual that is not finite, once."""
    tally, r = Tally(), np.zeros((5, 3))
    r[1, 2], r[4, 0], r[4, 1] = np.nan, np.inf, np.nan
    assert tally.of(r) is r
    assert str(tally) == "5 windows simulated, 2 of them turned non-finite"

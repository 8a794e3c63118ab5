"""The clock of a trot, footholds, and the path of a foot."""

import jax.numpy as jnp
import numpy as np
import pytest

from graftsim.control.locomotion.gait import Gait
from graftsim.control.locomotion.swing import Swing
from graftsim.errors import ControlError

HIPS = jnp.array([[0.2, -0.1, 0], [0.2, 0.1, 0], [-0.2, -0.1, 0], [-0.2, 0.1, 0]])


def test_a_trot_swings_diagonal_pairs_and_stands_on_four_in_between():
    """E10's schedule: FR and RL swing from 0.05 to 0.25 s, FL and RR from 0.3 to 0.5 s."""
    gait = Gait()
    assert gait.stance == pytest.approx(0.3)
    for time, stands in (
        (0.04, "1111"), (0.06, "0110"), (0.24, "0110"), (0.26, "1111"), (0.31, "1001"),
        (0.49, "1001"), (0.51, "1111"),
    ):  # fmt: skip
        found, progress = gait.at(jnp.asarray(time))
        assert "".join("01"[int(x)] for x in found) == stands
        assert np.all((np.asarray(progress) >= 0) & (np.asarray(progress) <= 1))
    assert gait.at(jnp.asarray(0.15))[1][0] == pytest.approx(0.5)


@pytest.mark.parametrize("options", [{"period": 0.0}, {"duty": 1.0}])
def test_a_gait_that_cannot_be_is_refused(options):
    """A period of nothing, feet that never swing."""
    with pytest.raises(ControlError):
        Gait(**options)


def test_raiberts_foothold_is_half_a_stance_ahead_at_the_wanted_speed():
    """No correction there; beyond it the foot goes further by feedback times the excess."""
    swing, stance = Swing(feedback=0.03), 0.3
    wanted = jnp.array([0.5, 0.1, 0.4])
    even = swing.foothold(HIPS, jnp.array([0.5, 0.1, 0.0]), wanted, jnp.asarray(0.4), stance)
    turn = np.stack([-0.4 * HIPS[:, 1], 0.4 * HIPS[:, 0], 0 * HIPS[:, 0]], -1)
    np.testing.assert_allclose(even, HIPS + 0.15 * (np.array([0.5, 0.1, 0]) + turn), atol=1e-12)
    fast = swing.foothold(HIPS, jnp.array([0.7, 0.1, 0.0]), wanted, jnp.asarray(0.4), stance)
    np.testing.assert_allclose((fast - even)[:, 0], 0.2 * (0.15 + 0.03), atol=1e-12)


def test_the_path_begins_ends_and_clears_the_higher_end():
    """In z a parabola through both ends and, half way, `clearance` above the higher."""
    swing = Swing(clearance=0.1)
    begin, end = HIPS.at[:, 2].set(-0.4), (HIPS + 0.1).at[:, 2].set(-0.35)
    for progress, expected in ((0.0, begin), (1.0, end)):
        np.testing.assert_allclose(
            swing.path(begin, end, jnp.full(4, progress)), expected, atol=1e-12
        )
    # 0.8 sin(pi s) = 1/2: half way.
    half = np.arcsin(0.5 / 0.8) / np.pi
    middle = swing.path(begin, end, jnp.full(4, half))
    np.testing.assert_allclose(middle[:, 2], -0.25, atol=1e-12)
    np.testing.assert_allclose(middle[:, :2], (begin + end)[:, :2] / 2, atol=1e-12)

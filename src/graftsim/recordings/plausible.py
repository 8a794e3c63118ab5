"""What numbers alone tell of a channel: does a speed belong to a position, and in which units.

Reading a log and checking it beside a robot both ask here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from graftsim.recordings.recording import GAP_FACTOR, Channel, Floats

LARGE = 50.0
"""A joint that moves more than this many rad (eight turns) or m is rather in other units."""

ROUNDING = 1e-9
"""No sensor sees a joint move by so few rad or m."""

# Of the median size of an accelerometer: gravity in g.
IN_G = (0.8, 1.2)

# Slope of dq/dt over qd, and what would explain it.
_FACTORS = (
    (1.0, ""),
    (180 / math.pi, "q in degrees, qd in rad/s"),
    (math.pi / 180, "q in rad, qd in degrees/s"),
    (1 / (2 * math.pi), "q in turns, or qd in rad/s for turns/s"),
    (2 * math.pi, "q in rad, qd in turns/s"),
    (math.pi / 30, "qd in rpm"),
    (6.0, "q in degrees, qd in rpm"),
    (1e3, "q in mm, qd in m/s; or the clock in s is in fact in ms"),
    (1e-3, "q in m, qd in mm/s; or the clock read as s is in ms"),
    (1e-6, "the clock read as s is in us"),
)


class Rate(NamedTuple):
    """The rate of a position over a speed: slope, correlation, how far the joint `moved` (rad, m).

    `agrees`: the slope is 1 as far as can be told; `reason`: which units would explain it.
    """

    slope: float
    correlation: float
    moved: float

    @property
    def agrees(self) -> bool:
        """Is the speed the rate of the position?"""
        return 0.8 < self.slope < 1.25

    @property
    def reason(self) -> str:
        """Units that would explain the slope, "" if none would."""
        near = (why for f, why in _FACTORS if why and 0.85 < abs(self.slope) / f < 1.18)
        return next(near, "")


def rate(t: Floats, q: Floats, speed_time: Floats, qd: Floats) -> Rate | None:
    """Compare changes of q over short spans with the integral of qd over them.

    The integral form is used because differences of a jittered, quantised position are useless
    sample by sample. Slope by least squares through the origin. None: too few samples, or a joint
    that stands still.
    """
    inside = (t >= speed_time[0]) & (t <= speed_time[-1])
    t, q = t[inside], q[inside]
    # A joint that something holds in a simulation moves by rounding alone.
    if len(t) < 20 or np.ptp(qd) == 0 or np.ptp(q) < ROUNDING:
        return None
    area = np.concatenate([[0], np.cumsum((qd[1:] + qd[:-1]) / 2 * np.diff(speed_time))])
    turned = np.interp(t, speed_time, area)
    span = max(1, min(10, len(t) // 20))
    pauses = t[span:] - t[:-span]
    short = pauses <= GAP_FACTOR * np.median(pauses)
    y, x = (q[span:] - q[:-span])[short], (turned[span:] - turned[:-span])[short]
    xx, yy, xy = float(x @ x), float(y @ y), float(x @ y)
    if xx == 0 or yy == 0:
        return None
    moved = float(min(np.ptp(q), np.ptp(turned)))
    return Rate(xy / xx, xy / math.sqrt(xx * yy), moved)


def rate_of(position: Channel, speed: Channel) -> Rate | None:
    """The same of channels; None also of channels of several columns."""
    if position.width != 1 or speed.width != 1:
        return None
    return rate(position.time, position.values[:, 0], speed.time, speed.values[:, 0])

"""A check of one's own beside those of the package."""

from typing import ClassVar

import numpy as np

import graftsim as gs
from graftsim.check.check import of


class Rate(gs.Check):
    """Positions that come too seldom for a fast arm."""

    name: ClassVar[str] = "rate"
    help: ClassVar[str] = "positions come often enough"
    needs: ClassVar[tuple[str, ...]] = ("joint.q",)

    def findings(self, robot, recordings):
        for recording in recordings:
            for _, channel in of(recording, *self.needs):
                rate = 1 / channel.interval
                if rate < 100:
                    what = f"comes at {rate:.3g} Hz"
                    remedy = f"--rename '{channel.name}=signal[slow]'"
                    yield gs.Finding(gs.Level.WARNING, what, rate, remedy, channel.name)


def recording(dt, quantity="joint.q"):
    time = np.arange(0, 5, dt)
    channel = gs.Channel(f"{quantity}[j]", time, np.sin(3 * time), "rad")
    return gs.Recording({channel.name: channel}, "run")


def model():
    b = gs.Builder("rod")
    b.link("rod", joint_name="j", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.3), inertia=0.02)
    return b.build()


def test_it_is_made_with_the_others():
    """Its finding carries its name; a fast log, or one without positions, has none."""
    checks = (*gs.CHECKS, Rate())
    (found,) = gs.check(model(), recording(0.02), checks=checks)
    assert (found.check, found.level, found.channel) == ("rate", "warning", "joint.q[j]")
    assert round(found.number) == 50
    assert gs.check(model(), recording(0.005), checks=checks) == []
    assert gs.check(model(), recording(0.02, "joint.qd"), checks=checks) == []

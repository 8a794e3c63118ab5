"""Numbers whose cost has many minima, and those that ran away into a wrong one.

Gains of servos, delays and lengths have wrong minima far from where they begin: a light joint
follows its command about as well with a stiff servo that is late as with a soft one that is not.
From a bad start such a number runs to its bound or by orders of magnitude, at a cost that another
start would not have had.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftsim.identify import words
from graftsim.identify.results.result import ParameterRow, Result

# Quantities whose local fits depend on where they begin.
FAR = (
    "actuator.kp", "actuator.kd", "actuator.ki", "actuator.delay", "sensor.delay", "joint.origin",
)  # fmt: skip
# A number that has moved by this factor from its start ran, if another start led elsewhere.
ORDERS = 30.0


def many_minima(names: Sequence[str]) -> bool:
    """Is any of these parameters one whose local fits depend on where they begin?"""
    return any(name.startswith(FAR) for name in names)


def runaways(found: Result, better: Result) -> tuple[str, ...]:
    """Sentences on parameters that ran away in a fit, of which `better` from another start has a
    lower cost; none where its cost is as good.
    """
    costs = found.history[-1].cost, better.history[-1].cost
    if not costs[0] > 1.05 * costs[1]:
        return ()
    pairs = zip(found.parameters, better.parameters, strict=True)
    return tuple(
        words.ran_away(a.name, a.value, b.value, a.unit, costs[0] / costs[1])
        for a, b in pairs
        if ran(a) and not at_bound(b) and _apart(a.value, b.value)
    )


def good_enough(found: Result, above: float) -> str | None:
    """Why a local fit needs no search, None if it does.

    above: residuals of more than so many times the noise may be those of a wrong minimum.
    """
    if found.lack is None:
        return None
    if not found.lack.clear:
        return "the local fit leaves hardly more than noise"
    far = [r for r in found.parameters if many_minima([r.name]) and ran(r)]
    # A gain or a delay that ended at zero is one that the machine has not.
    if found.lack.over_noise > above or any(r.value != 0 for r in far):
        return None
    return (
        f"the local fit leaves {found.lack.over_noise:.3g} times the noise, and no gain, delay or "
        "length ran away: it rather lacks an effect"
    )


def ran(row: ParameterRow) -> bool:
    """Is a parameter on its bound, or orders of magnitude from its start?"""
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = abs(np.log(abs(row.value / row.start))) if row.start else 0.0
    return at_bound(row) or bool(moved > np.log(ORDERS))


def at_bound(row: ParameterRow) -> bool:
    """Did it end where it may not go on?"""
    return not row.lower < row.value < row.upper


def _apart(a: float, b: float) -> bool:
    """Are two values so different that one of them is wrong?"""
    return abs(a - b) > 0.3 * max(abs(a), abs(b))

"""Closed forms of single impacts that are not head-on, for the scenes of the same names.

Analytic formulas: their complex step is their derivative to rounding. SI units and radians.
"""

from __future__ import annotations

import numpy as np
from event_driven import complex_step

Array = np.ndarray


def spheres(z: Array) -> Array:
    """Two balls, radius 0.1, equal masses, elastic: y of b after 0.4 s, by its y and a's speed.

    a flies along x from the origin, b rests at (0.3, y); the impulse is along the line of centres.
    """
    y, v = z
    meets = 0.3 - np.sqrt(0.2**2 - y * y)  # x of a
    n = np.array([0.3 - meets, y]) / 0.2
    return np.array([y + (v * n[0]) * n[1] * (0.4 - meets / v)])


def glance(z: Array) -> Array:
    """A ball on a fixed one at (0.3, 0.1), radius 0.1, e = 0.5: its y after 0.4 s, by y and speed.

    It flies along x from (0, y).
    """
    y, v = z
    side = 0.1 - y
    meets = 0.3 - np.sqrt(0.2**2 - side * side)
    n = np.array([0.3 - meets, side]) / 0.2
    return np.array([y - 1.5 * (v * n[0]) * n[1] * (0.4 - meets / v)])


def ball(z: Array) -> Array:
    """A sliding ball on a floor: x + 0.1 spin after 0.3 s, by its height and spin.

    1 kg, radius 0.1, inertia 0.004, e = 0.5, mu = 0.2, velocity (2, 0, -1): the normal impulse is
    1.5, friction's 0.3 against x, at the arm of the radius.
    """
    height, spin = z
    t = (height - 0.1) / 1.0
    return np.array([2 * 0.3 - 0.3 * (0.3 - t) + 0.1 * (spin + 0.1 * 0.3 / 0.004)])


def rod(z: Array) -> Array:
    """A spinning capsule falls on its end: z + 0.1 spin after 0.4 s, by its speed and spin.

    1 kg, inertia 0.03, radius 0.02, half length 0.3, tilted 0.5 rad about y at z = 0.45; e = 0.5,
    no friction, no gravity. Its lower end is 0.3 cos(angle) below the centre.
    """
    speed, spin = z
    t = 0.0 * speed + 0.15
    for _ in range(30):  # Newton on the gap, in the imaginary part too
        angle = 0.5 + spin * t
        gap = 0.45 + speed * t - 0.3 * np.cos(angle) - 0.02
        t = t - gap / (speed + 0.3 * spin * np.sin(angle))
    arm = 0.3 * np.sin(0.5 + spin * t)  # a push up by 1 turns by +arm
    impulse = -1.5 * (speed + arm * spin) / (1 + arm * arm / 0.03)
    height = 0.45 + speed * t + (speed + impulse) * (0.4 - t)
    return np.array([height + 0.1 * (spin + arm * impulse / 0.03)])


POINTS = {
    "I1 spheres": (spheres, (0.1, 1.0)),
    "I1 rod": (rod, (-1.0, 1.5)),
    "I1 glance": (glance, (0.0, 1.0)),
    "I1 ball": (ball, (0.2513, -3.0)),
}


def slopes(name: str) -> Array:
    """Of a scene [1, n]."""
    f, x = POINTS[name]
    return complex_step(f, np.array(x, complex))

"""Impacts in space by events: one mechanism, several gaps, exact between and at impacts.

Between impacts the mechanism moves freely, by a closed form or by an integrator of eighth order.
The time of an impact is a root of a gap, found to rounding; there velocities jump by Newton's
restitution and Coulomb's cone. Derivatives are differences of the whole run, of fourth order, which
leave about nine digits: times of impact, normals and arms move with everything else, so they are
those of the event, whatever a formula for them would say.

Mechanisms stand in `impacts_bodies.py` and `impacts_arms.py`. NumPy and SciPy only. SI units and
radians.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import brentq

Array = np.ndarray
Pose = tuple[Array, Array]  # R [3, 3] and p [3] of a body in the world
Meeting = tuple[float, Array, Array]  # gap, point of contact [3], normal from first to second [3]
Flow = Callable[[float], tuple[Array, Array]]  # positions and velocities at a time from now

WORLD = -1
SAMPLES = 40  # of a motion: between two, a gap changes its sign once at most


class Mechanism(Protocol):
    """Bodies and how they move: positions q [nq], velocities v [nv]."""

    def flow(self, q: Array, v: Array, T: float) -> Flow:
        """Motion without contact, for times up to T."""
        ...

    def mass(self, q: Array) -> Array:
        """Matrix of masses [nv, nv]."""
        ...

    def poses(self, q: Array) -> dict[int, Pose]:
        """Of each body, and of the world."""
        ...

    def carried(self, q: Array, body: int, point: Array) -> Array:
        """Jacobian [3, nv] of the velocity of the body's material point that is at a place."""
        ...


@dataclass(frozen=True)
class Contact:
    """What may meet: two bodies, and where and how far apart their surfaces are."""

    first: int
    second: int
    meet: Callable[[dict[int, Pose]], Meeting]


@dataclass(frozen=True)
class Impact:
    """What happened: when [s], at which contact, sticking or sliding, speed of approach [m/s].

    `margin`: how far from the other mode: of the friction that sticking needs, the share that is
    used (stick), or the speed of sliding that is left over that at the beginning (slide).
    """

    time: float
    contact: int
    mode: str
    speed: float
    margin: float


def ode(rate: Callable[[Array], Array], y: Array, T: float) -> Callable[[float], Array]:
    """Solution of y' = rate(y) at any time up to T.

    Equal steps, so that it depends smoothly on the start, of eighth order: errors about 1e-13.
    """
    A, B = DOP853.A[: len(DOP853.B)], DOP853.B

    def step(y: Array, h: float) -> Array:
        k = np.zeros((len(B), len(y)))
        for i in range(len(B)):
            k[i] = rate(y + h * (A[i, :i] @ k[:i]))
        return y + h * (B @ k)

    nodes = np.linspace(0.0, T, SAMPLES + 1)
    values = [y]
    for _ in range(SAMPLES):
        values.append(step(values[-1], T / SAMPLES))

    def at(t: float) -> Array:
        k = int(np.searchsorted(nodes, t, side="right")) - 1
        return values[k] if t == nodes[k] else step(values[k], t - nodes[k])

    return at


def frame(n: Array) -> Array:
    """Rows: n and two tangents."""
    tangent = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    tangent /= np.linalg.norm(tangent)
    return np.stack([n, tangent, np.cross(n, tangent)])


def strike(W: Array, u: Array, e: float, mu: float) -> tuple[Array, str, float]:
    """Impulse [3] (normal, tangents) of an impact, its mode and the margin to the other mode.

    W [3, 3] maps impulses to changes of the relative velocity u. Normal: u_n+ = -e u_n.
    Tangential: u_t+ = 0 inside the cone, else lambda_t = -mu lambda_n u_t+ / |u_t+|: an angle to
    be found.
    """
    wanted = -(1 + e) * u[0]
    if mu == 0:
        return np.array([wanted / W[0, 0], 0.0, 0.0]), "smooth", np.inf
    # A mechanism in a plane has no impulse across it: the least of all.
    stick = np.linalg.lstsq(W, np.array([wanted, -u[1], -u[2]]))[0]
    used = np.linalg.norm(stick[1:]) / (mu * stick[0])
    if stick[0] > 0 and used <= 1:
        return stick, "stick", used

    def slide(angle: float) -> tuple[Array, Array]:
        """Impulse against a direction, and what slides after it along and across it."""
        d = np.array([np.cos(angle), np.sin(angle)])
        impulse = np.concatenate([[1.0], -mu * d])
        impulse *= wanted / (W[0] @ impulse)
        after = u[1:] + W[1:] @ impulse
        return impulse, np.array([after @ d, d[0] * after[1] - d[1] * after[0]])

    # Of the roots of what slides across, those where the rest slides along, not against.
    angles = np.linspace(-np.pi, np.pi, 73) + 0.01
    across = [slide(a)[1][1] for a in angles]
    found = []
    for k in range(72):
        if across[k] * across[k + 1] < 0:
            root = brentq(lambda a: slide(a)[1][1], angles[k], angles[k + 1], xtol=1e-16)
            impulse, after = slide(root)
            if impulse[0] > 0 and after[0] > 0:
                found.append((impulse, after[0] / np.linalg.norm(u[1:])))
    if len(found) != 1:
        raise ArithmeticError(f"{len(found)} sliding modes are consistent")
    return found[0][0], "slide", found[0][1]


def run(
    mechanism: Mechanism,
    contacts: Sequence[Contact],
    start: tuple[Array, Array],
    T: float,
    e: float,
    mu: float,
) -> tuple[Array, Array, list[Impact]]:
    """Positions and velocities at T, and the impacts before it."""
    (q, v), now, impacts, last = start, 0.0, [], None
    while True:
        flow = mechanism.flow(q, v, T - now)
        t, k = _first(mechanism, contacts, flow, T - now, last)
        q, v = flow(t)
        now += t
        if k is None:
            return q, v, impacts
        _, point, n = contacts[k].meet(mechanism.poses(q))
        J = frame(n) @ (
            mechanism.carried(q, contacts[k].second, point)
            - mechanism.carried(q, contacts[k].first, point)
        )
        M = mechanism.mass(q)
        response, u = np.linalg.solve(M, J.T), J @ v
        impulse, mode, margin = strike(J @ response, u, e, mu)
        v = v + response @ impulse
        impacts.append(Impact(now, k, mode, -u[0], margin))
        last = k


def _first(
    mechanism: Mechanism, contacts: Sequence[Contact], flow: Flow, T: float, last: int | None
) -> tuple[float, int | None]:
    """Time and contact of the first impact, or T and none."""

    def gap(k: int, t: float) -> float:
        return contacts[k].meet(mechanism.poses(flow(t)[0]))[0]

    times = np.linspace(0.0, T, SAMPLES + 1)
    poses = [mechanism.poses(flow(t)[0]) for t in times]
    found: list[tuple[float, int]] = []
    for k, contact in enumerate(contacts):
        gaps = np.array([contact.meet(p)[0] for p in poses])
        closes = (gaps[:-1] > 0) & (gaps[1:] <= 0)
        closes[0] &= k != last  # that one has just met: its gap is zero, but for rounding
        if np.any(closes):
            i = int(np.argmax(closes))
            root = brentq(lambda t, k=k: gap(k, t), times[i], times[i + 1], xtol=1e-16, rtol=1e-15)
            found.append((root, k))
    return min(found, default=(T, None))


def differences(f: Callable[[Array], Array], x: Array, h: float = 1e-3) -> Array:
    """df/dx [..., n] by central differences of fourth order, step h."""

    def column(d: Array) -> Array:
        return (8 * (f(x + d) - f(x - d)) - (f(x + 2 * d) - f(x - 2 * d))) / (12 * h)

    return np.stack([column(d) for d in h * np.eye(len(x))], axis=-1)

"""Contact by events: discs and a box in the plane, exact between and at impacts. NumPy only.

Bodies move freely until the next impact, whose time is a root found to rounding, and jump there by
Newton's restitution and Coulomb's law. Every formula is analytic between changes of the order of
events, so it takes complex numbers, with decisions on real parts, and the complex step
Im f(x + i h e_k) / h is the exact derivative: impact times, normals and lever arms move too.

`BOX_SCENES` freezes the cases of the conformance table. Closed forms follow at the end.
SI units and radians, unless a scene says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

G = 9.81  # m/s^2


class AtRest(Exception):
    """A body comes to stay in contact before the end: events do not describe that."""


def complex_step(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """df/dx [..., n] of an analytic f at a real x [n], exact to rounding."""
    h = 1e-30
    columns = np.eye(len(x)) * 1j * h
    return np.stack([np.imag(f(x + c)) / h for c in columns], axis=-1)


def central(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray, h: float) -> np.ndarray:
    """df/dx [..., n] by central differences of step h."""
    return np.stack([(f(x + d) - f(x - d)) / (2 * h) for d in h * np.eye(len(x))], axis=-1)


# -- discs ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Discs:
    """Discs without friction or gravity. A wall (nx, ny, d) admits centres n . x >= d + r."""

    radius: np.ndarray  # [n]
    mass: np.ndarray  # [n]
    walls: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    e: float = 1.0  # restitution

    def run(self, x: np.ndarray, v: np.ndarray, T: float) -> tuple[np.ndarray, np.ndarray, int]:
        """Centres and velocities [n, 2] at T, and the number of impacts before it."""
        x, v, impacts = np.array(x), np.array(v), 0
        while True:
            t, bounce = min(self._events(x, v), key=lambda event: np.real(event[0]))
            if not np.real(t) < T:
                return x + v * T, v, impacts
            x, T, impacts = x + v * t, T - t, impacts + 1
            bounce(x, v)

    def _events(self, x: np.ndarray, v: np.ndarray) -> list:
        """Times to all impacts ahead, each with what it does to the velocities."""
        found: list = [(np.inf, lambda x, v: None)]
        for i in range(len(x)):
            for nx, ny, d in self.walls:
                n = np.array([nx, ny])
                if np.real(n @ v[i]) < 0:  # n . (x + v t) = d + r
                    t = (d + self.radius[i] - n @ x[i]) / (n @ v[i])
                    found.append((t, lambda x, v, i=i, n=n: self._wall(v, i, n)))
            for j in range(i):
                r, w, s = x[j] - x[i], v[j] - v[i], self.radius[i] + self.radius[j]
                a, b, c = w @ w, r @ w, r @ r - s * s  # |r + w t|^2 = s^2
                if np.real(b) < 0 and np.real(b * b - a * c) > 0:
                    t = c / (-b + np.sqrt(b * b - a * c))  # the earlier root
                    found.append((t, lambda x, v, i=i, j=j: self._pair(x, v, i, j)))
        return found

    def _wall(self, v: np.ndarray, i: int, n: np.ndarray) -> None:
        v[i] -= (1 + self.e) * (n @ v[i]) * n

    def _pair(self, x: np.ndarray, v: np.ndarray, i: int, j: int) -> None:
        n = (x[j] - x[i]) / (self.radius[i] + self.radius[j])
        p = (1 + self.e) * (n @ (v[j] - v[i])) / (1 / self.mass[i] + 1 / self.mass[j])
        v[i] += p / self.mass[i] * n
        v[j] -= p / self.mass[j] * n

    def gradient(
        self, loss: Callable, x: np.ndarray, v: np.ndarray, T: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of loss(final centres, final velocities), in the initial centres and velocities."""

        def f(z: np.ndarray) -> np.ndarray:
            z = z.reshape(2, -1, 2)
            return loss(*self.run(z[0], z[1], T)[:2])

        slope = complex_step(f, np.stack([x, v]).ravel()).reshape(2, -1, 2)
        return slope[0], slope[1]


def rectangle(width: float, height: float) -> np.ndarray:
    """Walls of a box with corners (0, 0) and (width, height)."""
    return np.array([[1, 0, 0], [-1, 0, -width], [0, 1, 0], [0, -1, -height]], float)


def bounce_once() -> tuple[Discs, np.ndarray, np.ndarray]:
    """G4: a ball, the floor y = 0; 1 s."""
    floor = np.array([[0.0, 1.0, 0.0]])
    return Discs(np.array([0.1]), np.ones(1), floor), np.array([[-1.0, 1]]), np.array([[2.0, -2]])


def two_discs() -> tuple[Discs, np.ndarray, np.ndarray]:
    """G5: head-on; 1 s."""
    x, v = np.array([[0, 0], [0.5213, 0]]), np.array([[1.0, 0], [0, 0]])
    return Discs(np.full(2, 0.1), np.ones(2)), x, v


def billiards() -> tuple[Discs, np.ndarray, np.ndarray]:
    """G8: a break of four discs in a box of 300 x 200 (pixels); the first is the cue."""
    x = np.array([[60.0, 97], [200, 100], [230, 84], [230, 116]])
    v = np.array([[250.0, 0], [0, 0], [0, 0], [0, 0]])
    return Discs(np.full(4, 15.0), np.ones(4), rectangle(300, 200)), x, v


def billiards_loss(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """1e-4 of the sum of squared centres."""
    return 1e-4 * np.sum(x**2)


# -- box on a floor -------------------------------------------------------------------------


@dataclass(frozen=True)
class Box:
    """A rectangle of half sides (a, b) [m] above the floor y = 0."""

    a: float
    b: float
    m: float = 1.0  # kg
    e: float = 0.5  # restitution
    g: float = G

    @property
    def inertia(self) -> float:
        """m (w^2 + h^2) / 12 [kg m^2]."""
        return self.m * (self.a**2 + self.b**2) / 3

    def run(self, s: np.ndarray, mu: complex, T: float) -> tuple[np.ndarray, list[str]]:
        """State (x, y, theta, vx, vy, omega) at T, and "stick" or "slip" of each impact."""
        s, modes = np.array(s), []
        while True:
            t, corner = min(
                ((self._touches(s, k, T), k) for k in range(4)), key=lambda x: np.real(x[0])
            )
            if not np.real(t) < T:
                return self._fly(s, T), modes
            s, mode = self._impact(self._fly(s, t), corner, mu)
            T = T - t
            modes.append(mode)

    def _fly(self, s: np.ndarray, t: complex) -> np.ndarray:
        x, y, angle, vx, vy, w = s
        return np.array(
            [x + vx * t, y + vy * t - self.g * t * t / 2, angle + w * t, vx, vy - self.g * t, w]
        )

    def _arm(self, angle: complex, k: int) -> tuple[complex, complex]:
        """From the centre to corner k, in world axes."""
        u, v = ((self.a, self.b), (-self.a, self.b), (-self.a, -self.b), (self.a, -self.b))[k]
        c, s = np.cos(angle), np.sin(angle)
        return c * u - s * v, s * u + c * v

    def _gap(self, s: np.ndarray, k: int, t: complex) -> tuple[complex, complex]:
        """Height of corner k after t, and its rate."""
        _, y, angle, _, vy, w = self._fly(s, t)
        rx, ry = self._arm(angle, k)
        return y + ry, vy + w * rx

    def _touches(self, s: np.ndarray, k: int, T: complex) -> complex:
        """First time before T at which corner k arrives at the floor, or infinity.

        |gap''| <= L, so no root lies before that of gap + gap' t - L t^2 / 2: steps to it converge
        to the first root from below, quadratically.
        """
        L = self.g + np.real(s[5]) ** 2 * np.hypot(self.a, self.b)
        t, step = 0.0, np.inf
        while step > 0:
            gap, rate = (float(np.real(z)) for z in self._gap(s, k, t))
            if gap < 1e-13 and rate < 0 < t:
                for _ in range(3):  # Newton, in the imaginary part too
                    gap, rate = self._gap(s, k, t)
                    t = t - gap / rate
                return t
            step = (rate + np.sqrt(rate**2 + 2 * L * max(gap, 0.0))) / L
            t += step
            if t > np.real(T):
                return np.inf
        raise AtRest(f"corner {k} does not leave the floor")

    def _impact(self, s: np.ndarray, k: int, mu: complex) -> tuple[np.ndarray, str]:
        """Velocities after corner k hits: u+ = u + W lambda, the one consistent mode.

        Normal: u_n+ = -e u_n. Tangential: u_t+ = 0 inside the friction cone, or
        lambda_t = -mu lambda_n sign(u_t+).
        """
        rx, ry = self._arm(s[2], k)
        J = np.array([[0, 1, rx], [1, 0, -ry]])  # rows: normal, tangent
        inverse_mass = np.array([1 / self.m, 1 / self.m, 1 / self.inertia])
        W = J * inverse_mass @ J.T
        u = J @ s[3:]
        if u[0].real > -1e-5:
            raise AtRest(f"impacts of corner {k} accumulate")
        target = -(1 + self.e) * u[0]
        stick = np.linalg.solve(W, np.array([target, -u[1]]))
        found = []
        if abs(stick[1].real) <= (mu * stick[0]).real:
            found.append((stick, "stick"))
        for sign in (-1.0, 1.0):
            normal = target / (W[0, 0] - sign * mu * W[0, 1])
            slip = np.array([normal, -sign * mu * normal])
            after = u[1] + W[1] @ slip
            if normal.real > 0 and sign * after.real > 0:
                found.append((slip, "slip"))
        if len(found) != 1:
            raise ArithmeticError(f"{len(found)} modes are consistent at corner {k}")
        impulse, mode = found[0]
        return np.concatenate([s[:3], s[3:] + inverse_mass * (J.T @ impulse)]), mode

    def jacobian(self, s: np.ndarray, mu: float, T: float) -> np.ndarray:
        """d(final state) / d(initial state, mu) [6, 7]."""
        return complex_step(lambda z: self.run(z[:6], z[6], T)[0], np.append(s, mu))


@dataclass(frozen=True)
class BoxScene:
    """G7: a box, its initial state and friction, and when to look.

    "slip" slides one way through both impacts and is elastic, so Newton's and Poisson's restitution
    and a stiff spring agree. In "stick" sliding ends in the impacts, where they do not: Newton's.
    """

    box: Box
    start: tuple[float, ...]  # x, y, theta, vx, vy, omega
    mu: float
    T: float
    modes: tuple[str, ...]  # of the impacts, in order


BOX_SCENES = {
    "slip": BoxScene(
        Box(0.2, 0.1, e=1.0), (0, 0.3, 0.6, 3.0, 0, -4.0), 0.15, 0.33, ("slip", "slip")
    ),
    "stick": BoxScene(Box(0.2, 0.1), (0, 0.4, 0.3, 3.0, 0, 4.0), 0.6, 0.48, ("stick", "stick")),
}


# -- closed forms ---------------------------------------------------------------------------


def slide(v: complex, mu: complex, T: float, h: float = 0.0, g: float = G) -> complex:
    """Distance slid in T from speed v > mu g T; semi-implicit Euler of step h, 0 for exact [m].

    v_k = v - k mu g h, so x_n = v T - mu g T (T + h) / 2.
    """
    assert np.real(v) > np.real(mu) * g * T, "it stops"
    return v * T - mu * g * T * (T + h) / 2


def stopping_distance(v: complex, mu: complex, g: float = G) -> complex:
    """Of a box that slides until it rests [m]."""
    return v * v / (2 * mu * g)


def incline(angle: float, mu: float, t: float, g: float = G) -> float:
    """Distance down the slope after t from rest; 0 when friction holds [m]."""
    return max(0.0, g * (np.sin(angle) - mu * np.cos(angle))) * t * t / 2


def bounce_height(drop: complex, e: complex, n: int) -> complex:
    """Apex after the n-th impact of a ball dropped from a gap `drop` above the floor [m]."""
    return drop * e ** (2 * n)


def impact_time(drop: complex, e: complex, n: int, g: float = G) -> complex:
    """Time of the n-th impact, n = 1, 2, ... [s]."""
    return np.sqrt(2 * drop / g) * (1 + 2 * sum(e**k for k in range(1, n)))


def hunt_crossley_restitution(v: float, d: float) -> float:
    """e of F = k x^n (1 + d x') in a head-on impact at speed v, for any k, n and mass.

    m v v' = -k x^n (1 + d v) integrated over the impact: with f(v) = v/d - log(1 + d v)/d^2,
    f(-e v) = f(v). To first order e = 1 - 2 d v / 3.
    """

    def f(u: float) -> float:
        return u / d - np.log1p(d * u) / d**2

    low, high = 0.0, min(1.0, (1 - 1e-15) / (d * v))
    for _ in range(100):
        e = (low + high) / 2
        low, high = (e, high) if f(-e * v) < f(v) else (low, e)
    return e


def hunt_crossley_loss(m: float, v: float, d: float) -> float:
    """Energy lost in such an impact to first order in d v: (1 - e^2) m v^2 / 2 = 2 m d v^3 / 3."""
    return 2 / 3 * m * d * v**3

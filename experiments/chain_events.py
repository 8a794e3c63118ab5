"""The chain of `chain.py` by events, NumPy and SciPy alone: the right answer for its derivatives.

Between impacts the chain follows Lagrange's equations to 1e-11; when the ball's surface reaches a
side of the last link, Newton's restitution and Coulomb's friction act along and across the normal.
"""

from __future__ import annotations

from typing import Any

import chain
import numpy as np
from scipy.integrate import solve_ivp

ARMS = np.array([chain.FIRST] + [chain.PITCH / 2] * 9)
SPANS = ARMS + chain.PITCH / 2
# Sine and cosine of link j move the middle of link i by this much.
REACH = np.tril(np.broadcast_to(SPANS, (10, 10)), -1) + np.diag(ARMS)
TURNED = np.tril(np.ones((10, 10)))
E, MU = chain.RESTITUTION, chain.FRICTION
# s: no longer step, or the ball is through the link at rest before a sign of the gap is seen.
LONGEST = 0.02


def inertia(m: np.ndarray) -> np.ndarray:
    """Inertia of the rectangles about their middles."""
    return m * (chain.WIDTH**2 + chain.HEIGHT**2) / 12


def matrices(angle: np.ndarray, rate: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mass matrix in absolute angles of the links, and their generalised forces."""
    coupling = REACH.T @ (m[:, None] * REACH)
    apart = angle[:, None] - angle
    M = coupling * np.cos(apart) + np.diag(inertia(m))
    weight = -100.0 * np.array([0.0, *[1.0] * 9]) * m
    return M, -(coupling * np.sin(apart)) @ rate**2 + np.sin(angle) * (REACH.T @ weight)


def middles(angle: np.ndarray) -> np.ndarray:
    """Middles of the links [10, 2] for absolute angles."""
    return np.array(chain.PIN) + np.stack([REACH @ np.sin(angle), -REACH @ np.cos(angle)], 1)


def nearest(angle: np.ndarray, ball: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Gap between ball and last link, the unit normal to the ball, and the point of the link."""
    c, s = np.cos(angle[-1]), np.sin(angle[-1])
    R, middle = np.array([[c, -s], [s, c]]), middles(angle)[-1]
    local = R.T @ (ball - middle)
    point = np.clip(local, *(np.array([chain.WIDTH, chain.HEIGHT]) * sign / 2 for sign in (-1, 1)))
    away = local - point
    distance = np.linalg.norm(away)
    return distance - chain.RADIUS, R @ away / distance, middle + R @ point


def slopes(t: float, y: np.ndarray, m: np.ndarray, push: float) -> np.ndarray:
    """Right-hand side for (angles, x, y, turn, and their rates)."""
    M, f = matrices(y[:10], y[13:23], m)
    return np.concatenate([y[13:], np.linalg.solve(M, f), [push, 0.0, 0.0]])


def struck(y: np.ndarray, m: np.ndarray) -> np.ndarray:
    """The state just after ball and last link have met."""
    y, (_, normal, point) = y.copy(), nearest(y[:10], y[10:12])
    across = np.array([-normal[1], normal[0]])
    M, angle = np.zeros((13, 13)), y[:10]
    M[:10, :10], M[10:, 10:] = matrices(angle, y[13:23], m)[0], np.diag([1, 1, chain.RADIUS**2 / 2])
    # Velocity of the ball's surface against the link's, along the normal and across.
    link = np.stack([REACH[-1] * np.cos(angle), REACH[-1] * np.sin(angle)])
    lever = point - middles(angle)[-1]
    link[:, -1] += [-lever[1], lever[0]]
    arm = point - y[10:12]
    ball = np.array([[1.0, 0.0, -arm[1]], [0.0, 1.0, arm[0]]])
    J = np.stack([normal, across]) @ np.concatenate([-link, ball], 1)
    A, v = J @ np.linalg.solve(M, J.T), J @ y[13:]
    wanted = np.array([-(1 + E) * v[0], -v[1]])
    impulse = np.linalg.solve(A, wanted)
    if abs(impulse[1]) > MU * impulse[0]:
        slide = np.array([1.0, MU * np.sign(impulse[1])])
        impulse = slide * wanted[0] / (A[0] @ slide)
    y[13:] += np.linalg.solve(M, J.T @ impulse)
    return y


def poses(total: float, times: np.ndarray) -> np.ndarray:
    """Poses as of `chain.poses` at the times, by a chain of this mass.

    Of impacts those with the last link.
    """
    m = np.full(10, total / 10)

    def gap(t: float, y: np.ndarray, *_: Any) -> float:
        return nearest(y[:10], y[10:12])[0]

    gap.terminal, gap.direction = True, -1  # type: ignore[attr-defined]
    start = np.zeros(26)
    start[10:12] = chain.BALL
    found, t = np.zeros((len(times), 26)), 0.0
    # The push ends within no step of the solver.
    for end, push in ((chain.PUSHED, chain.PUSH), (times[-1], 0.0)):
        while t < end:
            run = solve_ivp(slopes, (t, end), start, method="DOP853", rtol=1e-11, atol=1e-11,
                            args=(m, push), events=gap, dense_output=True,
                            max_step=LONGEST)  # fmt: skip
            here = (times >= t) & (times <= run.t[-1])
            if here.any():
                found[here] = run.sol(times[here]).T
            t, start = run.t[-1], run.y[:, -1]
            if run.status == 1:
                start = struck(start, m)
    links = np.stack([middles(y[:10]) for y in found])
    return np.concatenate(
        [np.concatenate([found[:, :10, None], links], 2), found[:, None, [12, 10, 11]]], 1
    )

"""The offset of a command's clock against that of the motion which follows it through a servo."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graftsim.recordings.clock_fit import reach
from graftsim.recordings.correlation import covered, on_grid
from graftsim.recordings.recording import Channel

Floats = NDArray[np.float64]
RATES = (6.0, 12.0, 25.0, 50.0, 100.0, 200.0)
"""rad/s: natural frequencies of servos to start from."""

SLOWEST, FASTEST = 5.0, 2000.0
SETTLING = 1.6
"""s after which a servo has forgotten where it began."""

FINE, LONGEST = 8, 2**15
"""Grid points in each interval of the commands, and at most in all: what lasts longer is cut."""

LEAST = 50
"""Samples of the motion that tell anything."""

ITERATIONS = 100


class Response(NamedTuple):
    """Offset and its standard deviation (s); natural frequency (rad/s) and damping ratio; share of
    the motion's variance that is explained.
    """

    offset: float
    offset_std: float
    rate: float
    damping: float
    fit: float


def fit_response(command: Channel, motion: Channel, lag: float) -> Response | None:
    """Least squares of a motion by m(t) = g (h * u)(t - offset) + c, from the best lag.

    h is the response of an oscillator of unit gain, H(s) = w^2 / (s^2 + 2 z w s + w^2), as that of
    a servo with its load is. So its lag, 2 z / w for slow motions, is told apart from the offset,
    in which a pure delay stays. Oscillator and offset act on the spectrum of the held command.

    None where the command covers too little of the motion for a servo to forget its start.
    """
    problem = _Problem.of(command, motion, lag)
    if problem is None:
        return None
    found = [problem.solve(np.array([lag - 2.0 / w, np.log(w), 0.0])) for w in RATES]
    theta, cost = min(found, key=lambda each: each[1])
    if not np.isfinite(cost):
        return None
    r, J = problem.linearised(theta)
    free = max(len(r) - 5, 1)
    covariance = (r @ r / free) * reach(r) * np.linalg.pinv(J.T @ J)
    spread = float(np.var(problem.motion)) or 1e-300
    return Response(
        float(theta[0]),
        float(np.sqrt(covariance[0, 0])),
        float(np.exp(theta[1])),
        float(np.exp(theta[2])),
        1.0 - float(r @ r) / len(r) / spread,
    )


class _Problem(NamedTuple):
    """Spectrum [f] of the command with its frequencies (rad/s), start and step (s); the motion [n]
    and its times [n]; the lag (s) from which offsets are counted.
    """

    spectrum: NDArray[np.complex128]
    frequencies: Floats
    start: float
    step: float
    size: int
    motion: Floats
    times: Floats
    lag: float

    @staticmethod
    def of(command: Channel, motion: Channel, lag: float) -> _Problem | None:
        """Where the command, late by the lag, lies under the motion and has settled."""
        step = command.interval / FINE
        start = max(float(command.time[0]), float(motion.time[0]) - lag - SETTLING)
        end = min(float(command.time[-1]), float(motion.time[-1]) - lag, start + LONGEST * step)
        kept = (command.time >= start) & (command.time <= end)
        times = motion.time[(motion.time > start + lag + SETTLING) & (motion.time < end + lag)]
        if kept.sum() < 2 or len(times) < LEAST:
            return None
        times = times[covered(motion, times)]
        u = on_grid(
            command.replace(time=command.time[kept], values=command.values[kept]), 0, step, 0, True
        )
        values = u.values - u.values[0]
        size = 1 << (2 * len(values)).bit_length()
        # Held at its last value beyond its end, so that nothing rings back from there.
        padded = np.zeros(size)
        padded[: len(values)], padded[len(values) : size // 2] = values, values[-1]
        return _Problem(
            np.fft.rfft(padded),
            np.asarray(2 * np.pi * np.fft.rfftfreq(size, step), dtype=np.float64),
            u.start,
            step,
            size,
            np.interp(times, motion.time, motion.values[:, 0]),
            times,
            lag,
        )

    def linearised(self, theta: Floats) -> tuple[Floats, Floats]:
        """What the servo's answer leaves of the motion after the best gain and bias [n], and its
        derivatives by offset, ln rate and ln damping [n, 3], with gain and bias projected out.
        """
        offset, w, z = theta[0], np.exp(theta[1]), np.exp(theta[2])
        s = 1j * self.frequencies
        D = s * s + 2 * z * w * s + w * w
        H = w * w / D * np.exp(-s * (offset - self.lag))
        rows = [
            H, -s * H, 2 * H - H * (2 * z * w * s + 2 * w * w) / D, -2 * z * w * s * H / D
        ]  # fmt: skip
        # Points of the grid stand for values held a step long, which is half a step of delay.
        grid = self.start + self.lag + self.step * (np.arange(self.size) + 0.5)
        model, *slopes = (
            np.interp(self.times, grid, np.fft.irfft(self.spectrum * row, self.size))
            for row in rows
        )
        basis, _ = np.linalg.qr(np.stack([model, np.ones_like(model)], axis=1))
        rest = self.motion - basis @ (basis.T @ self.motion)
        centred = model - model.mean()
        gain = float(centred @ self.motion / max(centred @ centred, 1e-300))
        J = -gain * np.stack(slopes, axis=1)
        return rest, J - basis @ (basis.T @ J)

    def solve(self, theta: Floats) -> tuple[Floats, float]:
        """Levenberg-Marquardt, kept to servos that can be."""
        damping = 1e-3
        low, high = np.log([SLOWEST, 0.1]), np.log([FASTEST, 10.0])
        r, J = self.linearised(theta)
        cost = float(r @ r)
        for _ in range(ITERATIONS):
            A = J.T @ J
            step = -np.linalg.solve(A + damping * np.diag(np.diag(A) + 1e-30), J.T @ r)
            new = theta + step
            new[1:] = np.clip(new[1:], low, high)
            new_r, new_J = self.linearised(new)
            tried = float(new_r @ new_r)
            if not tried < cost:
                damping *= 8
                if damping > 1e8:
                    break
                continue
            small = cost - tried < 1e-9 * cost
            theta, cost, damping, r, J = new, tried, damping / 4, new_r, new_J
            if small:
                break
        return theta, cost

"""Channels made from channels: common grids, derivatives, smoothing, unwrapped angles.

Nothing here works across a gap: filters treat the pieces one by one, and a grid point inside a
gap is marked invalid.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graftsim.errors import GraftsimWarning, LogError
from graftsim.recordings.channels import parse_name, quaternion_columns, split_name
from graftsim.recordings.filters import Butterworth, Filter, Floats, SavitzkyGolay, filtered
from graftsim.recordings.recording import GAP_FACTOR, Channel, Recording, seconds
from graftsim.selectors import row_name

__all__ = [
    "Butterworth",
    "Resampled",
    "SavitzkyGolay",
    "differentiate",
    "low_pass",
    "resample",
    "unwrap",
]

_DERIVED = {"joint.q": "joint.qd", "joint.qd": "joint.qdd"}


@dataclass(frozen=True, eq=False)
class Resampled:
    """Channels on one grid.

    time: [n] s. values: channel -> [n, d]; NaN where not valid. valid: channel -> [n], False
    inside a gap and outside the channel's own samples. gaps: channel -> gaps (t0, t1) in s that
    reach into the grid. units: channel -> unit.
    """

    time: Floats
    values: Mapping[str, Floats]
    valid: Mapping[str, NDArray[np.bool_]]
    gaps: Mapping[str, tuple[tuple[float, float], ...]]
    units: Mapping[str, str]
    name: str = "recording"
    notes: tuple[str, ...] = ()

    def filled(self, fill: float = 0.0) -> dict[str, Floats]:
        """Values with `fill` in place of NaN, for code that multiplies by the mask."""
        return {n: np.where(self.valid[n][:, None], v, fill) for n, v in self.values.items()}

    def recording(self) -> Recording:
        """The valid samples as a recording. Raises: LogError when a channel has none."""
        channels = {}
        for name, values in self.values.items():
            ok = self.valid[name]
            if not ok.any():
                raise LogError(f"recording {self.name!r}: {name} has no valid sample on this grid.")
            channels[name] = Channel(name, self.time[ok], values[ok], self.units[name], self.name)
        return Recording(channels, self.name, self.notes)


def resample(
    recording: Recording,
    *,
    dt: float | None = None,
    times: ArrayLike | None = None,
    channels: Sequence[str] | None = None,
    method: Mapping[str, str] | None = None,
    gap_factor: float = GAP_FACTOR,
) -> Resampled:
    """Put channels on one grid.

    dt: sample interval in s; the grid spans the time in which all the channels have samples.
    times: [n] s, increasing; instead of `dt`.
    method: channel -> "linear" or "hold" (the last sample at or before). By default commands
        `control[...]` are held and everything else is interpolated linearly; quaternions and
        headings are brought back to norm 1, quaternions along the shorter arc.
    gap_factor: see `Channel.gaps`; `float("inf")` bridges every gap.

    Raises: LogError for neither or both of dt and times, an unknown channel or method, or no
    common time. Warns: GraftsimWarning for an angle that jumps by full turns.
    """
    chosen = recording if channels is None else recording.select(*channels)
    methods = dict(method or {})
    for name, kind in methods.items():
        chosen[name]
        if kind not in ("linear", "hold"):
            raise LogError(f"method of {name}: {kind!r} is not known; use 'linear' or 'hold'.")
    grid = _grid(chosen, dt, times)
    values, valid, gaps, notes = {}, {}, {}, []
    for channel in chosen.channels.values():
        name = channel.name
        default = "hold" if name.startswith("control[") else "linear"
        values[name], valid[name] = _on_grid(
            channel, grid, methods.get(name, default) == "hold", gap_factor
        )
        inside = [g for g in channel.gaps(gap_factor) if g[1] > grid[0] and g[0] < grid[-1]]
        gaps[name] = tuple(inside)
        step = float(np.median(np.diff(grid))) if len(grid) > 1 else 0.0
        if step > 1.5 * channel.interval:
            notes.append(
                f"{name} resampled from {1 / channel.interval:.4g} Hz to {1 / step:.4g} Hz; what "
                "is faster than half of that is aliased unless low_pass was applied before"
            )
    units = {c.name: c.unit for c in chosen.channels.values()}
    frozen = [MappingProxyType(x) for x in (values, valid, gaps, units)]
    return Resampled(grid, *frozen, chosen.name, (*chosen.notes, *notes))  # type: ignore[arg-type]


def _grid(recording: Recording, dt: float | None, times: ArrayLike | None) -> Floats:
    if (dt is None) == (times is None):
        raise LogError("resample: give either dt or times.")
    if times is not None:
        grid = np.array(times, dtype=np.float64)
        if (
            grid.ndim != 1
            or not len(grid)
            or not np.isfinite(grid).all()
            or (np.diff(grid) <= 0).any()
        ):
            raise LogError("resample: times must be [n] finite, increasing, n >= 1.")
        return grid
    if dt is None or not 0 < dt < float("inf"):
        raise LogError(f"resample: dt={dt!r}: a sample interval in s must be positive.")
    start, end = recording.overlap
    if end < start:
        raise LogError(
            f"recording {recording.name!r}: its channels have no time in common (the last begins "
            f"at {seconds(start)} s, the first ends at {seconds(end)} s). Select "
            "fewer, or give times."
        )
    # The last point may fall short of the end by rounding only.
    return start + dt * np.arange(int((end - start) / dt + 1e-6) + 1, dtype=np.float64)


def _on_grid(
    channel: Channel, grid: Floats, hold: bool, gap_factor: float
) -> tuple[Floats, NDArray[np.bool_]]:
    time, values, n = channel.time, channel.values, len(channel.time)
    # Rounding of the grid must not lose a sample that is meant to lie on it.
    slack = 4 * float(np.spacing(np.abs(time).max())) + 1e-6 * (channel.interval if n > 1 else 0.0)
    before = np.clip(np.searchsorted(time, grid + slack, side="right") - 1, 0, n - 1)
    after = np.minimum(before + 1, n - 1)
    width = time[after] - time[before]
    since = np.maximum(grid - time[before], 0.0)
    on_sample = np.abs(grid - time[before]) <= slack
    inside = (grid >= time[0] - slack) & (grid <= time[-1] + slack)
    valid = inside & (on_sample | ~(width > gap_factor * channel.interval))
    if hold:
        valid |= (grid > time[-1]) & (since <= channel.interval)
        result = values[before]
    else:
        _warn_of_wraps(channel)
        weight = np.where(on_sample | (width == 0), 0.0, since / np.where(width == 0, 1.0, width))
        low, high = values[before], values[after]
        part = quaternion_columns(channel.name, channel.width)
        if part is not None:
            # q and -q are the same rotation.
            sign = np.where(
                (low[:, part] * high[:, part]).sum(axis=1, keepdims=True) < 0, -1.0, 1.0
            )
            high = high.copy()
            high[:, part] *= sign
        elif channel.name.startswith("link.heading["):
            part = slice(0, 3)
        result = low + weight[:, None] * (high - low)
        if part is not None:
            norm = np.linalg.norm(result[:, part], axis=1, keepdims=True)
            # Opposite directions have no middle.
            valid &= norm[:, 0] > 1e-3
            result[:, part] /= np.maximum(norm, 1e-3)
    return np.where(valid[:, None], result, np.nan), valid


def _warn_of_wraps(channel: Channel) -> None:
    if not (channel.name.startswith("joint.q[") and channel.width == 1):
        return
    if "rad" in channel.unit and wrap_jumps(channel.time, channel.values[:, 0]).size:
        warnings.warn(
            f"{channel.name} jumps by full turns, and interpolating across a jump is wrong: "
            "unwrap(channel) before resampling.",
            GraftsimWarning,
            stacklevel=4,
        )


def unwrap(channel: Channel) -> Channel:
    """An angle in rad with its jumps by full turns joined, column by column.

    Across a gap the shorter way round is assumed.

    Raises: LogError for a channel that is not an angle.
    """
    if channel.unit not in ("rad", "rad or m") or quaternion_columns(channel.name, channel.width):
        raise LogError(f"{channel.name} is in {channel.unit!r}; only an angle can be unwrapped.")
    note = "unwrapped"
    if gaps := channel.gaps():
        note += f" (over {len(gaps)} gaps by the shorter way)"
    return channel.replace(
        values=np.unwrap(channel.values, axis=0), unit="rad", notes=(*channel.notes, note)
    )


def low_pass(channel: Channel, method: Filter) -> Channel:
    """The channel smoothed without phase shift, on its own clock.

    Raises: LogError when the filter does not suit the sample rate, or for unit vectors.
    """
    return _apply(channel, method, 0, channel.name, channel.unit, "smoothed")


def differentiate(channel: Channel, method: Filter, *, name: str | None = None) -> Channel:
    """The time derivative, on the channel's own clock; the filter is stated in its notes.

    name: of the result; `joint.q[X]` gives `joint.qd[X]`, `joint.qd[X]` gives `joint.qdd[X]`.

    Raises: LogError when the filter does not suit the sample rate, for unit vectors (their rate
    is an angular velocity, not a difference), and for a missing name.
    """
    if name is None:
        parsed = split_name(channel.name)
        if parsed is None or parsed.quantity not in _DERIVED:
            raise LogError(f"the derivative of {channel.name} has no usual name; give name='...'.")
        name = row_name(_DERIVED[parsed.quantity], parsed.label)
    else:
        parse_name(name)
    unit = " or ".join(_per_second(symbol) for symbol in channel.unit.split(" or "))
    return _apply(channel, method, 1, name, unit, "time derivative")


def _per_second(symbol: str) -> str:
    if symbol.endswith("/s"):
        return symbol + "^2"
    return "SI" if symbol in ("", "SI") else f"{symbol}/s"


def _apply(
    channel: Channel, method: Filter, derivative: int, name: str, unit: str, what: str
) -> Channel:
    if quaternion_columns(channel.name, channel.width) or channel.name.startswith("link.heading["):
        raise LogError(
            f"{channel.name} holds unit vectors; filter other channels column by column."
        )
    kept, pieces, lost = [], [], 0
    for piece in channel.segments():
        result = filtered(channel.time[piece], channel.values[piece], method, derivative)
        if result is None:
            lost += piece.stop - piece.start
        else:
            kept.append(channel.time[piece])
            pieces.append(result)
    if not pieces:
        raise LogError(f"{channel.name}: every piece between gaps is too short for {method}.")
    notes = [*channel.notes, f"{what} of {channel.name} by {method}"]
    if lost:
        notes.append(f"{lost} samples left out: pieces between gaps too short for the filter")
    return Channel(
        name,
        np.concatenate(kept),
        np.concatenate(pieces),
        unit,
        f"{what} of {channel.name} ({channel.source})",
        channel.column_names,
        tuple(notes),
    )


def wrap_jumps(time: Floats, angle: Floats) -> np.ndarray:
    """Places i where the angle (rad) jumps by about a turn from sample i to i + 1.

    Only in a log that stays within about a turn and else moves by small steps; not across gaps.
    """
    if len(angle) < 3 or np.ptp(angle) > 1.1 * 2 * math.pi:
        return np.array([], dtype=int)
    steps, pauses = np.abs(np.diff(angle)), np.diff(time)
    if np.median(steps) > 0.3:
        return np.array([], dtype=int)
    near = np.abs(steps - 2 * math.pi) < 0.15 * 2 * math.pi
    return np.flatnonzero(near & (pauses <= GAP_FACTOR * np.median(pauses)))

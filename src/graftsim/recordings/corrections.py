"""What can be put right in recordings once they are read: units, signs, zeros, names, clocks.

Channels are chosen by patterns as everywhere, `joint.q[*]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graftsim.errors import LogError, suggest
from graftsim.recordings.channels import (
    column_dimensions,
    parse_name,
    quaternion_columns,
    split_name,
)
from graftsim.recordings.recording import Channel, Recording, seconds
from graftsim.recordings.signals import unwrap
from graftsim.recordings.units import unit
from graftsim.selectors import Selector, unquoted

# Word of a clock whose samples are equally far apart.
EVEN = "even"


@dataclass(frozen=True)
class Corrections:
    """Corrections of recordings, made in this order; see `corrected`.

    clock: "even" (samples equally far apart), the unit that the clock is in ("ms"), or a channel
    `signal[NAME]` that holds the time in s; "": as it is. trim: first and last time (s), None:
    open. distinct: channels of sensors slower than the log, whose repeated samples are left out.
    unwrap: angles that jump by full turns. scale: by channel a factor, or the unit that it is in.
    offset: by channel, added after that (SI). rename: new names by the old ones.
    """

    clock: str = ""
    trim: tuple[float | None, float | None] = (None, None)
    distinct: tuple[str, ...] = ()
    unwrap: tuple[str, ...] = ()
    scale: Mapping[str, float | str] = field(default_factory=dict)
    offset: Mapping[str, float] = field(default_factory=dict)
    rename: Mapping[str, str] = field(default_factory=dict)


def corrected(recordings: Sequence[Recording], how: Corrections) -> list[Recording]:
    """The recordings with corrections made; each leaves a note in its channel.

    Raises LogError: a pattern that no channel has, a unit that a channel cannot have, a clock that
    does not rise, a new name that is taken or none.
    """
    known = dict.fromkeys(n for r in recordings for n in r.names)
    patterns = (*how.distinct, *how.unwrap, *how.scale, *how.offset, *how.rename)
    for pattern in patterns:
        if not chosen(pattern, known):
            raise LogError(f"no channel is called {pattern}. {suggest(pattern, known)}")
    for new in how.rename.values():
        parse_name(new)
    return [_one(recording, how) for recording in recordings]


def chosen(pattern: str, names: Iterable[str]) -> list[str]:
    """Names of channels that a pattern such as `joint.q[*]` chooses."""
    quantity, bracket, rest = pattern.strip().partition("[")
    parsed = [(n, split_name(n)) for n in names]
    same = [(n, p.label) for n, p in parsed if p is not None and p.quantity == quantity]
    if not bracket or not rest.endswith("]"):
        return []
    rows = Selector(quantity, rest[:-1]).rows([label for _, label in same])
    return [same[i][0] for i in rows]


def _one(recording: Recording, how: Corrections) -> Recording:
    r = _clocked(recording, how.clock) if how.clock else recording
    r = r if how.trim == (None, None) else r.trim(*how.trim)
    for pattern in how.distinct:
        r = _changed(r, pattern, lambda c, _: _distinct(c))
    for pattern in how.unwrap:
        r = _changed(r, pattern, lambda c, _: unwrap(c))
    for pattern, factor in how.scale.items():
        r = _changed(r, pattern, _scaled, factor)
    for pattern, amount in how.offset.items():
        r = _changed(r, pattern, _shifted, amount)
    here = {old: new for k, new in how.rename.items() for old in chosen(k, r.names)}
    return r.rename(here) if here else r


def _changed(
    recording: Recording, pattern: str, change: Callable[[Channel, Any], Channel], value: Any = None
) -> Recording:
    for name in chosen(pattern, recording.names):
        recording = recording.with_channel(change(recording[name], value))
    return recording


def _scaled(channel: Channel, factor: float | str) -> Channel:
    if quaternion_columns(channel.name, channel.width):
        raise LogError(f"{channel.name} holds unit vectors; they have no scale.")
    symbol = channel.unit
    note = f"scaled by {factor}"
    if isinstance(factor, str):
        given = unit(factor)
        allowed = column_dimensions(parse_name(channel.name), channel.width)
        if allowed is not None and any(given.dimension not in each for each in allowed):
            words = ", ".join(dict.fromkeys(d for each in allowed for d in each))
            raise LogError(f"{channel.name} cannot be in {factor}; it is of {words}.")
        factor, symbol, note = given.factor, given.si, f"taken as {given.symbol}"
    return channel.replace(
        values=factor * channel.values, unit=symbol, notes=(*channel.notes, note)
    )


def _shifted(channel: Channel, amount: float) -> Channel:
    if quaternion_columns(channel.name, channel.width):
        raise LogError(f"{channel.name} holds unit vectors; they have no offset.")
    note = f"{amount:+g} added"
    return channel.replace(values=channel.values + amount, notes=(*channel.notes, note))


def _distinct(channel: Channel) -> Channel:
    """Without samples that repeat the last; of a rest as many as while it moves."""
    fresh = np.concatenate([[True], (np.diff(channel.values, axis=0) != 0).any(axis=1)])
    runs = np.diff(np.flatnonzero(fresh))
    every = max(int(np.median(runs)), 1) if len(runs) else len(fresh)
    # Within a run, every `every`-th sample is kept too: a rest is no gap.
    since = np.arange(len(fresh)) - np.maximum.accumulate(np.where(fresh, np.arange(len(fresh)), 0))
    kept = fresh | (since % every == 0)
    note = f"{int((~kept).sum())} repeated samples left out"
    return channel.replace(
        time=channel.time[kept], values=channel.values[kept], notes=(*channel.notes, note)
    )


def _clocked(recording: Recording, clock: str) -> Recording:
    if split_name(clock) is not None:
        return _stamped(recording, recording[clock])
    if clock != EVEN and (clock not in ("s", "ms", "us", "ns", "min")):
        raise LogError(
            f"clock {clock!r}: it is '{EVEN}', the unit that the clock is in (ms, us, ns), or a "
            f"channel signal[{unquoted(clock)}] with the time in s."
        )
    channels = {}
    for c in recording.channels.values():
        time = (
            np.linspace(c.time[0], c.time[-1], len(c.time))
            if clock == EVEN
            else unit(clock).factor * c.time
        )
        note = "clock made even" if clock == EVEN else f"clock taken as {clock}"
        channels[c.name] = c.replace(time=time, notes=(*c.notes, note))
    return Recording(channels, recording.name, recording.notes)


def _stamped(recording: Recording, stamp: Channel) -> Recording:
    """Times by another clock that was recorded, where that one has samples."""
    values = stamp.values[:, 0]
    if stamp.width != 1 or len(values) < 2 or np.any(np.diff(values) <= 0):
        raise LogError(f"{stamp.name} is no clock: it does not rise from sample to sample.")
    channels = {}
    for c in recording.channels.values():
        inside = (c.time >= stamp.time[0]) & (c.time <= stamp.time[-1])
        if not inside.any():
            raise LogError(
                f"{c.name} has no sample between {seconds(stamp.time[0])} s and "
                f"{seconds(stamp.time[-1])} s, where {stamp.name} was recorded."
            )
        time = np.interp(c.time[inside], stamp.time, values)
        note = f"clock from {stamp.name}"
        channels[c.name] = c.replace(time=time, values=c.values[inside], notes=(*c.notes, note))
    return Recording(channels, recording.name, recording.notes)

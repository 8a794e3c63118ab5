"""Recordings: named channels of measurements, each on its own clock. Data, no files."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graftsim.displayed import displayed
from graftsim.errors import LogError, suggest
from graftsim.recordings.channels import spelling

GAP_FACTOR = 5.0
"""A pause longer than this many median sample intervals is a gap."""

CELLS = ("channel", "unit", "samples", "rate", "range", "gaps")

Floats = NDArray[np.float64]


def seconds(time: float) -> str:
    """A time in s for messages, with digits enough to find it on a clock from 1970 too."""
    return f"{time:.9g}" if abs(time) < 1e4 else f"{time:.6f}".rstrip("0").rstrip(".")


def _frozen(array: ArrayLike) -> Floats:
    copy = np.array(array, dtype=np.float64)
    copy.setflags(write=False)
    return copy


@dataclass(frozen=True, eq=False)
class Channel:
    """Samples of one measured quantity.

    name: `family.quantity[label]`, such as `joint.q[elbow]`, kept with quotes only where needed.
    time: [n] s, strictly increasing. Read-only.
    values: [n, d] in `unit` (SI); a 1-D array is taken as d = 1. Read-only.
    source: where it comes from: a file, or the name of the channel it was derived from.
    column_names: [d] names of the columns in the source.
    notes: what was done to it: repairs, filters.

    Raises: LogError when shapes do not agree, a number is not finite, or time does not increase.
    """

    name: str
    time: Floats
    values: Floats
    unit: str
    source: str = ""
    column_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", spelling(self.name))
        time, values = _frozen(self.time), _frozen(self.values)
        if values.ndim == 1:
            values = _frozen(values[:, None])
        if time.ndim != 1 or values.ndim != 2 or len(time) != len(values) or not len(time):
            raise LogError(
                f"channel {self.name!r}: time {time.shape} and values {values.shape} do not fit; "
                "they must be [n] and [n, d] with n >= 1."
            )
        if not (np.isfinite(time).all() and np.isfinite(values).all()):
            raise LogError(
                f"channel {self.name!r}: time or values hold NaN or infinity; leave such samples "
                "out (a gap is allowed)."
            )
        late = np.flatnonzero(np.diff(time) <= 0)
        if late.size:
            raise LogError(
                f"channel {self.name!r}: time does not increase at sample {late[0] + 1}: "
                f"{seconds(float(time[late[0]]))} s, then {seconds(float(time[late[0] + 1]))} s."
            )
        names = tuple(self.column_names) or (self.name,) * values.shape[1]
        if len(names) != values.shape[1]:
            raise LogError(
                f"channel {self.name!r}: {len(names)} column names for {values.shape[1]} columns."
            )
        for field, value in (("time", time), ("values", values), ("column_names", names)):
            object.__setattr__(self, field, value)
        object.__setattr__(self, "notes", tuple(self.notes))

    @property
    def width(self) -> int:
        """Number of columns d."""
        return self.values.shape[1]

    @property
    def interval(self) -> float:
        """Median sample interval in s; NaN for a single sample."""
        return float(np.median(np.diff(self.time))) if len(self.time) > 1 else float("nan")

    def gaps(self, factor: float = GAP_FACTOR) -> list[tuple[float, float]]:
        """Pauses longer than `factor` median intervals, as (last before, first after) in s."""
        steps = np.diff(self.time)
        at = np.flatnonzero(steps > factor * self.interval)
        return [(float(self.time[i]), float(self.time[i + 1])) for i in at]

    def segments(self, factor: float = GAP_FACTOR) -> list[slice]:
        """Runs of samples without a gap between them, in order."""
        cuts = np.flatnonzero(np.diff(self.time) > factor * self.interval) + 1
        edges = [0, *cuts.tolist(), len(self.time)]
        return [slice(a, b) for a, b in pairwise(edges)]

    def replace(self, **changes: object) -> Channel:
        """A copy with some fields changed. Raises: LogError as the constructor."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[type[Channel], tuple[object, ...]]:
        # Through the constructor: pickled arrays come back writable.
        return Channel, tuple(getattr(self, f.name) for f in dataclasses.fields(self))

    def __repr__(self) -> str:
        return f"Channel({', '.join(cell for cell in cells(self) if cell)})"


@dataclass(frozen=True, eq=False)
class Recording:
    """Channels recorded together, on one time axis but each with its own samples.

    notes: everything a reader of the log should know: columns left out, repairs, suspicions.
    epoch: s between the log's own time 0 (1970, often) and that of the channels.

    Raises: LogError when a key differs from its channel's name or there is no channel.
    """

    channels: Mapping[str, Channel]
    name: str = "recording"
    notes: tuple[str, ...] = ()
    epoch: float = 0.0

    def __post_init__(self) -> None:
        if not self.channels:
            raise LogError(f"recording {self.name!r}: there is no channel in it.")
        for key, channel in self.channels.items():
            if spelling(key) != channel.name:
                raise LogError(f"recording {self.name!r}: key {key!r} holds {channel.name!r}.")
        named = {channel.name: channel for channel in self.channels.values()}
        object.__setattr__(self, "channels", MappingProxyType(named))
        object.__setattr__(self, "notes", tuple(self.notes))

    def __reduce__(self) -> tuple[type[Recording], tuple[object, ...]]:
        # A read-only view of a dictionary cannot be pickled.
        return Recording, (dict(self.channels), self.name, self.notes, self.epoch)

    def __getitem__(self, name: str) -> Channel:
        """The channel of that name. Raises: LogError with the nearest names."""
        found = self.channels.get(spelling(name))
        if found is None:
            raise LogError(
                f"recording {self.name!r}: there is no channel {name!r}. "
                f"{suggest(name, self.channels)}"
            )
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and spelling(name) in self.channels

    def __iter__(self) -> Iterator[str]:
        return iter(self.channels)

    def __len__(self) -> int:
        return len(self.channels)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the channels, in order."""
        return tuple(self.channels)

    @property
    def start(self) -> float:
        """Time of the first sample of any channel, s."""
        return min(float(channel.time[0]) for channel in self.channels.values())

    @property
    def end(self) -> float:
        """Time of the last sample of any channel, s."""
        return max(float(channel.time[-1]) for channel in self.channels.values())

    @property
    def duration(self) -> float:
        """`end - start`, s."""
        return self.end - self.start

    @property
    def overlap(self) -> tuple[float, float]:
        """Interval in s in which every channel has samples; empty if its end precedes its start."""
        channels = self.channels.values()
        return (
            max(float(channel.time[0]) for channel in channels),
            min(float(channel.time[-1]) for channel in channels),
        )

    def gaps(self, name: str, factor: float = GAP_FACTOR) -> list[tuple[float, float]]:
        """Gaps of one channel, (t0, t1) in s. Raises: LogError for an unknown name."""
        return self[name].gaps(factor)

    def trim(self, start: float | None = None, end: float | None = None) -> Recording:
        """Samples with `start <= time <= end` (s; None: open). Clocks are not shifted.

        Raises: LogError when a channel has no sample in that interval.
        """
        low, high = self.start if start is None else start, self.end if end is None else end
        kept = []
        for channel in self.channels.values():
            inside = (channel.time >= low) & (channel.time <= high)
            if not inside.any():
                raise LogError(
                    f"recording {self.name!r}: {channel.name!r} has no sample between "
                    f"{seconds(low)} s and {seconds(high)} s; it runs from "
                    f"{seconds(channel.time[0])} s to {seconds(channel.time[-1])} s."
                )
            kept.append(channel.replace(time=channel.time[inside], values=channel.values[inside]))
        return self._with(kept)

    def shift(self, offset: float) -> Recording:
        """The same samples, `offset` s later; `shift(-recording.start)` starts them at 0."""
        moved = [c.replace(time=c.time + offset) for c in self.channels.values()]
        shifted = self._with(moved, f"clock shifted by {offset:.9g} s")
        return dataclasses.replace(shifted, epoch=self.epoch - offset) if self.epoch else shifted

    def select(self, *names: str) -> Recording:
        """Only these channels, in this order. Raises: LogError for an unknown name."""
        return self._with([self[name] for name in names])

    def rename(self, names: Mapping[str, str]) -> Recording:
        """Channels renamed by `{old: new}`, in their old order.

        Raises: LogError for an unknown old name or when two channels would share a name.
        """
        for old in names:
            self[old]
        renamed = [c.replace(name=names.get(c.name, c.name)) for c in self.channels.values()]
        new = [channel.name for channel in renamed]
        twice = sorted({name for name in new if new.count(name) > 1})
        if twice:
            raise LogError(f"recording {self.name!r}: two channels would be named {twice[0]!r}.")
        return self._with(renamed)

    def with_channel(self, channel: Channel) -> Recording:
        """With one channel added, or put in place of the one of that name."""
        return dataclasses.replace(self, channels={**self.channels, channel.name: channel})

    def _with(self, channels: list[Channel], *notes: str) -> Recording:
        named = {c.name: c for c in channels}
        return dataclasses.replace(self, channels=named, notes=self.notes + notes)

    def summary(self) -> str:
        """A table: channel, unit, samples, rate, range of values, gaps; then the notes."""
        rows = [CELLS, *(cells(channel) for channel in self.channels.values())]
        widths = [max(len(row[k]) for row in rows) for k in range(len(CELLS))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
        title = f"Recording {self.name!r}: {seconds(self.start)} s to {seconds(self.end)} s"
        own = [f"{c.name}: {note}" for c in self.channels.values() for note in c.notes]
        notes = [f"note: {note}" for note in (*self.notes, *own)]
        return "\n".join([title, *(line.rstrip() for line in lines), *notes])

    def __repr__(self) -> str:
        return self.summary()

    _repr_html_ = displayed


def cells(channel: Channel) -> tuple[str, ...]:
    """Cells of the summary table for one channel, under `CELLS`."""
    gaps = channel.gaps()
    return (
        channel.name,
        channel.unit,
        str(len(channel.time)) + (f" x {channel.width}" if channel.width > 1 else ""),
        f"{1 / channel.interval:.4g} Hz" if len(channel.time) > 1 else "-",
        f"{channel.values.min():.4g} .. {channel.values.max():.4g}",
        f"{len(gaps)} ({sum(b - a for a, b in gaps):.3g} s)" if gaps else "-",
    )

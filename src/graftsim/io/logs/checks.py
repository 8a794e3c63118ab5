"""Suspicions about a log that can be read: gaps, stuck sensors, wrong units, wrong columns.

Each check returns messages; none changes the data. A unit stated by the user is believed where
the numbers alone cannot contradict it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from graftsim.io.logs.clean import Samples
from graftsim.io.logs.columns import ColumnSpec
from graftsim.recordings.channels import parse_name
from graftsim.recordings.plausible import IN_G, LARGE, rate
from graftsim.recordings.recording import GAP_FACTOR, seconds
from graftsim.recordings.signals import wrap_jumps
from graftsim.selectors import row_name


def suspicions(channels: Sequence[Samples]) -> list[str]:
    """Warnings about a whole log."""
    found = [*_clock_units(channels), *_gaps(channels), *_shared_columns(channels)]
    for samples in channels:
        found += _stuck(samples) + _scale(samples) + _wraps(samples)
    by_name = {s.channel: s for s in channels}
    for samples in channels:
        name = parse_name(samples.channel)
        speed = by_name.get(row_name("joint.qd", name.label))
        if name.quantity == "joint.q" and speed is not None and not _wraps(samples):
            found += _derivative(samples, speed)
    return found


def mixed_rates(channels: Sequence[Samples]) -> list[str]:
    """A note when channels come at several rates."""
    rates: dict[str, list[str]] = defaultdict(list)
    for s in channels:
        rates[f"{1 / float(np.median(np.diff(s.time))):.3g} Hz"].append(s.channel)
    if len(rates) < 2:
        return []
    return ["several rates: " + "; ".join(f"{r}: {', '.join(n)}" for r, n in rates.items())]


def _clock_units(channels: Sequence[Samples]) -> list[str]:
    found = {}
    for s in channels:
        step = float(np.median(np.diff(s.time)))
        if not isinstance(s.clock, ColumnSpec) or s.clock.unit is not None:
            continue
        if len(s.time) >= 200 and step >= 1 and s.clock.scale == 1.0:
            guess = "ms" if step < 1e3 else "us" if step < 1e6 else "ns"
            where = s.table.at(int(s.rows[0]), *s.clock.columns)
            found[where] = (
                f"{where}: from here {len(s.time)} samples are {step:g} s apart, if this clock is "
                f"in s. If it is in {guess}, state time=ColumnSpec({s.clock.columns[0]!r}, "
                f"unit={guess!r}); if it is in s, state unit='s'."
            )
    return list(found.values())


def _gaps(channels: Sequence[Samples]) -> list[str]:
    together: dict[tuple[str, str], list[str]] = defaultdict(list)
    for s in channels:
        steps = np.diff(s.time)
        usual = float(np.median(steps))
        at = np.flatnonzero(steps > GAP_FACTOR * usual)
        if not at.size:
            continue
        shown = [
            f"{seconds(t0)} s to {seconds(t1)} s (row {row})"
            for t0, t1, row in zip(
                s.time[at].tolist(), s.time[at + 1].tolist(), s.rows[at + 1], strict=True
            )
        ]
        more = f" and {at.size - 5} more" if at.size > 5 else ""
        clock = s.clock.columns if isinstance(s.clock, ColumnSpec) else ()
        where = s.table.at(int(s.rows[at[0] + 1]), *clock)
        text = f"samples are {usual:.3g} s apart, but there are gaps: {', '.join(shown[:5])}{more}"
        together[where, text].append(s.channel)
    return [
        f"{where}: {text}, in {_some(names)}. Nothing is interpolated across a gap; trim the "
        "recording to leave them out."
        for (where, text), names in together.items()
    ]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + more


def _shared_columns(channels: Sequence[Samples]) -> list[str]:
    users: dict[tuple[str, str], list[Samples]] = defaultdict(list)
    for s in channels:
        for column in s.spec.columns:
            users[parse_name(s.channel).quantity, column].append(s)
    return [
        f"{same[0].table.at(int(same[0].rows[0]), column)}: feeds "
        f"{' and '.join(s.channel for s in same)}; give each its own column."
        for (_, column), same in users.items()
        if len(same) > 1
    ]


def _stuck(s: Samples) -> list[str]:
    quantity = parse_name(s.channel).quantity
    if quantity not in {"joint.q", "link.pose", "link.position", "link.heading"}:
        return []
    if np.ptp(s.values, axis=0).any():
        return []
    return [
        f"{s.at(0)}: {s.channel} keeps the value {s.values[0].tolist()} in all {len(s.time)} "
        "samples. Is the sensor stuck, or is this another column? If it did not move, leave the "
        "channel out."
    ]


def _scale(s: Samples) -> list[str]:
    """Numbers too large, or too round a gravity, for the SI unit that was assumed."""
    if s.spec.unit is not None:
        return []
    quantity = parse_name(s.channel).quantity
    if quantity == "link.linear_acceleration":
        size = float(np.median(np.linalg.norm(s.values, axis=1)))
        if IN_G[0] < size < IN_G[1]:
            return [
                f"{s.at(0)}: {s.channel} has a median size of {size:.3g} m/s^2. If it is in g, "
                "state unit='g'; else state unit='m/s^2'."
            ]
    single = quantity == "joint.q" and s.values.shape[1] == 1
    if not (single and not s.spec.unwrap) and quantity != "link.position":
        return []
    span = np.ptp(s.values, axis=0)
    k = int(span.argmax())
    if span[k] <= LARGE:
        return []
    i = int(np.abs(s.values[:, k]).argmax())
    if single:
        jumps = int((np.abs(np.abs(np.diff(s.values[:, 0])) - 360) < 40).sum())
        hint = f" and jumps by about 360 {jumps} times" if jumps else ""
        unwrap = ", unwrap=True" if jumps else ""
        guess = f"in degrees, state unit='deg'{unwrap}; if in mm, unit='mm'; else unit='rad' or 'm'"
        return [
            f"{s.at(i)}: {s.channel} spans {span[k]:.4g} rad (or m){hint}, here "
            f"{s.values[i, k]:.4g}. If it is {guess}."
        ]
    return [
        f"{s.table.at(int(s.rows[i]), s.spec.columns[k])}: {s.channel} spans {span[k]:.4g} m, here "
        f"{s.values[i, k]:.4g}. If it is in mm, state unit='mm'; else unit='m'."
    ]


def _wraps(s: Samples) -> list[str]:
    if s.values.shape[1] != 1 or not s.units[0].startswith("rad") or s.spec.unwrap:
        return []
    if not s.channel.startswith("joint.q["):
        return []
    jumps = wrap_jumps(s.time, s.values[:, 0])
    if not jumps.size:
        return []
    return [
        f"{s.at(int(jumps[0]) + 1)}: {s.channel} jumps by a full turn {jumps.size} times. State "
        "unwrap=True to join the turns."
    ]


def _derivative(position: Samples, speed: Samples) -> list[str]:
    """Is the speed the rate of the position?"""
    if position.values.shape != (len(position.time), 1) or speed.values.shape[1] != 1:
        return []
    found = rate(position.time, position.values[:, 0], speed.time, speed.values[:, 0])
    if found is None:
        return []
    at = position.table.at(int(position.rows[0]), *position.spec.columns, *speed.spec.columns)
    what = f"{at}: the rate of {position.channel} is"
    if abs(found.correlation) < 0.5:
        # Noise at rest is uncorrelated with anything; only a joint that moved can be told.
        if found.moved < 0.1:
            return []
        return [
            f"{what} unlike {speed.channel} (correlation {found.correlation:.2g}). Do these "
            "columns belong to the same joint?"
        ]
    if found.agrees:
        return []
    sign = "opposite signs" if found.slope < 0 else ""
    causes = ", and ".join(x for x in (sign, found.reason) if x) or "a wrong unit or scale"
    return [
        f"{what} {found.slope:.4g} times {speed.channel}: {causes}? Correct it with `unit` or "
        "`scale`."
    ]

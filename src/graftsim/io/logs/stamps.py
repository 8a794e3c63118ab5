"""Time stamps of messages beside the times when they were logged: which of them can be a clock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graftsim.io.logs.tables import Clock

Times = NDArray[np.int64]
STAMP, LOGGED = "header.stamp", "log_time"

DRIFT = 0.005
"""s that two clocks may part in a log before it is said."""

APART = 1.0
"""s between stamp and log time that no network explains."""

BURST, MANY = 0.2, 0.2
"""An arrival within this share of the usual interval is of a burst; that many make a habit."""

REPEATS, RESTS = 0.1, 0.95
"""Share of repeated messages from which a sensor is slower than its topic, or at rest."""


def stamp_clock(column: str, topic: str, stamps: Times, logged: Times) -> Clock:
    """The clock of `header.stamp`, ns; at fault if it was not filled or runs backwards."""
    unset = np.flatnonzero(stamps == 0)
    remedy = f"Pass time={LOGGED!r} (--columns time={LOGGED}) for the time of arrival"
    if unset.size:
        fault = (
            f"header.stamp is 0 in message {unset[0]} of {topic} ({unset.size} of {len(stamps)}): "
            f"whoever sends it does not fill it. {remedy}."
        )
        return Clock(column, fault)
    back = np.flatnonzero(np.diff(stamps) < 0)
    if back.size:
        i = int(back[0]) + 1
        fault = (
            f"header.stamp of {topic} runs backwards by {(stamps[i - 1] - stamps[i]) * 1e-9:.3g} s "
            f"at message {i} ({back.size} times in all). If messages were stored out of order, "
            f"pass sort=True (--sort); if a clock was set, {remedy[0].lower()}{remedy[1:]}."
        )
        return Clock(column, fault, backwards=True)
    return Clock(column, doubts=tuple(_against_log(topic, stamps, logged)))


def log_clock(column: str, topic: str, logged: Times, stamped: bool) -> Clock:
    """The clock of arrival; doubtful where messages come in bursts."""
    steps = np.diff(logged)
    doubts = []
    if len(steps) >= 20:
        usual = (logged[-1] - logged[0]) / len(steps)
        close = int((steps < BURST * usual).sum())
        if close > MANY * len(steps):
            better = " Their header.stamp is better." if stamped else ""
            doubts.append(
                f"{topic}: messages arrive in bursts: {close} of {len(steps)} within a fifth of "
                f"their mean interval of {usual * 1e-9:.3g} s, so the time of arrival says little "
                f"of when they were made.{better}"
            )
    return Clock(column, doubts=tuple(doubts))


def _against_log(topic: str, stamps: Times, logged: Times) -> list[str]:
    """Doubts from the line that log times make over stamps."""
    if len(stamps) < 20 or stamps[-1] == stamps[0]:
        return []
    late = (logged - stamps) * 1e-9
    time = (stamps - stamps[0]) * 1e-9
    found = []
    typical = float(np.median(late))
    if abs(typical) > APART:
        side = "behind" if typical > 0 else "ahead of"
        found.append(
            f"{topic}: header.stamp is {abs(typical):.3g} s {side} the time of arrival: the clocks "
            "of sender and recorder differ. Topics of other senders do not fit it as they are."
        )
    slope, offset = np.polyfit(time, late - typical, 1)
    rest = late - typical - slope * time - offset
    if abs(slope) * time[-1] > DRIFT + 4 * float(np.std(rest)):
        found.append(
            f"{topic}: header.stamp drifts against the time of arrival by {1e3 * slope:.3g} ms a "
            f"second, {slope * time[-1]:.3g} s in all: one of the two clocks is wrong."
        )
    return found


def repeats(topic: str, same: NDArray[np.bool_]) -> list[str]:
    """A doubt where many messages repeat all numbers of the one before. same: [n - 1]."""
    share = float(same.mean()) if same.size >= 20 else 0.0
    if not REPEATS < share < RESTS:
        return []
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(int)))
    runs = edges[1::2] - edges[::2]
    if np.median(runs) > 10:  # at rest for a while
        return []
    return [
        f"{topic}: {int(same.sum())} of {same.size + 1} messages repeat the one before: the sensor "
        "is slower than the topic, so these samples are late by up to its interval."
    ]

"""From recordings to a regression's samples: filters without phase shift, derivatives, decimation.

By the cut-offs of `cutoff`, which says their rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from graftsim.errors import ProblemError
from graftsim.identify.inverse.cutoff import ORDER, Filtering
from graftsim.model.model import Model
from graftsim.recordings.filters import Butterworth, filtered
from graftsim.recordings.recording import GAP_FACTOR, Channel, Recording
from graftsim.selectors import row_name

# Samples on which columns are computed, per period of the cut-off of positions.
PER_PERIOD = 8
# Forces go on that grid first: what would be aliased there is cut off at so many times positions'
# cut-off, which leaves alone what the columns have.
ALIASES = 3.0
# Pauses of that share of the period at the cut-off of positions are bridged: what passes the filter
# cannot change within them.
BRIDGED = 0.125
# Periods of the parallel filter at each end of a piece that its start and end spoil.
SPOILT = 2.0


@dataclass(frozen=True, eq=False)
class Samples:
    """One piece of a recording without a gap, filtered for the regressor: t [n] s on an even clock,
    q [n, nq], qd, qdd and tau [n, nv].
    """

    recording: str
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray


def checked(model: Model, recordings: tuple[Recording, ...]) -> None:
    """Raises ProblemError: a joint that is not one number, no channel of its position or force."""
    tree = model.tree
    for joint, kind in zip(tree.joints, tree.joint_types, strict=True):
        if kind.nv and not (kind.one_by_one and kind.nq == kind.nv):
            raise ProblemError(
                f"Inverse dynamics takes joints with an angle or a length each; '{joint}' is "
                f"{kind.name}. Clamp a floating base (--base fixed), or fit by simulation."
            )
    for recording in recordings:
        for quantity in ("joint.q", "joint.tau"):
            missing = [d for d in tree.dofs if row_name(quantity, d) not in recording]
            if missing:
                names = ", ".join(row_name(quantity, d) for d in missing)
                raise ProblemError(
                    f"recording '{recording.name}': inverse dynamics needs position and force of "
                    f"every joint at each moment; there is no {names}. Its channels: "
                    f"{', '.join(recording.names)}."
                )


def samples(
    model: Model, recordings: tuple[Recording, ...], filtering: Filtering
) -> tuple[Samples, ...]:
    """Filtered positions, velocities, accelerations and forces, on even clocks of each piece.

    Velocities are those of the recording where it has them, else derivatives of positions.
    Raises ProblemError: no piece without a gap is long enough for the filter.
    """
    found = []
    for recording in recordings:
        found += _of_recording(model, recording, filtering)
    if not found:
        raise ProblemError(
            f"No stretch without a gap is as long as the filter at {filtering.parallel:.3g} Hz "
            "needs; record longer motions, or give a higher cut-off."
        )
    return tuple(found)


def _of_recording(model: Model, recording: Recording, filtering: Filtering) -> list[Samples]:
    dofs = model.tree.dofs
    names = {k: [row_name(f"joint.{k}", d) for d in dofs] for k in ("q", "qd", "tau")}
    measured = all(n in recording for n in names["qd"])
    used = recording.select(*names["q"], *names["tau"], *(names["qd"] if measured else ()))
    start, end = used.overlap
    first = used[names["q"][0]]
    found = []
    pause = BRIDGED / filtering.position
    for piece in first.segments(_factor(first, pause)):
        lo, hi = max(start, first.time[piece][0]), min(end, first.time[piece][-1])
        if hi - lo < 3 * SPOILT / filtering.parallel:
            continue
        part = used.trim(lo, hi)
        if any(len(c.segments(_factor(c, pause))) > 1 for c in part.channels.values()):
            continue
        n = int((hi - lo) * PER_PERIOD * filtering.position) + 1
        t = np.linspace(lo, hi, min(n, len(first.time[piece])))
        q = [_smooth(part[x], filtering.position, t) for x in names["q"]]
        if measured:
            qd = [_smooth(part[x], filtering.position, t)[0] for x in names["qd"]]
            qdd = [_smooth(part[x], filtering.position, t)[1] for x in names["qd"]]
        else:
            qd = [x[1] for x in q]
            qdd = [x[2] for x in q]
        tau = [_smooth(part[x], ALIASES * filtering.position, t)[0] for x in names["tau"]]
        columns = [np.stack(x, 1) for x in ([x[0] for x in q], qd, qdd, tau)]
        found.append(Samples(recording.name, t, *columns))
    return found


def _factor(channel: Channel, pause: float) -> float:
    """Median intervals that a pause (s) is, not less than what is no gap anyway."""
    return max(GAP_FACTOR, pause / channel.interval)


def _smooth(channel: Channel, cutoff: float, t: np.ndarray) -> tuple[np.ndarray, ...]:
    """A channel after its filter at times t [n], and its first and second derivative.

    One that is sampled too slowly for the cut-off is left as it is.
    """
    x = channel.values[:, 0]
    if cutoff < 0.45 / channel.interval:
        low = filtered(channel.time, channel.values, Butterworth(cutoff, ORDER), 0)
        if low is None:
            raise ProblemError(f"{channel.name}: {len(x)} samples are too few to filter.")
        x = low[:, 0]
    rate = np.gradient(x, channel.time, edge_order=2)
    second = np.gradient(rate, channel.time, edge_order=2)
    return tuple(np.interp(t, channel.time, y) for y in (x, rate, second))


def parallel(
    t: Float[np.ndarray, " n"], x: Float[np.ndarray, "n k"], filtering: Filtering
) -> Float[np.ndarray, "m k"]:
    """Columns after the parallel filter, decimated, without the ends that it spoils."""
    step = (t[-1] - t[0]) / (len(t) - 1)
    cutoff = filtering.parallel
    if cutoff < 0.5 / step:
        low = filtered(t, x, Butterworth(cutoff, ORDER), 0)
        x = x if low is None else low
    edge = min(int(np.ceil(SPOILT / cutoff / step)), (len(t) - 1) // 4)
    return x[edge : len(t) - edge : decimation(step, filtering)]


def decimation(step: float, filtering: Filtering) -> int:
    """Every which sample is kept of those `step` (s) apart."""
    return max(round(0.5 / filtering.parallel / step), 1)


def independent(interval: float, filtering: Filtering) -> float:
    """Share of samples `interval` (s) apart that are worth an independent one.

    White noise after the filter has variance 2 S B, S its density and B the filter's noise
    bandwidth; slow columns feel S alone, so n samples are worth 2 B T. Two passes of a Butterworth
    filter of order m have |H|^2 = (1 + (f / f_c)^2m)^-2, with the integral
    B = f_c (1 - 1 / 2m) (pi / 2m) / sin(pi / 2m).
    """
    order = 2 * ORDER
    B = filtering.parallel * (1 - 1 / order) * (np.pi / order) / np.sin(np.pi / order)
    return min(2 * B * interval, 1.0)

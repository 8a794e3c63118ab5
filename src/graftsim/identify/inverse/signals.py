"""From recordings to a regression's samples: filters without phase shift, derivatives, decimation.

The rule, unless a cut-off is given (Gautier 1997; Swevers, Verdonck & De Schutter 2007):

1. The motion's bandwidth is the frequency above which 1 % of the amplitude of a position (1e-4 of
   its power) is left; that of the fastest joint counts.
2. Positions are cut off at ten times that, so that the filter does nothing to the motion, at most
   where their spectrum meets its own floor, above which derivatives are noise.
3. Forces and all columns of the regressor then go through the same filter: it commutes with the
   sum that is fitted, so it takes noise out and adds no bias. (At half the cut-off a Panda's model
   explains new motions a tenth worse, a TX40's as well.)
4. Of what is left, two samples are kept in each period of that cut-off: no more are independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from graftsim.errors import ProblemError
from graftsim.model.model import Model
from graftsim.recordings.filters import Butterworth, filtered
from graftsim.recordings.recording import GAP_FACTOR, Channel, Recording
from graftsim.selectors import row_name

# Share of the power above the bandwidth, cut-off over bandwidth, and the order of all filters.
LEFT, FACTOR, ORDER = 1e-4, 10.0, 4
# Above its floor: so many times the median power of the highest fifth of the frequencies.
ABOVE_FLOOR = 4.0
# Samples on which columns are computed, per period of the cut-off of positions.
PER_PERIOD = 8
# Forces go on that grid first: what would be aliased there is cut off at so many times positions'
# cut-off, which leaves alone what the columns have.
ALIASES = 3.0
# Pauses that are bridged: of so many samples for a spectrum, of that share of the period at the
# cut-off of positions for samples. What passes the filter cannot change within it.
BRIDGED, BRIDGED_SHARE = 50.0, 0.125
# Periods of the parallel filter at each end of a piece that its start and end spoil.
SPOILT = 2.0


@dataclass(frozen=True)
class Cutoff:
    """How signals are filtered: cut-offs (Hz) of positions and, `parallel`, of forces and columns;
    None: by the rule.

    Raises ProblemError: a cut-off that is not positive, or a parallel one above the other.
    """

    position: float | None = None
    parallel: float | None = None

    def __post_init__(self) -> None:
        for name in ("position", "parallel"):
            value = getattr(self, name)
            if value is not None and not 0 < value < np.inf:
                raise ProblemError(f"Cutoff: {name} must be a positive frequency, got {value} Hz.")
        if self.position and self.parallel and self.parallel > self.position:
            raise ProblemError(
                f"Cutoff: the parallel filter ({self.parallel} Hz) passes what that of positions "
                f"({self.position} Hz) has taken out; it must not be above it."
            )


class Filtering(NamedTuple):
    """What was chosen, in Hz: bandwidth of the motion, frequency where the noise begins, cut-offs;
    and a sentence that says why.
    """

    bandwidth: float
    floor: float
    position: float
    parallel: float
    text: str


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


def choose_filter(model: Model, recordings: tuple[Recording, ...], given: Cutoff) -> Filtering:
    """Cut-offs by the rule at the head of this file, or those given."""
    bands, floors, rates = [], [], []
    for recording in recordings:
        for dof in model.tree.dofs:
            channel = recording[row_name("joint.q", dof)]
            band, floor = _spectrum(channel)
            bands.append(band)
            floors.append(floor)
            rates.append(1 / channel.interval)
    bandwidth, floor, nyquist = max(bands), min(floors), min(rates) / 2
    position = given.position or min(FACTOR * bandwidth, floor, 0.8 * nyquist)
    if position >= nyquist:
        raise ProblemError(
            f"Cutoff: positions are cut off at {position:g} Hz, but half the sample rate is "
            f"{nyquist:g} Hz."
        )
    parallel = given.parallel or position
    why = "as given"
    if given.position is None:
        why = f"ten times the motion's bandwidth ({bandwidth:.3g} Hz)"
        if position < FACTOR * bandwidth:
            why = (
                f"where their spectrum meets its noise ({floor:.3g} Hz)"
                if position == floor
                else "0.8 of half the sample rate"
            )
    also = "there too" if parallel == position else f"at {parallel:.3g} Hz"
    text = (
        f"Positions are cut off at {position:.3g} Hz, {why}; forces and the columns of the "
        f"regressor {also}, by Butterworth filters of order {ORDER} run forwards and backwards."
    )
    return Filtering(bandwidth, floor, position, parallel, text)


def _spectrum(channel: Channel) -> tuple[float, float]:
    """Bandwidth of a position (Hz), and the frequency where its spectrum meets its floor."""
    from scipy.signal import periodogram  # slow to import, needed only here

    piece = max(channel.segments(BRIDGED), key=lambda s: s.stop - s.start)
    t, x = channel.time[piece], channel.values[piece, 0]
    n = len(t)
    rate = (n - 1) / (t[-1] - t[0]) if n > 1 else 0.0
    if n < 64 or np.ptp(x) == 0:
        return 0.0, rate / 2
    even = np.interp(np.linspace(t[0], t[-1], n), t, x)
    f, power = periodogram(even, rate, "hann", detrend="linear")
    floor = float(np.median(power[f > 0.8 * f[-1]]))
    above = np.cumsum(power[::-1])[::-1]
    band = float(f[int(np.argmax(above <= LEFT * above[0]))])
    # Medians over an octave, so that no single line decides.
    for low in f[1] * 2 ** np.arange(0, np.log2(f[-1] / f[1]), 0.25):
        inside = power[(f >= low) & (f < 2 * low)]
        if low > band and np.median(inside) < ABOVE_FLOOR * floor:
            return band, float(low)
    return band, float(f[-1])


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
    pause = BRIDGED_SHARE / filtering.position
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

"""Which frequencies of a recording a regression takes.

The rule, unless a cut-off is given (Gautier 1997; Swevers, Verdonck & De Schutter 2007):

1. The motion's bandwidth is the frequency above which 1 % of the amplitude of a position (1e-4 of
   its power) is left; that of the fastest joint counts.
2. Positions are cut off at ten times that, so that the filter does nothing to the motion, at most
   where their spectrum meets its own floor, above which derivatives are noise.
3. Forces and all columns of the regressor then go through the same filter: it commutes with the
   sum that is fitted, so it takes noise out and adds no bias. (At half the cut-off a Panda's model
   explains new motions a tenth worse, a TX40's no better.)
4. Of what is left, two samples are kept in each period of that cut-off: no more are independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graftsim.errors import ProblemError
from graftsim.model.model import Model
from graftsim.recordings.recording import Channel, Recording
from graftsim.selectors import row_name

# Share of the power above the bandwidth, cut-off over bandwidth, and the order of all filters.
LEFT, FACTOR, ORDER = 1e-4, 10.0, 4
# Above its floor: so many times the median power of the highest fifth of the frequencies.
ABOVE_FLOOR = 4.0
# Pauses of so many samples are bridged for a spectrum.
BRIDGED = 50.0


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


BY_RULE = Cutoff()


class Filtering(NamedTuple):
    """What was chosen, in Hz: bandwidth of the motion, frequency where the noise begins, cut-offs;
    and a sentence that says why.
    """

    bandwidth: float
    floor: float
    position: float
    parallel: float
    text: str


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

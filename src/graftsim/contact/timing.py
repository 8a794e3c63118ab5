"""When contacts close within a step, and the normal velocities that they may be left with.

Velocities of a step of length h that meets no contact go from u(0) to u(h) along each normal. A
contact with gap g is in one of these situations:

- it hits: it closes within the step, and faster than the accelerations of the step could make it.
  The step is cut where the first of these begins, after the root of g + t u(0) + t^2 a = 0, which
  is how semi-implicit Euler gets there;
- it has arrived: it is closed and approaches as fast. The impact is a piece of no length of the
  step, u_n >= -e u_n(0), and forces act on what it leaves behind;
- it closes otherwise, pressed together from near rest: Newton's law asks for u_n >= -e u_n(t) after
  t = -g / u_n, and what acts after t still accelerates;
- it is open: it must not close faster than it can, u_n >= -g / h;
- it overlaps: the same as closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from graftsim.spatial import safe
from graftsim.spatial.arithmetic import positive

# A velocity (m/s) that nothing reaches.
_FAR = 1e9
Each = Float[Array, " nc"]
Some = Bool[Array, " nc"]


class Timing(NamedTuple):
    """A piece of a step: how long (s), and as a share of what is left of the step; per contact the
    least normal velocity (m/s) and the time of impact (s), negative for what is over already.
    """

    end: Float[Array, ""]
    share: Float[Array, ""]
    target: Each
    delay: Each


def touching(dtype: jnp.dtype) -> float:
    """Gaps and overlaps below this (m) are rounding of places some metres from the origin."""
    return max(1e-9, 64 * float(jnp.finfo(dtype).eps))


def timing(
    depth: Each,
    before: Each,
    after: Each,
    e: Each,
    h: Float[Array, ""],
    cut: Bool[Array, ""] | bool,
) -> Timing:
    """Of the next piece of a step of which h seconds are left; all of it unless it may be `cut`."""
    if cut is False:
        none = jnp.zeros(len(depth), bool)
        return Timing(h, jnp.ones_like(h), *_targets(depth, before, after, e, h, none, none))
    fast = _fast(before, after)
    near = depth >= -touching(depth.dtype)
    arrived = fast & near & cut
    hits = fast & ~near & (h * after <= depth) & cut
    strikes = jnp.any(arrived)
    flies = jnp.any(hits) & ~strikes
    end = jnp.where(strikes, 0.0, jnp.where(flies, _first(depth, before, after, h, hits), h))
    share = end / h
    # Whole steps keep their velocities to the last bit.
    after = jnp.where(strikes | flies, before + share * (after - before), after)
    now, later = near & strikes, jnp.where(strikes, ~near, hits)
    return Timing(end, share, *_targets(depth, before, after, e, end, now, later))


def _fast(before: Each, after: Each) -> Some:
    """Whether contacts approach at more than the step's own change of velocity, and rounding."""
    rounding = float(jnp.finfo(before.dtype).eps) ** 0.5
    return before < -jnp.abs(after - before) - rounding


def _first(depth: Each, before: Each, after: Each, h: Float[Array, ""], hits: Some) -> Array:
    """Time to the first of the contacts that hit."""
    closing = jnp.stack([-depth, before, (after - before) / h])
    gap, v, a = jnp.where(hits, closing, _NEVER[:, None])
    # The first by gap over speed; divisions and roots for that one alone.
    gap, v, a = reduce(_sooner, list(zip(gap, v, a, strict=True)))
    # The smaller root, without a difference of nearly equal numbers.
    return 2 * gap / (safe.sqrt(v * v - 4 * a * gap) - v)


# A gap (m), speed and acceleration of what does not hit.
_NEVER = np.array([1e6, -1.0, 0.0])


def _sooner(x: Sequence[Array], y: Sequence[Array]) -> list[Array]:
    later = x[0] * y[1] < y[0] * x[1]
    return [jnp.where(later, b, a) for a, b in zip(x, y, strict=True)]


def _targets(
    depth: Each, before: Each, after: Each, e: Each, h: Float[Array, ""], now: Some, later: Some
) -> tuple[Each, Each]:
    """Least velocities and times of impact in a piece of length h, perhaps 0.

    `now`: contacts of an impact, `later`: those that the piece must not know of.
    """
    gap, gain = positive(-depth), after - before
    length = jnp.where(h > 0, h, 1.0)
    closes = now | (gap + h * after <= 0)
    approach = jnp.where(closes & (after < 0), -after, 1.0)
    # Pieces end where an impact begins to first order: it may be over by a little.
    over = now & (depth > 0) & (depth < _LITTLE * approach)
    delay = jnp.where(closes, jnp.where(over, -depth, gap) / approach, 0.0)
    arrival = before + delay / length * gain
    bounce = -e * arrival + (1 - delay / length) * gain
    # Equality counts, so that e = 0 has the slope of e > 0.
    bounce = jnp.where((arrival < 0) & (bounce >= 0), bounce, 0.0)
    target = jnp.where(closes | (depth > 0), bounce, -gap / length)
    return jnp.where(later, -_FAR, target), jnp.where(later, 0.0, delay)


# Seconds ago that an impact may have begun: what is deeper started inside.
_LITTLE = 1e-3

"""When contacts close within a step, and the normal velocities that they may be left with.

Velocities of a step of length h that meets no contact go from u(0) to u(h) along each normal. A
contact with gap g is in one of these situations:

- it hits: it closes within the step, and faster than the accelerations of the step could make it.
  The step is cut where the first of these begins, after the root of g + t u(0) + t^2 a = 0, which
  is how semi-implicit Euler gets there; the rest is a step of its own;
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

from graftsim.contact.collision.arithmetic import positive
from graftsim.spatial import safe

# A velocity (m/s) that nothing reaches.
_FAR = 1e9
Each = Float[Array, " nc"]


class Timing(NamedTuple):
    """Seconds that pass; per contact, the least normal velocity (m/s) and the time of impact (s).

    The time of an impact that is over already is negative.
    """

    end: Float[Array, ""]
    target: Each
    delay: Each


def touching(dtype: jnp.dtype) -> float:
    """Gaps and overlaps below this (m) are rounding of places some metres from the origin."""
    return max(1e-9, 64 * float(jnp.finfo(dtype).eps))


def first_impact(
    depth: Each, before: Each, after: Each, h: Float[Array, ""]
) -> tuple[Bool[Array, ""], Float[Array, ""], Bool[Array, " nc"]]:
    """Whether anything hits in a step of length h, when first (else h), and which contacts hit."""
    gap = -depth
    hits = (gap > touching(depth.dtype)) & (gap + h * after <= 0) & _fast(before, after)
    gap, v, a = jnp.where(hits, jnp.stack([gap, before, (after - before) / h]), _NEVER[:, None])
    # The first by gap over speed; divisions and roots for that one alone.
    gap, v, a = reduce(_sooner, list(zip(gap, v, a, strict=True)))
    # The smaller root, without a difference of nearly equal numbers.
    t = 2 * gap / (safe.sqrt(v * v - 4 * a * gap) - v)
    some = jnp.any(hits)
    return some, jnp.where(some, t, h), hits


# A gap (m), speed and acceleration of what does not hit.
_NEVER = np.array([1e6, -1.0, 0.0])


def _sooner(x: Sequence[Array], y: Sequence[Array]) -> list[Array]:
    later = x[0] * y[1] < y[0] * x[1]
    return [jnp.where(later, b, a) for a, b in zip(x, y, strict=True)]


def timing(
    depth: Each, before: Each, after: Each, e: Each, h: Float[Array, ""], late: Bool[Array, " nc"]
) -> Timing:
    """Targets of a step of length h that is not cut further; those that are `late` act not yet."""
    gap, gain = positive(-depth), after - before
    closes = gap + h * after <= 0
    approach = jnp.where(closes & (after < 0), -after, 1.0)
    # A step is cut to first order in its length: an impact may be over by a little.
    over = (depth > 0) & (depth < h * approach) & _fast(before, after)
    delay = jnp.where(closes, jnp.where(over, -depth, gap) / approach, 0.0)
    arrival = before + delay / h * gain
    bounce = -e * arrival + (1 - delay / h) * gain
    # Equality counts, so that e = 0 has the slope of e > 0.
    bounce = jnp.where((arrival < 0) & (bounce >= 0), bounce, 0.0)
    target = jnp.where(closes | (depth > 0), bounce, -gap / h)
    return Timing(h, jnp.where(late, -_FAR, target), jnp.where(late, 0.0, delay))


def _fast(before: Each, after: Each) -> Bool[Array, " nc"]:
    """Whether contacts approach at more than the step's own change of velocity."""
    return before < -jnp.abs(after - before)

"""Whether a step is short enough for a spring: an explicit step of h must resolve k and d."""

from __future__ import annotations

import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from graftsim.model.model import Model


def too_stiff(model: Model, exponent: Float[Array, ""], h: float) -> list[str]:
    """Sentences on the pairs whose contact a step of h seconds cannot follow.

    At the load of the whole weight W the spring's slope is k' = n k^(1/n) W^(1 - 1/n), the damper's
    W d. With the mass m of the lighter link, k' h^2 / m and W d h / m must stay below 1;
    semi-implicit Euler diverges at 4 and 2. Friction that is too steep chatters, but is bounded.
    """
    pair, mass = model.pair, model.link.mass
    numbers = (pair.stiffness, pair.dissipation, mass, model.world.gravity, exponent, h)
    if any(isinstance(x, Tracer) for x in numbers):
        return []
    masses, stiffness, dissipation = (
        np.asarray(x, float) for x in (mass, pair.stiffness, pair.dissipation)
    )
    n = float(exponent)
    weight = masses.sum() * (np.linalg.norm(np.asarray(model.world.gravity)) or 9.81)
    found = []
    for row, geoms in enumerate(pair.geoms):
        ends = [masses[k] for k in (model.geom.link[g] for g in geoms) if k >= 0]
        m = min((x for x in ends if x > 0), default=weight / 9.81)
        k, d = stiffness[row], dissipation[row]
        slopes = {
            "stiffness": n * k ** (1 / n) * weight ** (1 - 1 / n) * h * h / m,
            "dissipation": weight * d * h / m,
        }
        what = max(slopes, key=lambda key: slopes[key])
        if slopes[what] > 1:
            found.append(f"{pair.names[row]} ({what}, {slopes[what]:.2g} times too long)")
    return found

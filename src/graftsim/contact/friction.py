"""Coefficients of friction as functions of the sliding speed, each as a ratio to that speed.

A ratio c(v) / v is finite at v = 0, so friction -c(v) F_n v / |v| has the right derivative there.
mu is the coefficient of sliding, mu_s = mu + stribeck that of breaking away, v_0 the pair's
friction_velocity, r = v / v_0.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.spatial import safe

Speeds = Float[Array, " nc"]
Ratio = Callable[[Speeds, Speeds, Speeds, Speeds], Speeds]


def none(v: Speeds, mu: Speeds, extra: Speeds, v_0: Speeds) -> Speeds:
    """No friction."""
    return jnp.zeros_like(v)


def coulomb(v: Speeds, mu: Speeds, extra: Speeds, v_0: Speeds) -> Speeds:
    """mu tanh(r)."""
    return mu * safe.tanh_ratio(v / v_0) / v_0


def andersson(v: Speeds, mu: Speeds, extra: Speeds, v_0: Speeds) -> Speeds:
    """(mu + (mu_s - mu) exp(-(v / 10 v_0)^2)) tanh(r): Stribeck's curve (Andersson et al. 2007)."""
    level = mu + extra * jnp.exp(-((v / (10 * v_0)) ** 2))
    return level * safe.tanh_ratio(v / v_0) / v_0


def hollars(v: Speeds, mu: Speeds, extra: Speeds, v_0: Speeds) -> Speeds:
    """min(r, 1) (mu + 2 (mu_s - mu) / (1 + r^2)) (Hollars, after Sherman et al. 2011)."""
    r = v / v_0
    rising = r < 1
    share = jnp.where(rising, 1 / v_0, 1 / jnp.where(rising, 1.0, v))
    return share * (mu + 2 * extra / (1 + r * r))


def brown_mcphee(v: Speeds, mu: Speeds, extra: Speeds, v_0: Speeds) -> Speeds:
    """mu tanh(4 r) + (mu_s - mu) r / (r^2 / 4 + 3 / 4)^2 (Brown, McPhee 2016)."""
    r = v / v_0
    return (4 * mu * safe.tanh_ratio(4 * r) + extra / (r * r / 4 + 0.75) ** 2) / v_0


FRICTION: dict[str, Ratio] = {
    "none": none,
    "coulomb": coulomb,
    "andersson": andersson,
    "hollars": hollars,
    "brown_mcphee": brown_mcphee,
}

"""The regressor of the inertias: joint forces are linear in ten numbers of each link.

tau = Y(q, qd, qdd) phi, with phi of each link: mass, mass times centre of mass, and
the inertia about the link's origin (Atkeson, An & Hollerbach 1986). The columns are the derivative
of the recursive Newton-Euler algorithm by phi, which is the function itself for unit inertias.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.mechanism import prepare
from graftsim.dynamics.rnea import inverse_dynamics
from graftsim.model.model import Model
from graftsim.selectors import row_name
from graftsim.spatial import inertia

# Samples that are computed at once: few enough for a processor's cache.
_PORTION = 512
PARTS = ("", ".x", ".y", ".z", ".xx", ".yy", ".zz", ".xy", ".xz", ".yz")
_KIND = ("link.mass", *("link.moment",) * 3, *("link.inertia_o",) * 6)
UNITS = ("kg", *("kg m",) * 3, *("kg m^2",) * 6)


def moment_names(link: str) -> tuple[str, ...]:
    """Names of the ten numbers of a link: `link.mass`, `link.moment`, `link.inertia_o`."""
    return tuple(f"{row_name(k, link)}{p}" for k, p in zip(_KIND, PARTS, strict=True))


def ten_numbers(
    mass: Float[np.ndarray, "*k"],
    com: Float[np.ndarray, "*k 3"],
    inertia: Float[np.ndarray, "*k 6"],
) -> Float[np.ndarray, "*k 10"]:
    """Mass (kg), first moments (kg m), inertia about the origin (kg m^2), of that about com (m)."""
    m = np.asarray(mass)[..., None]
    return np.concatenate([m, m * com, inertia + m * _shift(com)], -1)


def body_of(ten: Float[np.ndarray, "*k 10"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass, centre of mass and inertia about it: the inverse of `ten_numbers`, for a mass not 0."""
    mass, com = ten[..., 0], ten[..., 1:4] / ten[..., :1]
    return mass, com, ten[..., 4:] - mass[..., None] * _shift(com)


def _shift(com: np.ndarray) -> Float[np.ndarray, "*k 6"]:
    """c.c 1 - c c^T as xx yy zz xy xz yz: from the centre of mass to the origin, per kg."""
    x, y, z = np.moveaxis(com, -1, 0)
    rows = (y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -x * z, -y * z)
    return np.stack(rows, -1)


def moments_of(model: Model) -> Float[np.ndarray, "nl 10"]:
    """The ten numbers of each link of a model: kg, kg m, kg m^2 about the link's origin."""
    link = model.link
    return ten_numbers(*(np.asarray(x) for x in (link.mass, link.com, link.inertia)))


def with_moments(model: Model, rows: np.ndarray, phi: Float[np.ndarray, "k 10"]) -> Model:
    """The model with the ten numbers of some links, all with mass, given anew."""
    link, dtype = model.link, model.link.mass.dtype
    new = []
    for old, value in zip((link.mass, link.com, link.inertia), body_of(phi), strict=True):
        whole = np.array(old)
        whole[rows] = value
        new.append(jnp.asarray(whole, dtype))
    return eqx.tree_at(lambda m: (m.link.mass, m.link.com, m.link.inertia), model, tuple(new))


def inertial_regressor(
    model: Model,
    q: Float[np.ndarray, "n nq"],
    qd: Float[np.ndarray, "n nv"],
    qdd: Float[np.ndarray, "n nv"],
) -> Float[np.ndarray, "n nv nl 10"]:
    """Y of a motion: joint forces (N m, N) of unit inertias, gravity's part included.

    Armature and passive forces are not in it. q in rad or m, quaternions of unit norm.
    """
    n = len(q)
    given = [np.asarray(x, float) for x in (q, qd, qdd)]
    full = -(-n // _PORTION) * _PORTION
    padded = [np.concatenate([x, np.repeat(x[-1:], full - n, 0)]) for x in given]
    portions = [x.reshape(-1, _PORTION, x.shape[-1]) for x in padded]
    Y = np.concatenate([np.asarray(_columns(model, *part)) for part in zip(*portions, strict=True)])
    return Y[:n]


@eqx.filter_jit
def _columns(
    model: Model, q: Float[Array, "k nq"], qd: Float[Array, "k nv"], qdd: Float[Array, "k nv"]
) -> Float[Array, "k nv nl 10"]:
    still = eqx.tree_at(lambda m: m.joint.armature, model, jnp.zeros(model.nv, q.dtype))
    ready = prepare(still)
    zero = jnp.zeros((model.tree.nl, 10), q.dtype)

    def forces(phi: Array, q: Array, qd: Array, qdd: Array) -> Array:
        m = eqx.tree_at(lambda m: m.I, ready, inertia.spatial_of_moments(phi))
        return inverse_dynamics(m, q, qd, qdd)

    return jax.vmap(jax.jacrev(forces), (None, 0, 0, 0))(zero, q, qd, qdd)

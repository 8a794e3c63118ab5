"""Between joint space and contact space: relative velocities, wrenches, the Delassus matrix."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.contact.detect import Contacts, Places
from graftsim.dynamics.aba import Articulated, Innovations
from graftsim.model.tree import Tree
from graftsim.spatial.rotation import cross
from graftsim.spatial.transform import Transform, rotate
from graftsim.spatial.vectors import mirror


def relative_velocities(
    contacts: Contacts, at: Places, X_0: Transform, v: Float[Array, "nl 6"]
) -> Float[Array, "nc 3"]:
    """Velocity of the second body against the first, in each contact's frame (m/s; + apart)."""
    world = X_0.motion_inverse(v)
    world = jnp.concatenate([world, jnp.zeros_like(world[:1])])
    apart = world[at.second] - world[at.first]
    linear = apart[:, 3:] + cross(apart[:, :3], contacts.position)
    return rotate(contacts.frame, linear)


def wrenches(
    contacts: Contacts, at: Places, X_0: Transform, force: Float[Array, "nc 3"]
) -> Float[Array, "nl 6"]:
    """Spatial forces on the links, in them, of forces in the contacts' frames (on the second)."""
    world = jnp.einsum("nkj,nk->nj", contacts.frame, force)
    spatial = jnp.concatenate([cross(contacts.position, world), world], -1)
    signs = jnp.asarray(_signs(at, X_0.r.shape[0]), force.dtype)
    return X_0.force(signs @ spatial)


def coupled(tree: Tree, at: Places) -> np.ndarray:
    """[nc, nc]: which contacts feel each other, since they touch one mechanism."""
    root = {-1: -1}
    for i, parent in enumerate(tree.parent):
        root[i] = i if parent < 0 else root[parent]
    ends = [{root[int(a)], root[int(b)]} - {-1} for a, b in zip(at.first, at.second, strict=True)]
    return np.array([[bool(x & y) for y in ends] for x in ends])


class Impulses(NamedTuple):
    """What unit impulses at the contacts do to the joints: see `Articulated.half`."""

    articulated: Articulated
    z: Innovations
    y: Innovations

    def delassus(self) -> Float[Array, "3nc 3nc"]:
        """J H^-1 J^T (1/kg): velocities at the contacts by impulses at the contacts."""
        z, y = (
            jnp.concatenate([x.reshape(-1, x.shape[-1]) for level in side for x in level])
            for side in (self.z, self.y)
        )
        return mirror(z.T @ y)

    def respond(self, impulses: Float[Array, "3nc k"]) -> Float[Array, "nv k"]:
        """H^-1 J^T lambda: changes of the joint velocities."""
        return self.articulated.respond([[y @ impulses for y in level] for level in self.y])


def unit_impulses(
    articulated: Articulated, contacts: Contacts, at: Places, X_0: Transform
) -> Impulses:
    """Response to a unit impulse in each direction of each contact."""
    nc, nl = contacts.depth.shape[0], X_0.r.shape[0]
    arm = jnp.broadcast_to(contacts.position[:, None], contacts.frame.shape)
    spatial = jnp.concatenate([cross(arm, contacts.frame), contacts.frame], -1)
    signs = jnp.asarray(_signs(at, nl), spatial.dtype)
    # Every link's view of every direction; links that a contact does not touch have zeros.
    by_link = Transform(X_0.E[:, None], X_0.r[:, None]).force(spatial.reshape(1, 3 * nc, 6))
    f = jnp.repeat(signs, 3, axis=1)[:, :, None] * by_link
    u = articulated.innovations(jnp.swapaxes(f, -1, -2))
    return Impulses(articulated, *articulated.half(u))


def _signs(at: Places, nl: int) -> np.ndarray:
    """[nl, nc]: +1 where the link carries the second shape, -1 the first."""
    link = np.arange(nl)[:, None]
    return (link == at.second).astype(float) - (link == at.first)

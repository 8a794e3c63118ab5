"""Between joint space and contact space: relative velocities, wrenches, the Delassus matrix."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.contact.detect import Contacts, Places
from graftsim.dynamics.constraints import Constrained, Inertia
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
    signs = jnp.asarray(signs_of(at, X_0.r.shape[0]), force.dtype)
    return X_0.force(signs @ spatial)


def coupled(tree: Tree, at: Places) -> np.ndarray:
    """[nc, nc]: which contacts feel each other, since they touch one mechanism."""
    root = {-1: -1}
    for i, parent in enumerate(tree.parent):
        root[i] = i if parent < 0 else root[parent]
    ends = [{root[int(a)], root[int(b)]} - {-1} for a, b in zip(at.first, at.second, strict=True)]
    return np.array([[bool(x & y) for y in ends] for x in ends])


class Impulses(NamedTuple):
    """What unit impulses at the contacts do to the joints: see `Articulated.innovations`."""

    articulated: Inertia
    z: Float[Array, "n 3nc"]
    y: Float[Array, "n 3nc"]

    def delassus(self) -> Float[Array, "3nc 3nc"]:
        """J H^-1 J^T (1/kg): velocities at the contacts by impulses at the contacts."""
        return mirror(self.z.T @ self.y)

    def response(self, impulses: Float[Array, "3nc k"]) -> Float[Array, "nv k"]:
        """H^-1 J^T lambda: changes of the joint velocities."""
        return self.articulated.response(self.y @ impulses)

    def held(self, impulses: Float[Array, " 3nc"]) -> Float[Array, " m"] | tuple[()]:
        """Impulses of the loops that answer those at the contacts; () without loops."""
        if not isinstance(self.articulated, Constrained):
            return ()
        return self.articulated.answer(self.y @ impulses)


def unit_impulses(
    articulated: Inertia,
    contacts: Contacts,
    signs: Float[Array, "nl nc"],
    X_0: Transform,
    unroll: bool,
) -> Impulses:
    """Response to a unit impulse in each direction of each contact.

    `unroll`: all at once, so that links which a contact does not touch cost nothing, or in a loop
    over the contacts, whose code is short.
    """

    def innovations(
        position: Float[Array, "k 3"], frame: Float[Array, "k 3 3"], sign: Float[Array, "nl k"]
    ) -> tuple[Float[Array, "nv 3k"], Float[Array, "nv 3k"]]:
        arm = jnp.broadcast_to(position[:, None], frame.shape)
        spatial = jnp.concatenate([cross(arm, frame), frame], -1).reshape(1, -1, 6)
        # Unit wrenches of every direction, in the axes of every link.
        by_link = Transform(X_0.E[:, None], X_0.r[:, None]).force(spatial)
        return articulated.innovations(jnp.repeat(sign, 3, axis=1)[:, :, None] * by_link)

    if unroll:
        return Impulses(articulated, *innovations(contacts.position, contacts.frame, signs))
    z, y = jax.lax.map(
        lambda c: innovations(c[0][None], c[1][None], c[2][:, None]),
        (contacts.position, contacts.frame, signs.T),
    )
    z, y = (jnp.moveaxis(x, 0, 1).reshape(x.shape[1], -1) for x in (z, y))
    return Impulses(articulated, z, y)


def signs_of(at: Places, nl: int) -> np.ndarray:
    """[nl, nc]: +1 where the link carries the second shape, -1 the first."""
    link = np.arange(nl)[:, None]
    return (link == at.second).astype(float) - (link == at.first)

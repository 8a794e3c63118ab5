"""Parameters that move several leaves at once: a link's length or inertia, a joint's tilt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.errors import ProblemError
from graftsim.model.model import Model
from graftsim.selectors import Selector, row_name
from graftsim.spatial import inertia, rotation

Change = Callable[[Model, Float[Array, " n"]], Model]
Described = tuple[tuple[str, ...], np.ndarray, str, Change]


def _links(model: Model, selector: Selector, names: tuple[str, ...]) -> tuple[int, ...]:
    rows = selector.rows(names)
    if not rows:
        raise ProblemError(f"'{selector}' selects nothing. {selector.nearest(names)}")
    return rows


def link_length(model: Model, selector: Selector) -> Described:
    """`link.length`: stretches a link by its length, from its joint to the farthest thing on it.

    Centre of mass, the joints of its children, and the frames and shapes on it move in proportion;
    mass and inertia about the centre of mass stay.
    """
    tree = model.tree
    rows = _links(model, selector, tree.links)
    lengths = []
    for i in rows:
        children = [j for j, p in enumerate(tree.parent) if p == i]
        ends = [np.asarray(model.joint.origin[j]) for j in children] or [
            np.asarray(model.link.com[i])
        ]
        lengths.append(max(float(np.linalg.norm(e)) for e in ends))
        if lengths[-1] == 0:
            raise ProblemError(f"link.length[{tree.links[i]}]: the link has no extent to stretch.")
    start = np.array(lengths)

    def per_row(owner: np.ndarray, ratio: Array) -> Array:
        """Stretch of each row by the link it belongs to; 1 where that is not stretched."""
        table = jnp.ones(tree.nl + 1, ratio.dtype).at[np.array(rows)].set(ratio)
        return table[owner][:, None]

    def change(m: Model, x: Array) -> Model:
        ratio = x / start
        parent, frame, geom = (np.array(k, int) for k in (tree.parent, m.frame.link, m.geom.link))
        return eqx.tree_at(
            lambda t: (t.link.com, t.joint.origin, t.frame.position, t.geom.position),
            m,
            (
                m.link.com * per_row(np.arange(tree.nl), ratio),
                m.joint.origin * per_row(parent, ratio),
                m.frame.position * per_row(frame, ratio),
                m.geom.position * per_row(geom, ratio),
            ),
        )

    return tuple(row_name("link.length", tree.links[i]) for i in rows), start, "m", change


def link_inertial(model: Model, selector: Selector) -> Described:
    """`link.inertial`: mass, centre of mass and inertia by log-Cholesky coordinates, ten a link.

    Whatever their values, the link stays a body that can exist (Rucker & Wensing 2022).
    """
    tree = model.tree
    rows = np.array(_links(model, selector, tree.links))
    start = np.asarray(
        inertia.log_cholesky(model.link.mass[rows], model.link.com[rows], model.link.inertia[rows])
    )
    if not np.all(np.isfinite(start)):
        bad = tree.links[rows[int(np.argmin(np.isfinite(start).all(1)))]]
        raise ProblemError(
            f"link.inertial[{bad}]: log-Cholesky coordinates need mass, and extent in every "
            "direction; a point mass or a flat body has none. Free link.mass, link.com or "
            "link.inertia instead."
        )
    parts = ("log_d1", "log_d2", "log_d3", "log_d4", "s12", "s13", "s23", "t1", "t2", "t3")
    names = tuple(f"{row_name('link.inertial', tree.links[i])}.{p}" for i in rows for p in parts)

    def change(m: Model, x: Array) -> Model:
        mass, com, six = inertia.from_log_cholesky(x.reshape(len(rows), 10))
        return eqx.tree_at(
            lambda t: (t.link.mass, t.link.com, t.link.inertia),
            m,
            (
                m.link.mass.at[rows].set(mass),
                m.link.com.at[rows].set(com),
                m.link.inertia.at[rows].set(six),
            ),
        )

    return names, start.reshape(-1), "log-Cholesky", change


def joint_tilt(model: Model, selector: Selector) -> Described:
    """`joint.tilt`: a rotation vector (rad) applied to a joint's orientation in its parent."""
    names = model.tree.joints
    rows = np.array(_links(model, selector, names))

    def change(m: Model, x: Array) -> Model:
        turn = rotation.exponential(x.reshape(len(rows), 3))
        turned = rotation.multiply(m.joint.rotation[rows], turn)
        return eqx.tree_at(lambda t: t.joint.rotation, m, m.joint.rotation.at[rows].set(turned))

    labels = tuple(f"{row_name('joint.tilt', names[i])}.{c}" for i in rows for c in "xyz")
    return labels, np.zeros(3 * len(rows)), "rad", change


COMPOUND: dict[str, Callable[[Model, Selector], Any]] = {
    "link.length": link_length,
    "link.inertial": link_inertial,
    "joint.tilt": joint_tilt,
}

"""What the recursions read, computed once from a model: fixed transforms, unit axes, 6x6 inertias.

It depends on parameters alone, so a roll-out computes it before its time loop.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.model.model import Model
from graftsim.model.tree import Tree
from graftsim.spatial import inertia, rotation, safe
from graftsim.spatial.transform import Transform


class Mechanism(eqx.Module):
    """A model made ready: `X_tree` takes each parent's coordinates to the joint's [RBDA 4.2]."""

    model: Model
    X_tree: Transform
    axis: Float[Array, "nl 3"]
    I: Float[Array, "nl 6 6"]

    @property
    def tree(self) -> Tree:
        """Topology."""
        return self.model.tree


def prepare(model: Model | Mechanism) -> Mechanism:
    """Make a model ready for the recursions; one that is ready is returned as it is."""
    if isinstance(model, Mechanism):
        return model
    joint, link = model.joint, model.link
    return Mechanism(
        model=model,
        X_tree=Transform(rotation.transpose(rotation.matrix(joint.rotation)), joint.origin),
        axis=safe.normalise(joint.axis),
        I=inertia.spatial(link.mass, link.com, link.inertia),
    )


def rows(x: Float[Array, "n ..."], index: np.ndarray) -> Float[Array, "k ..."]:
    """x[index] for a static index >= 0: x itself, a slice, a row for all, or a gather."""
    n = len(index)
    if n == 0:
        return x[:0]
    first, step = int(index[0]), int(index[1] - index[0]) if n > 1 else 1
    if np.array_equal(index, first + step * np.arange(n)) and step >= 0:
        if step == 0:
            return jnp.broadcast_to(x[first], (n, *x.shape[1:]))
        whole = (first, step, n) == (0, 1, x.shape[0])
        return x if whole else jax.lax.slice_in_dim(x, first, int(index[-1]) + 1, step)
    numbers = jax.lax.GatherDimensionNumbers(
        offset_dims=tuple(range(1, x.ndim)), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    return jax.lax.gather(
        x, index[:, None], numbers, (1, *x.shape[1:]), mode="promise_in_bounds",
        unique_indices=len(np.unique(index)) == n,
    )  # fmt: skip


def assemble(pieces: list[Float[Array, "k ..."]], index: list[np.ndarray]) -> Float[Array, "n ..."]:
    """Put pieces, whose rows have the given static places, together in order of place."""
    x = pieces[0] if len(pieces) == 1 else jnp.concatenate(pieces)
    return rows(x, np.argsort(np.concatenate(index), kind="stable"))


def joint_rows(x: Float[Array, "n ..."], index: np.ndarray, k: int) -> Float[Array, "k m ..."]:
    """Rows of x that belong to k joints of one type, m each; `index` as `tree.q_rows` has it."""
    return rows(x, index).reshape(k, len(index) // k, *x.shape[1:])


def by_joint_type(
    tree: Tree,
    f: Callable[..., Float[Array, "k m"]],
    given: list[tuple[Float[Array, " n"], tuple[np.ndarray, ...]]],
    out: tuple[np.ndarray, ...],
) -> Float[Array, " n"]:
    """f(joint type, rows of each given array) for all joints of a type at once, put in order.

    Each given array comes with `tree.q_rows` or `tree.v_rows`, whichever its rows are; `out` says
    the same of what f returns. Joints without a row in `out` are passed over.
    """
    pieces, places = [], []
    for g, (kind, links) in enumerate(tree.groups):
        if len(out[g]):
            own = (joint_rows(x, index[g], len(links)) for x, index in given)
            pieces.append(f(kind, *own).reshape(-1))
            places.append(out[g])
    return assemble(pieces, places) if pieces else jnp.zeros(0, given[0][0].dtype)


def to_parents(tree: Tree, d: int, x: Float[Array, "k ..."]) -> Float[Array, "p ..."]:
    """Sum rows of the links at depth d into rows of the links at depth d - 1 that carry them."""
    parent = np.asarray(tree.parent)[tree.levels[d]]
    above = tree.levels[d - 1]
    incidence = (above[:, None] == parent[None, :]).astype(float)
    if np.array_equal(incidence, np.eye(len(above))):
        return x
    return jnp.tensordot(jnp.asarray(incidence, x.dtype), x, 1)


def from_parents(tree: Tree, d: int, x: Float[Array, "p ..."]) -> Float[Array, "k ..."]:
    """Rows of the parents (at depth d - 1) of the links at depth d."""
    place = {int(link): i for i, link in enumerate(tree.levels[d - 1])}
    return rows(x, np.array([place[tree.parent[i]] for i in tree.levels[d]]))

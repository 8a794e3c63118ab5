"""Articulated-Body Algorithm: forward dynamics in O(n) [RBDA 7.3, table 7.1], level by level."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.mechanism import (
    Mechanism,
    assemble,
    from_parents,
    rows,
    to_parents,
)
from graftsim.dynamics.motion import JointMotion, at, per_link, velocity_bias
from graftsim.model.tree import Tree
from graftsim.solvers.small import backward, factorise, forward, solve
from graftsim.spatial.transform import Transform
from graftsim.spatial.vectors import apply, cross_force, mirror


def aba(
    m: Mechanism,
    motion: JointMotion,
    v: Float[Array, "nl 6"],
    tau: Float[Array, " nv"],
    f_ext: Float[Array, "nl 6"] | None,
    *,
    armature: Float[Array, " nv"],
    known: Float[Array, " nv"] | None = None,
) -> Float[Array, " nv"]:
    """Passes 2 and 3 of the algorithm, given joint motion and link velocities (pass 1).

    known: the accelerations of joints whose motion is prescribed (`Model.guided`), 0 of others:
    hybrid dynamics [RBDA 9.2]. Such a joint carries on as a fixed one, with S qdd in its c.
    """
    tree = m.tree
    held = held_by(m, known)
    c = velocity_bias(motion, v)
    if known is not None:
        c = c + per_link(tree, motion.S * known[:, None])
    p = cross_force(v, apply(m.I, v))
    if f_ext is not None:
        p = p - f_ext

    groups = _inwards(m, motion, c, p, tau, armature, held)
    qdd = _outwards(m, motion, c, groups)
    places = [g.dofs.reshape(-1) for g in _moving(groups)]
    if known is not None and held:
        places.append(_dofs(tree, held))
        qdd.append(rows(known, places[-1]))
    return assemble(qdd, places) if qdd else tau


def held_by(m: Mechanism, known: Float[Array, " nv"] | None) -> tuple[int, ...]:
    """Links whose joints do not answer to forces, since their accelerations are given."""
    return () if known is None else m.model.guided


def articulated_inertia(
    m: Mechanism,
    motion: JointMotion,
    held: tuple[int, ...] = (),
    armature: Float[Array, " nv"] | None = None,
) -> Articulated:
    """The factorised inertia alone, which impulses need.

    held: links whose joints do not move. armature: instead of the model's.
    """
    armature = m.model.joint.armature if armature is None else armature
    p = jnp.zeros((m.tree.nl, 6), motion.S.dtype)
    tau = jnp.zeros(m.tree.nv, motion.S.dtype)
    groups = _inwards(m, motion, p, p, tau, armature, held)
    return Articulated(m.tree, motion.X_up, groups, held)


def _inwards(
    m: Mechanism,
    motion: JointMotion,
    c: Float[Array, "nl 6"],
    p: Float[Array, "nl 6"],
    tau: Float[Array, " nv"],
    armature: Float[Array, " nv"],
    held: tuple[int, ...],
) -> list[list[_Group]]:
    """Pass 2, from the tips inwards: articulated inertias I_A and bias forces p_A by level."""
    tree = m.tree
    groups_of_level: list[list[_Group]] = [[] for _ in tree.levels]
    I_A = p_A = None
    for d in reversed(range(len(tree.levels))):
        index = tree.levels[d]
        I_own, p_own = rows(m.I, index), rows(p, index)
        I_A = I_own if I_A is None else I_own + to_parents(tree, d + 1, I_A)
        p_A = p_own if p_A is None else p_own + to_parents(tree, d + 1, p_A)
        groups = [
            _Group(g, tree, motion, I_A, p_A, tau, armature) for g in _by_freedom(tree, index, held)
        ]
        groups_of_level[d] = groups
        if d > 0:
            places = [g.places for g in groups]
            c_level = rows(c, index)
            Ia = assemble([g.inertia_through() for g in groups], places)
            pa = assemble([g.bias_through(c_level) for g in groups], places)
            X_d = at(motion.X_up, index)
            I_A, p_A = X_d.inertia_inverse(Ia), X_d.force_inverse(pa)
    return groups_of_level


def _outwards(
    m: Mechanism, motion: JointMotion, c: Float[Array, "nl 6"], groups: list[list[_Group]]
) -> list[Float[Array, " k"]]:
    """Pass 3, from the roots outwards: accelerations of joints, by group.

    The base accelerates against gravity, which stands for the weight of every link.
    """
    tree, gravity = m.tree, m.model.world.gravity
    a_base = jnp.concatenate([jnp.zeros_like(gravity), -gravity])
    a: list[Float[Array, "k 6"]] = []
    qdd = []
    for d, index in enumerate(tree.levels):
        above = a_base[None] if d == 0 else from_parents(tree, d, a[-1])
        above = jnp.broadcast_to(above, (len(index), 6))
        a_prime = at(motion.X_up, index).motion(above) + rows(c, index)
        pieces = []
        for g in groups[d]:
            qdd_g, a_g = g.accelerate(a_prime)
            pieces.append(a_g)
            if g.n > 0:
                qdd.append(qdd_g.reshape(-1))
        a.append(assemble(pieces, [g.places for g in groups[d]]))
    return qdd


def _moving(groups_of_level: list[list[_Group]]) -> list[_Group]:
    """Groups of joints that move, in the order of pass 3."""
    return [g for groups in groups_of_level for g in groups if g.n > 0]


class Articulated:
    """The joint-space inertia H factorised, as pass 2 leaves it behind.

    A unit impulse on a link meets the joints on its way inwards; what each joint then feels is its
    innovation u. With it J H^-1 J^T is u^T D^-1 u, without a way back outwards (Rodriguez, Jain,
    Kreutz-Delgado 1991), and H^-1 J^T lambda one way outwards for the sum of all impulses.
    Innovations stand in the order in which groups of joints are met on the way outwards. Joints of
    `held` links do not move and have none.
    """

    def __init__(
        self,
        tree: Tree,
        X_up: Transform,
        groups_of_level: list[list[_Group]],
        held: tuple[int, ...] = (),
    ) -> None:
        self.tree, self.X_up, self.groups_of_level, self.held = tree, X_up, groups_of_level, held

    def innovations(
        self, f: Float[Array, "nl k 6"], tau: Float[Array, "nv k"] | None = None
    ) -> tuple[Float[Array, "nv k"], Float[Array, "nv k"]]:
        """z = L^-1 u and y = d^-1 z, D = L d L^T: u^T D^-1 u is z^T y.

        u are the innovations under k sets of impulses: f at the links' origins, in them, and tau
        on the degrees of freedom.
        """
        tree = self.tree
        z: list[Float[Array, "ln k"]] = []
        y: list[Float[Array, "ln k"]] = []
        carried = None
        for d in reversed(range(len(tree.levels))):
            p = -rows(f, tree.levels[d])
            if carried is not None:
                p = p + to_parents(tree, d + 1, carried)
            pieces, places = [], []
            for g in self.groups_of_level[d]:
                p_g = rows(p, g.places)
                if g.n > 0:
                    u = -jnp.einsum("lni,lki->lnk", g.S, p_g)
                    if tau is not None:
                        u = u + rows(tau, g.dofs.reshape(-1)).reshape(u.shape)
                    p_g = p_g + jnp.einsum("lni,lnk->lki", g.Dinv_U, u)
                    z_g = forward(g.upper, u)
                    z.insert(0, z_g.reshape(-1, f.shape[1]))
                    y.insert(0, (z_g / g.d[..., None]).reshape(-1, f.shape[1]))
                pieces.append(p_g)
                places.append(g.places)
            if d > 0:
                carried = self._many(d).force_inverse(assemble(pieces, places))
        if not z:
            return jnp.zeros((0, f.shape[1])), jnp.zeros((0, f.shape[1]))
        return jnp.concatenate(z), jnp.concatenate(y)

    def response(self, y: Float[Array, "nv k"]) -> Float[Array, "nv k"]:
        """Changes of the joint velocities under k sets of impulses, given `innovations` of them."""
        tree, k = self.tree, y.shape[-1]
        above: Float[Array, "l k 6"] | None = None
        out, dofs, begin = [], [], 0
        for d in range(len(tree.levels)):
            if above is not None:
                above = self._many(d).motion(from_parents(tree, d, above))
            pieces, places = [], []
            # `innovations` goes through the groups of a level the other way round.
            for g in reversed(self.groups_of_level[d]):
                at_rest = jnp.zeros((len(g.places), k, 6), y.dtype)
                a = at_rest if above is None else rows(above, g.places)
                if g.n > 0:
                    size = len(g.places) * g.n
                    own = y[begin : begin + size].reshape(len(g.places), g.n, k)
                    begin += size
                    dv = backward(g.upper, own) - jnp.einsum("lni,lki->lnk", g.Dinv_U, a)
                    a = a + jnp.einsum("lni,lnk->lki", g.S, dv)
                    out.append(dv.reshape(-1, k))
                    dofs.append(g.dofs.reshape(-1))
                pieces.append(a)
                places.append(g.places)
            above = assemble(pieces, places)
        if self.held:
            dofs.append(_dofs(tree, self.held))
            out.append(jnp.zeros((len(dofs[-1]), k), y.dtype))
        return assemble(out, dofs)

    def _many(self, d: int) -> Transform:
        """From the parents to the links at depth d, for several vectors of each."""
        X = at(self.X_up, self.tree.levels[d])
        return Transform(X.E[:, None], X.r[:, None])


def _dofs(tree: Tree, links: tuple[int, ...]) -> np.ndarray:
    """Degrees of freedom of links."""
    return np.concatenate([tree.v_index[i] for i in links])


def _by_freedom(
    tree: Tree, index: np.ndarray, held: tuple[int, ...]
) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Links of a level by number of degrees of freedom n: (n, their places in the level, links).

    Those that are held have none.
    """
    n = np.array([0 if i in held else tree.joint_types[i].nv for i in index])
    return [(int(k), np.flatnonzero(n == k), index[n == k]) for k in np.unique(n)]


class _Group:
    """Links of one level whose joints have the same number n of freedoms: U, D, u of table 7.1."""

    def __init__(
        self,
        group: tuple[int, np.ndarray, np.ndarray],
        tree: Tree,
        motion: JointMotion,
        I_A: Float[Array, "k 6 6"],
        p_A: Float[Array, "k 6"],
        tau: Float[Array, " nv"],
        armature: Float[Array, " nv"],
    ) -> None:
        self.n, self.places, links = group
        self.root = links[0] in tree.levels[0]
        self.I_A, self.p_A = rows(I_A, self.places), rows(p_A, self.places)
        if self.n == 0:
            return
        self.dofs = np.stack([tree.v_index[i] for i in links])
        k, n = self.dofs.shape
        flat = self.dofs.reshape(-1)
        self.S = rows(motion.S, flat).reshape(k, n, 6)
        # U = I_A S, D = S^T U + armature, u = tau - S^T p_A; D^-1 is applied to [U | u] at once.
        U = jnp.einsum("kij,knj->kni", self.I_A, self.S)
        D = jnp.einsum("kni,kmi->knm", self.S, U)
        D = D + rows(armature, flat).reshape(k, n, 1) * jnp.eye(n, dtype=D.dtype)
        u = rows(tau, flat).reshape(k, n) - jnp.einsum("kni,ki->kn", self.S, self.p_A)
        scaled, self.d = factorise(jnp.concatenate([D, U, u[..., None]], -1))
        self.upper = scaled[..., :n]
        solved = backward(self.upper, scaled[..., n:])
        self.D, self.U, self.Dinv_U, self.Dinv_u = D, U, solved[..., :6], solved[..., 6]
        self.u = u

    def inertia_through(self) -> Float[Array, "k 6 6"]:
        """I_a = I_A - U D^-1 U^T: what the parent feels through the joint."""
        if self.n == 0:
            return self.I_A
        return mirror(self.I_A - jnp.einsum("kni,knj->kij", self.U, self.Dinv_U))

    def bias_through(self, c_level: Float[Array, "l 6"]) -> Float[Array, "k 6"]:
        """p_a = p_A + I_a c + U D^-1 u."""
        p_a = self.p_A + apply(self.inertia_through(), rows(c_level, self.places))
        return p_a if self.n == 0 else p_a + jnp.einsum("kni,kn->ki", self.U, self.Dinv_u)

    def accelerate(
        self, a_level: Float[Array, "l 6"]
    ) -> tuple[Float[Array, "k n"], Float[Array, "k 6"]]:
        """qdd = D^-1 (u - U^T a'), a = a' + S qdd."""
        a = rows(a_level, self.places)
        if self.n == 0:
            return jnp.zeros((len(self.places), 0), a.dtype), a
        if self.root and self.n > 1:
            # No parent needs D^-1 U, so one right-hand side is solved for instead of seven.
            u = self.u - jnp.einsum("kni,ki->kn", self.U, a)
            qdd = solve(self.D, u[..., None])[..., 0]
        else:
            qdd = self.Dinv_u - jnp.einsum("kni,ki->kn", self.Dinv_U, a)
        return qdd, a + jnp.einsum("kni,kn->ki", self.S, qdd)

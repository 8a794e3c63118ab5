"""Closed loops and couplings as rows of equations: phi(q) = 0, J qd = 0, J qdd + (dJ/dt) qd = 0.

Forces that hold them do no work on motions that they allow: they are J^T lambda, and lambda solves

    K lambda = -(J qdd_free + (dJ/dt) qd),    K = J H^-1 J^T.

H^-1 comes from the articulated factorisation of the tree, as for contacts: no mass matrix is made.
For whatever acts besides, the mechanism then has the inverse inertia

    H^-1 - H^-1 J^T K^-1 J H^-1,

which is what `Constrained` answers with: impulses of contacts that know it leave the loops closed.

The second link of a loop moves against the first with (w; v) = X_A (V_b - V_a), A a frame in the
first with its origin in the anchor; and, V's being carried along [RBDA 2.8],
d/dt (w; v) = X_A (A_b - A_a - V_a x V_b).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.aba import Articulated
from graftsim.dynamics.mechanism import Mechanism
from graftsim.dynamics.motion import JointMotion, at, link_velocity, velocity_bias
from graftsim.dynamics.paths import posed, tendon_arms, tendon_drift
from graftsim.model.loops import POWERS
from graftsim.solvers.semidefinite import solver
from graftsim.spatial import rotation
from graftsim.spatial.rotation import cross, transpose
from graftsim.spatial.transform import Transform, rotate
from graftsim.spatial.vectors import cross_motion, mirror


class Rows(NamedTuple):
    """Of m equations: J, phi, J qd, (dJ/dt) qd."""

    J: Float[Array, "m nv"]
    error: Float[Array, " m"]
    rate: Float[Array, " m"]
    bias: Float[Array, " m"]


class Pose(NamedTuple):
    """What the rows are made of: joint motion, where links are and how they move, displacements.

    X_0: None where there are couplings alone.
    """

    motion: JointMotion
    X_0: Transform | None
    v: Float[Array, "nl 6"]
    q_dof: Float[Array, " nv"]
    qd: Float[Array, " nv"]


def rows_of(m: Mechanism, pose: Pose) -> Rows:
    """Rows of all loops, by kind, then of the couplings."""
    parts = [_coupling_rows(m, pose)] if m.model.coupling.names else []
    if m.model.loop.names:
        parts = [*_loop_rows(m, pose), *parts]
    return Rows(*(jnp.concatenate(x) for x in zip(*parts, strict=True)))


def _loop_rows(m: Mechanism, pose: Pose) -> list[Rows]:
    """Rows of the loops of each kind."""
    tree, loop = m.tree, m.model.loop
    motion, X_0, dtype = pose.motion, pose.X_0, pose.qd.dtype
    assert X_0 is not None
    # Link -1, the world, is the last row.
    E = jnp.concatenate([X_0.E, jnp.eye(3, dtype=dtype)[None]])
    r = jnp.concatenate([X_0.r, jnp.zeros((1, 3), dtype)])
    bias = link_velocity(tree, motion._replace(v_J=velocity_bias(motion, pose.v)))
    V, A = (_with_world(X_0.motion_inverse(x)) for x in (pose.v, bias))
    S_0 = at(X_0, tree.link_of_dof).motion_inverse(motion.S)
    moved = np.concatenate([tree.ancestor[tree.link_of_dof].T, np.zeros((1, tree.nv), bool)])
    ends = np.array(loop.links)
    found = []
    for kind, which in loop.groups:
        a, b = ends[which].T
        x_a, x_b = (
            r[i] + rotate(transpose(E[i]), x[which])
            for i, x in ((a, loop.anchor), (b, loop.opposite))
        )
        X_A = Transform(E[a], x_a)
        p = rotate(E[a], x_b - x_a)
        turn = E[a] @ transpose(E[b])
        if kind.turns:
            turn = turn @ transpose(rotation.matrix(loop.rotation[which]))
        v = X_A.motion(V[b] - V[a])
        a_rel = X_A.motion(A[b] - A[a] - cross_motion(V[a], V[b]))
        # What carries both links does not move one against the other.
        sign = jnp.asarray(moved[b].astype(float) - moved[a], dtype)[:, :, None]
        S_A = Transform(X_A.E[:, None], X_A.r[:, None]).motion(S_0[None]) * sign
        L = kind.directions(p)
        p_dot = v[:, 3:] + cross(v[:, :3], p)
        found.append(
            Rows(
                jnp.einsum("kmi,kni->kmn", L, S_A).reshape(-1, tree.nv),
                kind.error(turn, p).reshape(-1),
                jnp.einsum("kmi,ki->km", L, v).reshape(-1),
                (jnp.einsum("kmi,ki->km", L, a_rel) + kind.drift(v[:, :3], p_dot)).reshape(-1),
            )
        )
    return found


def _coupling_rows(m: Mechanism, pose: Pose) -> Rows:
    """first - sum of c_k (second - reference)^k."""
    tendon, coupling, nv = m.model.tendon, m.model.coupling, m.tree.nv
    dtype = pose.qd.dtype
    space = posed(m, pose.motion, pose.X_0) if tendon.path else None
    arms = tendon_arms(tendon, pose.q_dof, space)
    every = jnp.concatenate([jnp.eye(nv, dtype=dtype), arms.C, jnp.zeros((1, nv), dtype)])
    length = jnp.concatenate([pose.q_dof, arms.length, jnp.zeros(1, dtype)])
    pairs = zip(coupling.dofs, coupling.tendons, strict=True)
    ends = np.array([[_row(d, t, nv) for d, t in zip(*own, strict=True)] for own in pairs])
    C_1, C_2 = every[ends[:, 0]], every[ends[:, 1]]
    x, x_dot = length[ends[:, 1]] - coupling.reference, C_2 @ pose.qd
    value = slope = curvature = jnp.zeros_like(x)
    for name in reversed(POWERS):  # Horner's scheme, with both derivatives
        curvature = 2 * slope + x * curvature
        slope = value + x * slope
        value = getattr(coupling, name) + x * value
    bias = -curvature * x_dot * x_dot
    if space is not None:
        drift = jnp.zeros_like(length).at[nv:-1].set(tendon_drift(tendon, space, pose.v, dtype))
        bias = bias + drift[ends[:, 0]] - slope * drift[ends[:, 1]]
    return Rows(
        C_1 - slope[:, None] * C_2,
        length[ends[:, 0]] - value,
        C_1 @ pose.qd - slope * x_dot,
        bias,
    )


def _row(dof: int, tendon: int, nv: int) -> int:
    """Of the matrix of all displacements; the last, of zeros, for neither."""
    return dof if dof >= 0 else nv + tendon if tendon >= 0 else -1


def _with_world(x: Float[Array, "nl 6"]) -> Float[Array, "n 6"]:
    return jnp.concatenate([x, jnp.zeros((1, 6), x.dtype)])


class Constrained:
    """A factorised inertia whose loops stay closed; answers as `Articulated` does.

    Innovations have m rows more, of which `response` makes the loops' impulses: z^T y is
    A - A_cl K^-1 A_lc, and the last rows of y are K^-1 A_lc.
    """

    def __init__(self, m: Mechanism, articulated: Articulated, J: Float[Array, "m nv"]) -> None:
        self.articulated = articulated
        f = jnp.zeros((articulated.tree.nl, J.shape[0], 6), J.dtype)
        self.z, self.y = articulated.innovations(f, J.T)
        K = mirror(self.z.T @ self.y)
        self.solve = solver(K, _sizes(m, jnp.diagonal(K)))

    def innovations(
        self, f: Float[Array, "nl k 6"]
    ) -> tuple[Float[Array, "n k"], Float[Array, "n k"]]:
        """See `Articulated.innovations`."""
        z, y = self.articulated.innovations(f)
        A_lc = self.z.T @ y
        return jnp.concatenate([z, -A_lc]), jnp.concatenate([y, self.solve(A_lc)])

    def response(self, y: Float[Array, "n k"]) -> Float[Array, "nv k"]:
        """See `Articulated.response`."""
        own = self.y.shape[0]
        return self.articulated.response(y[:own] - self.y @ y[own:])

    def answer(self, y: Float[Array, " n"]) -> Float[Array, " m"]:
        """Impulses of the loops that answer others, of which these are the innovations."""
        return -y[self.y.shape[0] :]

    def closing(
        self, rate: Float[Array, "m k"]
    ) -> tuple[Float[Array, "m k"], Float[Array, "nv k"]]:
        """Multipliers, and changes of the joint velocities, that take relative velocities away."""
        impulse = -self.solve(rate)
        return impulse, self.articulated.response(self.y @ impulse)


class Held(NamedTuple):
    """Accelerations with loops closed, the forces that close them, and what both come from."""

    qdd: Float[Array, " nv"]
    force: Float[Array, " m"]
    rows: Rows
    inertia: Constrained


def hold(m: Mechanism, pose: Pose, qdd: Float[Array, " nv"], tree: Articulated) -> Held:
    """Loops closed, given accelerations and factorised inertia of the tree without them."""
    rows = rows_of(m, pose)
    inertia = Constrained(m, tree, rows.J)
    force, change = inertia.closing((rows.J @ qdd + rows.bias)[:, None])
    return Held(qdd + change[:, 0], force[:, 0], rows, inertia)


def _sizes(m: Mechanism, diagonal: Float[Array, " m"]) -> Float[Array, " m"]:
    """About the diagonal of K, the same for rows of one loop and unit.

    Rows that are nothing but rounding must not be scaled up.
    """
    sizes, at = [], 0
    blocks = [kind for kind, which in m.model.loop.groups for _ in which]
    lengths = [n for kind in blocks for n in _runs(kind.units)] + [1] * len(m.model.coupling.names)
    for n in lengths:
        mean = jnp.sum(diagonal[at : at + n]) / n
        sizes.append(jnp.broadcast_to(mean, (n,)))
        at += n
    size = jax.lax.stop_gradient(jnp.concatenate(sizes))
    return jnp.where(size > 0, size, 1.0)


def _runs(units: tuple[str, ...]) -> list[int]:
    """Lengths of stretches of one unit."""
    ends = [i for i in range(1, len(units)) if units[i] != units[i - 1]]
    return np.diff([0, *ends, len(units)]).tolist()


# Of a tree, or of a mechanism with loops.
Inertia = Articulated | Constrained

"""Lengths that depend on the pose, and their moment arms: tendons, and sites that actuators push.

With C = dl/dq rates are C qd, and a force f along a length is a joint force C^T f. A stretch of a
tendon with gradient g_k at the place p_k of frame k has, for a degree of freedom that moves some of
its frames with the spatial axis S (in the world), c = S . sum of (p_k x g_k; g_k) over those.

An actuator on a site pushes it with a wrench in its own axes. Against a reference frame it is in
that one's axes, and the reference feels the opposite where it is: lengths, arms and rates are those
of MuJoCo's site transmission with `refsite` [mj_transmission].
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.kinematics import world_transforms
from graftsim.dynamics.mechanism import Mechanism
from graftsim.dynamics.motion import JointMotion, at, link_velocity, velocity_bias
from graftsim.model.model import Frames, Tendons
from graftsim.model.path_type import PathType
from graftsim.spatial import rotation, safe
from graftsim.spatial.rotation import cross, transpose
from graftsim.spatial.transform import Transform, rotate


class Arms(NamedTuple):
    """Lengths [n] and moment arms [n, nv]."""

    length: Float[Array, " n"]
    C: Float[Array, "n nv"]


class Posed(NamedTuple):
    """Where links are, and how: what lengths through space are made of. X_0: world to link."""

    m: Mechanism
    motion: JointMotion
    X_0: Transform


def posed(m: Mechanism, motion: JointMotion, X_0: Transform | None) -> Posed | None:
    """None if no length of the model depends on the pose; X_0 is computed if it is not given."""
    if not m.model.through_space:
        return None
    return Posed(m, motion, world_transforms(m.tree, motion) if X_0 is None else X_0)


def coefficients(tendon: Tendons, nv: int) -> Float[Array, "nt nv"]:
    """C of the parts C q of the lengths that are sums of displacements."""
    C = jnp.zeros((len(tendon.names), nv), tendon.coefficient.dtype)
    if not tendon.entries:
        return C
    t, d = zip(*tendon.entries, strict=True)
    return C.at[jnp.array(t), jnp.array(d)].add(tendon.coefficient)


def tendon_arms(tendon: Tendons, q_dof: Float[Array, " nv"], pose: Posed | None) -> Arms:
    """Of all tendons, at displacements of the joints and a pose."""
    C = coefficients(tendon, q_dof.shape[0])
    length = C @ q_dof if tendon.names else jnp.zeros(0, q_dof.dtype)
    if pose is None or not tendon.path:
        return Arms(length, C)
    axes = _axes(pose)
    for kind, which in _groups(tendon):
        place, moved = _places(pose, tendon, which)
        own = jnp.einsum("knd,kni,di->kd", moved, _wrench(place, kind.gradient(place)), axes)
        every = _incidence(tendon, which, q_dof.dtype)
        length, C = length + every @ kind.length(place), C + every @ own
    return Arms(length, C)


def tendon_drift(
    tendon: Tendons, pose: Posed, v: Float[Array, "nl 6"], dtype: jnp.dtype
) -> Float[Array, " nt"]:
    """(dC/dt) qd of the tendons: how their rates change without joint accelerations."""
    m, motion, X_0 = pose
    bias = link_velocity(m.tree, motion._replace(v_J=velocity_bias(motion, v)))
    V, A = (_with_world(X_0.motion_inverse(x)) for x in (v, bias))
    total = jnp.zeros(len(tendon.names), dtype)
    for kind, which in _groups(tendon):
        place, _ = _places(pose, tendon, which)
        links = np.array([_links(m.model.frame, tendon.path[i].frames) for i in which])
        w, alpha = V[links, :3], A[links, :3]
        p_dot = V[links, 3:] + cross(w, place)
        p_ddot = A[links, 3:] + cross(alpha, place) + cross(w, p_dot)
        g, g_dot = jax.jvp(kind.gradient, (place,), (p_dot,))
        own = jnp.sum(g * p_ddot + g_dot * p_dot, (1, 2))
        total = total + _incidence(tendon, which, dtype) @ own
    return total


def site_arms(pose: Posed) -> Arms:
    """Of the sites that actuators push, of a unit of force each."""
    model, tree = pose.m.model, pose.m.tree
    a, frame = model.actuator, model.frame
    axes, dtype = _axes(pose), a.gear.dtype
    site, other = (np.array(x) for x in zip(*a.sites, strict=True))
    against = other >= 0
    place, R = _poses(pose, site)
    place_o, R_o = _poses(pose, np.where(against, other, 0))
    own = jnp.where(against[:, None, None], R_o, R)
    push, turn = rotate(own, a.site_force), rotate(own, a.site_torque)

    links = [[frame.link[i] if i >= 0 else -1 for i in both] for both in a.sites]
    moved = np.array([[tree.moves(link) for link in both] for both in links])
    both = moved.all(1)
    on, off = (jnp.asarray(moved[:, k] & ~both, dtype) for k in (0, 1))
    C = jnp.einsum("kd,ki,di->kd", on, _wrench(place, push, turn), axes)
    if not against.any():
        return Arms(jnp.zeros(len(site), dtype), C)
    C = C - jnp.einsum("kd,ki,di->kd", off, _wrench(place_o, push, turn), axes)
    away = jnp.sum(push * (place - place_o), -1)
    turned = jnp.sum(a.site_torque * _rotation_vector(transpose(R_o) @ R), -1)
    return Arms(jnp.where(against, away + turned, 0.0), C)


def _axes(pose: Posed) -> Float[Array, "nv 6"]:
    """Axes S of the degrees of freedom in the world."""
    return at(pose.X_0, pose.m.tree.link_of_dof).motion_inverse(pose.motion.S)


def _groups(tendon: Tendons) -> list[tuple[PathType, np.ndarray]]:
    """Stretches by kind."""
    return [
        (kind, np.array([i for i, x in enumerate(tendon.path) if x.kind == kind]))
        for kind in dict.fromkeys(x.kind for x in tendon.path)
    ]


def _incidence(tendon: Tendons, which: np.ndarray, dtype: jnp.dtype) -> Float[Array, "nt k"]:
    """What of each stretch counts for each tendon."""
    every = np.zeros((len(tendon.names), len(which)))
    for k, i in enumerate(which):
        every[tendon.path[i].tendon, k] = tendon.path[i].share
    return jnp.asarray(every, dtype)


def _places(
    pose: Posed, tendon: Tendons, which: np.ndarray
) -> tuple[Float[Array, "k n 3"], Float[Array, "k n nv"]]:
    """Frames of some stretches in the world, and which degrees of freedom move them.

    What moves all of a stretch's frames does not change its length: it is not counted.
    """
    model, tree = pose.m.model, pose.m.tree
    frames = np.array([tendon.path[i].frames for i in which])
    place, _ = _poses(pose, frames.ravel())
    links = [_links(model.frame, own) for own in frames]
    moved = np.array([[tree.moves(link) for link in own] for own in links])
    moved &= ~moved.all(1, keepdims=True)
    return place.reshape(*frames.shape, 3), jnp.asarray(moved, place.dtype)


def _links(frame: Frames, frames: tuple[int, ...]) -> list[int]:
    return [frame.link[i] for i in frames]


def _poses(pose: Posed, frames: np.ndarray) -> tuple[Float[Array, "k 3"], Float[Array, "k 3 3"]]:
    """Places of frames in the world, and their orientations (frame to world)."""
    frame, X_0 = pose.m.model.frame, pose.X_0
    links = np.array([frame.link[i] for i in frames])
    dtype = X_0.r.dtype
    # Link -1, the world, is the last row.
    E = jnp.concatenate([X_0.E, jnp.eye(3, dtype=dtype)[None]])[links]
    r = jnp.concatenate([X_0.r, jnp.zeros((1, 3), dtype)])[links]
    R = transpose(E)
    return r + rotate(R, frame.position[frames]), R @ rotation.matrix(frame.rotation[frames])


def _wrench(
    p: Float[Array, "*k 3"], f: Float[Array, "*k 3"], n: Float[Array, "*k 3"] | float = 0.0
) -> Float[Array, "*k 6"]:
    """Of a force f at p and a torque n, about the world's origin."""
    return jnp.concatenate([cross(p, f) + n, f], -1)


def _rotation_vector(R: Float[Array, "k 3 3"]) -> Float[Array, "k 3"]:
    """Axis times angle, up to half a turn."""
    odd = R - transpose(R)
    axis = jnp.stack([odd[:, 2, 1], odd[:, 0, 2], odd[:, 1, 0]], -1)
    cosine = (1 + jnp.trace(R, axis1=-2, axis2=-1)) / 4  # cos(angle/2)^2
    w = jnp.sqrt(jnp.where(cosine > _LEAST, cosine, _LEAST))
    half = axis / (4 * w[:, None])
    return 2 * safe.angle_per_sine(jnp.sum(half * half, -1), w)[:, None] * half


def _with_world(x: Float[Array, "nl 6"]) -> Float[Array, "n 6"]:
    return jnp.concatenate([x, jnp.zeros((1, 6), x.dtype)])


# At half a turn the axis is not known; nothing is divided by less.
_LEAST = 1e-12

"""The four legs of a robot: which joints they have, and where these lie in the trunk."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.kinematics import link_poses
from graftsim.errors import ModelError
from graftsim.model.model import Model
from graftsim.spatial import rotation

CORNERS = ("FR", "FL", "RR", "RL")
# Axes of a leg may be off the square or parallel by so much (rad).
_SQUARE = 1e-3


class Legs(eqx.Module):
    """Geometry of the legs FR, FL, RR, RL with all their joints at zero, in the trunk's frame.

    Rows are legs; of each the joints are abduction, hip and knee. axis: unit vectors along the
    joints; point (m): one on each axis; foot (m): the centre of each foot. radius (m): of the feet.
    bend: the sign of the angle from thigh to shank about the hip's axis. Static: `joints`, degrees
    of freedom of `State.qd`; `coordinates`, rows of `State.q`; `motors`, rows of the commands.
    """

    axis: Float[Array, "4 3 3"]
    point: Float[Array, "4 3 3"]
    foot: Float[Array, "4 3"]
    radius: Float[Array, " 4"]
    bend: Float[Array, " 4"]
    joints: tuple[int, ...] = eqx.field(static=True)
    coordinates: tuple[int, ...] = eqx.field(static=True)
    motors: tuple[int, ...] = eqx.field(static=True)
    links: tuple[str, ...] = eqx.field(static=True)
    turning: tuple[int, ...] = eqx.field(static=True)

    @property
    def reach(self) -> float:
        """Length of a stretched leg, hip to foot (m): the least of the four."""
        thigh = _length(self.point[:, 2] - self.point[:, 1], self.axis[:, 1])
        shank = _length(self.foot - self.point[:, 2], self.axis[:, 1])
        return float(np.min(thigh + shank))

    @property
    def below(self) -> Float[Array, "4 3"]:
        """Points under the hips in which the feet stand when no abduction joint is turned; z 0."""
        across = np.asarray(self.axis[:, 1])
        offset = np.sum(across * np.asarray(self.foot - self.point[:, 1]), -1, keepdims=True)
        under = np.asarray(self.point[:, 1]) + offset * across
        return jnp.asarray(under * [1, 1, 0], self.foot.dtype)


def find_legs(model: Model, *, knees_forward: bool = False) -> Legs:
    """The legs of a quadruped: chains of three hinges from one floating trunk.

    The first axis lies along the trunk, the others across it; x points forward and z up. A foot is
    the outermost ball of its leg, or else the origin of its last link.
    Raises ModelError: no floating trunk; not four legs, with what was found; axes that lie
    otherwise; a joint without a torque motor of its own.
    """
    trunk = _trunk(model)
    chains = _chains(model, trunk)
    if len(chains) != 4:
        found = "; ".join(f"{model.tree.links[links[-1]]}: {len(j)} joints" for links, j in chains)
        raise ModelError(
            f"Model '{model.name}': {len(chains)} legs were found below '{model.tree.links[trunk]}'"
            f" ({found or 'no chain of three hinges'}). Four chains of three hinges are expected: "
            "abduction, hip, knee."
        )
    q = np.array(model.tree.neutral)
    R, p = (np.asarray(x) for x in link_poses(model, jnp.asarray(q, model.link.mass.dtype)))
    rows = [_geometry(model, R, p, *chain) for chain in chains]
    rows = [rows[i] for i in _corners(model, np.array([r["point"][0] for r in rows]))]
    for name, row in zip(CORNERS, rows, strict=True):
        _check_axes(model, name, row["axis"])
    tree, dtype = model.tree, model.link.mass.dtype
    joints = tuple(int(tree.v_index[i][0]) for row in rows for i in row["links"])
    # A knee behind the leg: the shank turns forward against the thigh.
    bend = [_bend(r["axis"], r["point"], r["foot"], knees_forward) for r in rows]
    return Legs(
        **{k: jnp.asarray(np.array([r[k] for r in rows]), dtype) for k in _ARRAYS},
        bend=jnp.asarray(np.array(bend), dtype),
        joints=joints,
        coordinates=tuple(int(tree.q_index[i][0]) for row in rows for i in row["links"]),
        motors=_motors(model, joints),
        links=tuple(tree.links[row["last"]] for row in rows),
        turning=tuple(_turning(model, [row["links"][1] for row in rows])),
    )


_ARRAYS = ("axis", "point", "foot", "radius")


def _turning(model: Model, thighs: list[int]) -> list[int]:
    """Links that no hip carries."""
    carried = model.tree.ancestor[thighs].any(0)
    return [i for i in range(model.tree.nl) if not carried[i]]


def _length(x: Any, axis: Any) -> np.ndarray:
    """Of vectors [n, 3], across the axes."""
    x, axis = np.asarray(x), np.asarray(axis)
    return np.linalg.norm(x - np.sum(x * axis, -1, keepdims=True) * axis, axis=-1)


def _trunk(model: Model) -> int:
    floating = [
        i for i, t in enumerate(model.tree.joint_types) if t.nv == 6 and model.tree.parent[i] < 0
    ]
    if len(floating) != 1:
        raise ModelError(
            f"Model '{model.name}' has {len(floating)} links that float; a walking robot has one, "
            "its trunk. Of a URDF: load(..., base='free')."
        )
    return floating[0]


def _chains(model: Model, trunk: int) -> list[tuple[list[int], list[int]]]:
    """(links of a limb, its moving ones) for each limb with three hinges in a row."""
    tree, out = model.tree, []
    first = [
        i for i in range(tree.nl) if tree.moving[i] and i != trunk and _carrier(model, i) == trunk
    ]
    for i in first:
        links = [int(j) for j in np.flatnonzero(tree.ancestor[i])]
        moving = [j for j in links if tree.moving[j]]
        hinges = all(tree.joint_types[j].nv == 1 for j in moving)
        row = all(_carrier(model, b) == a for a, b in zip(moving, moving[1:], strict=False))
        if len(moving) == 3 and hinges and row:
            out.append((links, moving))
    return out


def _carrier(model: Model, link: int) -> int:
    """The next link above that moves; -1: the world."""
    above = model.tree.parent[link]
    while above >= 0 and not model.tree.moving[above]:
        above = model.tree.parent[above]
    return above


def _geometry(
    model: Model, R: np.ndarray, p: np.ndarray, links: list[int], moving: list[int]
) -> dict[str, Any]:
    axes = np.asarray(model.joint.axis)
    last = [i for i in links if model.tree.ancestor[moving[-1], i]]
    place, radius = p[last[-1]], 0.0
    balls = [
        k
        for k, (link, kind) in enumerate(zip(model.geom.link, model.geom.kinds, strict=True))
        if link in last and kind == "sphere"
    ]
    if balls:
        centres = [p[model.geom.link[k]] + _placed(model, R, k) for k in balls]
        farthest = int(np.argmax([np.linalg.norm(c - p[moving[-1]]) for c in centres]))
        place, radius = centres[farthest], float(model.geom.size[balls[farthest], 0])
    return {
        "axis": np.array([R[i] @ axes[i] for i in moving]),
        "point": p[moving],
        "foot": place,
        "radius": radius,
        "links": moving,
        "last": last[-1],
    }


def _placed(model: Model, R: np.ndarray, geom: int) -> np.ndarray:
    return R[model.geom.link[geom]] @ np.asarray(model.geom.position[geom])


def _corners(model: Model, hips: np.ndarray) -> list[int]:
    """Rows in the order FR, FL, RR, RL."""
    x, y = (hips - hips.mean(0))[:, :2].T
    order = [np.flatnonzero(((x > 0) == front) & ((y > 0) == left)) for front, left in _SIDES]
    if any(len(o) != 1 for o in order):
        places = ", ".join(f"({a:.3f}, {b:.3f})" for a, b in hips[:, :2])
        raise ModelError(
            f"Model '{model.name}': legs begin at x, y = {places} m. One is expected in each corner"
            " of the trunk: front and rear along x, left and right along y."
        )
    return [int(o[0]) for o in order]


_SIDES = ((True, False), (True, True), (False, False), (False, True))


def _check_axes(model: Model, leg: str, axis: np.ndarray) -> None:
    """Abduction along x; hip and knee parallel, along y."""
    along, hip, knee = np.abs(axis[0, 0]), np.abs(axis[1, 1]), np.abs(axis[1] @ axis[2])
    if min(along, hip, knee) < np.cos(_SQUARE):
        raise ModelError(
            f"Model '{model.name}', leg {leg}: with all joints at zero the axes are "
            f"{np.round(axis, 3).tolist()}. Expected: the first along x, the second and third "
            "along y (of the trunk)."
        )


def _bend(axis: np.ndarray, point: np.ndarray, foot: np.ndarray, forward: bool) -> float:
    """Sign of the knee's angle that puts it behind (or before) the line from hip to foot."""
    down = np.cross(axis[0], axis[1]) @ (foot - point[1])
    return float(np.sign(down) * np.sign(axis[0, 0]) * (-1 if forward else 1))


def _motors(model: Model, joints: tuple[int, ...]) -> tuple[int, ...]:
    actuator = model.actuator
    out = []
    for dof in joints:
        own = [k for k, d in enumerate(actuator.dof) if d == dof and actuator.kinds[k] == "torque"]
        if not own:
            raise ModelError(
                f"Model '{model.name}': joint '{model.tree.dofs[dof]}' of a leg has no torque "
                "motor. A gait commands torques: actuators of kind 'torque' are expected."
            )
        out.append(actuator.controls.index(actuator.names[own[0]]))
    return tuple(out)


def roll_pitch_yaw(q: Float[Array, " 4"]) -> Float[Array, " 3"]:
    """Angles (rad) of R = Rz(yaw) Ry(pitch) Rx(roll) of a unit quaternion."""
    R = rotation.matrix(q)
    pitch = jnp.arcsin(jnp.clip(-R[2, 0], -1.0, 1.0))
    return jnp.stack([jnp.arctan2(R[2, 1], R[2, 2]), pitch, jnp.arctan2(R[1, 0], R[0, 0])])
